// Power losses under --durability power. What a run does to its folder is written down, step by step; from that the
// states are made which a power loss at any instant may leave: of whatever was not synced by then each sector of 512
// bytes, each change of a length and each name is there or is not, in any combination. From every state the run is
// continued: no result that a sync had made durable is lost, and the CSVs end as those of an undisturbed run.
//
// The seed is printed. MSRUN_POWER_SEED repeats a sample, MSRUN_POWER_STATES makes more states (12 by default).
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"

namespace msrun::testing {
namespace {

constexpr double deadline = 120;  // seconds for a run that takes less than one
constexpr std::size_t sector = 512;

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// One line of the log of recorded_files.
struct Step {
  std::string what;
  std::uint64_t inode = 0;
  std::int64_t number = 0;
  std::string path;
  std::string bytes;
};

std::vector<Step> steps_in(const fs::path& log) {
  std::istringstream lines(read_file(log));
  std::vector<Step> steps;
  std::size_t size = 0;
  for (Step step; lines >> step.what >> step.inode >> step.number >> size;) {
    lines.get();
    std::getline(lines, step.path);
    step.bytes.resize(size);
    lines.read(step.bytes.data(), static_cast<std::streamsize>(size));
    steps.push_back(step);
  }
  return steps;
}

// Contents of a file: what is certain, and what was done since the last sync.
struct Contents {
  std::string durable;
  std::vector<Step> pending;

  static void apply(const Step& step, std::string& bytes) {
    if (step.what == "truncate") {
      bytes.resize(static_cast<std::size_t>(step.number));
      return;
    }
    const auto offset = static_cast<std::size_t>(step.number);
    if (bytes.size() < offset + step.bytes.size()) bytes.resize(offset + step.bytes.size());
    bytes.replace(offset, step.bytes.size(), step.bytes);
  }
  void sync() {
    for (const Step& step : pending) apply(step, durable);
    pending.clear();
  }
  std::string latest() const {
    std::string bytes = durable;
    for (const Step& step : pending) apply(step, bytes);
    return bytes;
  }
  // After a power loss: sectors of writes arrived or not, in any order.
  std::string survivor(std::mt19937_64& random) const {
    const auto chance = [&](double share) { return std::uniform_real_distribution<>(0, 1)(random) < share; };
    // Mostly one or two of many writes are missing, at times nearly all.
    const double kept = std::array{0.0, 0.5, 0.9, 1.0}[random() % 4];
    std::string bytes = durable;
    for (const Step& step : pending) {
      if (step.what == "truncate") {
        if (chance(kept)) apply(step, bytes);
        continue;
      }
      for (std::size_t at = 0; at < step.bytes.size();) {
        const std::size_t offset = static_cast<std::size_t>(step.number) + at;
        const std::size_t count = std::min(step.bytes.size() - at, sector - offset % sector);
        Step piece = step;
        piece.number = static_cast<std::int64_t>(offset);
        piece.bytes = step.bytes.substr(at, count);
        // What did not arrive is zeros if the length did, as where a block was given to the file but never written.
        if (chance(kept)) {
          apply(piece, bytes);
        } else if (chance(0.3) && bytes.size() < offset + count) {
          bytes.resize(offset + count);
        }
        at += count;
      }
    }
    return bytes;
  }
};

// The folder of a run, as a storage device sees it.
class Storage {
 public:
  // What is there before is durable; a folder that the run makes itself is not.
  explicit Storage(const fs::path& folder) : folder_(folder.string()), folder_is_durable_(fs::exists(folder)) {
    if (!folder_is_durable_) return;
    for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
      if (!file.is_regular_file()) continue;
      struct stat status {};
      ::stat(file.path().c_str(), &status);
      Contents& contents = new_file(status.st_ino);
      contents.durable = read_file(file.path());
      names_[file.path()] = {numbers_[status.st_ino]};
    }
  }

  void take(const Step& step) {
    if (step.what == "create") {
      new_file(step.inode);
    } else if (step.what == "write" || step.what == "truncate") {
      files_[numbers_[step.inode]].pending.push_back(step);
    } else if (step.what == "sync") {
      files_[numbers_[step.inode]].sync();
    } else if (step.what == "sync_folder") {
      sync_folder(step.path);
    } else if (is_in_folder(step.path)) {
      // Names below the folders of devices are no part of the promise: their CSVs are written again.
      if (step.what == "name") names_[step.path].push_back(numbers_[step.inode]);
      if (step.what == "unname") names_[step.path].push_back(0);
    }
  }

  // The journal as far as it is durable; empty if its name is not.
  std::string durable_journal() const {
    if (!folder_is_durable_) return {};
    for (const auto& [path, numbers] : names_) {
      if (path.ends_with(".journal") && numbers.front() != 0) return files_.at(numbers.front()).durable;
    }
    return {};
  }

  // Writes what a power loss now may leave into a folder, which is not there if that is lost as well.
  void lose_power(const fs::path& to, std::mt19937_64& random) const {
    if (!folder_is_durable_ && random() % 2 == 0) return;
    fs::create_directory(to);
    for (const auto& [path, numbers] : names_) {
      const std::uint64_t number = numbers[random() % numbers.size()];
      if (number != 0) write_file(to / fs::path(path).filename(), files_.at(number).survivor(random));
    }
  }

 private:
  Contents& new_file(std::uint64_t inode) {
    numbers_[inode] = files_.size() + 1;
    return files_[files_.size() + 1];
  }

  bool is_in_folder(const std::string& path) const { return fs::path(path).parent_path() == folder_; }

  void sync_folder(const std::string& path) {
    if (path == fs::path(folder_).parent_path()) folder_is_durable_ = true;
    if (path != folder_) return;
    for (auto& [name, numbers] : names_) numbers = {numbers.back()};
  }

  std::string folder_;
  bool folder_is_durable_;
  // Files are numbered from 1 in the order in which they are made, because inodes are used again.
  std::map<std::uint64_t, Contents> files_;
  std::map<std::uint64_t, std::uint64_t> numbers_;  // by inode: the last file that had it
  // By path: the files that it may lead to after a power loss, the durable one first, the latest last; 0 is none.
  struct Candidates : std::vector<std::uint64_t> {
    using std::vector<std::uint64_t>::vector;
    Candidates() : std::vector<std::uint64_t>{0} {}
  };
  std::map<std::string, Candidates> names_;
};

class PowerLoss : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
    seed_ = number_from("MSRUN_POWER_SEED", std::random_device{}());
    std::cout << "MSRUN_POWER_SEED=" << seed_ << '\n';
    random_.seed(seed_);
  }

  static std::vector<std::string> arguments(const fs::path& out) {
    // Calls that keep the device busy, spread over the run, so that what is finished between them is synced between
    // them however fast the machine is.
    return {"-api_info",   dump("llama_fp32"),    "-n", "1", "-d", "0", "--durability", "power",
            "--sim-fault", "*.rsqrt.*=slow=0.03", "-o", out};
  }

  Finished watched(const std::vector<std::string>& args, const std::vector<std::string>& environment = {}) {
    Process run(args, scratch_.path(), environment);
    const bool ended = eventually(deadline, [&] { return !run.running(); });
    EXPECT_TRUE(ended) << "the run hangs";
    if (!ended) run.signal(SIGKILL);
    return run.wait();
  }

  // The steps of a run on what is in the folder.
  std::vector<Step> recorded(const std::vector<std::string>& args, const fs::path& out) {
    const fs::path log = scratch_ / "log";
    fs::remove(log);
    const Finished run = watched(args, {std::string("LD_PRELOAD=") + RECORDED_FILES, "MSRUN_RECORD_DIR=" + out.string(),
                                        "MSRUN_RECORD_LOG=" + log.string(), "MSRUN_RECORD_SPEED=100"});
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    return steps_in(log);
  }

  std::set<std::string> results_in(const std::string& journal) {
    std::set<std::string> names;
    if (journal.empty()) return names;
    const fs::path file = scratch_ / "durable.journal";
    write_file(file, journal);
    const Finished exported = msrun({"journal", file, "--export", "-"}, scratch_.path());
    std::istringstream lines(exported.out);
    for (std::string line; std::getline(lines, line);) names.insert(nlohmann::json::parse(line).value("name", ""));
    return names;
  }

  static std::string journal_in(const fs::path& out) {
    if (!fs::exists(out)) return {};
    for (const fs::directory_entry& file : fs::directory_iterator(out)) {
      if (file.path().extension() == ".journal") return read_file(file.path());
    }
    return {};
  }

  // Continues from what a power loss left, or begins again where it left nothing that was durable.
  void expect_recovery(const fs::path& out, const std::set<std::string>& durable) {
    const std::set<std::string> found = results_in(journal_in(out));
    for (const std::string& name : durable) ASSERT_TRUE(found.contains(name)) << name << " was durable and is lost";
    std::vector<std::string> args = arguments(out);
    if (fs::exists(out)) args.insert(args.end(), {"-csv_path", out / result_name_});
    const Finished again = watched(args);
    if (again.exit_code != 0 && durable.empty()) {
      // Nothing was durable, and what is left is of no use: the run begins again.
      EXPECT_EQ(again.exit_code, 2) << again.out << again.err;
      fs::remove_all(out);
      ASSERT_EQ(watched(arguments(out)).exit_code, 0);
    } else {
      ASSERT_EQ(again.exit_code, 0) << again.out << again.err;
    }
    // Rows that the power loss tore are nowhere else, so that copies of the CSVs may lie beside them.
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_result_")), result_);
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_details_")), details_);
  }

  // Cuts the power `states` times while the steps are made in `before`. Returns the state that has the fewest of the
  // results, but has some.
  fs::path cut_power(const std::vector<Step>& steps, const Storage& before, const fs::path& out, std::uint64_t states) {
    fs::path interesting;
    std::size_t fewest = calls_;
    for (std::uint64_t state = 0; state < states; ++state) {
      // The last one is after the end of the run.
      const std::size_t end = state + 1 == states ? steps.size() : random_() % steps.size() + 1;
      SCOPED_TRACE("state " + std::to_string(state) + " after step " + std::to_string(end) + " of " +
                   std::to_string(steps.size()) + ", seed " + std::to_string(seed_));
      Storage storage = before;
      for (std::size_t i = 0; i < end; ++i) storage.take(steps[i]);
      const std::set<std::string> durable = results_in(storage.durable_journal());
      if (end == steps.size()) {
        EXPECT_EQ(durable.size(), calls_) << "the run has ended, but not all of it is durable";
      }
      fs::remove_all(out);
      storage.lose_power(out, random_);
      if (!durable.empty() && durable.size() < fewest) {
        fewest = durable.size();
        interesting = scratch_ / ("interesting" + std::to_string(state) + "of" + std::to_string(steps.size()));
        fs::copy(out, interesting, fs::copy_options::recursive);
      }
      expect_recovery(out, durable);
      if (HasFailure()) return {};
    }
    return interesting;
  }

  const TemporaryDirectory scratch_;
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::string result_name_;
  std::string result_;
  std::string details_;
  std::size_t calls_ = 0;
};

TEST_F(PowerLoss, LosesNothingThatWasDurable) {
  const std::uint64_t states = number_from("MSRUN_POWER_STATES", 12);
  const fs::path out = scratch_ / "out";
  const Storage nothing(out);
  const std::vector<Step> steps = recorded(arguments(out), out);
  result_name_ = only_file(out, "accuracy_checking_result_").filename();
  result_ = read_file(out / result_name_);
  details_ = read_file(only_file(out, "accuracy_checking_details_"));
  calls_ = results_in(journal_in(out)).size();
  ASSERT_GT(calls_, 100U);
  fs::remove_all(out);
  // How many syncs the continued run makes depends on how much is left to it; the whole run must have made several.
  const auto syncs = std::ranges::count(steps, "sync", &Step::what);
  ASSERT_GT(syncs, 2) << "too few syncs for there to be anything between them";
  const fs::path interesting = cut_power(steps, nothing, out, states);
  if (HasFailure() || interesting.empty()) return;

  // And again while the run is continued.
  fs::remove_all(out);
  fs::copy(interesting, out, fs::copy_options::recursive);
  std::vector<std::string> args = arguments(out);
  args.insert(args.end(), {"-csv_path", out / result_name_});
  const Storage half(out);
  cut_power(recorded(args, out), half, out, states);
}

}  // namespace
}  // namespace msrun::testing
