// Runs Python scripts in children of an interpreter that has torch loaded (script_server.py).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace msrun::testing {

class ScriptServer {
 public:
  // That of this process, started by the first call.
  static ScriptServer& instance();

  ScriptServer();
  ~ScriptServer();
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;

  // Runs a script, the first of the words, in a folder; both streams go to output. Its exit code, as from a shell's
  // `timeout SECONDS`. Throws if the server has ended.
  int run(const std::filesystem::path& folder, const std::vector<std::string>& words,
          const std::filesystem::path& output, int seconds);

 private:
  struct CloseFile {
    void operator()(FILE* file) const { fclose(file); }
  };
  std::unique_ptr<FILE, CloseFile> requests_;
  std::unique_ptr<FILE, CloseFile> answers_;
  pid_t pid_ = -1;
};

}  // namespace msrun::testing
