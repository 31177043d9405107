#include "tools/dump_compare/options.h"

#include <array>
#include <cmath>
#include <thread>
#include <utility>

#include "kernels/base/command_line/program.h"
#include "tools/common/comparison_file.h"
#include "tools/recordings/folders.h"

namespace msrun::dump_compare {
namespace {

constexpr std::size_t max_threads = 256;

constexpr auto dumps = std::to_array<Option>({
    {"--target_path, -tp PATH", "dump.json under test, or a folder with one, with ranks or with steps",
     Takes::one_value},
    {"--golden_path, -gp PATH", "the recording to compare it with: PATH of the same kind", Takes::one_value},
    {"-i, --input_path FILE", "in place of both: a JSON file with npu_path, bench_path and, if wanted, stack_path",
     Takes::one_value},
    {"--rank LIST", "only these ranks: 0,2 or 0-3", Takes::one_value},
    {"--step LIST", "only these steps", Takes::one_value},
    {"--pair-by-order", "pair ranks by their order, not by their numbers"},
    {"--mode, -m auto", "auto: two recordings (default); torchair: two dumps of compiled graphs", Takes::one_value},
});

constexpr auto matching = std::to_array<Option>({
    {"--fuzzy_match, -fm", "pair calls whose numbers differ, in the order of the recordings"},
    {"--data_mapping, -dm FILE", "YAML: name of a target row, name of the golden row", Takes::one_value},
    {"--cell_mapping, -cm [FILE]",
     "YAML: name.Class of a target cell, of the golden one; without FILE only Cell to Module", Takes::optional_value},
    {"--api_mapping, -am [FILE]", "MindSpore's names of APIs to PyTorch's, by the built-in table or by FILE (YAML)",
     Takes::optional_value},
    {"--layer_mapping, -lm [FILE]", "YAML: names of layers that differ, by the class of the layer they are in",
     Takes::optional_value},
});

constexpr auto tensors = std::to_array<Option>({
    {"--right-matmul FILE", "YAML: matrices that tensors of either side are multiplied with before they are compared",
     Takes::one_value},
    {"--is_print_compare_log, -tensor_log", "a line before and after each row"},
});

constexpr auto divergence = std::to_array<Option>({
    {"--first-divergence, --diff_analyze, -da", "also name the call from which on the recordings differ"},
    {"--tolerance FACTOR", "scales the limits of that search (default 1)", Takes::one_value},
    {"--check-suspects", "also check the calls that were named on this machine, as msrun does"},
});

constexpr auto report = std::to_array<Option>({
    {"--output_path, -o [DIR]", "directory of the results, created if it is missing; default: ./output",
     Takes::optional_value},
    {"--xlsx", "write .xlsx in place of .csv"},
    {"--html", "also write the table as one HTML file that needs no network"},
    {"--compat msprobe", "reproduce msProbe's cells, known errors included", Takes::one_value},
    {"--fail-on LEVEL", "exit code 1 if a row or the first divergence is an error, or a warning, or a part is left out",
     Takes::one_value},
});

constexpr auto running = std::to_array<Option>({
    {"--threads N", "default: one for each processor", Takes::one_value},
    {"-s, --stack_mode", "accepted because older command lines have it"},
    {"--consistent_check", "not supported"},
    {"--backend NAME", "not supported", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "dump_compare";
  command.summary =
      "dump_compare compares two recordings (dump.json) of the same model, tensor by tensor, and names the first call "
      "from which on they differ. Also: msrun compare --target_path ... --golden_path ...";
  command.usage = {"dump_compare --target_path PATH --golden_path PATH [--output_path DIR] [OPTIONS]"};
  command.sections = {{"Examples",
                       {{"dump_compare -tp npu/dump.json -gp gpu/dump.json -o out", "a table of two recordings"},
                        {"dump_compare -tp npu/step0 -gp gpu/step0 -o out --first-divergence --html",
                         "all ranks, and where they part first"}}}};
  command.groups = {{"Recordings", dumps}, {"Matching", matching},
                    {"Tensors", tensors},  {"First divergence", divergence},
                    {"Results", report},   {"Running", running}};
  command.exit_meanings = {
      {exit_completed, "compared, whatever the results"},
      {exit_fail_on, "compared, and --fail-on is met; or nothing could be compared"},
      {exit_usage,
       "wrong usage, input (be it of one rank) that cannot be compared, results that cannot be written, or a suspect "
       "that --check-suspects could not check"},
      {exit_internal, "internal error"},
  };
  return command;
}

// The paths of the JSON file that older command lines give.
void read_input_file(const std::string& path, Options& options) {
  ComparisonFile file = read_comparison_file(path, {"npu_path", "bench_path", "stack_path", "is_print_compare_log"});
  if (file.npu_path.empty() || file.bench_path.empty()) {
    throw UserError("The file " + path + " needs npu_path and bench_path.");
  }
  options.target_path = std::move(file.npu_path);
  options.golden_path = std::move(file.bench_path);
  options.stack_path = std::move(file.stack_path);
  options.log_rows = file.logs_rows.value_or(true);
  options.ignored_keys = std::move(file.unknown);
}

std::optional<std::set<std::uint64_t>> numbers(const Arguments& arguments, const char* name) {
  if (!arguments.given(name)) return std::nullopt;
  auto chosen = recordings::parse_numbers(arguments.text(name));
  if (!chosen) throw arguments.wrong(name, arguments.text(name), "must be numbers and ranges, as 0,2 or 0-3");
  return chosen;
}

void read_matching(const Arguments& arguments, Options& options) {
  MappingFiles& mapping = options.mapping;
  mapping.fuzzy = arguments.given("fuzzy_match");
  if (arguments.given("data_mapping")) mapping.data = arguments.filled("data_mapping");
  if (arguments.given("layer_mapping")) mapping.layer = arguments.text("layer_mapping");
  if (arguments.given("cell_mapping")) mapping.cell = arguments.text("cell_mapping");
  if (arguments.given("api_mapping")) mapping.api = arguments.text("api_mapping");
  const int given = static_cast<int>(mapping.fuzzy) + static_cast<int>(!mapping.data.empty()) +
                    static_cast<int>(mapping.layer.has_value()) + static_cast<int>(mapping.cell.has_value()) +
                    static_cast<int>(mapping.api.has_value());
  if (given > 1 && !options.compat) throw UserError("only one of -fm, -dm, -cm, -am and -lm can be given");
}

Options options_from(const Arguments& arguments) {
  if (const std::string mode = arguments.text("mode", "auto"); mode != "auto") {
    throw UserError("mode " + shell_quoted(sanitised(mode)) + " is not supported: the modes are auto and torchair");
  }
  for (const char* name : {"consistent_check", "backend"}) {
    if (arguments.given(name)) throw UserError(arguments.shown(name) + " is not supported");
  }
  Options options;
  const bool paths = arguments.given("target_path") || arguments.given("golden_path");
  if (arguments.given("input_path")) {
    if (paths) throw UserError("-i and --target_path or --golden_path exclude each other");
    read_input_file(arguments.filled("input_path"), options);
  } else {
    for (const char* name : {"target_path", "golden_path"}) {
      if (!arguments.given(name)) throw UserError(arguments.shown(name) + " is missing; --help tells what it is");
    }
    options.target_path = arguments.filled("target_path");
    options.golden_path = arguments.filled("golden_path");
  }
  options.compat = arguments.choice("compat", false, {{"msprobe", true}});
  if (arguments.given("right-matmul")) options.right_matmul = arguments.filled("right-matmul");
  read_matching(arguments, options);
  if (arguments.given("output_path")) options.output_path = arguments.text("output_path", options.output_path);
  options.xlsx = arguments.given("xlsx");
  options.html = arguments.given("html");
  options.check_suspects = arguments.given("check-suspects");
  if (options.check_suspects && options.compat) {
    throw UserError("--check-suspects does not go with --compat msprobe, which searches as msProbe does");
  }
  options.first_divergence = arguments.given("first-divergence") || options.check_suspects;
  options.pair_by_order = arguments.given("pair-by-order") || options.compat;
  options.log_rows_asked = arguments.given("is_print_compare_log");
  options.log_rows = options.log_rows || options.log_rows_asked;
  if (arguments.given("tolerance")) {
    const auto factor = parse_number<double>(arguments.text("tolerance"));
    if (!factor || !(*factor > 0) || std::isinf(*factor)) {
      throw arguments.wrong("tolerance", arguments.text("tolerance"), "must be a number above 0");
    }
    options.tolerance = *factor;
  }
  options.ranks = numbers(arguments, "rank");
  options.steps = numbers(arguments, "step");
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  options.threads = arguments.number<std::size_t>("threads", processors, 1, max_threads, "a whole number");
  options.fail_on = arguments.choice<std::optional<Level>>("fail-on", std::nullopt,
                                                           {{"error", Level::error}, {"warning", Level::warning}});
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::dump_compare
