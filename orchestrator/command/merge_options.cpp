#include "orchestrator/command/merge_options.h"

#include <array>
#include <limits>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"

namespace msrun {
namespace {

constexpr std::string_view merge_usage = "msrun merge PATH... [-o DIR] [--json]";

constexpr auto merge_output_options = std::to_array<Option>({
    {"-o, --out_path DIR", "directory of the merged run: two CSVs and a journal (default ./)", Takes::one_value},
    {"--json", "JSON in place of the text: what came from where, what is missing, what disagrees"},
});

CommandDescription merge_description() {
  CommandDescription command;
  command.program = "msrun merge";
  command.summary =
      "msrun merge makes one run of those that checked a part of a recording each, --shard or --steal: the CSVs that "
      "one machine would have written, byte for byte, and a journal that can be shown and continued. PATH is a "
      "journal, "
      "a CSV beside it, or a directory: every journal in it.";
  command.usage = {merge_usage};
  command.sections = {{"Examples",
                       {{"msrun merge parts -o result", "of all parts whose journals are in one folder"},
                        {"msrun merge node1/accuracy_checking_20261121071535_shard1of2.journal node2 -o result",
                         "a journal, and all of another folder"}}}};
  command.groups = {{"Output", merge_output_options}};
  command.exit_meanings = {
      {exit_completed, "every call has a result, and parts that checked the same call agree"},
      {exit_fail_on, "every call has a result, but parts disagree about one, or not a single call was checked"},
      {exit_usage, "wrong usage, or journals that are not parts of one run"},
      {exit_incomplete,
       "calls are missing: the merged run holds all others and can be continued with -csv_path; or it could not be "
       "written"},
      {exit_internal, "internal error"},
  };
  command.most_operands = std::numeric_limits<std::size_t>::max();
  return command;
}

}  // namespace

std::variant<MergeOptions, PrintAndExit> parse_merge_options(const std::vector<std::string>& words) {
  auto parsed = parse_arguments(merge_description(), words);
  if (auto* text = std::get_if<PrintAndExit>(&parsed)) return std::move(*text);
  const Arguments& arguments = std::get<Arguments>(parsed);
  if (arguments.operands().empty() || arguments.operands().front().empty()) {
    throw UserError("msrun merge needs the journals of the parts, or their folder; usage: " + std::string(merge_usage));
  }
  MergeOptions options;
  options.paths = arguments.operands();
  if (arguments.given("out_path")) options.out_path = arguments.text("out_path");
  if (options.out_path.empty()) throw UserError("-o needs a directory");
  options.json = arguments.given("json");
  return options;
}

}  // namespace msrun
