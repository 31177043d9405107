#include "orchestrator/session/input.h"

#include <spdlog/spdlog.h>

#include "kernels/api/call_codec.h"
#include "kernels/base/text.h"
#include "orchestrator/output/run_paths.h"

namespace msrun {

void check_input(const Options& options) {
  if (!options.framework.empty() && find_dialect(options.framework) == nullptr) {
    throw UserError("-f " + options.framework + ": MindSpore cannot be checked yet; there is PyTorch.");
  }
  for (const std::string* path : {&options.api_info, &options.forward, &options.backward}) {
    if (!path->empty()) check_input_file(*path, {".json"}, max_json_bytes);
  }
  std::error_code ignored;
  if (!options.real_data_path.empty() && !std::filesystem::is_directory(options.real_data_path, ignored)) {
    throw UserError("-real_data_path: " + sanitised(options.real_data_path) + " is not a directory.");
  }
}

Plan read_plan(const Options& options, const PlanOptions& plan_options) {
  return options.forward.empty() ? Plan::read(options.api_info, plan_options)
                                 : Plan::read_att(options.forward, options.backward, plan_options);
}

void require_recorded_results(const Options& options, const Plan& plan) {
  if (!options.forward.empty()) {
    throw UserError("--backend recorded: the files of the older recorder hold no results.");
  }
  if (!plan.real_data()) {
    throw UserError("--backend recorded: " + options.api_info +
                    " holds statistics, not tensors; record it with \"task\": \"tensor\".");
  }
}

bool holds_results(const Plan& plan) {
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    std::string_view encoded = plan.view().outputs(task);
    if (encoded.empty()) continue;
    bool found = false;
    for_each_leaf(decode_value(encoded), [&](const Value& leaf) {
      const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
      found = found || (spec != nullptr && !(*spec)->file().empty());
    });
    if (found) return true;
  }
  return false;
}

std::filesystem::path data_root(const Options& options, const Plan& plan) {
  return options.real_data_path.empty() ? plan.tensor_folder() : std::filesystem::path(options.real_data_path);
}

void warn_if_data_is_missing(const Options& options, const Plan& plan) {
  if (!plan.real_data()) return;
  const std::filesystem::path root = data_root(options, plan);
  std::error_code ignored;
  if (!std::filesystem::is_directory(root, ignored)) {
    spdlog::warn("{} has its tensors in files, but there is no directory {}: calls that need them are SKIP.",
                 options.forward.empty() ? options.api_info : options.forward, root.string());
  }
}

}  // namespace msrun
