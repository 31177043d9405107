#include "tools/dump_compare/compare.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <ostream>

#include "kernels/base/exit_code.h"
#include "kernels/io/files/paths.h"
#include "tools/dump_compare/divergence_report.h"
#include "tools/dump_compare/jobs.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

using Warn = std::function<void(const std::string&)>;

class Comparison {
 public:
  Comparison(const Options& options, std::ostream& out, const Warn& warn)
      : options_(options), out_(out), warn_(warn), stamp_(timestamp(std::time(nullptr))) {}

  int run() {
    const std::vector<JobGroup> groups = find_jobs(options_, warn_);
    std::size_t done = 0;
    for (const JobGroup& group : groups) done += run_group(group);
    if (done == 0) throw UserError(failure_);
    if (failed_) return exit_usage;
    if (total_.compared == 0) {
      out_ << "Nothing was compared: no pair of values is in both recordings.\n";
      return exit_fail_on;
    }
    if (!options_.fail_on) return exit_completed;
    const bool met = total_.errors > 0 || (*options_.fail_on == Level::warning && total_.warnings > 0);
    return met ? exit_fail_on : exit_completed;
  }

 private:
  std::size_t run_group(const JobGroup& group) {
    prepare_output_directory(group.output);
    std::vector<RankPair> pairs;
    std::vector<std::uint64_t> unread;
    std::size_t done = 0;
    for (const Job& job : group.jobs) {
      try {
        RankPair rank{job.rank, read_pair(job.target, job.golden, options_.compat, warn_)};
        if (!options_.stack_path.empty()) read_other_stacks(*rank.pair);
        if (options_.first_divergence) {
          pairs.push_back(std::move(rank));
        } else {
          write_table(group, job, *rank.pair, {});
          ++done;
        }
      } catch (const WriteError&) {
        throw;
      } catch (const UserError& error) {
        if (groups_with_one_job(group)) throw;
        failure_ = error.what();
        failed_ = true;
        unread.push_back(job.rank);
        warn_(job.rank_name + ": " + failure_);
      }
    }
    if (pairs.empty()) return done;
    const std::vector<std::string> findings =
        report_first_divergence(pairs, unread, options_, group.output, stamp_, out_);
    for (const RankPair& rank : pairs) {
      const auto job =
          std::find_if(group.jobs.begin(), group.jobs.end(), [&](const Job& j) { return j.rank == rank.rank; });
      write_table(group, *job, *rank.pair, findings);
      ++done;
    }
    return done;
  }

  static bool groups_with_one_job(const JobGroup& group) { return group.jobs.size() == 1 && !group.step; }

  void read_other_stacks(Pair& pair) const {
    const std::size_t slash = options_.stack_path.rfind('/');
    pair.stacks = recordings::read_stacks_of(slash == std::string::npos ? "." : options_.stack_path.substr(0, slash));
  }

  void write_table(const JobGroup& group, const Job& job, const Pair& pair, const std::vector<std::string>& findings) {
    const std::vector<Row> rows = rows_of_pair(pair, options_.mapping, options_.compat, warn_);
    const std::string prefix = pair.target.debug ? "debug_compare_result_" : "compare_result_";
    const ResultPlace place{group.output, prefix + (job.rank_name.empty() ? "" : job.rank_name + "_")};
    const std::vector<std::string> columns = titles(pair.mode, pair.stacks.has_value());
    std::vector<std::unique_ptr<ResultFile>> files;
    files.push_back(options_.xlsx ? xlsx_file(place, columns, rows.size(), !options_.compat)
                                  : csv_file(place, columns, rows.size()));
    if (options_.html) files.push_back(html_file(place, columns, {job.target, job.golden, findings}));
    const Counts counts =
        compare_rows(pair, rows, options_.compat, !options_.xlsx, options_.threads, [&](ResultRow&& row) {
          for (const auto& file : files) file->add(row);
        });
    total_.rows += counts.rows;
    total_.errors += counts.errors;
    total_.warnings += counts.warnings;
    total_.compared += counts.compared;
    const std::string name = (group.step ? "step" + std::to_string(*group.step) + " " : "") + job.rank_name;
    out_ << (name.empty() ? "" : name + ": ") << counts.rows << " rows: " << counts.errors << " error, "
         << counts.warnings << " warning, " << counts.rows - counts.errors - counts.warnings << " pass\n";
    if (counts.compared == 0) warn_((name.empty() ? "" : name + ": ") + "no pair of values could be compared.");
    std::vector<NamelessFile> complete;
    for (const auto& file : files) std::ranges::move(file->close(), std::back_inserter(complete));
    for (const std::string& path : publish(place, stamp_, complete)) {
      out_ << "The result file path is: " << path << ".\n";
    }
  }

  const Options& options_;
  std::ostream& out_;
  const Warn& warn_;
  std::string stamp_;  // of all files; where one of them is there already, the next free one
  Counts total_;
  bool failed_ = false;  // some rank could not be compared
  std::string failure_ = "No pair of dumps could be compared.";
};

}  // namespace

int compare_dumps(const Options& options, std::ostream& out, const Warn& warn) {
  return Comparison(options, out, warn).run();
}

}  // namespace msrun::dump_compare
