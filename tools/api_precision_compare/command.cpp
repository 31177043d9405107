#include "tools/api_precision_compare/command.h"

#include <cmath>
#include <iostream>
#include <utility>

#include "kernels/base/counted.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/yaml/checker_config.h"
#include "runner/results/reason.h"
#include "tools/api_precision_compare/found_inputs.h"
#include "tools/api_precision_compare/inputs.h"

namespace msrun::api_precision_compare {

namespace {

constexpr std::size_t max_width = 120;
constexpr std::size_t max_listed = 10;

std::string counts_table(const char* direction, const DirectionCounts& counts) {
  return std::string(direction) + "\n" +
         boxed_table({{"Pass", std::to_string(counts[Status::pass])},
                      {"Warning", std::to_string(counts[Status::warning])},
                      {"Error", std::to_string(counts[Status::error])},
                      {"Skip", std::to_string(counts[Status::skip])},
                      {"None", std::to_string(counts.none)}});
}

bool is_met(FailLevel level, const Report& report) {
  if (level == FailLevel::never) return false;
  const auto has = [&](Status status) { return report.forward[status] + report.backward[status] > 0; };
  return has(Status::error) || (level == FailLevel::warning && has(Status::warning));
}

void warn(const std::string& text) { std::cerr << "api_precision_compare: warning: " << sanitised(text) << '\n'; }

void print_problems(const Report& report) {
  for (const std::string& problem : report.problems) {
    std::cerr << "api_precision_compare: " << sanitised(problem) << '\n';
  }
  if (report.problem_count > report.problems.size()) {
    std::cerr << "api_precision_compare: and " << counted(report.problem_count - report.problems.size(), "more problem")
              << " of the input\n";
  }
  if (report.stopped) {
    std::cerr << "api_precision_compare: stopped there; the files hold what was written until then\n";
  }
}

}  // namespace

std::string summary_text(const Report& report) {
  std::string text = counts_table("Forward", report.forward) + counts_table("Backward", report.backward);
  if (!report.findings.empty()) text += "APIs to look at first\n";
  for (std::size_t i = 0; i < std::min(report.findings.size(), max_listed); ++i) {
    const Finding& finding = report.findings[i];
    std::string line = "  error    " + sanitised(finding.output);
    if (finding.outputs > 1) line += " (the worst of " + counted(finding.outputs, "output") + " of this API)";
    text += cut_to_width(line, max_width) + "\n" + cut_to_width("           " + sanitised(finding.reason), max_width) +
            "\n";
  }
  if (report.findings.size() > max_listed) {
    text += "  and " + counted(report.findings.size() - max_listed, "more API") + "; all are in the result file.\n";
  }
  return text + "Result:  " + sanitised(report.result_path) + "\nDetails: " + sanitised(report.details_path) + "\n";
}

namespace {

// No configuration is larger.
constexpr std::uint64_t max_config_bytes = std::uint64_t{1} << 20;

// By config.yaml, as in msProbe.
int decimals_by(const std::string& config_path, int usual) {
  const bool is_json = config_path.ends_with(".json");
  if (!config_path.empty()) check_input_file(config_path, {".json", ".yaml", ".yml"}, max_config_bytes);
  const std::string yaml = is_json               ? config_yaml_for(config_path)
                           : config_path.empty() ? installed_config_yaml()
                                                 : config_path;
  if (yaml.empty()) return usual;
  check_input_file(yaml, {".yaml", ".yml"}, max_config_bytes);
  return decimals_of(yaml).value_or(usual);
}

// The command with everything found that was not named.
Options completed(const Options& given) {
  Options options = given;
  InputPaths paths = with_found_inputs(given.npu_path, given.gpu_path);
  for (const std::string& notice : paths.notices) std::cerr << "api_precision_compare: " << notice << '\n';
  options.npu_path = std::move(paths.npu);
  options.gpu_path = std::move(paths.gpu);
  options.rules.decimals = decimals_by(given.config_path, given.rules.decimals);
  return options;
}

// The files are there.
int compare_files(const Options& options) {
  for (const std::string& path : {options.npu_path, options.gpu_path}) check_input_file(path, {".csv"}, max_csv_bytes);
  const PreparedDirectory output(options.out_path);
  const std::string differences = input_differences(options.npu_path, options.gpu_path);
  if (!differences.empty()) {
    warn("the two runs did not have the same inputs, so their errors cannot be compared; different are " + differences);
  }
  if (is_same_file(options.npu_path, options.gpu_path)) {
    warn("the NPU file and the GPU file are the same one, which is as precise as itself");
  }
  for (const auto& [path, side] : {std::pair{&options.npu_path, "NPU"}, {&options.gpu_path, "GPU"}}) {
    if (was_simulated(*path)) {
      warn("the results of the " + std::string(side) + " file are of a " + std::string(simulated_notice));
    }
  }
  const Report report = compare(options.npu_path, options.gpu_path, options.out_path, options.rules);
  if (report.only_npu > 0) {
    warn(counted(report.only_npu, "output") + " of the NPU file " + (report.only_npu == 1 ? "has" : "have") +
         " no row in the GPU file" + (options.rules.compat_msprobe ? " and are left out" : " and are SKIP"));
  }
  if (report.only_gpu > 0) {
    warn(counted(report.only_gpu, "output") + " of the GPU file " + (report.only_gpu == 1 ? "is" : "are") +
         " not in the NPU file");
  }
  if (report.unreadable > 0) {
    warn(counted(report.unreadable, "output") + (report.unreadable == 1 ? " has" : " have") +
         " values that are no numbers, so that what needs these is SKIP; the first is " + report.first_unreadable);
  }
  print_problems(report);
  std::cout << summary_text(report);
  if (report.problem_count > 0) return exit_usage;
  if (report.judged == 0 && !options.rules.compat_msprobe) {
    std::cout << "Nothing was compared: "
              << (report.compared == 0
                      ? "no output is in both files.\n"
                      : "every output that both files have is SKIP, with the reason in its Message.\n");
    return exit_fail_on;
  }
  return is_met(options.fail_on, report) ? exit_fail_on : exit_completed;
}

}  // namespace

int run(const Options& options) { return compare_files(completed(options)); }

}  // namespace msrun::api_precision_compare
