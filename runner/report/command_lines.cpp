#include "runner/report/command_lines.h"

#include <filesystem>
#include <vector>

#include "kernels/base/shell_words.h"
#include "kernels/base/text.h"
#include "runner/report/redaction.h"

namespace msrun::report {
namespace {

namespace fs = std::filesystem;

// What a shell makes of a word that msrun has quoted.
std::string unquoted(std::string_view word) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (word[i] == '\\' && !quoted && i + 1 < word.size()) {
      out += word[++i];
    } else {
      out += word[i];
    }
  }
  return out;
}

// Of the backends one has a file behind its name.
std::string absolute_backend(const std::string& backend, const RunHeader& header) {
  constexpr std::string_view plugin = "plugin:";
  if (!backend.starts_with(plugin)) return backend;
  return std::string(plugin) + absolute_path(backend.substr(plugin.size()), header);
}

// Programs without a slash are searched for in PATH.
std::string absolute_program(const std::string& program, const RunHeader& header) {
  return program.find('/') == std::string::npos ? program : absolute_path(program, header);
}

}  // namespace

std::string absolute_path(const std::string& path, const RunHeader& header) {
  const std::string folder = text_in(header, "working_directory");
  if (path.empty() || folder.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

std::string absolute_command(std::string_view line, const RunHeader& header) {
  std::string out;
  std::string option;
  for (const std::string& word : shell_words(line)) {
    std::string text = unquoted(word);
    if (out.empty() || option == "--python") {
      text = absolute_program(text, header);
    } else if (is_input_path(option)) {
      text = absolute_path(text, header);
    } else if (option == "--backend") {
      text = absolute_backend(text, header);
    }
    out += (out.empty() ? "" : " ") + shell_quoted(text);
    option = word;
  }
  return out;
}

}  // namespace msrun::report
