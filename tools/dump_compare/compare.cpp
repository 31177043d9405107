#include "tools/dump_compare/compare.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <ostream>

#include "kernels/base/counted.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/paths.h"
#include "tools/common/comparison_file.h"
#include "tools/dump_compare/difference_analysis.h"
#include "tools/dump_compare/divergence_report.h"
#include "tools/dump_compare/jobs.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

using Warn = std::function<void(const std::string&)>;

// Files that cannot be read, with the cause; the rows of the others say that there is one.
constexpr std::size_t most_named_files = 5;

// What msProbe says of its progress, for --compat msprobe: nothing otherwise.
class Progress {
 public:
  Progress(bool compat, std::ostream& out) : compat_(compat), out_(out) {}

  // rank: folder of the rank; empty: there is none.
  void say(const std::string& rank, std::string_view line) const {
    if (compat_) out_ << (rank.empty() ? "" : "[" + rank + "]") << line << '\n';
  }
  void end() const {
    if (!compat_) return;
    constexpr std::string_view line = "msprobe compare ends successfully.";
    constexpr std::size_t room = 50;  // characters of the frame beside the line
    const std::string border(line.size() + room, '*');
    const std::string blanks((room - 2) / 2, ' ');
    out_ << border << "\n*" << blanks << line << blanks << "*\n" << border << '\n';
  }

 private:
  const bool compat_;
  std::ostream& out_;
};

class Comparison {
 public:
  Comparison(const Options& options, std::ostream& out, const Warn& warn)
      : options_(options),
        out_(out),
        warn_(warn),
        progress_(options.compat, out),
        stamp_(timestamp(std::time(nullptr))) {}

  int run() {
    for (const std::string& key : options_.ignored_keys) warn_(text_of_unknown_key(key));
    const Jobs jobs = find_jobs(options_, warn_);
    refuse_what_msprobes_search_lacks(jobs);
    warn_of_tolerance_without_effect();
    one_job_ = jobs.groups.size() == 1 && jobs.groups.front().jobs.size() == 1;
    std::size_t done = 0;
    for (const JobGroup& group : jobs.groups) done += run_group(group);
    if (done == 0) throw UserError(failure_);
    if (failed_) return exit_usage;
    if (analyzed_) return exit_completed;
    progress_.end();
    if (!options_.compat) count_left_out(jobs.left_out);
    if (total_.compared == 0) {
      out_ << "Nothing was compared: no pair of values is in both recordings.\n";
      return exit_fail_on;
    }
    return options_.fail_on && worst_ >= *options_.fail_on ? exit_fail_on : exit_completed;
  }

 private:
  std::size_t run_group(const JobGroup& group) {
    const PreparedDirectory output(group.output);
    progress_.say("", "Please check whether the input data belongs to you. If not, there may be security risks.");
    std::vector<RankPair> pairs;
    std::vector<std::string> names;
    std::vector<std::uint64_t> unread;
    std::size_t done = 0;
    for (const Job& job : group.jobs) {
      try {
        if (!job.problem.empty()) throw UserError(job.problem);
        if (is_same_file(job.target, job.golden))
          warn_(job.target + " is compared with itself, so that nothing differs.");
        RankPair rank{job.rank, read_pair(job.target, job.golden, options_.compat, warn_), {}, {}};
        if (!options_.stack_path.empty()) read_other_stacks(*rank.pair);
        use_factors(*rank.pair);
        check_row_log(*rank.pair);
        if (options_.first_divergence && (!options_.compat || !job.rank_name.empty())) {
          // Before the search, which says nothing of recordings whose rows cannot be paired.
          if (!options_.compat) pair_rows(job, rank);
          pairs.push_back(std::move(rank));
          names.push_back(job.rank_name);
        } else {
          pair_rows(job, rank);
          write_table(group, job, rank, {});
          ++done;
        }
      } catch (const WriteError&) {
        throw;
      } catch (const UserError& error) {
        if (one_job_) throw;
        failure_ = error.what();
        failed_ = true;
        unread.push_back(job.rank);
        warn_(name_of(group, job) + ": " + failure_);
      }
    }
    if (pairs.empty()) return done;
    if (options_.compat) {
      analyze_differences(pairs, names, options_, group.output, stamp_, out_, warn_);
      analyzed_ = true;
      return done + pairs.size();
    }
    const DivergenceReport report = report_first_divergence(pairs, unread, options_, group.output, stamp_, out_);
    failed_ = failed_ || !report.all_checked;
    const Counts before = total_;
    for (const RankPair& rank : pairs) {
      const auto job =
          std::find_if(group.jobs.begin(), group.jobs.end(), [&](const Job& j) { return j.rank == rank.rank; });
      write_table(group, *job, rank, report.lines);
      ++done;
    }
    worst_ = std::max(worst_, report.level);
    sum_up(report, total_.errors - before.errors, total_.warnings - before.warnings);
    return done;
  }

  void count_left_out(std::size_t folders) {
    if (folders == 0 && no_objects_ == 0) return;
    worst_ = std::max(worst_, Level::warning);
    std::string parts = folders == 0 ? "" : counted(folders, "folder");
    if (no_objects_ > 0) {
      parts +=
          (parts.empty() ? "" : " and ") + std::to_string(no_objects_) + (no_objects_ == 1 ? " entry" : " entries");
    }
    out_ << "Not compared, which counts as a warning: " << parts << ".\n";
  }

  // Where the counts of rows and the verdict say different things, a line says so that stands behind both.
  void sum_up(const DivergenceReport& report, std::size_t errors, std::size_t warnings) {
    if (report.none && errors > 0) {
      out_ << "The recordings do not agree, although no divergence was found: " << counted(errors, "row")
           << " of the table " << (errors == 1 ? "is an error.\n" : "are errors.\n");
    } else if (report.level == Level::error && errors == 0) {
      out_ << "The recordings do not agree, although no row of the table is an error: the first divergence counts as "
              "one.\n";
    } else if (report.level == Level::warning && errors + warnings == 0) {
      out_ << "Not all is known to agree, although all rows pass: the search for the first divergence counts as a "
              "warning.\n";
    }
  }

  // "step0 rank1"
  static std::string name_of(const JobGroup& group, const Job& job) {
    return group.name + (group.name.empty() || job.rank_name.empty() ? "" : " ") + job.rank_name;
  }

  // Whatever its name is.
  void read_other_stacks(Pair& pair) const { pair.stacks = recordings::read_stacks_file(options_.stack_path); }

  // Of folders of ranks msProbe's search makes neither tables nor a verdict.
  void refuse_what_msprobes_search_lacks(const Jobs& jobs) const {
    if (!options_.compat || !options_.first_divergence) return;
    const bool ranks = std::ranges::any_of(jobs.groups, [](const JobGroup& group) {
      return std::ranges::any_of(group.jobs, [](const Job& job) { return !job.rank_name.empty(); });
    });
    if (!ranks) return;
    for (const auto& [given, name] : {std::pair(options_.fail_on.has_value(), "--fail-on"),
                                      {options_.html, "--html"},
                                      {options_.xlsx, "--xlsx"},
                                      {options_.tolerance.has_value(), "--tolerance"}}) {
      if (!given) continue;
      throw UserError(std::string(name) +
                      " does not go with --diff_analyze and --compat msprobe on folders of ranks, which search as "
                      "msProbe does and make no tables");
    }
  }

  void warn_of_tolerance_without_effect() const {
    if (!options_.tolerance) return;
    if (!options_.first_divergence) {
      warn_("--tolerance has no effect without --first-divergence, whose limits it scales.");
    } else if (options_.compat) {
      warn_("--tolerance has no effect with --compat msprobe, which does not search a pair of files.");
    }
  }

  void check_row_log(const Pair& pair) {
    if (!options_.log_rows_asked || pair.mode == Mode::tensor || told_of_row_log_) return;
    told_of_row_log_ = true;
    warn_("-tensor_log has no effect on recordings without tensors.");
  }

  void use_factors(Pair& pair) {
    if (options_.right_matmul.empty()) return;
    if (pair.mode != Mode::tensor) {
      throw UserError("--right-matmul applies to recordings with tensors: there are none in " + pair.target.path);
    }
    pair.factors = read_right_factors(options_.right_matmul);
    warn_of_unknown_tensors(pair.factors.target, pair.target, options_.right_matmul, warn_);
    warn_of_unknown_tensors(pair.factors.golden, pair.golden, options_.right_matmul, warn_);
  }

  void write_layer_names(const JobGroup& group, const std::string& names) {
    if (names.empty()) return;
    const ResultPlace place{group.output, "data_mapping_"};
    std::vector<NamelessFile> files;
    files.push_back({".yaml", std::make_unique<ReportFile>(place.folder, place.kind)});
    files.back().file->write(names);
    out_ << "The mapping of the layers is: " << publish(place, stamp_, files).front() << ".\n";
  }

  // Logs one row with tensors, in msProbe's words.
  void log_row(const std::vector<std::string>& columns, const ResultRow& row) {
    const std::string name = sanitised(std::string(row.cell(0)));
    out_ << "start compare: " << name << "\n[" << name << "] Compare result: ";
    if (row.metric_message.find("does not have data file") != std::string::npos ||
        row.metric_message.find("unmatched") != std::string::npos) {
      out_ << sanitised(row.metric_message) << " \n";
      return;
    }
    constexpr auto shown =
        std::to_array<std::pair<const char*, const char*>>({{"Cosine", "cosine"},
                                                            {"EucDist", "euc_dist"},
                                                            {"MaxAbsErr", "max_abs_err"},
                                                            {"MaxRelativeErr", "max_relative_err"},
                                                            {"One Thousandth Err Ratio", "one_thousand_err_ratio"},
                                                            {"Five Thousandths Err Ratio", "five_thousand_err_ratio"}});
    for (const auto& [title, word] : shown) {
      const auto column = static_cast<std::size_t>(std::ranges::find(columns, title) - columns.begin());
      out_ << word << ' ' << row.cell(column) << ", ";
    }
    out_ << sanitised(row.metric_message) << '\n';
  }

  void pair_rows(const Job& job, RankPair& rank) {
    progress_.say(job.rank_name, "Matching APIs/Modules in progress...");
    no_objects_ += rank.pair->target.no_objects + rank.pair->golden.no_objects;
    rank.rows = rows_of_pair(*rank.pair, options_.mapping, options_.compat, warn_, rank.layer_names);
    progress_.say(job.rank_name, "APIs/Modules match done.");
  }

  void write_table(const JobGroup& group, const Job& job, const RankPair& rank,
                   const std::vector<std::string>& findings) {
    const Pair& pair = *rank.pair;
    const std::vector<Row>& rows = rank.rows;
    write_layer_names(group, rank.layer_names);
    if (pair.mode == Mode::tensor) progress_.say(job.rank_name, "Compare real data in progress...");
    const std::string prefix = pair.target.debug ? "debug_compare_result_" : "compare_result_";
    const ResultPlace place{group.output, prefix + (job.rank_name.empty() ? "" : job.rank_name + "_")};
    const std::vector<std::string> columns = titles(pair.mode, pair.stacks.has_value());
    std::vector<std::unique_ptr<ResultFile>> files;
    files.push_back(options_.xlsx ? xlsx_file(place, columns, rows.size(), !options_.compat)
                                  : csv_file(place, columns, rows.size()));
    if (options_.html) files.push_back(html_file(place, columns, {job.target, job.golden, findings}));
    const RowOptions how{options_.compat, !options_.xlsx, options_.mapping.fuzzy, options_.threads};
    const std::string name = name_of(group, job);
    const std::string of_job = name.empty() ? "" : name + ": ";
    std::size_t unread = 0;
    const Counts counts = compare_rows(pair, rows, how, [&](ResultRow&& row) {
      if (options_.log_rows && pair.mode == Mode::tensor) log_row(columns, row);
      if (!row.problem.empty() && ++unread <= most_named_files) warn_(of_job + sanitised(row.problem));
      for (const auto& file : files) file->add(row);
    });
    if (pair.mode == Mode::tensor) progress_.say(job.rank_name, "Compare real data done.");
    progress_.say(job.rank_name, "Calculating comparison indicators in progress...");
    progress_.say(job.rank_name, "Comparison indicators calculation done.");
    progress_.say(job.rank_name, "Saving result file in progress...");
    total_.rows += counts.rows;
    total_.errors += counts.errors;
    total_.warnings += counts.warnings;
    total_.compared += counts.compared;
    if (counts.warnings > 0 || (counts.compared == 0 && !options_.compat)) worst_ = std::max(worst_, Level::warning);
    if (counts.errors > 0) worst_ = Level::error;
    if (unread > most_named_files) {
      warn_(of_job + "and of " + std::to_string(unread - most_named_files) + " more rows files cannot be read.");
    }
    out_ << of_job << counts.rows << " rows: " << counts.errors << " error, " << counts.warnings << " warning, "
         << counts.rows - counts.errors - counts.warnings << " pass\n";
    if (counts.inputs_apart > 0) {
      worst_ = std::max(worst_, Level::warning);
      out_ << of_job << "Inputs further apart than outputs may be (a warning): " << counted(counts.inputs_apart, "row")
           << ", the first " << sanitised(counts.first_input_apart) << ".\n";
    }
    if (counts.compared == 0) warn_(of_job + "no pair of values could be compared.");
    std::vector<NamelessFile> complete;
    for (const auto& file : files) std::ranges::move(file->close(), std::back_inserter(complete));
    for (const std::string& path : publish(place, stamp_, complete)) {
      out_ << "The result file path is: " << path << ".\n";
    }
  }

  const Options& options_;
  std::ostream& out_;
  const Warn& warn_;
  const Progress progress_;
  std::string stamp_;  // of all files; where one of them is there already, the next free one
  Counts total_;
  Level worst_ = Level::pass;   // of rows, first divergences and what was left out
  std::size_t no_objects_ = 0;  // entries of dumps that cannot be compared
  bool one_job_ = false;        // whose failure is that of all
  bool told_of_row_log_ = false;
  bool failed_ = false;    // some rank could not be compared, or some suspect not checked
  bool analyzed_ = false;  // msProbe's search was asked for, which makes no tables
  std::string failure_ = "No pair of dumps could be compared.";
};

}  // namespace

int compare_dumps(const Options& options, std::ostream& out, const Warn& warn) {
  return Comparison(options, out, warn).run();
}

}  // namespace msrun::dump_compare
