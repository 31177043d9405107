#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "kernels/io/files/csv.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {

Process::Process(const std::vector<std::string>& arguments, const fs::path& scratch,
                 const std::vector<std::string>& environment, const std::string& name) {
  static int count = 0;
  const std::string number = std::to_string(++count);
  out_ = scratch / ("stdout." + number);
  err_ = scratch / ("stderr." + number);
  const std::string program = fs::path(programs()) / name;
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (char** entry = environ; *entry != nullptr; ++entry) env.push_back(*entry);
  for (const std::string& entry : environment) env.push_back(const_cast<char*>(entry.c_str()));
  env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int result = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (result != 0) throw std::runtime_error("cannot start " + program);
}

Process::~Process() {
  if (reaped_) return;
  ::kill(pid_, SIGKILL);
  reap(0);
}

bool Process::reap(int flags) {
  rusage usage{};
  if (!reaped_ && wait4(pid_, &status_, flags, &usage) == pid_) {
    reaped_ = true;
    peak_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }
  return reaped_;
}

bool Process::running() { return !reap(WNOHANG); }

Finished Process::wait() {
  reap(0);
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {code, read_file(out_), read_file(err_), peak_};
}

std::string Process::out() const { return read_file(out_); }

Finished msrun(const std::vector<std::string>& arguments, const fs::path& scratch,
               const std::vector<std::string>& environment) {
  return Process(arguments, scratch, environment).wait();
}

Finished run_tool(const std::string& name, const std::vector<std::string>& arguments, const fs::path& scratch) {
  return Process(arguments, scratch, {}, name).wait();
}

std::map<pid_t, std::string> children(pid_t pid) {
  std::map<pid_t, std::string> result;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string number = entry.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    // "pid (name) state ppid ..."; the name may hold anything, so look behind its last parenthesis.
    const std::string stat = read_file(entry.path() / "stat");
    const std::size_t open = stat.find('(');
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos) continue;
    std::istringstream rest(stat.substr(close + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == pid && state != "Z") result[std::stoi(number)] = stat.substr(open + 1, close - open - 1);
  }
  return result;
}

bool eventually(double seconds, const std::function<bool()>& condition) {
  if (sanitized) seconds *= 10;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

namespace {

fs::path only_file_that(const fs::path& directory, const std::string& what,
                        const std::function<bool(const fs::path&)>& is_it) {
  fs::path found;
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (!is_it(entry.path())) continue;
    found = entry.path();
    ++count;
  }
  EXPECT_EQ(count, 1) << what << " in " << directory;
  return found;
}

}  // namespace

fs::path only_file(const fs::path& directory, const std::string& prefix) {
  return only_file_that(directory, prefix,
                        [&](const fs::path& path) { return path.filename().string().starts_with(prefix); });
}

fs::path only_journal(const fs::path& directory) {
  return only_file_that(directory, "journal", [](const fs::path& path) { return path.extension() == ".journal"; });
}

fs::path csv_in(const fs::path& directory, const std::string& prefix) {
  if (!fs::exists(directory)) return {};
  for (const fs::directory_entry& file : fs::directory_iterator(directory)) {
    const std::string name = file.path().filename();
    if (name.starts_with(prefix) && name.ends_with(".csv")) return file.path();
  }
  return {};
}

Rows read_csv(const fs::path& path) {
  const std::string bytes = read_file(path);
  CsvReader reader(bytes);
  Rows rows;
  std::vector<std::string> row;
  while (reader.next(row)) rows.push_back(row);
  return rows;
}

std::vector<std::string> names(const Rows& rows) {
  std::vector<std::string> result;
  for (std::size_t i = 1; i < rows.size(); ++i) result.push_back(rows[i].at(0));
  return result;
}

fs::path dump(const std::string& name) { return fs::path(test_data()) / "dumps" / name / "dump.json"; }
fs::path golden(const std::string& name, const std::string& file) {
  return fs::path(test_data()) / "golden" / name / ("accuracy_checking_" + file + ".csv");
}

}  // namespace msrun::testing
