#include "tools/dump_compare/divergence_report.h"

#include <sys/wait.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "kernels/base/child_process.h"
#include "kernels/base/counted.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/own_programs.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/companions.h"
#include "kernels/io/files/paths.h"
#include "tools/dump_compare/divergence.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : "inf";
}

// "Torch.matmul.0" of "Torch.matmul.0.backward": how msrun names what it checks. Nothing for what is no call of an API.
std::optional<std::string> checked_name(const Recording& side, const Call& call) {
  using recordings::Direction;
  if (call.module || (call.direction != Direction::forward && call.direction != Direction::backward)) return {};
  const std::string_view name = side.name(call);
  return std::string(name.substr(0, name.rfind('.')));
}

class Reporter {
 public:
  Reporter(const std::vector<RankPair>& pairs, const std::vector<std::uint64_t>& unread, const Options& options,
           const std::string& folder)
      : pairs_(pairs), unread_(unread), folder_(folder) {
    divergence_ = find_divergence(pairs, options.tolerance.value_or(1));
  }

  Json json() const {
    Json document;
    document["verdict"] = verdict_text(divergence_.verdict);
    document["first"] = nullptr;
    document["also"] = Json::array();
    for (const Finding& finding : divergence_.findings) {
      Json shown = finding_json(finding);
      if (document["first"].is_null()) {
        document["first"] = std::move(shown);
      } else {
        document["also"].push_back(std::move(shown));
      }
    }
    document["ranks"] = Json::object();
    for (std::size_t r = 0; r < pairs_.size(); ++r) {
      const RankSummary& rank = divergence_.ranks[r];
      document["ranks"][std::to_string(pairs_[r].rank)] = {{"aligned", rank.aligned},
                                                           {"inserted", rank.inserted},
                                                           {"deleted", rank.deleted},
                                                           {"reordered", rank.reordered},
                                                           {"renamed", rank.renamed}};
    }
    if (!divergence_.other_arguments.empty()) document["other_arguments"] = divergence_.other_arguments;
    if (!unread_.empty()) document["unread"] = unread_;
    return document;
  }

  bool is_none() const { return divergence_.verdict == Verdict::none; }
  Level level() const {
    if (is_none()) return Level::pass;
    return divergence_.verdict == Verdict::found ? Level::error : Level::warning;
  }

  // What was found, and of which ranks that says nothing.
  std::vector<std::string> lines() const {
    std::vector<std::string> all = verdict_lines();
    for (const std::uint64_t rank : unread_) {
      all.push_back("Rank " + std::to_string(rank) + " could not be read: an earlier divergence may be there.");
    }
    if (divergence_.verdict == Verdict::nothing_compared) return all;
    for (std::size_t r = 0; r < pairs_.size(); ++r) {
      if (divergence_.ranks[r].compared) continue;
      all.push_back("Rank " + std::to_string(pairs_[r].rank) + " has no pair of values that could be compared.");
    }
    return all;
  }

  // Returns what to tell of the calls that were checked. all_checked: msrun could check each of them.
  std::vector<std::string> check_suspects(bool& all_checked) const {
    std::vector<std::string> lines;
    const std::string program = own_program("msrun");
    all_checked = true;
    for (const Finding& finding : divergence_.findings) {
      const Pair& pair = *pairs_[finding.rank].pair;
      const std::optional<std::string> name = checked_name(pair.target, pair.target.calls[finding.call]);
      if (!name) {
        all_checked = false;
        lines.push_back("Not checked: " + check_line(finding));
        continue;
      }
      const std::string output =
          join_path(join_path(folder_, "suspects"), "rank" + std::to_string(pairs_[finding.rank].rank));
      const int code = run({program, "-api_info", pair.target.path, "--only", *name, "-o", output});
      const bool checked = code == exit_completed;
      all_checked = all_checked && checked;
      lines.push_back((checked ? "Checked " : "Not checked: ") + *name + ": msrun ended with exit code " +
                      std::to_string(code) + (checked ? ", results in " + output : ", for the reason above"));
    }
    return lines;
  }

 private:
  std::vector<std::string> verdict_lines() const {
    switch (divergence_.verdict) {
      case Verdict::none:
        return none_lines();
      case Verdict::nothing_compared:
        return {"First divergence: unknown, nothing was compared: no pair of tensors has values in both recordings."};
      case Verdict::not_comparable:
        return {"First divergence: the recordings cannot be compared, fewer than half of the calls are the same."};
      default:
        break;
    }
    const Finding& first = divergence_.findings.front();
    const Pair& pair = *pairs_[first.rank].pair;
    const Call& call = pair.target.calls[first.call];
    std::string what = "First divergence: rank " + std::to_string(pairs_[first.rank].rank) + ", " +
                       std::string(pair.target.name(call));
    if (divergence_.verdict == Verdict::random) what += " (random numbers)";
    std::string gaps = std::string(kind_text(first.kind)) + ": ";
    for (const std::string& scalar : first.scalar_differences) gaps += "differs: " + scalar + "; ";
    gaps += (first.leaf.empty() ? "" : first.leaf + ", ") + "gap of the inputs " + short_number(first.input_gap) +
            ", of the output " + short_number(first.output_gap);
    if (first.low_confidence) gaps += "; low confidence";
    const bool checkable = checked_name(pair.target, call).has_value();
    return {what, gaps, (checkable ? "To check this call: " : "") + check_line(first)};
  }

  // The table may still have rows that are errors, and what only one side has was not compared.
  std::vector<std::string> none_lines() const {
    std::size_t inserted = 0;
    std::size_t deleted = 0;
    std::size_t differing = 0;
    for (const RankSummary& rank : divergence_.ranks) {
      inserted += rank.inserted;
      deleted += rank.deleted;
      differing += rank.differing;
    }
    std::vector<std::string> lines{
        "First divergence: none, no call with agreeing inputs was found to have other outputs."};
    if (const auto& others = divergence_.other_arguments; !others.empty()) {
      lines.push_back("Arguments that differ although the outputs agree: " + std::to_string(others.size()) +
                      ", the first of " + others.front() + ".");
    }
    if (inserted + deleted > 0) {
      lines.push_back("Not compared, having no counterpart: " + counted(inserted, "call") + " of the target and " +
                      counted(deleted, "call") + " of the golden recording.");
    }
    if (differing > 0) {
      lines.push_back("Not compared, being renamed: " + counted(differing, "call") +
                      " with other outputs, which nothing shows to be wrong.");
    }
    return lines;
  }

  Json finding_json(const Finding& finding) const {
    const RankPair& rank = pairs_[finding.rank];
    const Recording& target = rank.pair->target;
    const Call& call = target.calls[finding.call];
    const std::string name(target.name(call));
    Json shown;
    shown["rank"] = rank.rank;
    shown["call"] = name;
    shown["golden_call"] = nullptr;
    if (finding.golden_call != no_place) {
      shown["golden_call"] = std::string(rank.pair->golden.name(rank.pair->golden.calls[finding.golden_call]));
    }
    shown["kind"] = kind_text(finding.kind);
    shown["input_gap"] = number(finding.input_gap);
    shown["output_gap"] = number(finding.output_gap);
    shown["leaf"] = finding.leaf;
    shown["scalar_differences"] = finding.scalar_differences;
    const auto construct = recordings::read_construct_of(target.folder);
    shown["construct"] = construct ? construct->chain(name) : std::vector<std::string>{name};
    const std::vector<std::string>* stack = rank.pair->stacks ? rank.pair->stacks->lines(name) : nullptr;
    shown["stack"] = stack == nullptr ? std::vector<std::string>() : *stack;
    if (finding.low_confidence) shown["confidence"] = "low";
    shown["check"] = check_line(finding);
    return shown;
  }

  std::string check_line(const Finding& finding) const {
    const Recording& target = pairs_[finding.rank].pair->target;
    const Call& call = target.calls[finding.call];
    const std::optional<std::string> name = checked_name(target, call);
    if (!name) {
      return std::string(target.name(call)) +
             (call.module ? " is a module, of which msrun checks the calls: record level L1 or mix"
                          : " is no call of an API, which is what msrun checks");
    }
    return "msrun -api_info " + shell_quoted(target.path) + " --only " + shell_quoted(*name);
  }

  // Runs a program to its end; its output goes where ours does.
  static int run(const std::vector<std::string>& words) {
    const pid_t child = start_child(words, Streams::inherited);
    if (child < 0) throw UserError("the program " + words.front() + " cannot be started");
    const int status = await_end(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::vector<RankPair>& pairs_;
  const std::vector<std::uint64_t>& unread_;
  const std::string& folder_;
  Divergence divergence_;
};

}  // namespace

DivergenceReport report_first_divergence(const std::vector<RankPair>& pairs, const std::vector<std::uint64_t>& unread,
                                         const Options& options, const std::string& folder, std::string& stamp,
                                         std::ostream& out) {
  const Reporter reporter(pairs, unread, options, folder);
  const ResultPlace place{folder, "first_divergence_"};
  std::vector<NamelessFile> files;
  files.push_back({".json", std::make_unique<ReportFile>(place.folder, place.kind)});
  files.back().file->write(reporter.json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  const std::string path = publish(place, stamp, files).front();
  DivergenceReport report{reporter.lines(), reporter.is_none(), reporter.level(), true};
  for (const std::string& line : report.lines) out << sanitised(line) << '\n';
  out << "The result file path is: " << path << ".\n" << std::flush;
  if (options.check_suspects) {
    for (const std::string& line : reporter.check_suspects(report.all_checked)) {
      out << sanitised(line) << '\n';
      report.lines.push_back(line);
    }
  }
  return report;
}

}  // namespace msrun::dump_compare
