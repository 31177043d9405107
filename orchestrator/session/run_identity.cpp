#include "orchestrator/session/run_identity.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/base/hash.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/base/version.h"
#include "orchestrator/command/config.h"
#include "orchestrator/command/option_values.h"
#include "orchestrator/command/recorded_options.h"
#include "orchestrator/command/sharing_options.h"
#include "orchestrator/session/input.h"
#include "orchestrator/session/limits.h"
#include "orchestrator/view/rank_table.h"
#include "runner/results/run_header.h"

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

std::string shard_text(const Options& options) {
  if (options.steal) return "stolen";
  return options.shard ? std::to_string(options.shard->number) + "/" + std::to_string(options.shard->of) : "all";
}

std::string_view across_ranks_text(AcrossRanks mode) {
  return mode == AcrossRanks::off ? "off" : mode == AcrossRanks::values ? "values" : "calls";
}

// Each rank with what is wanted of its recording.
json recordings(const Plan& plan) {
  json list = json::array();
  for (const PlannedRank& rank : plan.ranks()) {
    list.push_back({{"rank", rank.calls.rank},
                    {"api_info", rank.path},
                    {"dump", hexadecimal(rank.fingerprint)},
                    {"calls", rank.calls.size()},
                    {"checked", rank.own}});
  }
  return list;
}

// A list of names whose order and repetitions mean nothing.
json quantization_names(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// What must be equal for a journal to be continued: the dump and everything that changes a result.
json fingerprint(const SessionState& session) {
  const Options& options = session.options;
  json print{{"dump", hexadecimal(session.plan.fingerprint())},
             {"calls", session.plan.size()},
             {"seed", options.seed.value_or(session.plan.dialect().usual_seed())},
             {"seed_mode", options.seed_mode == SeedMode::stream ? "stream" : "per-api"},
             {"standard", policy_text(options.standard)},
             {"limits", limits_text(options.limits)},
             {"benchmark", benchmark_text(options.sampled_work)},
             {"max_abs_err", options.max_abs_error},
             {"compat", options.compat_msprobe                    ? "msprobe"
                        : options.layout == ReportLayout::att_raw ? "att"
                                                                  : "none"},
             {"layout", options.layout == ReportLayout::current ? "current" : "att"},
             {"outside_data", may_read_outside(session) ? "allowed" : "refused"},
             {"repeat", options.repeat},
             {"same_on_all", options.same_on_all ? options.devices : std::vector<int>()},
             {"shard", shard_text(options)},
             {quantization_key, quantization_names(session.quantization_apis)}};
  if (!session.plan.ranks().empty()) print["across_ranks"] = across_ranks_text(options.across_ranks);
  for (const BackendSetting& setting : session.backend.settings) {
    if (setting.is_fingerprint) print[setting.name] = setting.values;
  }
  return print;
}

// Options that do nothing to this recording, or in this layout, make no run another one: they count as not given.
json without_unheeded(json print, const SessionState& session) {
  const std::span<const std::string_view> unheeded = session.plan.dialect().unheeded_options();
  const bool has_one_rule = session.options.layout != ReportLayout::current;
  const auto settle = [&](std::string_view option, const char* key, const json& value, bool anyway) {
    const bool is_unheeded = anyway || std::ranges::find(unheeded, option) != unheeded.end();
    if (is_unheeded && print.contains(key)) print[key] = value;
  };
  const Options usual;
  settle("--max-abs-err", "max_abs_err", usual.max_abs_error, false);
  settle("--seed-mode", "seed_mode", "per-api", false);
  settle("--standard", "standard", policy_text(usual.standard), has_one_rule);
  settle("--limits", "limits", limits_text(Limits::current), has_one_rule);
  return print;
}

// The options that select calls, as far as they differ: " (--only: 'A' then, none now)".
std::string selection_differences(const json& metadata, const Options& options) {
  const auto recorded = options_in(metadata);
  if (!recorded) return {};
  const auto values = [](const std::vector<OptionWords>& all, const std::string& flag) {
    std::string text;
    for (const OptionWords& words : all) {
      if (words.front() != flag) continue;
      text += text.empty() ? "" : ", ";
      text += words.size() > 1 ? shell_quoted(sanitised(words[1])) : "given";
    }
    return text.empty() ? "none" : text;
  };
  std::string differences;
  for (const std::string_view option : selecting_options()) {
    const std::string flag(option);
    const std::string then = values(*recorded, flag);
    const std::string now = values(recorded_options(options), flag);
    if (then == now) continue;
    differences += (differences.empty() ? " (" : "; ") + flag + ": " + then + " then, " + now + " now";
  }
  return differences.empty() ? "" : differences + ")";
}

// The ranks whose calls differ: " (step0/rank3 is another one, step0/rank9 was not there)".
std::string rank_differences(const json& metadata, const Plan& plan) {
  std::map<std::string, json> then;
  const json recorded = metadata.value("recordings", json::array());
  for (const json& rank : recorded) {
    if (!rank.is_object()) continue;
    const json name = rank.value("rank", json());
    if (name.is_string()) then[name.get<std::string>()] = rank.value("dump", json());
  }
  std::vector<std::string> changed;
  for (const PlannedRank& rank : plan.ranks()) {
    const auto found = then.find(rank.calls.rank);
    if (found == then.end()) {
      changed.push_back(rank.calls.rank + " was not there");
    } else {
      if (found->second != hexadecimal(rank.fingerprint)) changed.push_back(rank.calls.rank + " is another one");
      then.erase(found);
    }
  }
  if (!plan.ranks().empty()) {
    for (const auto& [rank, dump] : then) changed.push_back(sanitised(rank) + " is no longer there");
  }
  return changed.empty() || then.size() == recorded.size() ? "" : " (" + some_ranks(changed) + ")";
}

// Settings of a backend concern those who go on with it. Those of the run that was begun stand in its header beside the
// fingerprint, too.
bool is_setting_of_other(const json& recorded, const ChosenBackend& backend, const std::string& key) {
  if (recorded.value("backend", json()) == backend.name) return false;
  return recorded.contains(key) ||
         std::ranges::find(backend.settings, key, &BackendSetting::name) != backend.settings.end();
}

// Of a fingerprint what all have in common who share the calls of one run. Versions that did not note the APIs whose
// integers may differ by one share with those that do, if these are the usual ones.
json shared_print(const json& whole, const SessionState& session) {
  json print = without_unheeded(whole, session);
  print.erase("shard");
  const auto names = print.find(quantization_key);
  if (names != print.end() && *names == quantization_names(Config().quantization_api_list)) print.erase(names);
  return print;
}

}  // namespace

std::string journal_metadata(const SessionState& session, const CsvStyle& style, const MoreMetadata& more) {
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
                {"real_data", session.plan.real_data()},
                {"backend", session.backend.name},
                {"tested_on", tested_on_text(tested_on(*session.backend.row))}};
  for (const BackendSetting& setting : session.backend.settings) metadata[setting.name] = setting.values;
  metadata["host"] = host_name();
  if (options.shard) metadata["shard_calls"] = shared_calls(session);
  if (options.steal) metadata["node"] = options.node;
  metadata["csv"] = {{"framework", style.dialect->spellings().front()},
                     {"precision", style.precision},
                     {"english_titles", style.english_titles},
                     {"with_reasons", style.with_reasons}};
  metadata["arguments"] = recorded_options(options);
  std::error_code ignored;
  metadata["working_directory"] = std::filesystem::current_path(ignored).string();
  if (more.kept > 0) metadata["kept"] = more.kept;
  if (!more.error_data.empty()) metadata["error_data"] = more.error_data;
  if (!session.plan.ranks().empty()) metadata["recordings"] = recordings(session.plan);
  if (options.filter_api) metadata["represented"] = repeated_calls(session.plan);
  // A path may hold bytes that are not UTF-8.
  return metadata.dump(-1, ' ', false, json::error_handler_t::replace);
}

void require_same_run(const std::string& metadata, const SessionState& session, const std::string& journal) {
  const json expected = without_unheeded(fingerprint(session), session);
  const json recorded = parsed_json<json>(metadata);
  if (recorded.is_discarded() || !recorded.is_object() || !recorded.contains("fingerprint") ||
      !recorded["fingerprint"].is_object()) {
    throw UserError(journal + ": its header does not say which run it belongs to.");
  }
  // Journals that lack one of these are of a version without the option.
  json begun{{"limits", limits_text(Limits::current)},
             {"benchmark", benchmark_text({})},
             {"max_abs_err", Options().max_abs_error},
             {"outside_data", "refused"},
             {"layout", "current"},
             {"repeat", 1},
             {"same_on_all", json::array()},
             {"shard", "all"},
             // These were read without being noted: whatever they were is taken to be what they are now.
             {quantization_key, expected[quantization_key]}};
  begun.update(recorded["fingerprint"]);
  begun = without_unheeded(std::move(begun), session);
  // A setting that only one of them has makes another run as well.
  std::set<std::string> keys;
  for (const json* print : std::initializer_list<const json*>{&expected, &begun}) {
    for (const auto& [key, value] : print->items()) keys.insert(key);
  }
  std::string differences;
  for (const std::string& key : keys) {
    const json earlier = begun.value(key, json());
    const json value = expected.value(key, json());
    if (earlier == value || is_setting_of_other(recorded, session.backend, key)) continue;
    differences += differences.empty() ? "" : ", ";
    differences +=
        key == "dump"
            ? "the dump, or what --only, --except, -f and -config leave of it" +
                  rank_differences(recorded, session.plan) + selection_differences(recorded, session.options)
            : sanitised(key) + " (" + sanitised(earlier.dump()) + " then, " + sanitised(value.dump()) + " now)";
  }
  if (!differences.empty()) {
    throw UserError("-csv_path: the run in " + journal +
                    " cannot be continued with this dump and these options; different are " + differences + ".");
  }
}

void warn_of_other_device(const std::string& metadata, const SessionState& session, const std::string& journal) {
  const json recorded = parsed_json<json>(metadata);
  const json backend = recorded.value("backend", json());
  const std::string& now = session.backend.name;
  if (!backend.is_string() || backend == now) return;
  spdlog::warn("{}: the run was begun with --backend {} and goes on with {}: its results are of both.", journal,
               sanitised(backend.get<std::string>()), now);
}

std::string run_key(const SessionState& session) {
  return hexadecimal(fnv1a(shared_print(fingerprint(session), session).dump(), fnv1a_start));
}

bool is_of_run(const std::string& metadata, const SessionState& session) {
  const json recorded = parsed_json<json>(metadata);
  if (!recorded.is_object() || !recorded.contains("fingerprint")) return false;
  if (!recorded["fingerprint"].is_object()) return false;
  return shared_print(recorded["fingerprint"], session) == shared_print(fingerprint(session), session);
}

}  // namespace msrun
