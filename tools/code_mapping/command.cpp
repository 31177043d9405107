#include "tools/code_mapping/command.h"

#include <iostream>

#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "tools/code_mapping/dump_files.h"
#include "tools/code_mapping/statistic_table.h"
#include "tools/code_mapping/tensor_table.h"
#include "tools/common/warning_limit.h"
#include "tools/common/whole_file.h"

namespace msrun::code_mapping {

namespace {

constexpr std::uint64_t max_graph_bytes = std::uint64_t{1} << 30;

void say(const std::string& text) { std::cerr << "code_mapping: " << sanitised(text) << '\n'; }

// Returns false, and says why, if the table stays as it is.
bool rewrite_statistics(const std::string& path, const Graph& graph, ScopeIndex& index) {
  const std::string bytes = read_whole_file(path, max_csv_bytes);
  if (bytes.empty()) {
    say("warning: The file " + path + " is empty.");
    return true;
  }
  if (is_read_only(path)) {
    say("The file path " + path + " is not writable; it stays as it is.");
    return false;
  }
  StatisticTable table;
  try {
    table = with_source_lines(bytes, graph, index);
  } catch (const UserError& error) {
    say("The file " + path + " " + error.what() + "; it stays as it is.");
    return false;
  }
  if (table.mapped == 0 && table.filled > 0) {
    say("None of the rows of " + path +
        " is in the graph, but an earlier run has found some in another one; it stays as it is.");
    return false;
  }
  replace_whole_file(path, table.text);
  std::cout << "Found in the graph: " << table.mapped << " of " << counted(table.rows, "row")
            << "\nTable: " << sanitised(path) << '\n';
  return true;
}

}  // namespace

int run(const Options& options) {
  WarningLimit limit(options.verbose);
  const auto warn = [&](const std::string& text) {
    if (limit.admits("warnings", text)) say("warning: " + text);
  };
  const Graph graph(read_whole_file(options.ir, max_graph_bytes));
  if (graph.nodes().empty()) {
    throw UserError("The file " + options.ir + " names no scope of any operator: it is not the text of a graph.");
  }
  const DumpFiles files = find_dump_files(options.dump_data, warn);
  ScopeIndex index(graph);
  bool all_done = files.is_whole;
  if (!files.tensors.empty()) {
    const TensorTable table = write_tensor_table(files.tensors, graph, index, options.output, warn);
    std::cout << "Found in the graph: " << table.mapped << " of " << counted(files.tensors.size(), "tensor file")
              << "\nTable: " << sanitised(table.path) << '\n';
  } else if (files.statistics.empty()) {
    warn("There is neither a .npy file nor a statistic.csv in " + options.dump_data + ".");
  }
  if (files.tensors.empty()) {
    for (const std::string& path : files.statistics) all_done = rewrite_statistics(path, graph, index) && all_done;
  }
  for (const std::string& sentence : limit.held_back()) say("warning: " + sentence);
  return all_done ? exit_completed : exit_usage;
}

}  // namespace msrun::code_mapping
