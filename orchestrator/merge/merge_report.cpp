#include "orchestrator/merge/merge_report.h"

#include <algorithm>
#include <array>
#include <map>

#include "journal/holder.h"
#include "kernels/base/counted.h"
#include "kernels/base/text.h"
#include "orchestrator/output/rank_csvs.h"
#include "orchestrator/view/console.h"
#include "runner/results/journal_records.h"
#include "runner/results/recorded_option.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_listed = 20;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What was lost of the journal; empty: nothing.
std::string damage_text(const PartJournal& part) {
  std::string text = losses_text(part.recovery, part.unreadable);
  if (journal::find_holder(part.path)) text += std::string(text.empty() ? "" : ", ") + "still being written";
  return text;
}

std::string parts_table(const std::vector<PartJournal>& parts) {
  std::vector<std::array<std::string, 6>> rows{{"Part", "Host", "Device", "Results", "Counted", "Journal"}};
  for (const PartJournal& part : parts) {
    rows.push_back({part.part, part.host.empty() ? "?" : part.host, part.backend, std::to_string(part.results),
                    std::to_string(part.taken), sanitised(part.path)});
  }
  std::array<std::size_t, 6> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      text += rows[r][i];
      if (i + 1 < rows[r].size()) text.append(widths[i] - display_width(rows[r][i]) + 2, ' ');
    }
    text += '\n';
    if (r == 0) continue;
    const std::string damage = damage_text(parts[r - 1]);
    if (!damage.empty()) text += "  " + damage + "\n";
  }
  return text;
}

// Which parts another version has checked, if not all are of one: it may compute or judge some calls otherwise.
std::string versions_text(const std::vector<PartJournal>& parts) {
  std::map<std::string, std::size_t> counts;
  for (const PartJournal& part : parts) ++counts[part.version.empty() ? "unknown" : part.version];
  if (counts.size() < 2) return {};
  std::string text;
  for (const auto& [version, count] : counts) {
    text += (text.empty() ? "" : ", ") + version + " (" + counted(count, "journal") + ")";
  }
  return "Parts are of different versions of msrun: " + text + "\n";
}

bool is_unfinished(const PartJournal& part) { return part.shard_calls && part.results < *part.shard_calls; }

// Lines that get what is missing: everything here, or part by part where the parts are.
std::vector<std::string> continue_commands(const Merged& merged) {
  const std::string& file = merged.ranks.empty() ? merged.files.result : merged.files.journal;
  std::vector<std::string> commands{shell_quoted(merged.program) + " -csv_path " + shell_quoted(file)};
  for (const PartJournal& part : merged.parts) {
    if (!is_unfinished(part)) continue;
    const std::optional<RunFiles> files = files_of_run_file(part.path);
    const std::string& of_part = merged.ranks.empty() && files ? files->result : part.path;
    commands.push_back(shell_quoted(merged.program) + " -csv_path " + shell_quoted(of_part));
  }
  const AbsentShards absent = absent_shards(merged.parts);
  for (const std::uint32_t number : absent.numbers) {
    if (commands.size() == most_listed) break;
    commands.push_back(shard_command(merged.parts.front(), merged.program, number, absent.of));
  }
  return commands;
}

std::string missing_text(const Merged& merged) {
  if (merged.finished == merged.calls) return {};
  std::string text =
      "Missing: " + std::to_string(merged.calls - merged.finished) + " of " + counted(merged.calls, "call") + ".";
  const AbsentShards absent = absent_shards(merged.parts);
  if (!absent.numbers.empty()) {
    text += " There is no journal of";
    for (std::size_t i = 0; i < std::min(absent.numbers.size(), most_listed); ++i) {
      text += (i == 0 ? " part " : ", ") + std::to_string(absent.numbers[i]) + "/" + std::to_string(absent.of);
    }
    if (absent.numbers.size() > most_listed) text += " and others";
    text += ".";
  }
  for (const PartJournal& part : merged.parts) {
    if (is_unfinished(part)) {
      text += " Part " + part.part + " has " + std::to_string(part.results) + " of " +
              counted(*part.shard_calls, "call") + ".";
    }
  }
  const std::vector<std::string> commands = continue_commands(merged);
  const std::vector<std::string> given = given_again(merged.parts.front());
  text += "\nThis checks just them and completes the merged run" +
          (given.empty() ? "" : ", with " + flags_text(given) + " given as for the parts") + ":\n  " +
          commands.front() + "\n";
  if (commands.size() > 1) text += "or, part by part, followed by another merge:\n";
  for (std::size_t i = 1; i < commands.size(); ++i) text += "  " + commands[i] + "\n";
  return text;
}

std::string disagreements_text(const Merged& merged) {
  std::string text;
  for (const bool one_failed : {false, true}) {
    std::size_t listed = 0;
    std::size_t all = 0;
    std::string lines;
    for (const Disagreement& at : merged.disagreements) {
      if (at.one_failed != one_failed) continue;
      ++all;
      if (listed++ >= most_listed) continue;
      lines += "  " + sanitised(at.name) + ": " + file_name(merged.parts[at.kept].path) + " counts, " +
               file_name(merged.parts[at.other].path) + (one_failed ? " failed to run it" : " has another result") +
               "\n";
    }
    if (all == 0) continue;
    text += (one_failed ? "Parts of which one failed to run the call: " : "Parts disagree about ") +
            counted(all, "call") + "\n" + lines;
    if (all > most_listed) text += "  and " + std::to_string(all - most_listed) + " more\n";
  }
  return text;
}

// Null for a run over one recording.
Json ranks_json(const Merged& merged) {
  Json ranks;
  for (const RankCounts& rank : merged.ranks) {
    const RunFiles files = rank_files(merged.files.directory, rank.rank, merged.files.stamp);
    ranks.push_back({{"rank", rank.rank},
                     {"calls", rank.calls},
                     {"results", rank.counts.total() + rank.counts.skip},
                     {"suspicious", rank.counts.suspicious()},
                     {"result_csv", files.result},
                     {"details_csv", files.details}});
  }
  return ranks;
}

}  // namespace

std::string merge_text(const Merged& merged) {
  std::string text = parts_table(merged.parts);
  for (const std::string& path : merged.left_out.empty) {
    text += "  " + sanitised(path) + " is empty: its process died as it began\n";
  }
  for (const std::string& sentence : merged.left_out.damaged) {
    text += "  " + sanitised(sentence) + "; what it held is not in\n";
  }
  text += versions_text(merged.parts);
  text += merged.summary.text(command_like(merged.parts.front(), merged.program, false));
  if (!merged.ranks.empty()) text += rank_table(merged.ranks, Paint());
  text += disagreements_text(merged) + missing_text(merged);
  text += std::to_string(merged.finished) + " of " + counted(merged.calls, "call") + " of " +
          counted(merged.parts.size(), "journal") + " are in\n";
  const RunFiles files = merged.ranks.empty()
                             ? merged.files
                             : rank_files(merged.files.directory, merged.ranks.front().rank, merged.files.stamp);
  text += "  " + files.result + "\n  " + files.details + "\n";
  if (merged.ranks.size() > 1) text += "  and so for each of the " + std::to_string(merged.ranks.size()) + " ranks\n";
  text += "  " + merged.files.journal + "\n";
  return text;
}

std::string merge_json(const Merged& merged, int exit_code) {
  Json parts = Json::array();
  for (const PartJournal& part : merged.parts) {
    parts.push_back({{"journal", part.path},
                     {"part", part.part},
                     {"host", part.host},
                     {"node", part.node},
                     {"device", part.backend},
                     {"version", part.version},
                     {"calls", part.shard_calls ? Json(*part.shard_calls) : Json()},
                     {"results", part.results},
                     {"counted", part.taken},
                     {"damage", damage_text(part)}});
  }
  Json disagreements = Json::array();
  for (const Disagreement& at : merged.disagreements) {
    disagreements.push_back({{"task", at.task},
                             {"name", at.name},
                             {"counts", merged.parts[at.kept].path},
                             {"other", merged.parts[at.other].path},
                             {"one_failed", at.one_failed}});
  }
  const bool complete = merged.finished == merged.calls;
  const Json whole{{"complete", complete},
                   {"exit_code", exit_code},
                   {"calls", merged.calls},
                   {"results", merged.finished},
                   {"overlapping", merged.overlapping},
                   {"result_csv", merged.ranks.empty() ? merged.files.result : ""},
                   {"details_csv", merged.ranks.empty() ? merged.files.details : ""},
                   {"journal", merged.files.journal},
                   {"ranks", ranks_json(merged)},
                   {"parts", std::move(parts)},
                   {"empty", merged.left_out.empty},
                   {"damaged", merged.left_out.damaged},
                   {"disagreements", std::move(disagreements)},
                   {"given_again", given_again(merged.parts.front())},
                   {"commands", complete ? Json::array() : Json(continue_commands(merged))}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace msrun
