#include "tools/graph/command.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>

#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "tools/common/comparison_file.h"
#include "tools/graph/communication.h"
#include "tools/graph/comparison_line.h"
#include "tools/graph/db_file.h"
#include "tools/graph/inputs.h"
#include "tools/graph/overflow.h"
#include "tools/graph/page_model.h"
#include "tools/graph/rank_graph.h"
#include "tools/graph/side_reader.h"
#include "tools/graph/stamp_claim.h"
#include "tools/graph/tasks.h"
#include "tools/graph/vis_file.h"

namespace msrun::graph {
namespace {

// A rank on its way, or what is wrong with it.
struct Rank {
  RankFolders folders;
  std::optional<RankGraph> graph;
  std::string problem;
  std::vector<std::string> warnings;
};

class Run {
 public:
  Run(const Options& options, std::ostream& out, const Warn& warn) : options_(options), out_(out), warn_(warn) {}

  int run() {
    for (const std::string& key : options_.ignored_keys) warn_(text_of_unknown_key(key));
    const std::vector<RankFolders> all =
        find_ranks(options_.npu_path, options_.bench_path, options_.allow_missing, warn_);
    refuse_recording_as_output();
    check_mapping();
    output_.emplace(options_.output_path);
    folder_.emplace(options_.output_path);
    stamp_ = free_stamp();
    total_ = all.size();
    if (options_.db) db_.emplace(*folder_, kind() + "_" + stamp_ + ".vis.db");
    bool failed = false;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last < all.size() && all[last].step == all[first].step) ++last;
      std::vector<Rank> ranks(last - first);
      for (std::size_t i = first; i < last; ++i) ranks[i - first].folders = all[i];
      run_step(ranks);
      failed = std::ranges::any_of(ranks, [](const Rank& rank) { return !rank.graph; }) || failed;
      first = last;
    }
    if (written_ == 0) throw UserError("No graph could be built: " + first_problem_);
    if (db_) {
      db_->publish(options_.overflow, options_.language);
      out_ << "the result file is saved in " << folder_->path_of(kind() + "_" + stamp_ + ".vis.db") << '\n';
    }
    if (asks_for_tensors_ && tensors_.compared == 0) {
      out_ << "Nothing was compared: no pair of files of tensors could be read.\n";
      return exit_fail_on;
    }
    return failed ? exit_fail_on : exit_completed;
  }

 private:
  // In a folder of ranks or steps, results would be taken for one of them by whoever reads it again. Beside or
  // below the files of a single rank they do no harm.
  void refuse_recording_as_output() const {
    namespace fs = std::filesystem;
    for (const std::string& recording : {options_.npu_path, options_.bench_path}) {
      if (recording.empty()) continue;
      const fs::path top = fs::weakly_canonical(fs::path(recording) / "");
      const fs::path below = fs::weakly_canonical(fs::path(options_.output_path) / "").lexically_relative(top);
      if (below.empty() || *below.begin() == "..") continue;
      if (fs::exists(top / "dump.json")) continue;
      throw UserError("The results cannot be written into the recording " + sanitised(recording) +
                      ", which could not be read again then; choose another folder with -o.");
    }
  }

  // Also where it is not used, so that a slip in its name is not taken for a mapping that had no effect.
  void check_mapping() const {
    if (!options_.mapping || options_.mapping->empty()) return;
    check_input_file(*options_.mapping, {".yaml", ".yml"}, max_json_bytes);
    const char* const reason = options_.fuzzy                ? "with --fuzzy_match modules match by name alone"
                               : options_.bench_path.empty() ? "one recording alone is not compared"
                                                             : nullptr;
    if (reason != nullptr) warn_(*options_.mapping + " has no effect: " + reason + ".");
  }

  std::string kind() const { return options_.bench_path.empty() ? "build" : "compare"; }

  // The stamp of this second, or of the next one in which no run has begun whose files are in the folder. Two runs that
  // look at once must not take the same: who has made the file that claims a stamp has it.
  std::string free_stamp() {
    for (std::time_t when = std::time(nullptr);; ++when) {
      std::string stamp = timestamp(when);
      if (claim_.take(*folder_, kind(), stamp) && !is_taken(stamp)) return stamp;
    }
  }

  bool is_taken(const std::string& stamp) const {
    return std::ranges::any_of(entries_of(options_.output_path), [&](const std::filesystem::directory_entry& entry) {
      const std::string name = entry.path().filename();
      return name.starts_with(kind() + "_") && name.find(stamp) != std::string::npos;
    });
  }

  std::string file_name(const RankFolders& folders, const char* suffix) const {
    std::string name = kind() + "_";
    if (!folders.step_name.empty()) name += folders.step_name + "_";
    if (!folders.rank_name.empty()) name += folders.rank_name + "_";
    return name + stamp_ + suffix;
  }

  void run_step(std::vector<Rank>& ranks) {
    read(ranks);
    Wanted wanted;
    // The page shows the verdicts of one format and the index of the other.
    wanted.vis = options_.vis || options_.html;
    wanted.db = options_.db || options_.html;
    wanted.compat = options_.compat;
    wanted.fuzzy = options_.fuzzy;
    wanted.mapping = options_.mapping;
    wanted.threads = ranks.size() == 1 ? options_.threads : 1;
    wanted.memory = &memory_;
    for_each_task(ranks.size(), options_.threads, [&](std::size_t i) {
      guarded(ranks[i], [&](Rank& rank) {
        build_graphs(*rank.graph, wanted, [&](const std::string& text) { rank.warnings.push_back(text); });
        if (options_.vis) check_paths(*rank.graph, *rank.graph->vis);
        if (options_.db) check_paths(*rank.graph, *rank.graph->db);
      });
    });
    std::vector<RankGraph*> graphs;
    for (Rank& rank : ranks) {
      for (const std::string& warning : rank.warnings) warn_(warning);
      if (rank.graph) {
        graphs.push_back(&*rank.graph);
        check_framework(*rank.graph);
        const TensorCounts counts = tensor_counts(rank.graph->tensors);
        asks_for_tensors_ = asks_for_tensors_ || (rank.graph->bench && rank.graph->mode == Mode::tensors);
        tensors_.compared += counts.compared;
        tensors_.unread += counts.unread;
      } else {
        if (total_ == 1) throw UserError(rank.problem);
        report(rank);
      }
    }
    link_ranks(graphs, warn_);
    write(ranks);
    for (Rank& rank : ranks) describe(rank);
  }

  // Does what may go wrong for one rank without the others.
  template <class Work>
  void guarded(Rank& rank, const Work& work) {
    if (!rank.problem.empty()) return;
    try {
      work(rank);
    } catch (const WriteError&) {
      throw;
    } catch (const UserError& error) {
      rank.problem = error.what();
      rank.graph.reset();
    }
  }

  void read(std::vector<Rank>& ranks) {
    std::vector<std::array<Side, 2>> sides(ranks.size());
    std::vector<std::array<std::string, 2>> problems(ranks.size());
    const std::size_t each = options_.bench_path.empty() ? 1 : 2;
    for_each_task(ranks.size() * each, options_.threads, [&](std::size_t i) {
      const std::size_t side = i % each;
      const RankFolders& folders = ranks[i / each].folders;
      try {
        sides[i / each][side] = read_side(side == 0 ? folders.npu : folders.bench, overflow_rules());
      } catch (const UserError& error) {
        problems[i / each][side] = error.what();
      }
    });
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].problem = problems[i][0].empty() ? problems[i][1] : problems[i][0];
      if (!ranks[i].problem.empty()) continue;
      RankGraph& graph = ranks[i].graph.emplace();
      const RankFolders& folders = ranks[i].folders;
      graph.step_name = folders.step_name;
      graph.rank_name = folders.rank_name;
      graph.step = folders.step;
      graph.rank = folders.rank;
      graph.npu = std::move(sides[i][0]);
      if (each == 2) graph.bench = std::move(sides[i][1]);
      warn_of_repeats(graph.npu);
      if (graph.bench) warn_of_repeats(*graph.bench);
    }
  }

  void warn_of_repeats(const Side& side) {
    for (const std::string& sentence : repeated_names(side)) warn_(sentence);
  }

  void check_framework(const RankGraph& graph) {
    if (options_.framework.empty() || graph.npu.framework.empty() || options_.framework == graph.npu.framework) return;
    warn_(graph.npu.folder + " is a recording of " + graph.npu.framework + ", not of " + options_.framework);
  }

  void report(const Rank& rank) {
    if (first_problem_.empty()) first_problem_ = rank.problem;
    warn_("Error occurred while " + std::string(options_.bench_path.empty() ? "building" : "comparing") +
          " graph ranks: " + rank.problem);
  }

  // The database takes the ranks in their order, while other threads write the files of single ranks.
  void write(std::vector<Rank>& ranks) {
    const FileOptions file_options{options_.overflow, options_.complete_stacks, options_.language};
    std::vector<std::function<void()>> tasks;
    if (db_) {
      tasks.emplace_back([&] {
        for (const Rank& rank : ranks) {
          if (rank.graph) db_->add(*rank.graph, options_.threads);
        }
      });
    }
    for (const Rank& rank : ranks) {
      if (!rank.graph) continue;
      ++written_;
      if (options_.html) {
        tasks.emplace_back([&rank, this] {
          write_graph_page(*folder_, file_name(rank.folders, ".html"), page_of(*rank.graph, options_.overflow));
        });
      }
      if (!options_.vis) continue;
      tasks.emplace_back([&rank, &file_options, this] {
        AtomicFile file(*folder_, file_name(rank.folders, ".vis"));
        file.only_owner_writes();
        write_vis(*rank.graph, file_options, [&](std::string_view text) { file.write(text); });
        file.commit_as_new();
      });
    }
    for_each_task(tasks.size(), options_.threads, [&](std::size_t i) { tasks[i](); });
  }

  // One line on a rank, and where its file is.
  void describe(const Rank& rank) {
    ++done_;
    if (rank.graph) {
      const RankGraph& graph = *rank.graph;
      const DialectGraph& shown = told_graph(graph);
      std::string name;
      for (const std::string* part : {&rank.folders.step_name, &rank.folders.rank_name}) {
        if (!part->empty()) name += (name.empty() ? "" : " ") + *part;
      }
      out_ << (name.empty() ? "" : name + ": ") << shown.npu.tree.nodes.size() << " nodes";
      if (graph.bench) out_ << comparison_text(graph);
      out_ << overflow_summary(graph.npu) << '\n';
      for (const auto& [written, suffix] : {std::pair(options_.vis, ".vis"), {options_.html, ".html"}}) {
        if (!written) continue;
        out_ << "the result file is saved in " << folder_->path_of(file_name(rank.folders, suffix)) << '\n';
      }
    }
    if (!options_.progress) return;
    const std::size_t percent = 100 * done_ / std::max<std::size_t>(1, total_);
    out_ << "PROGRESS: {\"current_progress\": " << percent
         << ", \"process_running\": " << (done_ < total_ ? "true" : "false") << ", \"error_msg\": []}" << std::endl;
  }

  OverflowRules overflow_rules() const {
    if (!options_.overflow) return OverflowRules::none;
    return options_.compat ? OverflowRules::msprobe : OverflowRules::repaired;
  }

  std::string overflow_summary(const Side& side) const {
    if (!options_.overflow) return {};
    const auto first = std::ranges::find(side.entries, Overflow::critical, &Entry::overflow);
    if (first == side.entries.end()) return ", no critical overflow";
    return ", first critical overflow in " + sanitised(side.text(first->name));
  }

  const Options& options_;
  std::ostream& out_;
  const Warn& warn_;
  std::optional<PreparedDirectory> output_;  // outlives whatever is made in it
  std::optional<Folder> folder_;
  StampClaim claim_;
  std::optional<DbFile> db_;
  std::string stamp_;
  std::string first_problem_;
  MemoryBudget memory_;
  TensorCounts tensors_;           // of all ranks
  bool asks_for_tensors_ = false;  // two recordings of tensors are compared
  std::size_t written_ = 0;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

int run(const Options& options, std::ostream& out, const Warn& warn) { return Run(options, out, warn).run(); }

}  // namespace msrun::graph
