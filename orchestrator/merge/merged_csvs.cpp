#include "orchestrator/merge/merged_csvs.h"

#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "kernels/io/files/folder.h"
#include "orchestrator/output/csv_titles.h"

namespace msrun {
namespace {

constexpr std::uint32_t calls_of_a_block = 4096;
constexpr unsigned most_threads = 8;

struct Block {
  std::string details;
  std::string result;
};

Block block_at(const StoredResults& results, const CsvStyle& style, std::uint32_t first) {
  const auto end =
      static_cast<std::uint32_t>(std::min<std::size_t>(results.tasks(), std::size_t{first} + calls_of_a_block));
  Block block;
  for (std::uint32_t task = first; task < end; ++task) {
    if (results.has(task)) append_rows(results.get(task), style, block.details, block.result);
  }
  return block;
}

}  // namespace

void write_merged_csvs(const RunFiles& files, const CsvStyle& style, const StoredResults& results,
                       const RankList& ranks) {
  const Folder folder(files.directory);
  if (!ranks.empty()) {
    make_rank_folders(folder, ranks);
    write_rank_csvs(folder, files.stamp, ranks, style, results);
    return;
  }
  AtomicFile details(folder, std::string(base_name(files.details)));
  AtomicFile result(folder, std::string(base_name(files.result)));
  details.write(details_header(*style.dialect, style.english_titles));
  result.write(result_header(*style.dialect));
  const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  std::vector<std::future<Block>> blocks;
  for (std::size_t first = 0; first < results.tasks();) {
    for (blocks.clear(); blocks.size() < threads && first < results.tasks(); first += calls_of_a_block) {
      blocks.push_back(std::async(std::launch::async, block_at, std::cref(results), std::cref(style),
                                  static_cast<std::uint32_t>(first)));
    }
    for (std::future<Block>& rendered : blocks) {
      const Block block = rendered.get();
      details.write(block.details);
      result.write(block.result);
    }
  }
  details.commit();
  result.commit();
}

}  // namespace msrun
