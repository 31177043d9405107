#include "tools/op_generate/command.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "kernels/api/operators.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "tools/op_generate/extraction.h"
#include "tools/op_generate/recorded_case.h"
#include "tools/op_generate/script.h"

namespace msrun::op_generate {

namespace {

namespace fs = std::filesystem;

// "2026-11-22 12:40:07 (4711) [INFO] text", as msProbe's commands and the pre-check write lines of a log.
void log(const char* level, const std::string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::cout << stamp.data() << " (" << getpid() << ") [" << level << "] " << sanitised(text) << '\n';
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

}  // namespace

int run(const Options& options) {
  const bool from_dump = !options.from_dump.api.empty();
  const Configuration configuration = from_dump ? options.from_dump : read_configuration(options.input);
  if (from_dump) prepare_output_directory(options.output);
  if (!configuration.dump_path.empty()) extract(configuration, options.allow_outside_data, log);
  check_input_file(absolute(configuration.extraction_path), {""}, max_json_bytes);
  prepare_output_directory(options.output);
  const RecordedCase recorded = read_case(configuration, options.run);
  if (has_script(recorded)) {
    const std::string native = native_command(configuration, options);
    const std::string path = absolute(join_path(options.output, recorded.key() + ".py"));
    AtomicFile script(path);
    script.write(script_text(recorded, native));
    script.commit();
    log("INFO", "Generate operator script successfully and the name is " + path + ".");
    if (!options.run) std::cout << "Without Python: " << sanitised(native) << '\n';
  }
  if (!options.run) return exit_completed;
  NativeRun run;
  run.seed_mode = options.seed_mode;
  run.inputs_path = options.inputs_path;
  run.report = [](const std::string& text) { std::cerr << "op_generate: warning: " << sanitised(text) << '\n'; };
  run_natively(recorded, run, std::cout);
  return exit_completed;
}

}  // namespace msrun::op_generate
