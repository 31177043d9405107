#include "tools/graph/options.h"

#include <array>
#include <thread>
#include <utility>

#include "kernels/base/command_line/program.h"
#include "tools/common/comparison_file.h"

namespace msrun::graph {
namespace {

constexpr std::size_t max_threads = 256;

constexpr auto recordings_options = std::to_array<Option>({
    {"-tp, --target_path DIR",
     "the recorded model: a folder with dump.json, stack.json and construct.json, with ranks "
     "or with steps of ranks",
     Takes::one_value},
    {"-gp, --golden_path DIR", "the recording to compare it with; without it one graph is built", Takes::one_value},
    {"-i, --input_path FILE", "in place of both: a JSON file with npu_path and, if wanted, bench_path",
     Takes::one_value},
    {"--allow_missing", "compare the ranks and steps that both have, not only equal lists"},
    {"--framework NAME", "pytorch or mindspore; the recording decides, and what disagrees with it is warned of",
     Takes::one_value},
});

constexpr auto matching_options = std::to_array<Option>({
    {"-f, -fm, --fuzzy_match", "match modules by name wherever they are, and calls in them by order"},
    {"-lm, --layer_mapping [FILE]", "YAML: names of layers that differ, by the class of the layer they are in",
     Takes::optional_value},
});

constexpr auto result_options = std::to_array<Option>({
    {"-o, --output_path DIR", "directory of the files, created if it is missing", Takes::one_value},
    {"--format, --file_type FORMAT", "both (default): .vis and .vis.db; vis; db; html: a page for the browser; all",
     Takes::one_value},
    {"-oc, --overflow_check", "mark calls that bring NaN or infinities about, or let them in"},
    {"-cs, --complete_stack", "whole call stacks in .vis, not only the line in the model"},
    {"--lang LANGUAGE", "of tool tips: en (default) or zh", Takes::one_value},
    {"--compat 1.2.1", "write .vis as msprobe 1.2.1 does, known errors included", Takes::one_value},
});

constexpr auto running_options = std::to_array<Option>({
    {"--threads N", "default: one for each processor", Takes::one_value},
    {"-progress_log, --is_print_progress_log", "print a line with the progress after every rank"},
    {"-tensor_log, --is_print_compare_log", "accepted because newer command lines have it"},
    {"--rank_size N", "not supported: ranks are not merged", Takes::one_value},
    {"--pp N", "not supported", Takes::one_value},
    {"--vpp N", "not supported", Takes::one_value},
    {"--order ORDER", "not supported", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "graph";
  command.summary =
      "graph builds the tree of modules and calls of a recorded model, compares it with that of another recording, and "
      "writes files that the graph viewers open. Also: msrun graph ...";
  command.usage = {"graph -tp DIR [-gp DIR] -o DIR [OPTIONS]",
                   "graph -i compare.json -o DIR [-lm FILE] [-oc] [-f] [-cs]"};
  command.sections = {{"Examples",
                       {{"graph -tp npu/step0 -gp gpu/step0 -o out", "all ranks of a step, side by side"},
                        {"graph -tp npu/step0/rank0 -o out -oc", "one graph, with the calls that overflow"}}}};
  command.groups = {{"Recordings", recordings_options},
                    {"Matching", matching_options},
                    {"Results", result_options},
                    {"Running", running_options}};
  command.exit_meanings = {
      {exit_completed, "all files were written, whatever they show"},
      {exit_fail_on,
       "the files of some ranks were written; others could not be read or compared; or no pair of tensors could be"},
      {exit_usage, "wrong usage, or input or output that cannot be used"},
      {exit_internal, "internal error"},
  };
  return command;
}

void read_paths(const Arguments& arguments, Options& options) {
  if (arguments.given("input_path")) {
    if (arguments.given("target_path") || arguments.given("golden_path")) {
      throw UserError("-i and --target_path or --golden_path exclude each other");
    }
    const std::string path = arguments.filled("input_path");
    ComparisonFile file = read_comparison_file(path, {"npu_path", "bench_path", "is_print_compare_log"});
    if (file.npu_path.empty()) throw UserError("The file " + path + " has no npu_path.");
    options.npu_path = std::move(file.npu_path);
    options.bench_path = std::move(file.bench_path);
    options.ignored_keys = std::move(file.unknown);
  } else {
    if (!arguments.given("target_path")) {
      throw UserError("--target_path (or -i) is missing; graph -h tells what it is");
    }
    options.npu_path = arguments.filled("target_path");
    if (arguments.given("golden_path")) options.bench_path = arguments.filled("golden_path");
  }
  if (!arguments.given("output_path")) throw UserError("--output_path is missing; graph -h tells what it is");
  options.output_path = arguments.filled("output_path");
}

void read_formats(const Arguments& arguments, Options& options) {
  enum class Format : std::uint8_t { both, vis, db, html, all };
  const auto format = arguments.choice("format", Format::both,
                                       {{"both", Format::both},
                                        {"vis", Format::vis},
                                        {"json", Format::vis},
                                        {"db", Format::db},
                                        {"html", Format::html},
                                        {"all", Format::all}});
  options.vis = format != Format::db && format != Format::html;
  options.db = format != Format::vis && format != Format::html;
  options.html = format == Format::html || format == Format::all;
}

Options options_from(const Arguments& arguments) {
  for (const char* name : {"rank_size", "pp", "vpp", "order"}) {
    if (arguments.given(name)) {
      throw UserError(arguments.shown(name) +
                      " is not supported: graphs of tensor and pipeline parallel ranks are not "
                      "merged");
    }
  }
  Options options;
  read_paths(arguments, options);
  read_formats(arguments, options);
  options.overflow = arguments.given("overflow_check");
  options.fuzzy = arguments.given("fuzzy_match");
  options.complete_stacks = arguments.given("complete_stack");
  options.allow_missing = arguments.given("allow_missing");
  options.progress = arguments.given("progress_log");
  if (arguments.given("layer_mapping")) options.mapping = arguments.text("layer_mapping");
  options.compat = arguments.choice("compat", false, {{"1.2.1", true}});
  options.language =
      arguments.choice("lang", Language::english, {{"en", Language::english}, {"zh", Language::chinese}});
  options.framework =
      arguments.choice<std::string>("framework", "", {{"pytorch", "pytorch"}, {"mindspore", "mindspore"}});
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  options.threads = arguments.number<std::size_t>("threads", processors, 1, max_threads, "a whole number");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::graph
