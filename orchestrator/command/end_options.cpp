#include "orchestrator/command/end_options.h"

namespace msrun {

void set_ends(const Arguments& arguments, Options& options) {
  constexpr std::uint32_t most = 1'000'000;
  options.last_failed = arguments.given("last_failed");
  options.dry_run = arguments.given("dry_run");
  for (const char* name : {"last_failed", "dry_run"}) {
    if (arguments.given(name) && !options.csv_path.empty()) {
      throw UserError(arguments.shown(name) + " is for a run that begins, not for one that is continued (-csv_path)");
    }
  }
  if (options.last_failed && (options.shard || options.steal)) {
    throw UserError("--last-failed does not go with " + std::string(options.steal ? "--steal" : "--shard") +
                    ": each process would take what another has just begun for the last run; without it one process "
                    "checks what failed");
  }
  if (options.last_failed && options.layout != ReportLayout::current) {
    throw UserError(
        "--last-failed does not go with --layout att, whose runs need a folder without the journal of another one");
  }
  for (const char* name : {"junit", "fail_on", "durations"}) {
    if (!options.dry_run || !arguments.given(name)) continue;
    options.notices.push_back(arguments.shown(name) + " does nothing with --dry-run, which has no results.");
  }
  options.max_failures = arguments.number<std::uint32_t>("max_failures", 0, 1, most, "a whole number");
  options.durations = arguments.number<std::uint32_t>("durations", 0, 1, most, "a whole number");
  options.junit_path = arguments.text("junit");
  if (arguments.given("junit") && options.junit_path.empty()) throw UserError("--junit needs the name of a file");
  if (arguments.given("junit_status") && options.junit_path.empty()) {
    throw UserError("--junit-status says what fails in the file of --junit, which is not asked for");
  }
  options.junit_status =
      arguments.choice("junit_status", JunitStatus::suspicious,
                       {{"suspicious", JunitStatus::suspicious}, {"documented", JunitStatus::documented}});
  if (options.junit_path == "-") {
    throw UserError("--junit writes a file, because standard output has the progress of the run; ./- is one called -");
  }
}

}  // namespace msrun
