// The form of a check: which words it is started and closed with, what must be there before it, how its files are named
// and what the log says of its calls. There is that of today and that of the old layout (att_layout.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "orchestrator/command/config.h"
#include "orchestrator/output/csv.h"
#include "orchestrator/output/results.h"
#include "orchestrator/session/job.h"
#include "orchestrator/view/progress_view.h"

namespace msrun {

class RunForm {
 public:
  virtual ~RunForm() = default;
  RunForm() = default;
  RunForm(const RunForm&) = delete;
  RunForm& operator=(const RunForm&) = delete;

  // What the log says is started.
  virtual const char* title() const { return "acc_check test"; }
  // Before anything is read: throws UserError for what this form refuses.
  virtual void check(const Options& /*options*/, const Config& /*config*/) const {}
  // Throws what prepare() would, and makes nothing.
  virtual void check_output(const Options& options) const;
  // Makes or finds the directory of a fresh run, and names its files: claim() makes them the run's own, and is asked
  // for other names while it cannot. Throws UserError.
  virtual void prepare(const Options& options) const;
  virtual RunFiles fresh_files(const Options& options, const std::function<bool(const RunFiles& files)>& claim) const;
  // Where the folder of error data lies.
  virtual std::string error_data_place(const Config& config, const Options& options, const RunFiles& files) const;
  // Whether each of several devices has a pair of files of its own.
  virtual bool has_pair_per_device() const { return true; }
  // Names of calls that the files have otherwise.
  virtual ShownNames shown_names(const Plan& /*plan*/) const { return {}; }
  // A view that is told of results in place of other, which it passes them on to; null: other is. is_done says of which
  // calls it will not be told. Plan and other outlive the view.
  virtual std::unique_ptr<ProgressView> wrap(const Plan& /*plan*/, const ShownNames& /*names*/, ProgressView& /*other*/,
                                             const std::function<bool(std::uint32_t task)>& /*is_done*/) const {
    return nullptr;
  }
  // The closing tables; nothing where the form has none of its own. The line after them is the last of a complete run.
  virtual std::optional<std::string> tables(const ResultStore& /*results*/, const Paint& /*paint*/) const {
    return std::nullopt;
  }
  virtual const char* last_line() const { return nullptr; }
};

std::unique_ptr<RunForm> make_run_form(ReportLayout layout);

// What run_overflow_check refuses in the old layout, and what its log says of a call; recorded_name is that of the
// recording.
void check_att_overflow_input(const Options& options);
void log_att_overflow(const ApiResult& result, const std::string& recorded_name, const PlanView& plan);

}  // namespace msrun
