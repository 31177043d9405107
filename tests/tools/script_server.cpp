#include "tests/tools/script_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

// JSON holds characters, and names of files need not be UTF-8: each byte travels as the character of its number.
std::string bytes_as_characters(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return text;
}

}  // namespace

ScriptServer& ScriptServer::instance() {
  static ScriptServer server;
  return server;
}

ScriptServer::ScriptServer() {
  std::array<int, 2> to_server{};
  std::array<int, 2> from_server{};
  if (pipe2(to_server.data(), O_CLOEXEC) != 0 || pipe2(from_server.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for the server of scripts");
  }
  requests_.reset(fdopen(to_server[1], "w"));
  answers_.reset(fdopen(from_server[0], "r"));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_server[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_server[1], STDOUT_FILENO);
  std::string python = torch_python();
  std::string script = source_root() + "/tests/tools/script_server.py";
  const std::array<char*, 3> words{python.data(), script.data(), nullptr};
  const int error = posix_spawnp(&pid_, python.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to_server[0]);
  close(from_server[1]);
  if (error != 0) throw std::runtime_error("the server of scripts does not start");
}

ScriptServer::~ScriptServer() {
  requests_.reset();
  waitpid(pid_, nullptr, 0);
}

int ScriptServer::run(const std::filesystem::path& folder, const std::vector<std::string>& words,
                      const std::filesystem::path& output, int seconds) {
  nlohmann::json request{bytes_as_characters(folder.string()), bytes_as_characters(output.string()), seconds};
  for (const std::string& word : words) request.push_back(bytes_as_characters(word));
  const std::string line = request.dump() + "\n";
  std::array<char, 16> answer{};
  if (fputs(line.c_str(), requests_.get()) < 0 || fflush(requests_.get()) != 0 ||
      fgets(answer.data(), static_cast<int>(answer.size()), answers_.get()) == nullptr) {
    throw std::runtime_error("the server of scripts has ended");
  }
  return std::stoi(answer.data());
}

}  // namespace msrun::testing
