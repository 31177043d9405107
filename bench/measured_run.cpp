#include "bench/measured_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace msrun::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

pid_t start(const std::string& program, const std::vector<std::string>& arguments, int output) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  // Log lines; an error that ends the run shows in the exit code.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int result = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (result != 0) throw std::runtime_error("cannot start " + program);
  return pid;
}

void take_finished_event(std::string_view line, MeasuredRun& run) {
  const nlohmann::json event = nlohmann::json::parse(line);
  run.calls = event.at("total").get<std::uint64_t>();
  run.skipped = event.at("skip").get<std::uint64_t>();
  const nlohmann::json& times = event.at("seconds");
  times.at("plan").get_to(run.plan);
  times.at("materialise").get_to(run.materialise);
  times.at("device").get_to(run.device);
  times.at("benchmark").get_to(run.benchmark);
  times.at("compare").get_to(run.compare);
  times.at("journal").get_to(run.journal);
  times.at("csv").get_to(run.csv);
  event.at("peak_bytes").at("supervisor").get_to(run.supervisor_peak);
  event.at("peak_bytes").at("runners").get_to(run.runners_peak);
}

}  // namespace

MeasuredRun run_measured(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--message-format", "json"});
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const pid_t pid = start(program, arguments, ends[1]);
  close(ends[1]);

  MeasuredRun run;
  bool finished = false;
  std::string pending;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = read(ends[0], buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    pending.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t from = 0;
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', from)) {
      const std::string_view line = std::string_view(pending).substr(from, end - from);
      if (run.first_result == 0 && line.starts_with(R"({"type":"api_result")")) run.first_result = elapsed();
      if (line.starts_with(R"({"type":"run_finished")")) {
        take_finished_event(line, run);
        finished = true;
      }
      from = end + 1;
    }
    pending.erase(0, from);
  }
  close(ends[0]);
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  run.wall = elapsed();
  if (!finished || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string command = program;
    for (const std::string& argument : arguments) command += " " + argument;
    throw std::runtime_error("this run failed: " + command);
  }
  run.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  run.largest_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return run;
}

}  // namespace msrun::bench
