#include "runner/workers/shared_forks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace msrun {
namespace {

constexpr const char* variable_name = "MSRUN_WORKER_FORKS";

// What the workers of one such process have in common; jit_compile says nothing to a kind that can be forked.
std::string key_of(const WorkerOptions& options) { return options.backend() + " " + options.python; }

bool is_socket(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

std::unique_ptr<SharedForks> SharedForks::start(const WorkerOptions& options, int output) {
  if (!WorkerProcess::can_fork(options)) return nullptr;
  return std::unique_ptr<SharedForks>(new SharedForks(options, output));
}

SharedForks::SharedForks(WorkerOptions options, int output)
    : options_(std::move(options)), process_({.options = options_, .inspect = true, .output = output}) {}

std::string SharedForks::variable() const {
  return std::string(variable_name) + "=" + std::to_string(descriptor()) + ":" + std::to_string(process_.forks().pid) +
         " " + key_of(options_);
}

std::optional<ForkServer> shared_forks(const WorkerOptions& options) {
  const char* variable = std::getenv(variable_name);
  if (variable == nullptr || !WorkerProcess::can_fork(options)) return std::nullopt;
  const std::string_view text = variable;
  const char* const end = text.data() + text.size();
  ForkServer forks;
  const auto descriptor = std::from_chars(text.data(), end, forks.socket);
  if (descriptor.ec != std::errc{} || descriptor.ptr == end || *descriptor.ptr != ':') return std::nullopt;
  const auto process = std::from_chars(descriptor.ptr + 1, end, forks.pid);
  const std::string_view rest(process.ptr, static_cast<std::size_t>(end - process.ptr));
  if (process.ec != std::errc{} || forks.socket < 0 || forks.pid <= 0 || rest != " " + key_of(options) ||
      !is_socket(forks.socket)) {
    return std::nullopt;
  }
  fcntl(forks.socket, F_SETFD, FD_CLOEXEC);
  return forks;
}

}  // namespace msrun
