#include "runner/workers/hello.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/process_end.h"
#include "kernels/base/processes.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/io/json/json_tree.h"
#include "runner/workers/frames.h"

namespace msrun {
namespace {

std::string scalar_text(const JsonNode& node) {
  switch (node.kind()) {
    case JsonEvent::boolean:
      return node.boolean() ? "true" : "false";
    case JsonEvent::integer:
      return std::to_string(node.integer());
    case JsonEvent::real:
      return short_number(node.number());
    case JsonEvent::string:
      return sanitised(bounded(std::string(node.text())));
    default:
      return {};
  }
}

std::optional<std::uint64_t> bytes_of(const JsonNode& node) {
  if (!node.is_integer() || node.integer() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(node.integer());
}

ListedDevice device_of(const JsonNode& node) {
  ListedDevice device;
  for (const JsonNode item : node) {
    if (item.key() == "id" && item.is_integer()) device.id = static_cast<std::int32_t>(item.integer());
    if (item.key() == "name") device.name = scalar_text(item);
    if (item.key() == "memory") device.memory = bytes_of(item);
    if (item.key() == "free") device.free = bytes_of(item);
  }
  return device;
}

// A process that is not to stay stopped, nor what it has forked.
class StopNotice {
 public:
  StopNotice(pid_t process, int seconds) : process_(process), left_(seconds), seconds_(seconds) {}

  // Asked once a second: seconds in which this process is stopped as well are none.
  bool is_stopped_too_long() {
    stopped_ = find_stopped();
    left_ = stopped_ > 0 ? left_ - 1 : seconds_;
    return left_ <= 0;
  }
  void end_it() const { kill(stopped_, SIGKILL); }

 private:
  // 0 if none is.
  pid_t find_stopped() const {
    if (process_ <= 0) return 0;
    if (is_stopped(process_)) return process_;
    for (const pid_t child : children_of(process_)) {
      if (is_stopped(child)) return child;
    }
    return 0;
  }

  pid_t process_;
  pid_t stopped_ = 0;
  int left_;
  int seconds_;
};

enum class Came : std::uint8_t { something, nothing, stop };

// Whether something, or the end, comes within so many seconds.
Came wait_for(int socket, double patience, StopNotice& notice) {
  const double deadline = steady_seconds() + patience;
  while (true) {
    const double left = std::max(deadline - steady_seconds(), 0.0);
    pollfd ready{socket, POLLIN, 0};
    const int result = poll(&ready, 1, static_cast<int>(std::min(left, 1.0) * 1000));
    if (result > 0) return Came::something;
    if (result == 0 && left <= 0) return Came::nothing;
    if (result == 0 && notice.is_stopped_too_long()) return Came::stop;
    if (result < 0 && errno != EINTR) throw_errno("poll");
  }
}

std::string what_to_do(const std::string& missing, const WorkerOptions& options) {
  const WorkerFramework& framework = *options.framework;
  const std::string npu_package(framework.npu_package);
  if (!npu_package.empty() && missing == npu_package) {
    return "install " + npu_package + " there (" + std::string(framework.npu_package_hint) +
           "), or name a Python that has it with --python";
  }
  return "name a Python that has " + std::string(framework.name) +
         (options.kind == "npu" && !npu_package.empty() ? " and " + npu_package : "") +
         " with --python or MSRUN_PYTHON";
}

struct Received {
  std::optional<std::string> text;  // nothing at the end of the stream
  bool was_stopped = false;
};

// The next frame of a process.
Received received(int socket, pid_t process, const WorkerOptions& options, const Patience& patience) {
  StopNotice notice(process, patience.stopped);
  const bool may_say = patience.silent < patience.hello;
  Came came = wait_for(socket, may_say ? patience.silent : patience.hello, notice);
  if (came == Came::nothing && may_say) {
    write_error_line("--backend " + options.backend() + ": waiting for " + sanitised(options.python) + " to say what " +
                     std::string(options.framework->name) + " and devices it has, for up to " +
                     short_number(patience.hello) + " s");
    came = wait_for(socket, patience.hello - patience.silent, notice);
  }
  if (came == Came::nothing) {
    throw UserError("--backend " + options.backend() + ": " + sanitised(options.python) + " has not said within " +
                    short_number(patience.hello) + " s what " + std::string(options.framework->name) +
                    " and devices it has");
  }
  if (came == Came::stop) {
    notice.end_it();
    return {.text = std::nullopt, .was_stopped = true};
  }
  std::string text;
  try {
    if (!receive_frame(socket, text)) return {};
  } catch (const BadFrame& error) {
    throw UserError("The " + std::string(options.framework->name) + " worker does not say what it is: " + error.what());
  }
  return {.text = std::move(text)};
}

}  // namespace

Hello parse_hello(std::string_view text, const WorkerOptions& options) {
  JsonTree tree;
  const std::string worker = std::string(options.framework->name) + " worker";
  JsonReader reader("the " + worker, memory_source(text), 4096);
  if (tree.read(reader) != JsonTree::Outcome::complete || !tree.root().is_object()) {
    throw UserError("The " + worker + " does not say what it is.");
  }
  Hello hello;
  std::string error;
  std::string cause;
  std::string missing;
  std::int64_t version = 0;
  constexpr std::array<std::string_view, 7> versions{"torch", "torch_npu", "mindspore", "cann", "cuda", "cudnn", "soc"};
  for (const JsonNode item : tree.root()) {
    const std::string_view key = item.key();
    if (key == "v" && item.is_integer()) version = item.integer();
    if (key == "error") error = scalar_text(item);
    if (key == "cause") cause = scalar_text(item);
    if (key == "missing") missing = scalar_text(item);
    if (key == "python") hello.python = scalar_text(item);
    for (const std::string_view name : versions) {
      if (key == name && !item.is_null()) hello.versions.emplace_back(name, scalar_text(item));
    }
    if (key == "settings") {
      for (const JsonNode setting : item) hello.settings.emplace_back(sanitised(setting.key()), scalar_text(setting));
    }
    if (key == "devices") {
      for (const JsonNode device : item) hello.devices.push_back(device_of(device));
    }
  }
  if (version != worker_protocol_version) {
    throw UserError("The " + worker + " beside this program speaks version " + std::to_string(version) +
                    " of the protocol, msrun version " + std::to_string(worker_protocol_version) +
                    ": install both from the same build.");
  }
  if (error.empty()) return hello;
  const std::string python = sanitised(options.python);
  if (cause == "import") {
    throw UserError("--backend " + options.backend() + ": " + python + " cannot import " + missing + " (" + error +
                    "): " + what_to_do(missing, options));
  }
  throw UserError("--backend " + options.backend() + ": " + error + " (of " + python + ")");
}

Hello await_hello(WorkerProcess& worker, const WorkerOptions& options, const Patience& patience) {
  const Received answer = received(worker.control(), worker.forks().pid, options, patience);
  if (!answer.text) refuse_ended(worker, options);
  return parse_hello(*answer.text, options);
}

UniqueFd ask_for_hello(int forks, std::int32_t device_id) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  UniqueFd answer(ends[0]);
  const UniqueFd other(ends[1]);
  const std::array descriptors{other.get()};
  if (!send_frame(forks, R"({"hello":{"device":)" + std::to_string(device_id) + "}}", descriptors)) answer.reset();
  return answer;
}

HelloAnswer answered_hello(const UniqueFd& answer, const WorkerOptions& options, pid_t forks,
                           const Patience& patience) {
  const Received told = received(answer.get(), forks, options, patience);
  HelloAnswer result{.hello = std::nullopt, .was_stopped = told.was_stopped};
  if (told.text) result.hello = parse_hello(*told.text, options);
  return result;
}

void refuse_ended(WorkerProcess& worker, const WorkerOptions& options) {
  const WorkerProcess::End end = worker.end();
  throw UserError("--backend " + options.backend() + ": " + sanitised(options.python) + " " +
                  end_text(end.wait_status) + " before " + std::string(options.framework->name) +
                  " was there; what it had to say is above, if anything");
}

}  // namespace msrun
