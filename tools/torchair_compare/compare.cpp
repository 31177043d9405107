#include "tools/torchair_compare/compare.h"

#include <filesystem>
#include <ostream>
#include <system_error>
#include <vector>

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

// The pairs of directories to be compared.
std::vector<RankJob> plan_ranks(const DumpPlace& target, const DumpPlace& golden, const Options& options,
                                Messages& messages) {
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
  if (!jobs.empty()) return jobs;
  if (!options.rank) throw UserError("No common rank data in golden_path and my_path.");
  const bool golden_has = golden_ranks.empty() || golden_ranks.contains(*options.rank);
  throw UserError(std::string(golden_has ? "Can not get my data in " : "Can not get golden data in ") +
                  rank_text(*options.rank));
}

}  // namespace

int compare_dumps(const Options& options, Messages& messages, std::ostream& out) {
  const DumpPlace target = find_target(directory_path(options.target_path), messages);
  const DumpPlace golden = find_golden(directory_path(options.golden_path), target, messages);
  const std::vector<RankJob> jobs = plan_ranks(target, golden, options, messages);
  prepare_output_directory(options.output_path);

  std::string failures;
  for (const RankJob& job : jobs) {
    try {
      compare_rank(job, options, messages, out);
    } catch (const UserError& error) {
      messages.count_further_warnings();
      if (jobs.size() == 1) throw;
      failures += (failures.empty() ? "" : "; ") + rank_text(*job.rank) + ": " + error.what();
    }
    messages.clear_progress();
  }
  if (!failures.empty()) throw UserError(failures);
  return exit_completed;
}

}  // namespace msrun::torchair
