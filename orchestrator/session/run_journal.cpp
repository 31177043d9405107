#include "orchestrator/session/run_journal.h"

#include <ctime>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "journal/reader.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/version.h"
#include "orchestrator/session/limits.h"
#include "runner/results/journal_records.h"

namespace msrun {
namespace {

using nlohmann::json;

// Changes results only where tensors are in files.
bool may_read_outside(const SessionState& session) {
  return session.plan.real_data() && session.options.allow_outside_data;
}

// Who stands for whom after -f: the names, or of very many calls the numbers.
json repeated_calls(const Plan& plan) {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  std::size_t bytes = 0;
  for (const RepeatedCall& call : plan.repeated()) {
    bytes += call.kept.size();
    for (const std::string& name : call.left_out) bytes += name.size();
  }
  json result = json::object();
  for (const RepeatedCall& call : plan.repeated()) {
    if (bytes <= most_bytes) {
      result[call.kept] = call.left_out;
    } else {
      result[call.kept] = call.left_out.size();
    }
  }
  return result;
}

// What must be equal for a journal to be continued: the dump and everything that changes a result.
json fingerprint(const SessionState& session) {
  const Options& options = session.options;
  json print{{"dump", hexadecimal(session.plan.fingerprint())},
             {"calls", session.plan.size()},
             {"seed", options.seed},
             {"seed_mode", options.seed_mode == SeedMode::stream ? "stream" : "per-api"},
             {"standard", policy_text(options.standard)},
             {"limits", limits_text(options.limits)},
             {"compat", options.compat_msprobe ? "msprobe" : "none"},
             {"outside_data", may_read_outside(session) ? "allowed" : "refused"}};
  for (const BackendSetting& setting : session.backend.settings) {
    if (setting.is_fingerprint) print[setting.name] = setting.values;
  }
  return print;
}

// The fingerprint, and what is there to be read.
std::string journal_metadata(const SessionState& session) {
  const Options& options = session.options;
  json metadata{{"program", "msrun"},
                {"version", program_version()},
                {"started", std::time(nullptr)},
                {"command", reproduce_command(options)},
                {"threads", options.threads},
                {"devices", options.devices},
                {"fingerprint", fingerprint(session)},
                {"api_info", options.api_info},
                {"forward", options.forward},
                {"backward", options.backward},
                {"backend", session.backend.row->name},
                {"tested_on", tested_on_text(tested_on(*session.backend.row))}};
  for (const BackendSetting& setting : session.backend.settings) metadata[setting.name] = setting.values;
  if (options.filter_api) metadata["represented"] = repeated_calls(session.plan);
  // A path may hold bytes that are not UTF-8.
  return metadata.dump(-1, ' ', false, json::error_handler_t::replace);
}

void require_same_run(const std::string& metadata, const json& expected, const std::string& journal) {
  const json recorded = json::parse(metadata, nullptr, false);
  if (recorded.is_discarded() || !recorded.is_object() || !recorded.contains("fingerprint") ||
      !recorded["fingerprint"].is_object()) {
    throw UserError(journal + ": its header does not say which run it belongs to.");
  }
  // Journals that lack one of these are of a version without the option.
  json begun{{"limits", limits_text(Limits::current)}, {"outside_data", "refused"}};
  begun.update(recorded["fingerprint"]);
  std::string differences;
  for (const auto& [key, value] : expected.items()) {
    const json earlier = begun.value(key, json());
    if (earlier == value) continue;
    differences += differences.empty() ? "" : ", ";
    differences += key == "dump" ? "the dump, or what --only, -f and -config leave of it"
                                 : key + " (" + earlier.dump() + " then, " + value.dump() + " now)";
  }
  if (!differences.empty()) {
    throw UserError("-csv_path: the run in " + journal +
                    " cannot be continued with this dump and these options; different are " + differences + ".");
  }
}

// It is allowed, and every result says what it was tested on; but the counts of the run then speak of both.
void warn_of_other_device(const std::string& metadata, const SessionState& session, const std::string& journal) {
  const json recorded = json::parse(metadata, nullptr, false);
  const json backend = recorded.value("backend", json());
  const std::string_view now = session.backend.row->name;
  if (!backend.is_string() || backend == now) return;
  spdlog::warn("{}: the run was begun with --backend {} and goes on with {}: its results are of both.", journal,
               sanitised(backend.get<std::string>()), now);
}

EarlierRun reopen_journal(const SessionState& session, const std::string& path) {
  // Locked first: what is read and what is continued are the same then.
  std::unique_ptr<journal::File> file = journal::open_file(path);
  const std::string metadata = journal::read_header(*file).metadata;
  require_same_run(metadata, fingerprint(session), path);
  warn_of_other_device(metadata, session, path);
  StoredResults results(session.plan.size());
  AttemptHistory attempts;
  RecordHandlers handlers;
  // A call that ran again for its SKIP has several results: the last counts.
  handlers.result = [&](const ApiResult& result) {
    if (result.task < results.tasks()) results.put(result);
  };
  handlers.attempt = [&](const AttemptNote& note) { attempts.see(note); };
  const journal::Recovery recovery = read_records(*file, handlers);
  if (recovery.torn_tail) {
    spdlog::warn("{}: {} bytes at its end were cut off: the write of a batch had not been completed.", path,
                 recovery.torn_bytes);
  }
  if (recovery.damaged_regions > 0) {
    spdlog::warn("{}: {} bytes in {} places are damaged; the calls recorded there are checked again.", path,
                 recovery.damaged_bytes, recovery.damaged_regions);
  }
  return {journal::Writer::resume(std::move(file), recovery.valid_size), std::move(results), std::move(attempts)};
}

// The files of a tool that keeps no journal: what its result file holds is finished.
EarlierRun import_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file) {
  ImportedCsv imported = import_csv(files.result, files.details, style);
  for (const std::string& note : imported.notes) spdlog::warn("{}", note);
  std::unordered_map<std::string_view, std::uint32_t> tasks;
  for (std::uint32_t task = 0; task < session.plan.size(); ++task) tasks.emplace(session.plan.view().name(task), task);
  journal::Writer journal = begin_journal(session, files.journal, new_file);
  StoredResults results(session.plan.size());
  for (ApiResult& result : imported.results) {
    const auto task = tasks.find(result.name);
    if (task == tasks.end()) {
      spdlog::warn("{}: {} is not in the dump and is dropped.", files.result, result.name);
      continue;
    }
    result.task = task->second;
    const bool by_rule = session.plan.view().tasks[result.task].skip_by_rule;
    if (by_rule && result.outcome == Outcome::not_checkable) result.outcome = Outcome::skipped_by_rule;
    results.put(result);
    journal.append(encode(result));
  }
  journal.flush();
  return {std::move(journal), std::move(results), {}};
}

}  // namespace

journal::Writer begin_journal(const SessionState& session, const std::string& path, NewFile& new_file) {
  journal::Writer journal = journal::Writer::create(path, journal_metadata(session));
  new_file.created(path);
  return journal;
}

EarlierRun reopen_run(const SessionState& session, const RunFiles& files, const CsvStyle& style, NewFile& new_file) {
  std::error_code ignored;
  return std::filesystem::exists(files.journal, ignored) ? reopen_journal(session, files.journal)
                                                         : import_run(session, files, style, new_file);
}

}  // namespace msrun
