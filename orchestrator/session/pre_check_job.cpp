#include "orchestrator/session/pre_check_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include <spdlog/spdlog.h>

#include "journal/replaceable.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/text.h"
#include "kernels/inventory/listed_names.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/named_output.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/command/sharing_options.h"
#include "orchestrator/output/run_paths.h"
#include "orchestrator/session/csv_evidence.h"
#include "orchestrator/session/run_journal.h"
#include "orchestrator/session/run_report.h"
#include "orchestrator/view/slowest.h"
#include "runner/results/not_counted.h"

namespace msrun {
namespace {

// What a list of the configuration may name: an API that msProbe knows, checked or not, so that its files can be used,
// and any that is checked here.
bool may_be_listed(std::string_view api) { return is_listed_name(api) || is_known_api(api); }

// For --durability power. Until a result is on the storage device, up to a tenth of a second and one sync come on top.
constexpr std::chrono::milliseconds power_sync_delay{250};

// files: of the run that is continued, or that are about to be made; empty while their names are not known.
void check_junit_apart(const SessionState& session, const RunFiles& files) {
  const Options& options = session.options;
  const std::string& path = options.junit_path;
  check_apart("--junit", path,
              {{"the recording", options.api_info},
               {"the recording", options.forward},
               {"the recording", options.backward},
               {"the configuration", options.config_path},
               {"the journal", files.journal},
               {"the result file", files.result},
               {"the details file", files.details},
               {"the report", files.report}});
  require_replaceable("--junit", path);
  require_file_output("--junit", path);
  const auto check_pair = [&](const RunFiles& pair) {
    check_apart("--junit", path, {{"the result file", pair.result}, {"the details file", pair.details}});
  };
  for (const PlannedRank& rank : session.plan.ranks()) {
    check_apart("--junit", path, {{"the recording", rank.path}});
    check_outside_tensors("--junit", path, rank.path);
    if (!files.directory.empty()) check_pair(rank_files(files.directory, rank.calls.rank, files.stamp));
  }
  if (files.directory.empty()) return;
  for (const int device : options.devices) {
    check_pair(run_files(join_path(files.directory, "device" + std::to_string(device)), files.stamp));
  }
}

// From the journal, or without it from both CSVs.
bool can_resume(const RunFiles& files) {
  return path_exists(files.journal) || (path_exists(files.result) && path_exists(files.details));
}

// Whoever searches the log for "Successfully" finds it where all calls were checked that could be.
void say_success(const VerdictCounts& counts) {
  const std::uint64_t all = counts.total() + counts.skip;
  if (counts.nothing_compared > 0 && counts.compared() > 0) {
    spdlog::warn("{} of {} calls {} no output that can be compared: nothing of {} was checked.",
                 counts.nothing_compared, all, counts.nothing_compared == 1 ? "has" : "have",
                 counts.nothing_compared == 1 ? "it" : "them");
  }
  if (all == 0) {
    spdlog::error("Nothing was checked: there was no call to check.");
  } else if (counts.compared() == 0) {
    spdlog::error(
        "Nothing was checked: of {} calls {} failed to run, {} cannot be checked as they were recorded, {} are left "
        "out by rule, {} have no output to compare.",
        all, counts.failed_to_run, counts.not_checkable, counts.skipped_by_rule, counts.nothing_compared);
  } else if (counts.failed_to_run > 0) {
    spdlog::warn("Completed acc_check/multi_acc_check, but {} of {} calls failed to run.", counts.failed_to_run, all);
  } else {
    spdlog::info("Successfully completed acc_check/multi_acc_check.");
  }
}

// The calls that the pre-check of the framework is not for leave no row.
void log_left_out(const Plan& plan) {
  const RecordingContents& contents = plan.contents();
  if (!plan.dialect().leaves_out_calls() || contents.modules == 0) return;
  std::string types;
  for (const auto& [type, count] : contents.left_out_by_type) {
    types += (types.empty() ? "" : ", ") + sanitised(type) + " " + std::to_string(count);
  }
  spdlog::info("Entries that acc_check is not for: {} ({}).", contents.modules, types);
}

void log_times(const SessionState& session, const ResultStore& results) {
  const PhaseTimes& times = results.times();
  const auto seconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; };
  spdlog::debug(
      "seconds: plan {:.3f}; all threads: materialise {:.3f}, device {:.3f}, benchmark {:.3f}, compare {:.3f}; "
      "journal {:.3f}, CSV {:.3f}; whole run {:.3f}",
      session.plan_seconds, seconds(times.materialise), seconds(times.device), seconds(times.benchmark),
      seconds(times.compare), seconds(results.journal_time()), seconds(results.csv_time()),
      steady_seconds() - session.started);
}

}  // namespace

void PreCheckJob::configure(const Options& options) {
  resumed_ = !options.csv_path.empty();
  form_ = make_run_form(options.layout);
  if (!options.taken_over.empty()) spdlog::info("From the journal: {}", options.taken_over);
  config_ = load_config(options.config_path, may_be_listed);
  if (!config_.found_yaml.empty()) spdlog::info("Configuration found in {}", sanitised(config_.found_yaml));
  for (const std::string& notice : config_.notices) spdlog::warn("{}", notice);
  form_->check(options, config_);
}

void PreCheckJob::select(const Options& options, PlanOptions& plan_options) const {
  plan_options.refusal = [this, compat = options.compat_msprobe](const Dialect& dialect, const std::string& name) {
    Refusal refusal = dialect.check_refusal(
        name, [this](std::string_view api) { return config_.list_verdict(api) == ListVerdict::run; });
    if (!compat && !refusal.plain.empty()) refusal.reason = refusal.plain;
    return refusal;
  };
  plan_options.layout = options.layout;
  plan_options.filter_duplicates = options.filter_api;
  plan_options.filter_compat = options.filter_compat;
}

void PreCheckJob::inspect(const SessionState& session) const { log_left_out(session.plan); }

void PreCheckJob::check_files(const SessionState& session) const {
  const Options& options = session.options;
  check_junit_apart(session, resumed_ ? resumed_run_files(options.csv_path) : RunFiles());
  if (!resumed_) form_->check_output(options);
}

void PreCheckJob::choose_files(const SessionState& session) {
  const Options& options = session.options;
  if (resumed_) files_ = resumed_run_files(options.csv_path);
  // What cannot be written is refused before anything runs, and so is what would replace an input.
  check_junit_apart(session, files_);
  if (!options.junit_path.empty()) junit_.emplace(options.junit_path);
  junit_facts_ = {.recording = recording_of(options),
                  .started = unix_seconds(),
                  .planned = shared_calls(session),
                  .documented = options.junit_status == JunitStatus::documented};
  takes_leases_ = options.steal;
  if (resumed_) {
    std::error_code ignored;
    if (options.out_path_given && !std::filesystem::equivalent(options.out_path, files_.directory, ignored)) {
      spdlog::warn("-o {}: a run that is continued writes to the directory it began in, {}.", options.out_path,
                   files_.directory);
    }
    return;
  }
  form_->prepare(options);
}

// Files and folders of a fresh run under the first time stamp that no other run has taken.
void PreCheckJob::begin(const SessionState& session, const CsvStyle& style) {
  files_ = form_->fresh_files(session.options, [&](const RunFiles& files) {
    check_junit_apart(session, files);
    if (has_rank_files(session.plan, files)) return false;
    if (!open_error_data(session, files)) return false;
    journal_ = begin_journal(session, files.journal, style, new_journal_,
                             {.error_data = error_data_ ? folder_identity(*error_data_) : std::string()});
    if (!journal_) new_error_data_.remove();
    return journal_.has_value();
  });
}

// Whether a rank has files of that stamp.
bool PreCheckJob::has_rank_files(const Plan& plan, const RunFiles& files) {
  return std::ranges::any_of(plan.ranks(), [&](const PlannedRank& rank) {
    const RunFiles of_rank = rank_files(files.directory, rank.calls.rank, files.stamp);
    return path_exists(of_rank.result) || path_exists(of_rank.details);
  });
}

// False for a fresh run if another run has the folder of that stamp. earlier: what the journal of a run that is
// continued says of its folder.
bool PreCheckJob::open_error_data(const SessionState& session, const RunFiles& files, const EarlierErrorData& earlier) {
  if (!session.options.save_error_data) return true;
  const Folder place(form_->error_data_place(config_, session.options, files));
  const Dialect& dialect = session.plan.dialect();
  const bool several_devices = session.options.command == Command::multi_acc_check;
  std::string name = dialect.error_data_folder(files.stamp, several_devices);
  if (resumed_) {
    name = continued_error_data(place, dialect, files.stamp, several_devices, earlier);
  } else if (!files.stamp.empty() && name.find(files.stamp) != std::string::npos) {
    if (!place.make_new(name)) return false;
    new_error_data_.created(place.path_of(name));
  } else {
    make_room_for_error_data(place, name, files.stamp);
    if (place.make_new(name)) new_error_data_.created(place.path_of(name));
  }
  error_data_ = place.subfolder(name);
  hold_error_data(*error_data_);
  return true;
}

ResultStore& PreCheckJob::open(const SessionState& session) {
  const Options& options = session.options;
  report_wanted_ = wants_report(options);
  names_ = form_->shown_names(session.plan);
  own_view_ = form_->wrap(session.plan, names_, session.stdout_view,
                          [this](std::uint32_t task) { return task < earlier_.size() && earlier_[task]; });
  view_ = own_view_ ? own_view_.get() : &session.stdout_view;
  const CsvStyle style{config_.precision,       options.english_titles,       !options.compat_msprobe,
                       &session.plan.dialect(), form_->has_pair_per_device(), &names_};
  std::optional<EarlierRun> earlier;
  if (resumed_) {
    earlier = reopen_run(session, files_, style, new_journal_);
    if (earlier->is_imported) require_rows_of_recording(session, *earlier, files_.result);
    tensors_were_kept_ = earlier->error_data.kept;
    open_error_data(session, files_, earlier->error_data);
    journal_.emplace(std::move(earlier->journal));
    attempts_ = std::move(earlier->attempts);
    notes_ = std::move(earlier->notes);
    is_imported_ = earlier->is_imported;
  } else {
    begin(session, style);
  }
  results_.emplace(session.plan.size(), options.devices, files_, style, *journal_, *view_);
  RankList ranks;
  for (const PlannedRank& rank : session.plan.ranks()) ranks.push_back(&rank.calls);
  for (const RankCalls* rank : ranks) ranks_.push_back(rank->rank);
  results_->in_ranks(std::move(ranks));
  if (options.durability == Durability::power) results_->sync_within(power_sync_delay);
  const auto calls = static_cast<std::uint32_t>(session.plan.size());
  if (options.same_on_all) results_->join(WorkItems(calls, static_cast<std::uint32_t>(options.devices.size())));
  if (earlier) {
    not_counted_ = not_counted_text(earlier->kept.results);
    results_->keep(std::move(earlier->kept));
    restore(options, session.plan, std::move(earlier->results));
    for (const ResultPart& part : earlier->parts) results_->restore(part);
  } else {
    results_->open_fresh_csvs();
    new_journal_.keep();
    new_error_data_.keep();
  }
  return *results_;
}

void PreCheckJob::instruct(const SessionState& session, SupervisorOptions& supervision) {
  const Options& options = session.options;
  if (resumed_) {
    show_earlier();
    warn_of_tensors_not_kept(session.plan);
    tell_earlier(session);
  }
  put_suspects_last(session.plan, supervision);
  CompareOptions& compare = supervision.check.compare;
  compare.policy = options.standard;
  compare.limits = options.limits;
  compare.compat_msprobe = options.compat_msprobe || options.layout == ReportLayout::att_raw;
  supervision.check.materialise.fit_drawn = !compare.compat_msprobe;
  compare.max_abs_error = options.max_abs_error;
  compare.quantization_apis = session.quantization_apis;
  supervision.check.sampled_work = options.sampled_work;
  supervision.check.error_data = error_data_;
}

void PreCheckJob::finish(bool complete) {
  // The page is made of the journal, while the CSVs are made of the results in memory.
  std::future<std::string> page;
  results_->finish([&] {
    if (complete) page = begin_page();
  });
  if (takes_leases_) {
    // How many of the calls are this process's shows at the end.
    junit_facts_.planned = 0;
    if (!complete) junit_facts_.stopped = "this process was stopped before all leases were done.";
  }
  write_junit_file([this](const auto& visit) { results_->for_each(visit); });
  write_page(std::move(page));
  require_saved_tensors();
}

void PreCheckJob::finish_after_failure(const std::string& failure) {
  junit_facts_.stopped = failure;
  if (takes_leases_) junit_facts_.planned = 0;
  write_junit_file([this](const auto& visit) { results_->for_each(visit); });
}

void PreCheckJob::finish_without_calls() {
  write_junit_file([](const auto& /*visit*/) {});
}

void PreCheckJob::write_junit_file(const EachResult& each_result) {
  if (!junit_ || junit_begun_) return;
  // What cannot be written is not tried again.
  junit_begun_ = true;
  write_junit(*junit_, junit_facts_, each_result);
  junit_->commit();
  junit_.reset();
}

// What was to be kept is a result as the rows are: without it the run is not complete.
void PreCheckJob::require_saved_tensors() const {
  if (!error_data_) return;
  std::size_t unsaved = 0;
  std::string first;
  results_->for_each_outline([&](const ApiResult& result) {
    if (!result.unsaved.empty() && unsaved++ == 0) first = result.name;
  });
  if (unsaved == 0) return;
  throw WriteError("The tensors of " + std::to_string(unsaved) + (unsaved == 1 ? " call" : " calls") +
                   " that were to be kept could not be saved in " + error_data_->path() + ": " +
                   (unsaved == 1 ? "" : "the first is ") + sanitised(first) + ".");
}

// On a thread of its own, or where none can be had, when it is asked for; nothing if no report is to be made.
std::future<std::string> PreCheckJob::begin_page() {
  if (!report_wanted_) return {};
  return std::async(std::launch::async | std::launch::deferred,
                    [this] { return report_of_run(results_->folder(), files_); });
}

// The results stand, whatever becomes of the report.
void PreCheckJob::write_page(std::future<std::string> page) {
  if (!page.valid()) return;
  try {
    write_report(results_->folder(), files_, page.get());
    report_written_ = true;
  } catch (const std::exception& error) {
    std::string problem = error.what();
    if (!problem.ends_with('.')) problem += '.';
    spdlog::warn("No report is written: {} msrun report makes it later.", problem);
  }
}

// Where the results are, before or after the run.
void PreCheckJob::log_places(const char* what_of_result, const char* what_of_details) const {
  if (ranks_.empty()) {
    spdlog::info("{} {}", what_of_result, files_.result);
    spdlog::info("{} {}", what_of_details, files_.details);
    return;
  }
  const RunFiles of_first = rank_files(files_.directory, ranks_.front(), files_.stamp);
  const std::string others =
      ranks_.size() == 1 ? "" : ", and so for each of the " + std::to_string(ranks_.size()) + " ranks";
  spdlog::info("{} {}{}", what_of_result, of_first.result, others);
  spdlog::info("{} {}{}", what_of_details, of_first.details, others);
}

void PreCheckJob::announce(RunStarted& event) const {
  log_places("acc_check task result will be saved in", "acc_check task details will be saved in");
  if (error_data_) spdlog::info("acc_check task error_data will be saved in {}", error_data_->path());
  if (ranks_.empty()) {
    event.result_path = files_.result;
    event.details_path = files_.details;
  }
  for (const std::string& rank : ranks_) {
    const RunFiles files = rank_files(files_.directory, rank, files_.stamp);
    event.ranks.push_back({rank, files.result, files.details});
  }
  event.journal_path = files_.journal;
}

bool PreCheckJob::fails(FailOn level) const {
  const VerdictCounts& counts = results_->summary().counts();
  if (level != FailOn::never && counts.failed_to_run > 0) return true;
  switch (level) {
    case FailOn::never:
      return false;
    case FailOn::error:
      return counts.error > 0;
    case FailOn::warning:
      return counts.error + counts.warning > 0;
    case FailOn::suspicious:
      return counts.suspicious() > 0;
    case FailOn::skip:
      return counts.suspicious() + counts.not_checkable + counts.backward_unchecked > 0;
    case FailOn::unsteady:
      return counts.unsteady + counts.devices_differ > 0;
  }
  return false;
}

std::string PreCheckJob::resume_command(const SessionState& session) const {
  const std::string& file = ranks_.empty() ? files_.result : files_.journal;
  return can_resume(files_) ? msrun::resume_command(session.options, file) : "";
}

// What was checked here is not the whole.
void PreCheckJob::say_part(const SessionState& session, bool complete) const {
  const Options& options = session.options;
  if (part_label(options).empty()) return;
  std::string text = "Checked here: " + part_text(options) + ", " + std::to_string(results_->done()) + " of " +
                     std::to_string(session.plan.size()) + " calls" + (complete ? "." : " so far.");
  text += " One run of all parts, when they are complete: " + shell_quoted(options.program) + " merge " +
          shell_quoted(files_.directory) + " -o DIR";
  spdlog::info("{}", text);
}

void PreCheckJob::tell_end(const SessionState& /*session*/, const RunFinished& event) {
  RunFinished with_report = event;
  if (report_written_) with_report.report_path = files_.report;
  view().run_finished(with_report);
}

void PreCheckJob::print_closing(const SessionState& session, const SessionEnd& end) {
  // Events say all but what is asked for by an option of its own.
  const bool human = session.options.message_format != MessageFormat::json;
  for (const std::string& name : results_->kept_of_ranks()) {
    spdlog::warn("{} has rows of calls that the journal does not have, and is kept.", name);
  }
  if (end.complete() && human) {
    log_places("acc_check task result csv is saved in", "acc_check task details csv is saved in");
    if (report_written_) spdlog::info("acc_check task report is saved in {}", files_.report);
    const bool has_calls = results_->done() > 0 || part_label(session.options).empty();
    if (form_->last_line() == nullptr && has_calls) say_success(results_->summary().counts());
  }
  log_times(session, *results_);
  const std::optional<std::string> tables = form_->tables(*results_, session.console.paint());
  if (session.options.summary.value_or(human && (tables || isatty(STDOUT_FILENO) != 0))) {
    session.console.print(tables ? *tables : summary_text(session));
  }
  if (session.options.durations > 0) session.console.print(slowest_text(session.options.durations));
  if (!human) return;
  say_part(session, end.complete());
  if (!end.complete()) return;
  if (const char* last = form_->last_line()) {
    spdlog::info("{}", last);
  } else if (session.options.command == Command::acc_check && results_->summary().counts().compared() > 0) {
    spdlog::info("acc_check task completed.");
  }
}

std::string PreCheckJob::summary_text(const SessionState& session) const {
  SummaryStyle style;
  style.paint = session.console.paint();
  style.documented_first = session.options.compat_msprobe;
  style.not_counted = not_counted_;
  const std::vector<PlannedRank>& ranks = session.plan.ranks();
  if (ranks.empty()) return results_->summary().text(reproduce_command(session.options), style);
  const std::vector<RankCounts> counts = results_->counts_by_rank();
  std::uint64_t represented = 0;
  for (const RankCounts& rank : counts) represented += rank.counts.total() + rank.counts.skip;
  style.stand_for =
      ", which stand for " + std::to_string(represented) + " calls of " + std::to_string(ranks.size()) + " ranks";
  style.calls_of = [&](std::uint32_t task) {
    std::vector<std::string> having;
    for (const PlannedRank& rank : ranks) {
      if (rank.calls.has(task)) having.push_back(rank.calls.rank);
    }
    return having.size() < 2 ? "" : "A call of " + std::to_string(having.size()) + " ranks: " + some_ranks(having);
  };
  return results_->summary().text(reproduce_command(session.options), style) + rank_table(counts, style.paint);
}

std::string PreCheckJob::slowest_text(std::size_t most) const {
  Slowest slowest(most);
  results_->for_each_outline([&](const ApiResult& result) { slowest.see(result); });
  return slowest.text();
}

void PreCheckJob::print_incomplete(const SessionState& session) const {
  const std::string command = resume_command(session);
  const std::string journal(base_name(files_.journal));
  const bool was_moved = command.empty() && results_ &&
                         faccessat(results_->folder().descriptor(), journal.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (was_moved) {
    spdlog::warn(
        "The acc_check task has not been completed, and its files are no longer in {}: the folder was moved. Where it "
        "is now, {} continues it.",
        files_.directory, shell_quoted(session.options.program) + " -csv_path " + shell_quoted(journal));
  } else if (command.empty()) {
    spdlog::warn("The acc_check task has not been completed, and its files are no longer in {}: start it again.",
                 files_.directory);
  } else {
    spdlog::warn("The acc_check task has not been completed. Continue it with: {}", command);
  }
}

}  // namespace msrun
