#include "orchestrator/output/rank_csvs.h"

#include <algorithm>
#include <memory>
#include <span>

#include "kernels/io/files/folder_below.h"
#include "orchestrator/output/csv_titles.h"
#include "orchestrator/output/ordered_blocks.h"
#include "orchestrator/output/set_aside.h"

namespace msrun {
namespace {

// Ranks whose files are open at the same time, two each.
constexpr std::size_t most_open = 32;
// As a rule two megabytes of rows, which are written without being gathered first.
constexpr std::size_t calls_of_a_block = 2048;

// Ranks of the same calls have the same files.
std::vector<RankList> of_same_calls(const RankList& ranks) {
  std::vector<RankList> groups;
  for (const RankCalls* rank : ranks) {
    const auto same = std::ranges::find_if(groups, [&](const RankList& group) { return group[0]->same_calls(*rank); });
    if (same == groups.end()) {
      groups.push_back({rank});
    } else {
      same->push_back(rank);
    }
  }
  return groups;
}

// A result, and the name that the rank has for its call if that is another one.
struct CallOfRank {
  std::uint32_t task = 0;
  const std::string* name = nullptr;
};

std::vector<CallOfRank> calls_of(const RankCalls& rank, const TaskResults& results) {
  std::vector<CallOfRank> calls;
  rank.for_each([&](std::uint32_t task, const std::string* name) {
    if (results.has(task)) calls.push_back({task, name});
  });
  return calls;
}

void append_calls(const std::vector<CallOfRank>& calls, std::size_t block_number, const TaskResults& results,
                  const CsvStyle& style, RowBlock& block) {
  const std::size_t first = block_number * calls_of_a_block;
  ApiResult result;
  for (std::size_t i = first; i < std::min(calls.size(), first + calls_of_a_block); ++i) {
    results.get(calls[i].task, result);
    result.name = calls[i].name != nullptr ? *calls[i].name : std::string(without_rank(result.name));
    append_rows(result, style, block.details, block.result);
  }
}

// The two files of one rank, which get their names when they are complete.
class Pair {
 public:
  Pair(const Folder& folder, const std::string& stamp, const CsvStyle& style)
      : folder_(folder),
        files_(run_files(folder_.path(), stamp)),
        aside_(folder_, files_, SetAside::Matters::calls),
        details_(folder_, std::string(base_name(files_.details))),
        result_(folder_, std::string(base_name(files_.result))) {
    details_.write(details_header(*style.dialect, style.english_titles));
    result_.write(result_header(*style.dialect));
  }

  void add(const std::string& details, const std::string& result) {
    details_.write(details);
    aside_.details(details);
    result_.write(result);
    aside_.result(result);
  }

  void publish(std::vector<std::string>& kept) {
    aside_.keep();
    details_.commit();
    result_.commit();
    SetAside::drop_covered(folder_, files_);
    for (const std::string& name : aside_.kept()) kept.push_back(folder_.path_of(name));
  }

 private:
  Folder folder_;
  RunFiles files_;
  SetAside aside_;
  AtomicFile details_;
  AtomicFile result_;
};

}  // namespace

RunFiles rank_files(const std::string& directory, const std::string& rank, const std::string& stamp) {
  return run_files(join_path(directory, rank), stamp);
}

void make_rank_folders(const Folder& folder, const RankList& ranks) {
  for (const RankCalls* rank : ranks) folder_below(folder, rank->rank);
}

std::vector<std::string> write_rank_csvs(const Folder& folder, const std::string& stamp, const RankList& ranks,
                                         const CsvStyle& style, const TaskResults& results, unsigned threads) {
  std::vector<std::string> kept;
  for (const RankList& group : of_same_calls(ranks)) {
    const std::vector<CallOfRank> calls = calls_of(*group.front(), results);
    for (std::size_t begin = 0; begin < group.size(); begin += most_open) {
      const auto some = std::span(group).subspan(begin, std::min(most_open, group.size() - begin));
      std::vector<std::unique_ptr<Pair>> pairs;
      for (const RankCalls* rank : some) {
        pairs.push_back(std::make_unique<Pair>(folder_below(folder, rank->rank), stamp, style));
      }
      OrderedBlocks rows(
          (calls.size() + calls_of_a_block - 1) / calls_of_a_block, threads,
          [&](std::size_t number, RowBlock& block) { append_calls(calls, number, results, style, block); });
      rows.take_all([&](const RowBlock& block) {
        for (const std::unique_ptr<Pair>& pair : pairs) pair->add(block.details, block.result);
      });
      for (const std::unique_ptr<Pair>& pair : pairs) pair->publish(kept);
    }
  }
  return kept;
}

std::vector<RankCounts> count_by_rank(const RankList& ranks, const TaskResults& results) {
  std::vector<RankCounts> counted(ranks.size());
  for (const RankList& group : of_same_calls(ranks)) {
    VerdictCounts counts;
    group.front()->for_each([&](std::uint32_t task, const std::string* /*name*/) {
      if (results.has(task)) counts.add(results.outline(task));
    });
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (std::ranges::find(group, ranks[i]) == group.end()) continue;
      counted[i] = {ranks[i]->rank, ranks[i]->size(), counts};
    }
  }
  return counted;
}

}  // namespace msrun
