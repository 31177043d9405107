// Calls to the system fail once, one after the other, in a run and in one that continues: open, close, read, fork,
// mmap, the making of descriptors, the start of threads, allocations. Whichever it is, the run ends, says what was
// wrong, keeps what it had finished, and can be continued to the files of an undisturbed one.
//
// Tried is a sample of the calls of each kind; its seed is printed. MSRUN_FAULT_SEED repeats a sample,
// MSRUN_FAULT_POINTS says how many calls of a kind are tried (4 by default; "all" for each of them).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "tests/e2e/preload/fault_state.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Seconds within which a run that takes a tenth of one has ended.
constexpr double deadline = 60;

// The counters that the program under test shares with us.
class Counters {
 public:
  explicit Counters(const fs::path& path) : path_(path) {
    write_file(path, std::string(sizeof(FaultState), '\0'));
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    memory_ = mmap(nullptr, sizeof(FaultState), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory_ == MAP_FAILED) throw std::runtime_error("cannot map " + path.string());
  }
  ~Counters() { munmap(memory_, sizeof(FaultState)); }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  FaultState& state() const { return *static_cast<FaultState*>(memory_); }
  std::uint64_t calls(std::size_t kind) const { return state().calls[kind].load(); }

 private:
  fs::path path_;
  void* memory_ = nullptr;
};

// What can go wrong with a call of a kind.
int error_of_call(std::size_t kind, std::uint64_t call) {
  static const std::map<std::string_view, std::vector<int>> errors{{"open", {EMFILE, EACCES, EIO}},
                                                                   {"close", {EIO}},
                                                                   {"read", {EIO}},
                                                                   {"fork", {EAGAIN, ENOMEM}},
                                                                   {"mmap", {ENOMEM}},
                                                                   {"descriptor", {EMFILE}},
                                                                   {"thread", {EAGAIN}},
                                                                   {"allocation", {ENOMEM}}};
  const std::vector<int>& codes = errors.at(fault_kinds[kind]);
  return codes[call % codes.size()];
}

std::uint64_t points_from_environment() {
  const char* text = std::getenv("MSRUN_FAULT_POINTS");
  if (text == nullptr) return 4;
  if (std::string_view(text) == "all") return std::numeric_limits<std::uint64_t>::max();
  return std::strtoull(text, nullptr, 10);
}

// Which of the calls 1..calls are tried. Nine tenths of the allocations are those of the start; so half of the sample
// is from the last third, where that has as many.
std::set<std::uint64_t> sample(std::uint64_t calls, std::mt19937_64& random) {
  const std::uint64_t points = points_from_environment();
  std::set<std::uint64_t> chosen;
  if (points >= calls) {
    for (std::uint64_t call = 1; call <= calls; ++call) chosen.insert(call);
    return chosen;
  }
  const auto draw_from = [&](std::uint64_t first, std::uint64_t size) {
    while (chosen.size() < size) chosen.insert(std::uniform_int_distribution<std::uint64_t>(first, calls)(random));
  };
  const std::uint64_t last_third = calls - calls / 3;
  draw_from(last_third, std::min(points / 2, calls - last_third + 1));
  draw_from(1, points);
  return chosen;
}

class FailingCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
    const char* seed = std::getenv("MSRUN_FAULT_SEED");
    seed_ = seed == nullptr ? std::random_device{}() : std::strtoull(seed, nullptr, 10);
    std::cout << "MSRUN_FAULT_SEED=" << seed_ << '\n';
    random_.seed(seed_);
    const Finished run = watched(arguments(calm()), counted());
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
    result_ = read_file(csv_in(calm(), "accuracy_checking_result_"));
    details_ = read_file(csv_in(calm(), "accuracy_checking_details_"));
  }

  fs::path calm() const { return scratch_ / "calm"; }

  static std::vector<std::string> arguments(const fs::path& out) {
    return {"-api_info", dump("npu_fused_synth_fp32"), "-n",  "2", "-d", "0", "1", "-o",
            out,         "--message-format",           "json"};
  }

  static std::vector<std::string> continued(const fs::path& out) {
    std::vector<std::string> all = arguments(out);
    if (const fs::path csv = csv_in(out, "accuracy_checking_result_"); !csv.empty()) {
      all.insert(all.end(), {"-csv_path", csv, "--retry-skip"});
    }
    return all;
  }

  std::vector<std::string> counted() const {
    return {std::string("LD_PRELOAD=") + FAILING_CALLS, "MSRUN_FAULT_STATE=" + (scratch_ / "state").string()};
  }

  // The run must end by itself.
  Finished watched(const std::vector<std::string>& args, const std::vector<std::string>& environment = {}) {
    Process run(args, scratch_.path(), environment);
    const bool ended = eventually(deadline, [&] { return !run.running(); });
    EXPECT_TRUE(ended) << "the run hangs";
    if (!ended) run.signal(SIGKILL);
    const Finished finished = run.wait();
    EXPECT_TRUE(eventually(10, [&] { return processes_with(scratch_.path().string()) == 0; })) << "a process is left";
    return finished;
  }

  // Leaves the files of a run that was killed while it wrote a batch: one call hangs, others are finished, and the
  // journal ends with half a frame.
  void killed_run(const fs::path& out) const {
    std::vector<std::string> words = arguments(out);
    words.insert(words.end(), {"--sim-fault", "NPU.npu_mish.0=hang"});
    Process run(words, scratch_.path());
    ASSERT_TRUE(eventually(deadline, [&] {
      const fs::path csv = fs::exists(out) ? csv_in(out, "accuracy_checking_result_") : fs::path();
      return !csv.empty() && read_csv(csv).size() > 10;
    }));
    run.signal(SIGKILL);
    run.wait();
    ASSERT_TRUE(eventually(10, [&] { return processes_with(scratch_.path().string()) == 0; }));
    const std::string whole = read_file(only_journal(calm()));
    const std::string frame = whole.substr(whole.rfind("\xF7\x4A\x46\x8B"));
    std::ofstream(only_journal(out), std::ios::app | std::ios::binary) << frame.substr(0, frame.size() / 2);
  }

  // Calls that the run told to be finished.
  static std::set<std::string> shown(const std::string& events) {
    std::set<std::string> names;
    std::istringstream lines(events);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
      if (event.is_object() && event.value("type", "") == "api_result") names.insert(event.value("name", ""));
    }
    return names;
  }

  // Calls whose results the journal in a folder holds.
  std::set<std::string> kept(const fs::path& out) const {
    std::set<std::string> names;
    for (const fs::directory_entry& file : fs::directory_iterator(out)) {
      if (file.path().extension() != ".journal") continue;
      const Finished exported = msrun({"journal", file.path(), "--export", "-"}, scratch_.path());
      EXPECT_EQ(exported.exit_code, 0) << exported.err;
      std::istringstream lines(exported.out);
      for (std::string line; std::getline(lines, line);) names.insert(nlohmann::json::parse(line).value("name", ""));
    }
    return names;
  }

  void expect_the_calm_files(const fs::path& out) const {
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_result_")), result_);
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_details_")), details_);
    for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name.ends_with(".csv") || name.ends_with(".journal") || name.ends_with(".html") ||
                  name.starts_with("device"))
          << name;
    }
  }

  // One call of a kind fails in a run on the files that prepare() leaves in a folder.
  void try_call(std::size_t kind, std::uint64_t call, const fs::path& out, bool begins) {
    const std::set<std::string> before = begins ? std::set<std::string>() : kept(out);
    Counters counters(scratch_ / "state");
    std::vector<std::string> environment = counted();
    environment.insert(environment.end(),
                       {"MSRUN_FAULT_KIND=" + std::string(fault_kinds[kind]), "MSRUN_FAULT_AT=" + std::to_string(call),
                        "MSRUN_FAULT_ERRNO=" + std::to_string(error_of_call(kind, call))});
    const Finished run = watched(begins ? arguments(out) : continued(out), environment);
    SCOPED_TRACE("exit code " + std::to_string(run.exit_code) + "\n" + run.out.substr(0, 4000) + run.err);
    // 4 only where memory is missing at a place that knows no way back.
    const bool may_be_4 = fault_kinds[kind] == "allocation";
    ASSERT_THAT(run.exit_code, AnyOf(0, 2, 3, may_be_4 ? 4 : 0));
    if (counters.state().failed.load() == 0) {
      EXPECT_EQ(run.exit_code, 0);
    }
    if (run.exit_code != 0) {
      EXPECT_THAT(run.err + run.out, Not(IsEmpty()));
      EXPECT_THAT(run.err + run.out, Not(HasSubstr("internal error")));
      EXPECT_THAT(run.err + run.out, Not(HasSubstr("terminate called")));
      if (run.exit_code == 4) {
        EXPECT_THAT(run.err, HasSubstr("not enough memory"));
      }
    }
    if (begins && run.exit_code == 2) {
      EXPECT_TRUE(!fs::exists(out) || fs::is_empty(out)) << "a file of a run that never began";
      return;
    }
    const std::set<std::string> after = kept_if_any(out);
    for (const std::set<std::string>& names : {shown(run.out), before}) {
      for (const std::string& name : names) EXPECT_TRUE(after.contains(name)) << name << " is lost";
    }
    if (csv_in(out, "accuracy_checking_result_").empty()) {
      EXPECT_THAT(after, IsEmpty()) << "results without a CSV";
    }
    const Finished again = watched(continued(out));
    EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
    expect_the_calm_files(out);
  }

  std::set<std::string> kept_if_any(const fs::path& out) const {
    return fs::exists(out) ? kept(out) : std::set<std::string>();
  }

  void try_all(const fs::path& initial, bool begins) {
    const fs::path out = scratch_ / "out";
    const auto prepare = [&] {
      fs::remove_all(out);
      if (!begins) fs::copy(initial, out, fs::copy_options::recursive);
    };
    prepare();
    std::array<std::uint64_t, fault_kinds.size()> calls{};
    {
      const Counters counters(scratch_ / "state");
      const Finished calm = watched(begins ? arguments(out) : continued(out), counted());
      ASSERT_EQ(calm.exit_code, 0) << calm.out << calm.err;
      for (std::size_t kind = 0; kind < calls.size(); ++kind) calls[kind] = counters.calls(kind);
    }
    for (std::size_t kind = 0; kind < calls.size(); ++kind) {
      EXPECT_GT(calls[kind], 0U) << fault_kinds[kind] << " is not seen";
      for (const std::uint64_t call : sample(calls[kind], random_)) {
        SCOPED_TRACE(std::string(fault_kinds[kind]) + " " + std::to_string(call) + " of " +
                     std::to_string(calls[kind]) + ", seed " + std::to_string(seed_));
        prepare();
        try_call(kind, call, out, begins);
        if (HasFailure()) return;
      }
    }
  }

  const TemporaryDirectory scratch_;
  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::string result_;
  std::string details_;
};

TEST_F(FailingCalls, OfARun) { try_all({}, true); }

TEST_F(FailingCalls, OfARunThatContinues) {
  const fs::path half = scratch_ / "half";
  killed_run(half);
  try_all(half, false);
}

}  // namespace
}  // namespace msrun::testing
