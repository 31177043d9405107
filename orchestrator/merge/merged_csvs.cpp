#include "orchestrator/merge/merged_csvs.h"

#include <algorithm>
#include <string>
#include <thread>

#include "kernels/io/files/folder.h"
#include "orchestrator/output/csv_titles.h"
#include "orchestrator/output/ordered_blocks.h"

namespace msrun {
namespace {

// As a rule two megabytes of rows, which are written without being gathered first.
constexpr std::size_t calls_of_a_block = 2048;
constexpr unsigned most_row_threads = 8;

}  // namespace

void write_merged_csvs(const RunFiles& files, const CsvStyle& style, const TaskResults& results,
                       const RankList& ranks) {
  const Folder folder(files.directory);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_row_threads);
  if (!ranks.empty()) {
    make_rank_folders(folder, ranks);
    write_rank_csvs(folder, files.stamp, ranks, style, results, threads);
    return;
  }
  AtomicFile details(folder, std::string(base_name(files.details)));
  AtomicFile result(folder, std::string(base_name(files.result)));
  details.write(details_header(*style.dialect, style.english_titles));
  result.write(result_header(*style.dialect));
  const std::size_t blocks = (results.tasks() + calls_of_a_block - 1) / calls_of_a_block;
  OrderedBlocks rows(blocks, threads, [&](std::size_t number, RowBlock& block) {
    const auto first = static_cast<std::uint32_t>(number * calls_of_a_block);
    const auto end = static_cast<std::uint32_t>(std::min(results.tasks(), (number + 1) * calls_of_a_block));
    ApiResult call;
    for (std::uint32_t task = first; task < end; ++task) {
      if (!results.has(task)) continue;
      results.get(task, call);
      append_rows(call, style, block.details, block.result);
    }
  });
  rows.take_all([&](const RowBlock& block) {
    details.write(block.details);
    result.write(block.result);
  });
  details.commit();
  result.commit();
}

}  // namespace msrun
