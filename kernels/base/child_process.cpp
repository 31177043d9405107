#include "kernels/base/child_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "kernels/base/processes.h"

namespace msrun {

pid_t start_child(std::vector<std::string> words, Streams streams) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  // Nothing but system calls: there may be other threads.
  end_with_parent(parent, SIGKILL);
  unsettle_signals();
  if (streams == Streams::nowhere) {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  }
  execv(arguments.front(), arguments.data());
  _exit(127);
}

}  // namespace msrun
