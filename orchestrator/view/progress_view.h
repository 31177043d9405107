// What the user sees while a run goes on: one line redrawn in place on a terminal, a plain line every few seconds in a
// pipe, or one JSON object per event. The views hold no clock: whoever drives them says how much time has passed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "orchestrator/view/console.h"
#include "orchestrator/view/rank_table.h"
#include "runner/results/counts.h"
#include "runner/results/result.h"

namespace msrun {

// What one device works on now.
struct DeviceActivity {
  struct Call {
    std::string name;    // "Functional.conv2d.3"
    double seconds = 0;  // since it began
  };
  int device = 0;
  std::vector<Call> calls;  // one per busy thread
};

struct ProgressState {
  std::uint64_t done = 0;     // calls with a result, those of an earlier run included
  std::uint64_t resumed = 0;  // of these, from the earlier run
  std::uint64_t total = 0;
  double elapsed = 0;  // seconds since the run began
  double left = -1;    // estimated seconds; negative: by the number of calls; infinite: not known
  // Other processes check calls of these as well, so that nobody knows what is left for this one.
  bool with_others = false;
  VerdictCounts counts;
  std::vector<DeviceActivity> devices;
};

// Calls per second of this run, and the seconds left; the latter is negative while it is not known.
double calls_per_second(const ProgressState& state);
double seconds_left(const ProgressState& state);

struct RunStarted {
  std::string api_info;
  std::string result_path;
  std::string details_path;
  std::string journal_path;
  std::string backend;
  TestedOn tested_on = TestedOn::unknown;
  std::vector<int> devices;
  int threads = 0;
  std::uint64_t total = 0;
  std::uint64_t resumed = 0;
  struct RankFiles {
    std::string rank;
    std::string result_path;
    std::string details_path;
  };
  std::vector<RankFiles> ranks;  // of a run over several, whose files these are alone
  bool overflow_check = false;   // whose report names every call by itself
};

struct RunnerDied {
  int device = 0;
  std::string reason;                // "killed by signal 11", "no answer for 1800 s"
  std::vector<std::string> calls;    // it was working on
  std::vector<std::string> skipped;  // of these, what is recorded as SKIP; the others run again
};

// What a run took, by its parts.
struct RunCosts {
  double plan_seconds = 0;
  PhaseTimes phases;               // sums over all threads
  std::uint64_t journal_time = 0;  // nanoseconds
  std::uint64_t csv_time = 0;      // nanoseconds
  // Largest resident sizes in bytes: of this process, and of the devices' runners together.
  std::uint64_t supervisor_peak = 0;
  std::uint64_t runners_peak = 0;
};

// Calls of an overflow check.
struct OverflowCounts {
  std::uint64_t none = 0;      // neither side overflows
  std::uint64_t empty = 0;     // part of none: no output has anything that could
  std::uint64_t normal = 0;    // both do
  std::uint64_t abnormal = 0;  // one does
  std::uint64_t skipped = 0;   // not judged; the next two are parts of it
  std::uint64_t failed_to_run = 0;
  std::uint64_t not_checkable = 0;
};

struct RunFinished {
  bool complete = false;
  int exit_code = 0;
  double elapsed = 0;  // seconds
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  VerdictCounts counts;
  std::map<std::int32_t, std::uint64_t> blamed_devices;  // calls that speak against each
  std::vector<RankCounts> ranks;                         // of a run over several
  RunCosts costs;
  std::string resume_command;              // empty if complete
  std::string report_path;                 // of the HTML report; empty if the run has written none
  std::optional<OverflowCounts> overflow;  // of an overflow check alone
};

class ProgressView {
 public:
  virtual ~ProgressView() = default;
  virtual void run_started(const RunStarted& event) = 0;
  virtual void api_result(const ApiResult& result) = 0;
  // What the run that is continued has found wrong or not checked, before anything else is told.
  virtual void earlier_result(const ApiResult& /*result*/) {}
  virtual void runner_died(const RunnerDied& event) = 0;
  // May be called at any rate; a view shows it as often as suits it.
  virtual void progress(const ProgressState& state) = 0;
  virtual void run_finished(const RunFinished& event) = 0;
};

// width gives the columns of the terminal now. console must outlive the view.
std::unique_ptr<ProgressView> make_terminal_view(Console& console, std::function<std::size_t()> width);

// A line each time interval seconds have passed.
std::unique_ptr<ProgressView> make_plain_view(Console& console, double interval = 5);

// One object per line; progress at most once in interval seconds.
std::unique_ptr<ProgressView> make_json_view(std::ostream& out, double interval = 1);

// The view that suits where stdout goes: the terminal view needs one that can redraw a line, which TERM=dumb and none
// deny.
std::unique_ptr<ProgressView> make_stdout_view(Console& console);

// The line of the terminal view, at most width columns: how far the run is, what is suspicious, the call that runs for
// the longest time, and whatever else there is room for.
std::string terminal_line(const ProgressState& state, std::size_t width, const Paint& paint = Paint());
// That of the plain view.
std::string plain_line(const ProgressState& state);

// Sends log lines "YYYY-MM-DD HH:MM:SS (pid) [LEVEL] text" of spdlog's default logger to console, or in the form of the
// old layout "YYYY-MM-DD HH:MM:SS(pid)-[LEVEL]text". Level by MSPROBE_LOG_LEVEL 0..4: DEBUG INFO WARNING ERROR none
// (default 1). console must outlive all logging.
enum class LogForm : std::uint8_t { current, att };
void setup_logging(Console& console, LogForm form = LogForm::current);

}  // namespace msrun
