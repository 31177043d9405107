#include "tools/shrink/command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/own_programs.h"
#include "kernels/base/text.h"
#include "kernels/base/version.h"
#include "kernels/io/files/paths.h"
#include "runner/results/result.h"
#include "tools/shrink/attempts.h"
#include "tools/shrink/cause.h"
#include "tools/shrink/source.h"
#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* smallest_name = "smallest";
constexpr const char* same_shape_name = "same_shape";
// What the smallest may take of the time; what it leaves goes to the values of the same shape.
constexpr double share_of_smallest = 0.7;
// The runs that confirm both take at most this share.
constexpr double most_to_confirm = 0.5;

// The folder of the results, which is new or empty. Unless keep() is called, nothing is left of it.
class OutputFolder {
 public:
  explicit OutputFolder(const std::string& path) : path_(path) {
    std::error_code error;
    if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error)))
      throw UserError("-o: " + sanitised(path) + (fs::is_directory(path, error) ? " is not empty" : " is no folder"));
    directory_.emplace(path);
    // Runs find out by it that the folder has been removed.
    if (!fs::create_directory(work(), error)) {
      throw WriteError("The folder " + sanitised(work()) + " cannot be made: " + error.message() + ".", error.value());
    }
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder() {
    std::error_code error;
    fs::remove_all(work(), error);
    if (is_kept_) return;
    for (const char* name : {smallest_name, same_shape_name}) fs::remove_all(join_path(path_, name), error);
  }

  const std::string& path() const { return path_; }
  std::string work() const { return join_path(path_, ".work"); }
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  std::optional<PreparedDirectory> directory_;
  bool is_kept_ = false;
};

// How a result came about, and what it is worth.
struct Found {
  std::string name;
  Size size;
  std::string shapes;
  std::string message;  // of the last run
  int failed = 0;       // of so many runs; 0 runs: it was interrupted before
  int runs = 0;
  std::string script;  // what became of the script that reproduces it; a clause
};

class Command {
 public:
  explicit Command(const Options& options)
      : options_(options),
        begun_(Clock::now()),
        source_(find_source(options_)),
        call_(read_call(source_, options_.api)),
        folder_(options.output),
        trial_(words_of_the_run(), join_path(folder_.work(), "run")) {}

  int run() {
    if (!see_it_fail()) return exit_fail_on;
    trial_.share_workers(backend_);
    Attempts attempts(trial_, *cause_, attempt_options());
    const Recording whole = recorded();
    attempts.publish(whole, smallest_name);
    attempts.publish(whole, same_shape_name);
    const Attempts::Failures seen =
        attempts.count_failures(same_shape_name, options_.api, options_.times, end_of_time());
    if (seen.failed < options_.times) return refuse_unsteady(seen);
    folder_.keep();

    whole_size_ = size_of(whole);
    Best smallest{whole, smallest_name, {}};
    Best same_shape{whole, same_shape_name, {}};
    search(attempts, smallest, same_shape);
    // A call that fails to run does not say where. Where it fails without the backward the smallest has none.
    runs_backward_ = cause_->row.empty() ? smallest.recording.call.has_backward : cause_->is_backward;
    confirm(attempts, smallest);
    confirm(attempts, same_shape);
    attempts.end_progress();
    report(attempts.runs());
    return Interrupts::came() ? exit_incomplete : exit_completed;
  }

 private:
  std::vector<std::string> words_of_the_run() const {
    std::vector<std::string> words;
    for (const OptionWords& option : source_.options) append_words(option, words);
    if (source_.device) words.insert(words.end(), {"-d", std::to_string(*source_.device)});
    return words;
  }

  AttemptOptions attempt_options() const {
    AttemptOptions attempts;
    attempts.times = options_.times_of_a_step;
    attempts.anywhere = has_recorded_results();
    attempts.deadline = deadline(1);
    attempts.output = folder_.path();
    attempts.work = folder_.work();
    return attempts;
  }

  // Nothing is run any more after that.
  Clock::time_point end_of_time() const {
    return begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
  }

  // A share of the time that is left for the search.
  Clock::time_point deadline(double share) const {
    const double to_confirm = std::min(2 * options_.times * seconds_of_a_run_, options_.seconds * most_to_confirm);
    const std::chrono::duration<double> seconds((options_.seconds - to_confirm) * share);
    return begun_ + std::chrono::duration_cast<Clock::duration>(seconds);
  }

  bool has_recorded_results() const { return backend_ == "recorded"; }

  TrialResult first_run(const std::vector<std::string>& input) const {
    try {
      return trial_.run(input, options_.api, end_of_time());
    } catch (const SearchEnds&) {
      if (Interrupts::came()) throw;
      throw UserError(options_.api + " gave no result within --time " + short_number(options_.seconds) +
                      " s: give it more, or of a call that hangs a --task-timeout of a tenth of --time");
    }
  }

  // Runs the call as it was recorded; false, with a line that says so, if it is not suspicious.
  bool see_it_fail() {
    std::vector<std::string> input = input_words(source_);
    const Clock::time_point start = Clock::now();
    const TrialResult found = first_run(input);
    seconds_of_a_run_ = std::chrono::duration<double>(Clock::now() - start).count();
    if (!found.result) {
      throw UserError(options_.api + " could not be run" + (found.complaint.empty() ? "" : ": " + found.complaint));
    }
    backend_ = found.backend;
    if (source_.inputs && found.result->inputs != 0 && found.result->inputs != *source_.inputs) {
      std::cerr << "shrink: in the run " << sanitised(options_.api)
                << " had other inputs than it has when it is run alone, which are those that are shrunk\n";
    }
    cause_ = cause_of(*found.result);
    if (cause_) {
      name_backend();
      return true;
    }
    const bool checked = found.result->outcome == Outcome::checked;
    std::cerr << "shrink: " << sanitised(options_.api)
              << (checked ? " is not suspicious on " + backend_
                          : " is not checked: " + sanitised(found.result->message))
              << '\n';
    return false;
  }

  // "auto" may mean another device for a recording with other files.
  void name_backend() {
    const bool named = std::ranges::any_of(source_.options, [](const OptionWords& words) {
      return words.front() == "--backend" && words.back() != "auto";
    });
    if (named || backend_.empty()) return;
    std::erase_if(source_.options, [](const OptionWords& words) { return words.front() == "--backend"; });
    source_.options.insert(source_.options.begin(), {"--backend", backend_});
    trial_.set_options(words_of_the_run());
  }

  Recording recorded() const {
    MaterialiseOptions data = data_of(source_);
    MersenneTwister stream(static_cast<std::uint32_t>(data.seed));
    const bool is_stream = std::ranges::any_of(source_.options, [](const OptionWords& words) {
      return words.front() == "--seed-mode" && words.back() == "stream";
    });
    if (is_stream) data.stream = &stream;
    try {
      Recording result = record(call_.call, data, has_recorded_results());
      result.origin = call_.origin;
      return result;
    } catch (const SkipError& error) {
      throw UserError(options_.api + ": " + error.what());
    }
  }

  int refuse_unsteady(const Attempts::Failures& seen) const {
    if (Interrupts::came()) throw SearchEnds();
    // The last run is one that failed: there was no time for another.
    if (seen.failed == seen.runs) {
      throw UserError(options_.api + " was run " + std::to_string(seen.runs) + " of " + std::to_string(options_.times) +
                      " times, as it is written with its data, when --time " + short_number(options_.seconds) +
                      " s was up: give it more, or of a call that hangs a shorter --task-timeout");
    }
    std::cerr << "shrink: " << sanitised(options_.api) << ", written with its data, failed for the same cause "
              << (seen.failed == 0 ? "not even once" : "only " + std::to_string(seen.failed) + " times in a row")
              << " of " << options_.times << ": it does not fail the same way every time\n";
    return exit_fail_on;
  }

  void search(Attempts& attempts, Best& smallest, Best& same_shape) {
    try {
      attempts.set_deadline(deadline(share_of_smallest));
      if (has_recorded_results()) {
        mend_results(smallest, attempts);
      } else {
        if (!cause_->is_backward) drop_backward(smallest, attempts);
        shorten_all_axes(smallest, attempts);
        drop_arguments(smallest, attempts);
        shorten_axes(smallest, attempts);
        simplify_values(smallest, attempts);
      }
    } catch (const SearchEnds&) {
      is_cut_short_ = true;
    }
    if (Interrupts::came()) return;
    try {
      attempts.set_deadline(deadline(1));
      if (has_recorded_results()) {
        same_shape.recording = smallest.recording;
        attempts.publish(same_shape.recording, same_shape_name);
      } else {
        simplify_values(same_shape, attempts);
      }
    } catch (const SearchEnds&) {
      is_cut_short_ = true;
    }
  }

  // Runs a result as it lies there. One that does not fail every time gives way to the one before it.
  void confirm(Attempts& attempts, Best& best) {
    Found found{best.name, {}, {}, {}, 0, 0, {}};
    while (!Interrupts::came()) {
      const Attempts::Failures seen = attempts.count_failures(best.name, options_.api, options_.times, end_of_time());
      found.failed = seen.failed;
      found.runs = seen.runs;
      if (const auto now = cause_of(attempts.last_result())) found.message = now->message;
      const bool came_to_end = seen.runs == options_.times || seen.failed < seen.runs;
      if (!came_to_end) is_cut_short_ = true;
      if (seen.failed == options_.times || best.earlier.empty() || !came_to_end) break;
      best.recording = std::move(best.earlier.back());
      best.earlier.pop_back();
      attempts.publish(best.recording, best.name);
    }
    found.size = size_of(best.recording);
    found.shapes = shapes_text(best.recording);
    found.script = make_script(best);
    found_.push_back(std::move(found));
  }

  // The script lies beside dump.json and reads the same tensors. That a call has none is no error.
  std::string make_script(const Best& best) const {
    const std::string program = own_program("op_generate");
    if (Interrupts::came() || access(program.c_str(), X_OK) != 0) return {};
    const std::string folder = join_path(folder_.path(), best.name);
    const std::string log = join_path(folder_.work(), "script.log");
    try {
      const int code =
          run_program({program, "--api", options_.api, "-i", join_path(folder, "dump.json"), "-o", folder,
                       "--data_mode", "real_data", "--propagation", runs_backward_ ? "backward" : "forward"},
                      log, Clock::now() + std::chrono::seconds(30));
      return code == exit_completed ? "with a Python script that runs it" : "without a script: " + last_line(log);
    } catch (const SearchEnds&) {
      return "without a script";
    }
  }

  std::string line_of(const Found& found) const {
    std::string line = found.name + ": " + std::to_string(found.size.elements) + " of " +
                       std::to_string(whole_size_.elements) + " elements, " + std::to_string(found.size.not_zero) +
                       " of them not zero (before: " + std::to_string(whole_size_.not_zero) + "): " + found.shapes;
    line += found.runs == 0 ? "; not run again"
                            : "; failed for the same cause " + std::to_string(found.failed) + " of " +
                                  std::to_string(found.runs) + " times";
    if (!found.script.empty()) line += "; " + found.script;
    return line;
  }

  void report(std::int64_t runs) const {
    const std::string place = cause_->row.empty() ? "" : cause_->row + ": ";
    std::string text = options_.api + " on " + backend_ + ": " + place + cause_->message + "\n";
    std::string readme = text + "\n";
    for (const Found& found : found_) {
      const std::string message = found.message.empty() ? "" : "  " + found.message + "\n";
      text += join_path(folder_.path(), line_of(found)) + "\n" + message;
      readme += line_of(found) + "\n" + message;
      readme += "  " + trial_.command(found.name + "/dump.json") + "\n\n";
    }
    std::string end = std::to_string(runs) + " runs of msrun " + std::string(program_version());
    if (Interrupts::came()) {
      end += "; interrupted before it was done";
    } else if (is_cut_short_) {
      end += "; the time was up before it was done, --time gives more";
    }
    AtomicFile file(OwnName{join_path(folder_.path(), "README.txt")});
    file.write(readme + end + "\n");
    file.commit();
    std::cout << visible(text) << end << std::endl;
  }

  Options options_;
  Clock::time_point begun_;
  Source source_;
  CallOfRecording call_;
  OutputFolder folder_;
  Trial trial_;
  std::string backend_;
  double seconds_of_a_run_ = 0;
  std::optional<Cause> cause_;
  Size whole_size_;
  bool runs_backward_ = false;  // the scripts: in the direction of the cause
  bool is_cut_short_ = false;
  std::vector<Found> found_;
};

}  // namespace

int run(const Options& options) {
  const Interrupts interrupts;
  try {
    return Command(options).run();
  } catch (const SearchEnds&) {
    std::cerr << "shrink: interrupted before there was a result; nothing is left in " << sanitised(options.output)
              << '\n';
    return exit_incomplete;
  }
}

}  // namespace msrun::shrink
