#include "tools/op_generate/command.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>

#include "journal/replaceable.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/counted.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/named_output.h"
#include "kernels/io/files/paths.h"
#include "tools/common/whole_file.h"
#include "tools/op_generate/drawn_inputs.h"
#include "tools/op_generate/extraction.h"
#include "tools/op_generate/fitted_values.h"
#include "tools/op_generate/recorded_case.h"
#include "tools/op_generate/script.h"

namespace msrun::op_generate {

namespace {

namespace fs = std::filesystem;

// "2026-11-22 12:40:07 (4711) [INFO] text", as msProbe's commands and the pre-check write lines of a log.
void log(const char* level, const std::string& text) {
  std::cout << local_time_text(unix_seconds()) << " (" << getpid() << ") [" << level << "] " << sanitised(text) << '\n';
}

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// The command that runs the case without Python. A dump is checked in its own way by the pre-check, which shows the
// cause as well; an extraction alone is run by this program.
std::string native_command(const Configuration& configuration, const Options& options) {
  if (!configuration.dump_path.empty()) {
    return "msrun -api_info " + shell_quoted(absolute(configuration.dump_path)) + " --only " +
           shell_quoted(configuration.api);
  }
  return "msrun op_generate -i " + shell_quoted(absolute(options.input)) + " -o " +
         shell_quoted(absolute(options.output)) + " --run";
}

// Nothing that is written may replace what the user gave, nor another output.
void check_outputs(const Configuration& configuration, const Options& options) {
  const std::string config = options.from_dump.api.empty() ? options.input : std::string();
  const std::string& extraction = configuration.extraction_path;
  if (!configuration.dump_path.empty()) {
    check_apart("The extraction", extraction,
                {{"the recording", configuration.dump_path}, {"the configuration", config}});
  }
  check_apart(
      "--save-inputs", options.inputs_path,
      {{"the recording", configuration.dump_path}, {"the extraction", extraction}, {"the configuration", config}});
  check_outside_tensors("The extraction", extraction, configuration.dump_path);
  check_outside_tensors("--save-inputs", options.inputs_path, configuration.dump_path);
  if (!configuration.dump_path.empty()) require_replaceable("The extraction", extraction);
  require_replaceable("--save-inputs", options.inputs_path);
  require_file_output("--save-inputs", options.inputs_path);
}

std::string script_path(const Options& options, const RecordedCase& recorded) {
  return join_path(options.output, recorded.key() + ".py");
}

// The script replaces one that was written before, but nothing else.
void check_script(const Configuration& configuration, const Options& options, const std::string& script) {
  check_apart("The script", script,
              {{"the recording", configuration.dump_path},
               {"the extraction", configuration.extraction_path},
               {"the configuration", options.from_dump.api.empty() ? options.input : std::string()}});
  check_apart("--save-inputs", options.inputs_path, {{"the script", script}});
}

void warn(const std::string& text) { std::cerr << "op_generate: warning: " << sanitised(text) << '\n'; }

// Whoever runs the script is told of each; who writes it may be someone else.
void warn_of_ranges(const RecordedCase& recorded) {
  if (recorded.data_mode != DataMode::random_data) return;
  std::size_t tensors = 0;
  const auto count = [&](const Value& tree) {
    for_each_leaf(tree, [&](const Value& leaf) {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return;
      const auto is_odd = [](const auto& bound) { return bound && !std::isfinite(*bound); };
      if (masked_draw(*spec)) return;
      if (is_odd(spec->min) || is_odd(spec->max)) ++tensors;
    });
  };
  for (const Value& arg : recorded.args) count(arg);
  for (const auto& [key, value] : recorded.kwargs) count(value);
  for (const Value& gradient : recorded.gradients) count(gradient);
  if (tensors == 0) return;
  warn(recorded.key() + ": NaN or infinity was recorded as Min or Max of " + counted(tensors, "tensor") +
       ", which says nothing of the range: the script draws finite numbers in their place, and says which as it runs.");
}

// The text of the extraction, out of the dump if there is one.
std::string extraction_text(const Configuration& configuration, const Options& options) {
  if (!configuration.dump_path.empty()) return extraction_of(configuration, options.allow_outside_data, warn);
  const std::string path = absolute(configuration.extraction_path);
  check_input_file(path, {""}, max_json_bytes);
  return read_whole_file(path, max_extraction_bytes);
}

// Writes the extraction if it is new, and the script if there is one. Neither is put in its place before both are
// whole.
void write_outputs(const Configuration& configuration, const Options& options, const std::string& text,
                   const RecordedCase& recorded) {
  const std::string target = absolute(configuration.extraction_path);
  const std::string path = absolute(script_path(options, recorded));
  const std::string native = native_command(configuration, options);
  std::optional<AtomicFile> extraction;
  std::optional<AtomicFile> script;
  prepare_output_directory(options.output);
  if (has_script(recorded)) script.emplace(path).write(script_text(recorded, native));
  if (!configuration.dump_path.empty()) {
    prepare_output_directory(fs::path(target).parent_path().string());
    extraction.emplace(target).write(text);
    extraction->commit();
    log("INFO", "The api '" + configuration.api + "' has been successfully extracted and saved in: " + target);
  }
  if (!script) return;
  script->commit();
  log("INFO", "Generate operator script successfully and the name is " + path + ".");
  if (!options.run) std::cout << "Without Python: " << sanitised(native) << '\n';
}

}  // namespace

int run(const Options& options) {
  const bool from_dump = !options.from_dump.api.empty();
  const Configuration configuration = from_dump ? options.from_dump : read_configuration(options.input, warn);
  check_outputs(configuration, options);
  const std::string extraction = extraction_text(configuration, options);
  RecordedCase recorded = read_case(configuration, extraction, options.run);
  check_script(configuration, options, script_path(options, recorded));
  check_data(configuration, recorded);
  if (options.run) check_native_run(configuration, recorded);
  if (has_script(recorded)) note_fitted_values(recorded, warn);
  write_outputs(configuration, options, extraction, recorded);
  if (!recorded.not_compared.empty())
    warn(recorded.key() + ": the script compares no values: " + recorded.not_compared);
  if (!options.run) {
    warn_of_ranges(recorded);
    return exit_completed;
  }
  NativeRun run;
  run.seed_mode = options.seed_mode;
  run.inputs_path = options.inputs_path;
  run.report = warn;
  require_standard_output();
  run_natively(recorded, run, std::cout);
  return exit_completed;
}

}  // namespace msrun::op_generate
