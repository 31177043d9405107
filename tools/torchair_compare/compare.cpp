#include "tools/torchair_compare/compare.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/io/files/paths.h"
#include "tools/torchair_compare/dump_roots.h"
#include "tools/torchair_compare/rank_comparison.h"

namespace msrun::torchair {
namespace {

// A directory that can be listed, by its absolute path without symbolic links.
std::string directory_path(const std::string& path) {
  check_path_text(path);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) throw UserError("The path " + path + " cannot be read: " + error.message() + ".");
  if (!std::filesystem::is_directory(real, error)) throw UserError("The path " + path + " is no directory.");
  const std::filesystem::directory_iterator listed(real, error);
  if (error) throw UserError("The directory " + path + " cannot be read: " + error.message() + ".");
  return real.string();
}

std::string rank_text(std::uint64_t rank) { return "rank " + std::to_string(rank); }

std::string ranks_text(const std::vector<std::uint64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

using Ranks = std::map<std::uint64_t, std::string>;

std::vector<std::uint64_t> missing_in(const Ranks& offered, const Ranks& wanted) {
  std::vector<std::uint64_t> missing;
  for (const auto& [rank, path] : wanted) {
    if (!offered.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

// The pairs of directories to be compared. Sentences about ranks that are not, because one side alone has them, are
// added to left_out.
std::vector<RankJob> plan_ranks(const DumpPlace& target, const DumpPlace& golden, const Options& options,
                                Messages& messages, std::vector<std::string>& left_out) {
  const auto my_ranks = target.ranks(messages);
  const auto golden_ranks = golden.ranks(messages);
  RankJob job;
  job.target_root = target.root;
  job.kind = golden.kind;
  job.golden_of_rank = !golden_ranks.empty();
  if (my_ranks.empty()) {
    if (options.rank) {
      messages.warning("The directory structure of torchair data is old, the rank parameter will not take effect.");
    }
    if (golden_ranks.size() > 1) {
      throw UserError("The golden data have " + std::to_string(golden_ranks.size()) +
                      " ranks but the data to compare have none: it is not clear which of them are meant.");
    }
    job.my_base = target.base;
    job.golden_base = golden_ranks.empty() ? golden.base : golden_ranks.begin()->second;
    return {job};
  }
  if (golden_ranks.empty() && !options.rank && my_ranks.size() > 1) {
    throw UserError("No common rank data in golden_path and my_path.");
  }
  std::vector<RankJob> jobs;
  for (const auto& [rank, path] : my_ranks) {
    if (options.rank && rank != *options.rank) continue;
    const auto partner = golden_ranks.find(rank);
    if (!golden_ranks.empty() && partner == golden_ranks.end()) continue;
    job.rank = rank;
    job.my_base = path;
    job.golden_base = golden_ranks.empty() ? golden.base : partner->second;
    jobs.push_back(job);
  }
  if (!jobs.empty()) {
    // Who names a rank wants no other.
    if (options.rank || target.rank || golden.rank || golden_ranks.empty()) return jobs;
    const std::vector<std::uint64_t> mine_alone = missing_in(golden_ranks, my_ranks);
    const std::vector<std::uint64_t> golden_alone = missing_in(my_ranks, golden_ranks);
    if (!mine_alone.empty()) left_out.push_back(ranks_text(mine_alone) + ": there are no golden data");
    if (!golden_alone.empty()) left_out.push_back(ranks_text(golden_alone) + ": there are golden data alone");
    for (const std::string& sentence : left_out) messages.warning("Not compared: " + sentence + ".");
    return jobs;
  }
  if (!options.rank) throw UserError("No common rank data in golden_path and my_path.");
  const bool golden_has = golden_ranks.empty() || golden_ranks.contains(*options.rank);
  throw UserError(std::string(golden_has ? "Can not get my data in " : "Can not get golden data in ") +
                  rank_text(*options.rank));
}

}  // namespace

int compare_dumps(const Options& options, Messages& messages, std::ostream& out) {
  const DumpPlace target = find_target(directory_path(options.target_path), messages);
  const DumpPlace golden = find_golden(directory_path(options.golden_path), target, messages);
  std::vector<std::string> left_out;
  const std::vector<RankJob> jobs = plan_ranks(target, golden, options, messages, left_out);
  const PreparedDirectory output(options.output_path);

  std::string failures;
  std::uint64_t compared = 0;
  for (const RankJob& job : jobs) {
    try {
      compared += compare_rank(job, options, messages, out);
    } catch (const UserError& error) {
      messages.count_further_warnings();
      if (jobs.size() == 1) throw;
      failures += (failures.empty() ? "" : "; ") + rank_text(*job.rank) + ": " + error.what();
    }
    messages.clear_progress();
  }
  for (const std::string& sentence : left_out) out << "not compared: " << sentence << '\n';
  if (!failures.empty()) throw UserError(failures);
  if (compared == 0) {
    out << "Nothing was compared: no tensor with elements that can be compared is in both dumps.\n";
  }
  if (const std::size_t unread = messages.unread_directories(); unread > 0) {
    out << "Not compared: what lies in " << counted(unread, "folder") << " that cannot be read.\n";
    return exit_usage;
  }
  if (compared == 0) return exit_fail_on;
  return exit_completed;
}

}  // namespace msrun::torchair
