#include "orchestrator/command/tool_commands.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun {

namespace {

// A new tool is one line here.
constexpr auto tools = std::to_array<ToolCommand>({
    {"api_precision_compare", "api_precision_compare",
     "compares the details files of two acc_check runs, NPU and GPU, by each API's standard"},
    {"compare", "torchair_compare",
     "compares the dump of a compiled graph with an eager or unfused one: --mode torchair"},
    {"convert", "torchair_convert",
     "shrinks the dump of a compiled graph to least and largest values while it is written"},
    {"shrink", "shrink", "makes of a suspicious call the smallest recording that fails for the same cause"},
    {"tensor_compare", "tensor_compare", "compares two tensor files, or pairs of a JSON file: metrics and verdict"},
});

}  // namespace

std::span<const ToolCommand> tool_commands() { return tools; }

const ToolCommand* find_tool(std::string_view word) {
  for (const ToolCommand& tool : tools) {
    if (word == tool.word) return &tool;
  }
  return nullptr;
}

void run_tool(const ToolRequest& request) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string program = (self.parent_path() / request.tool->executable).string();
  std::vector<std::string> words{program};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  const std::string reason = std::system_category().message(errno);
  throw UserError(std::string(request.tool->word) + ": the program " + program + " cannot be started: " + reason);
}

}  // namespace msrun
