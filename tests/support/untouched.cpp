#include "tests/support/untouched.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace msrun::testing {

using ::testing::HasSubstr;

std::map<std::string, std::string> snapshot(const fs::path& directory) {
  std::map<std::string, std::string> files;
  if (!fs::exists(directory)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("stdout.") || name.starts_with("stderr.")) continue;
    std::string& contents = files[entry.path().string()];
    if (!entry.is_regular_file()) continue;
    // Only the size of what is huge.
    contents = entry.file_size() > (16U << 20) ? std::to_string(entry.file_size()) : read_file(entry.path());
  }
  return files;
}

std::set<std::string> shared_memory_names() {
  std::set<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm", none))
    names.insert(entry.path().filename());
  return names;
}

int processes_with(const std::string& marker) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_file(entry.path() / "cmdline").find(marker) != std::string::npos) ++count;
  }
  return count;
}

InheritedLimit::InheritedLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
  getrlimit(resource_, &before_);
  const rlimit lowered{value, before_.rlim_max};
  setrlimit(resource_, &lowered);
}

InheritedLimit::~InheritedLimit() { setrlimit(resource_, &before_); }

Untouched::~Untouched() {
  EXPECT_TRUE(eventually(5, [&] { return processes_with(scratch_.path().string()) == 0; })) << "a process is left";
  for (const std::string& name : shared_memory_names()) {
    EXPECT_TRUE(shared_memory_before_.contains(name)) << "left in /dev/shm: " << name;
  }
}

Finished Untouched::expect_refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  std::string command;
  for (const std::string& argument : arguments) command += " " + argument;
  SCOPED_TRACE(command);
  const auto before = snapshot(scratch_.path());
  const Finished run = msrun(arguments, scratch_.path());
  EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
  std::string line = run.err;
  // Warnings about the dump may have been logged before, on stdout.
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_TRUE(line.starts_with("msrun: ")) << line;
  for (const std::string& part : parts) EXPECT_THAT(line, HasSubstr(part));
  EXPECT_TRUE(before == snapshot(scratch_.path())) << "files were changed, made or removed";
  return run;
}

std::string Untouched::write_dump(const std::string& text) {
  const fs::path path = scratch_ / ("dump" + std::to_string(++dumps_) + ".json");
  write_file(path, text);
  return path.string();
}

void Untouched::expect_only_result_files() const {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out())) {
    const std::string name = entry.path().filename().string();
    const bool of_device = entry.is_directory() && name.starts_with("device");
    const bool of_run = name.ends_with(".csv") || name.ends_with(".journal") || name.ends_with(".html");
    const bool known = of_device || (name.starts_with("accuracy_checking_") && of_run);
    EXPECT_TRUE(known) << "left behind: " << name;
  }
}

std::string dump_text(const std::string& data) {
  return R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {)" + data +
         "}}";
}

}  // namespace msrun::testing
