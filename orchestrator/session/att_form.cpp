#include "orchestrator/session/att_form.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/session/att_log.h"
#include "orchestrator/session/new_files.h"
#include "orchestrator/view/att_tables.h"
#include "runner/dialects/att.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_name = 200;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : resolved.string();
}

// As the old tool named it: "./" if none is given, otherwise what the path leads to.
std::string out_directory(const Options& options) {
  return options.out_path_given ? real_path(options.out_path) : std::string("./");
}

void refuse_taken(const std::string& path, const char* way_out) {
  if (is_there(path)) throw UserError("file " + path + " already exists, please remove it first" + way_out);
}

void check_json_file(const std::string& path) {
  if (path.empty()) return;
  if (!is_there(path)) throw UserError("Input file " + path + " does not exist!");
  if (access(path.c_str(), R_OK) != 0) throw UserError("Input file " + path + " is not readable!");
  if (base_name(path).size() > longest_name) throw UserError("The real path or file_name of input is too long.");
}

bool is_json(const std::string& path) { return path.empty() || path.ends_with(".json"); }

std::string error_data_path(const Config& config) {
  return config.error_data_path.empty() ? std::string("./") : config.error_data_path;
}

}  // namespace

void AttForm::check(const Options& options, const Config& config) const {
  const bool older = !options.forward.empty();
  if (older && (!is_json(options.forward) || !is_json(options.backward))) {
    throw UserError("The forward_input_file and backward_input_file should be a json file!");
  }
  if (options.save_error_data && options.csv_path.empty()) {
    const std::string folder = join_path(real_path(error_data_path(config)), "ut_error_data");
    // A run that found nothing to save leaves an empty one.
    std::error_code ignored;
    const bool is_folder = fs::is_directory(fs::symlink_status(folder, ignored));
    if (!is_folder || is_filled_directory(folder)) refuse_taken(folder, "");
  }
  check_json_file(options.forward);
  check_json_file(options.backward);
}

void AttForm::check_output(const Options& options) const {
  const RunFiles files = run_files(out_directory(options), "");
  constexpr const char* way_out = " or use a new dump path";
  refuse_taken(files.result, way_out);
  refuse_taken(files.details, way_out);
  if (!is_there(files.directory)) throw UserError("[Errno 2] No such file or directory: '" + files.result + "'");
  check_output_directory(files.directory);
}

void AttForm::prepare(const Options& options) const {
  check_output(options);
  // Proves that files can be made in it.
  prepare_output_directory(run_files(out_directory(options), "").directory);
}

RunFiles AttForm::fresh_files(const Options& options, const std::function<bool(const RunFiles& files)>& claim) const {
  RunFiles files = run_files(out_directory(options), "");
  if (!claim(files)) refuse_taken(files.journal, " or use a new dump path");
  return files;
}

std::string AttForm::error_data_place(const Config& config, const Options& /*options*/,
                                      const RunFiles& /*files*/) const {
  return error_data_path(config);
}

ShownNames AttForm::shown_names(const Plan& plan) const {
  ShownNames names;
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    const std::string_view recorded = plan.view().recorded_name(task);
    if (recorded.find('*') != std::string_view::npos) names.emplace(plan.view().name(task), recorded);
  }
  return names;
}

std::unique_ptr<ProgressView> AttForm::wrap(const Plan& plan, const ShownNames& names, ProgressView& other,
                                            const std::function<bool(std::uint32_t task)>& is_done) const {
  return std::make_unique<AttLog>(plan.view(), names, other, is_done, raw_);
}

std::optional<std::string> AttForm::tables(const ResultStore& results, const Paint& paint) const {
  AttCounts counts(raw_);
  results.for_each_outline([&](const ApiResult& result) { counts.add(result); });
  return att_tables(counts, paint);
}

void check_att_overflow_input(const Options& options) {
  for (const auto& [path, flag] : {std::pair(&options.backward, "backward"), {&options.forward, "forward"}}) {
    if (!is_json(*path)) throw UserError("The " + std::string(flag) + "_input_file should be a json file!");
  }
  check_json_file(options.forward);
  check_json_file(options.backward);
}

}  // namespace msrun
