#include "tools/run_bisect/options.h"

#include <array>
#include <filesystem>
#include <set>

#include "kernels/base/command_line/program.h"
#include "tools/run_bisect/versions.h"

namespace msrun::run_bisect {
namespace {

constexpr auto search = std::to_array<Option>({
    {"--good A", "a version, or a run of one, that does not have the fault", Takes::one_value},
    {"--bad B", "a version, or a run of one, that has it", Takes::one_value},
    {"--command CMD",
     "shell command that makes the run of a version: {version} and {out} in it become the version and the folder for "
     "the run, quoted; exit code 125: this version cannot be tried",
     Takes::one_value},
    {"--versions FILE|LIST",
     "the versions in question from old to new, one a line or separated by commas (default: whole numbers from A to B, "
     "else the commits of the git repository here)",
     Takes::one_value},
    {"--api NAME", "the call to follow, or a pattern for calls (default: all that are new in B)", Takes::one_value},
});

constexpr auto output = std::to_array<Option>({
    {"-o, --out_path DIR", "folder of the runs, which are remembered there (default msrun_bisect)", Takes::one_value},
});

CommandDescription description() {
  CommandDescription command;
  command.program = "run_bisect";
  command.summary =
      "run_bisect finds the version, of a driver, a framework or a model, that made a call wrong: it makes a run of "
      "the "
      "one in the middle, compares it with the good run and goes on in the half that the fault came in.";
  command.usage = {"run_bisect --good A --bad B --command CMD [OPTIONS]",
                   "msrun bisect --good A --bad B --command CMD [OPTIONS]"};
  command.sections = {
      {"Examples",
       {{"msrun bisect --good 1 --bad 40 --command './use {version} && msrun -api_info dump.json -o {out}'",
         "numbered versions"},
        {"msrun bisect --good ./good --bad ./bad --versions v1,v2,v3 --command './check {version} {out}'",
         "runs of the ends are there already"}}}};
  command.groups = {{"Search", search}, {"Output", output}};
  command.exit_meanings = {
      {exit_completed, "the version is found"},
      {exit_fail_on, "only versions that could not be tried are left: it is one of these"},
      {exit_usage, "wrong usage, runs that cannot be read, or ends that are not good and bad"},
      {exit_incomplete, "interrupted; the same command goes on"},
      {exit_internal, "internal error"},
  };
  return command;
}

// The places of both placeholders.
void check_command(const Arguments& arguments, const std::string& command) {
  for (const char* placeholder : {"{version}", "{out}"}) {
    if (command.find(placeholder) == std::string::npos) {
      throw arguments.wrong("command", command, std::string("must say where ") + placeholder + " goes");
    }
  }
}

Options options_from(const Arguments& arguments) {
  Options options;
  for (const char* name : {"good", "bad", "command"}) {
    if (arguments.text(name).empty()) {
      throw UserError("--good A, --bad B and --command CMD are needed; msrun bisect -h lists all options");
    }
  }
  if (arguments.given("versions")) options.versions = listed_versions(arguments.text("versions"));
  options.good = arguments.text("good");
  options.bad = arguments.text("bad");
  options.command = arguments.text("command");
  check_command(arguments, options.command);
  options.api = arguments.text("api");
  if (arguments.given("api") && options.api.empty()) throw UserError("--api needs the name of a call");
  options.out_path = arguments.text("out_path", options.out_path);
  if (options.out_path.empty()) throw UserError("the option -o needs the name of a directory");
  return options;
}

}  // namespace

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  return options_or_text<Options>(description(), argc, argv, options_from);
}

}  // namespace msrun::run_bisect
