#include "orchestrator/input.h"

#include "kernels/text.h"
#include "orchestrator/paths.h"

namespace msrun {

void check_input(const Options& options) {
  if (!options.framework.empty() && options.framework != "pytorch" && options.framework != "pt") {
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

std::filesystem::path data_root(const Options& options) {
  // The older tool recorded paths that are absolute, or begin at a directory beside its two files.
  if (!options.real_data_path.empty()) return options.real_data_path;
  const std::string& recording = options.forward.empty() ? options.api_info : options.forward;
  const std::filesystem::path directory = std::filesystem::path(recording).parent_path();
  if (options.forward.empty()) return directory / "dump_tensor_data";
  return directory.empty() ? "." : directory;
}

}  // namespace msrun
