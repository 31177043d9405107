// The msrun command.
#include <iostream>

#include "journal/error.h"
#include "kernels/base/guarded_main.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/command/command_line.h"
#include "orchestrator/command/list_apis.h"
#include "orchestrator/command/list_devices.h"
#include "orchestrator/command/list_faults.h"
#include "orchestrator/command/list_judgement.h"
#include "orchestrator/command/list_standards.h"
#include "orchestrator/merge/merge.h"
#include "orchestrator/session/session.h"

namespace {

// The exit code where the storage refuses results before the first of them: there is no more to be mended about the
// command than in the middle of a run. Any other error is thrown on. For a handler of it.
template <class Error>
int not_written(const Error& error) {
  if (!msrun::is_refusal_of_storage(error.code())) throw;
  std::cerr << "msrun: " << msrun::sanitised(error.what()) << '\n';
  return msrun::exit_incomplete;
}

// What work returns, or not_written().
template <class Work>
int with_results(const Work& work) {
  try {
    return work();
  } catch (const msrun::journal::WriteError& error) {
    return not_written(error);
  } catch (const msrun::WriteError& error) {
    return not_written(error);
  }
}

int run(int argc, const char* const* argv) try {
  const msrun::ParsedCommandLine parsed = msrun::parse_command_line(argc, argv);
  if (const auto* text = std::get_if<msrun::PrintAndExit>(&parsed)) {
    msrun::print_text(text->text);
    return msrun::exit_completed;
  }
  if (const auto* journal = std::get_if<msrun::JournalOptions>(&parsed)) return msrun::show_journals(*journal);
  if (const auto* merge = std::get_if<msrun::MergeOptions>(&parsed)) {
    return with_results([&] { return msrun::merge_journals(*merge); });
  }
  if (const auto* tool = std::get_if<msrun::ToolRequest>(&parsed)) msrun::run_tool(*tool);
  const msrun::Options& options = std::get<msrun::Options>(parsed);
  const bool json = options.json_lists || options.message_format == msrun::MessageFormat::json;
  if (options.list_apis) {
    msrun::print_text(json ? msrun::list_apis_json() : msrun::list_apis_text());
    return msrun::exit_completed;
  }
  if (options.list_standards) {
    msrun::print_text(json ? msrun::list_standards_json() : msrun::list_standards_text());
    return msrun::exit_completed;
  }
  if (options.list_judgement) {
    msrun::print_text(json ? msrun::list_judgement_json() : msrun::list_judgement_text());
    return msrun::exit_completed;
  }
  if (options.list_devices) {
    const std::string plugin = options.backend == "plugin" ? options.backend_kind : std::string();
    msrun::print_text(json ? msrun::list_devices_json(options.python, plugin)
                           : msrun::list_devices_text(options.python, plugin));
    return msrun::exit_completed;
  }
  if (options.list_faults) {
    msrun::print_text(json ? msrun::list_faults_json() : msrun::list_faults_text());
    return msrun::exit_completed;
  }
  return with_results([&] { return msrun::run_session(options); });
} catch (const msrun::journal::Error& error) {
  throw msrun::UserError(error.what());
}

}  // namespace

int main(int argc, char** argv) {
  return msrun::guarded_main("msrun", [&] { return run(argc, argv); });
}
