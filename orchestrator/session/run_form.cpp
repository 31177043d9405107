#include "orchestrator/session/run_form.h"

#include "kernels/io/files/paths.h"
#include "orchestrator/command/sharing_options.h"
#include "orchestrator/session/att_form.h"
#include "orchestrator/session/new_files.h"

namespace msrun {

void RunForm::check_output(const Options& options) const { check_output_directory(options.out_path); }

void RunForm::prepare(const Options& options) const { prepare_output_directory(options.out_path); }

RunFiles RunForm::fresh_files(const Options& options, const std::function<bool(const RunFiles& files)>& claim) const {
  return fresh_run_files(options.out_path, claim, part_label(options));
}

std::string RunForm::error_data_place(const Config& config, const Options& /*options*/, const RunFiles& files) const {
  return config.error_data_path.empty() ? files.directory : config.error_data_path;
}

std::unique_ptr<RunForm> make_run_form(ReportLayout layout) {
  if (layout == ReportLayout::current) return std::make_unique<RunForm>();
  return std::make_unique<AttForm>(layout == ReportLayout::att_raw);
}

}  // namespace msrun
