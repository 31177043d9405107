#include "tools/torchair_compare/rank_comparison.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <ostream>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/graph_engine/ge_graph.h"
#include "tools/common/descriptors.h"
#include "tools/common/ordered_work.h"
#include "tools/torchair_compare/dump_tree.h"
#include "tools/torchair_compare/html_report.h"
#include "tools/torchair_compare/op_names.h"
#include "tools/torchair_compare/op_planner.h"
#include "tools/torchair_compare/op_task.h"
#include "tools/torchair_compare/report.h"
#include "tools/torchair_compare/stack_info.h"

namespace msrun::torchair {
namespace {

// Operators that may be under way or wait to be written at a time.
constexpr std::size_t window = 4096;
constexpr double megabyte = 1e6;
// Open files: of the program itself, and of an operator, which may be fused of a dozen.
constexpr std::uint64_t of_program = 32;
constexpr std::uint64_t of_operator = 16;
constexpr std::size_t listed_failures = 5;  // tokens whose first failure the summary names

struct OpResult {
  std::string op_name;
  std::int64_t token = 0;
  std::uint64_t unused_ids = 0;
  std::uint64_t mine_alone = 0;    // tensors
  std::uint64_t golden_alone = 0;  // tensors
  std::vector<std::string> damage;
  std::vector<RenderedRow> rows;
};

class RankComparison {
 public:
  RankComparison(const RankJob& job, const Options& options, Messages& messages)
      : job_(job), options_(options), messages_(messages), report_(options.output_path) {}

  // Returns how many tensors with elements were compared with those of the other dump.
  std::uint64_t run(std::ostream& out) {
    const std::vector<GraphPair> graphs = find_graphs();
    for (const GraphPair& graph : graphs) tokens_ += graph.mine.tokens().size();
    {
      OrderedWork<OpTask, OpResult> work(
          threads(), window, [this] { return make_work(); }, [this](OpResult&& result) { take(result); });
      for (const GraphPair& graph : graphs) compare_graph(graph, work);
    }
    report_.sort();
    const std::string rank_part = job_.rank ? "rank" + std::to_string(*job_.rank) + "_" : "";
    const std::string stem = report_.write(rank_part, columns());
    if (options_.html) write_html(stem + ".html", html_report(), report_);
    messages_.count_further_warnings();
    messages_.clear_progress();
    print_summary(out, stem);
    return report_.totals().of_both;
  }

 private:
  Columns columns() const { return options_.legacy_columns ? Columns::legacy : Columns::all; }

  std::size_t threads() const {
    const std::size_t wanted =
        options_.threads > 0 ? options_.threads : std::max(1U, std::thread::hardware_concurrency());
    // A file that cannot be opened for want of a descriptor would look like a damaged one.
    const std::uint64_t allowed = allow_many_descriptors();
    const std::uint64_t for_operators = allowed > of_program ? allowed - of_program : 0;
    return std::clamp<std::size_t>(for_operators / of_operator, 1, wanted);
  }

  std::vector<GraphPair> find_graphs() {
    std::vector<GraphFile> texts = find_graph_files(job_.target_root, job_.rank, messages_);
    if (texts.empty()) throw UserError(no_graph_text(job_.target_root));
    std::vector<DumpGroup> mine = find_ge_groups(job_.my_base, messages_);
    if (mine.empty()) throw UserError("No dumped operators were found below " + job_.my_base + ".");
    std::vector<DumpGroup> golden = job_.kind == DumpKind::ge
                                        ? find_ge_groups(job_.golden_base, messages_)
                                        : find_fx_groups(job_.golden_base, job_.golden_of_rank, messages_);
    if (golden.empty()) {
      throw UserError(job_.kind == DumpKind::ge
                          ? "No dumped operators were found below " + job_.golden_base + "."
                          : "Cannot get fx dump data, because the gathered_files_list is empty. No tensors were found "
                            "below " +
                                job_.golden_base + ".");
    }
    return pair_graphs(std::move(texts), std::move(mine), std::move(golden), messages_);
  }

  // What one thread does with an operator.
  std::function<OpResult(const OpTask&)> make_work() {
    const auto comparer = std::make_shared<Comparer>(options_.checksums);
    return [this, comparer](const OpTask& task) {
      OpResult result;
      const std::uint64_t before = comparer->bytes_read();
      OpRows compared = compare_op(task, *comparer);
      result.op_name = task.mine->op_name;
      result.token = task.data->token;
      result.unused_ids = compared.unused_ids;
      result.mine_alone = compared.mine_alone;
      result.golden_alone = compared.golden_alone;
      result.damage = std::move(compared.damage);
      for (const Row& row : compared.rows) {
        result.rows.push_back(render(row, task.mine->timestamp));
      }
      bytes_read_ += comparer->bytes_read() - before;
      return result;
    };
  }

  void take(const OpResult& result) {
    report_.add(result.unused_ids, result.rows);
    for (const std::string& text : result.damage) messages_.warning("files that cannot be read", text);
    name_alone(result);
    messages_.progress([&] {
      const ReportTotals totals = report_.totals();
      return (job_.rank ? "rank " + std::to_string(*job_.rank) + ": " : std::string()) + "token " +
             std::to_string(tokens_begun_) + " of " + std::to_string(tokens_) + ", " + std::to_string(totals.compared) +
             " tensors compared, " + std::to_string(totals.failed) + " failed, " +
             std::to_string(static_cast<std::uint64_t>(static_cast<double>(bytes_read_) / megabyte)) + " MB read";
    });
  }

  // Tensors that one of two files of an operator has beyond those of the other.
  void name_alone(const OpResult& result) {
    const auto name = [&](std::uint64_t tensors, const char* whose, std::uint64_t& count) {
      if (tensors == 0) return;
      messages_.warning("operators with another number of tensors",
                        "Of the tensors of " + result.op_name + ", token_id " + std::to_string(result.token) + ", " +
                            std::to_string(tensors) + " are in " + whose + " alone");
      ++count;
    };
    name(result.mine_alone, "the dump to compare", with_more_.mine);
    name(result.golden_alone, "the golden dump", with_more_.golden);
  }

  using Work = OrderedWork<OpTask, OpResult>;

  std::shared_ptr<TokenData> read_token(const TokenDirectories& mine, const TokenDirectories& golden,
                                        std::shared_ptr<const GeGraph> graph) {
    auto data = std::make_shared<TokenData>();
    data->token = mine.token;
    data->graph = std::move(graph);
    read_ge_token(mine, messages_, data->mine);
    if (job_.kind == DumpKind::ge) {
      read_ge_token(golden, messages_, data->golden_ge);
    } else {
      data->golden_fx = read_fx_token(golden, messages_);
    }
    return data;
  }

  void compare_graph(const GraphPair& pair, Work& work) {
    const auto shared_graph = std::make_shared<const GeGraph>(read_graph(pair.graph));
    const GeGraph& graph = *shared_graph;
    OpNames names(graph);
    OpPlanner planner(job_.kind, graph, messages_, unmatched_);
    const auto stacks = read_stack_info(pair.graph, messages_);
    std::vector<bool> dumped(graph.ops.size(), false);
    report_.begin_graph();
    name_golden_tokens(pair);
    for (const TokenDirectories& token : pair.mine.tokens()) {
      ++tokens_begun_;
      const TokenDirectories* golden = pair.golden.find(token.token);
      if (golden == nullptr) {
        messages_.warning("tokens without golden data",
                          "My token_id " + std::to_string(token.token) + " not found in golden dump data");
        ++unmatched_.missing_golden;
        note_dumped(token, names, dumped);
        continue;
      }
      const std::shared_ptr<const TokenData> data = read_token(token, *golden, shared_graph);
      names.clear_dumped();
      for (const GeOpFile& op : data->mine.ops) names.add_dumped(op.op_name);
      for (const GeOpFile& op : data->golden_ge.ops) names.add_dumped(op.op_name);
      for (const GeOpFile* op : in_graph_order(data->mine, graph)) {
        OpTask task;
        task.data = data;
        task.mine = op;
        const auto stack = stacks.find(op->op_name);
        if (stack != stacks.end()) task.stack_info = stack->second;
        const std::vector<std::size_t> parts = names.split(op->op_name);
        for (const std::size_t part : parts) dumped[part] = true;
        if (planner.plan(parts, task)) work.add(std::move(task));
      }
      planner.name_golden_alone(*data);
    }
    work.finish();
    unmatched_.missing_golden += std::exchange(with_more_.mine, 0);
    unmatched_.golden_alone += std::exchange(with_more_.golden, 0);
    for (std::size_t i = 0; i < dumped.size(); ++i) {
      if (dumped[i]) continue;
      ++unmatched_.not_dumped;
      messages_.detail("The operator " + graph.ops[i].name + " of the graph has no dump.");
    }
  }

  // Operators of a token that is not compared have been dumped as well.
  static void note_dumped(const TokenDirectories& token, OpNames& names, std::vector<bool>& dumped) {
    Messages nowhere(false, false, [](const std::string&) {});
    GeToken files;
    read_ge_token(token, nowhere, files);
    names.clear_dumped();
    for (const GeOpFile& op : files.ops) names.add_dumped(op.op_name);
    for (const GeOpFile& op : files.ops) {
      for (const std::size_t part : names.split(op.op_name)) dumped[part] = true;
    }
    names.clear_dumped();  // which refer to files
  }

  // Tokens that the golden dump alone has.
  void name_golden_tokens(const GraphPair& pair) {
    for (const TokenDirectories& token : pair.golden.tokens()) {
      if (token.token < 0 || pair.mine.find(token.token) != nullptr) continue;
      messages_.warning("tokens of the golden dump alone",
                        "Golden token_id " + std::to_string(token.token) + " not found in the dump data to compare");
      ++unmatched_.golden_tokens;
    }
  }

  GeGraph read_graph(const GraphFile& text) {
    try {
      InputFile file(text.path);
      GeGraph graph = read_ge_graph(file);
      if (graph.ops.empty()) {
        throw UserError(graph.damage.empty() ? "The graph text " + text.path + " holds no operators." : graph.damage);
      }
      if (!graph.damage.empty()) {
        messages_.warning(graph.damage + " The " + std::to_string(graph.ops.size()) +
                          " operators before that are used.");
      }
      return graph;
    } catch (const FileError& error) {
      throw UserError(error.what());
    }
  }

  // Those that the graph does not know come first (torchair.md 7.1).
  static std::vector<const GeOpFile*> in_graph_order(const GeToken& token, const GeGraph& graph) {
    std::vector<std::pair<std::size_t, const GeOpFile*>> places;
    for (const GeOpFile& op : token.ops) {
      const auto found = graph.by_name.find(op.op_name);
      places.emplace_back(found == graph.by_name.end() ? 0 : found->second + 1, &op);
    }
    std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const GeOpFile*> ops;
    ops.reserve(places.size());
    for (const auto& [place, op] : places) ops.push_back(op);
    return ops;
  }

  HtmlReport html_report() const {
    const ReportTotals totals = report_.totals();
    HtmlReport about;
    about.title = "TorchAir comparison" + (job_.rank ? ", rank " + std::to_string(*job_.rank) : std::string());
    about.target = job_.target_root;
    about.golden = job_.golden_base;
    about.facts = {{"tensors compared", std::to_string(totals.compared)},
                   {"passed", std::to_string(totals.passed)},
                   {"failed", std::to_string(totals.failed)},
                   {"not compared, because they cannot be read", std::to_string(totals.unread)},
                   {"passed, not fully checked", std::to_string(totals.unchecked)},
                   {"skipped", std::to_string(totals.skipped)},
                   {"without golden data", std::to_string(unmatched_.missing_golden)},
                   {"tokens of the golden dump alone", std::to_string(unmatched_.golden_tokens)},
                   {"of the golden dump alone", std::to_string(unmatched_.golden_alone)},
                   {"not in the graph", std::to_string(unmatched_.not_in_graph)},
                   {"in the graph, not dumped", std::to_string(unmatched_.not_dumped)}};
    return about;
  }

  void print_summary(std::ostream& out, const std::string& stem) const {
    const ReportTotals totals = report_.totals();
    out << (job_.rank ? "rank " + std::to_string(*job_.rank) + ": " : std::string()) << totals.compared
        << " tensors compared: " << totals.passed << " passed, " << totals.failed << " failed; " << totals.skipped
        << " skipped because they cannot be compared\n"
        << "  without golden data: " << unmatched_.missing_golden
        << ", dumped but not in the graph: " << unmatched_.not_in_graph
        << ", in the graph but not dumped: " << unmatched_.not_dumped << '\n';
    if (unmatched_.golden_alone > 0) {
      out << "  operators of which the golden dump alone has data, or more: " << unmatched_.golden_alone << '\n';
    }
    if (unmatched_.golden_tokens > 0) out << "  tokens of the golden dump alone: " << unmatched_.golden_tokens << '\n';
    if (totals.unread > 0) {
      out << "  not compared, because one side cannot be read: " << totals.unread << " (FAIL in the report)\n";
    }
    if (totals.unchecked > 0) {
      out << "  not fully checked, though passed: " << totals.unchecked
          << ", because NaN or Inf hides what was not recorded\n";
    }
    std::size_t listed = 0;
    const auto failures = first_failures();
    for (const auto& [token, name] : failures) {
      if (listed++ == listed_failures) break;
      out << "  first failure of token " << token << ": " << name << '\n';
    }
    if (failures.size() > listed_failures) {
      out << "  and failures of " << failures.size() - listed_failures << " more tokens\n";
    }
    out << "  report: " << stem << ".csv\n";
    if (totals.skipped > 0) out << "  skipped: " << stem << "_skipped.csv\n";
    if (options_.html) out << "  html: " << stem << ".html\n";
  }

  // Operator and tensor of the first row, in the order of execution, that failed, for each token with one.
  std::map<std::int64_t, std::string> first_failures() const {
    std::map<std::int64_t, std::string> failures;
    for (const RowEntry& entry : report_.entries()) {
      if (entry.verdict != Verdict::fail || entry.unread || failures.contains(entry.token)) continue;
      const std::string text = report_.text(entry);
      CsvReader reader(text);
      std::vector<std::string> cells;
      if (!reader.next(cells) || cells.size() < 3) continue;
      // "['<mine>', '<golden>']"
      const std::string_view names = cells[2];
      const std::size_t end = names.find("', '");
      failures.emplace(entry.token, cells[0] + " (" + std::string(names.substr(2, end - 2)) + ")");
    }
    return failures;
  }

  const RankJob& job_;
  const Options& options_;
  Messages& messages_;
  Report report_;
  Unmatched unmatched_;
  // Operators with more tensors on one side; apart from unmatched_ because threads count them while others are planned.
  struct {
    std::uint64_t mine = 0;
    std::uint64_t golden = 0;
  } with_more_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::atomic<std::uint64_t> tokens_begun_ = 0;
  std::uint64_t tokens_ = 0;  // of all graphs; set before the threads start
};

}  // namespace

std::uint64_t compare_rank(const RankJob& job, const Options& options, Messages& messages, std::ostream& out) {
  return RankComparison(job, options, messages).run(out);
}

}  // namespace msrun::torchair
