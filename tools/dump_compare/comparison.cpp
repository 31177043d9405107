#include "tools/dump_compare/comparison.h"

#include <algorithm>
#include <future>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "tools/common/ordered_work.h"
#include "tools/dump_compare/forward_calls.h"
#include "tools/dump_compare/mapping.h"
#include "tools/recordings/alignment.h"
#include "tools/recordings/recording_reader.h"

namespace msrun::dump_compare {
namespace {

constexpr std::size_t rows_of_a_piece = 1024;

void check_recording(const Recording& side, const char* name) {
  if (side.debug) return;
  if (!side.has_task || side.task.empty())
    throw UserError("Task for " + std::string(name) + " is empty, please check.");
}

Mode mode_of(const Pair& pair) {
  const Recording& target = pair.target;
  const Recording& golden = pair.golden;
  if (target.task != golden.task) {
    throw UserError("Please check the dump task is consistent. (" + target.path + ": '" + target.task + "', " +
                    golden.path + ": '" + golden.task + "')");
  }
  if (target.task == "tensor" || (target.debug && target.task.empty())) return Mode::tensor;
  if (target.task == "structure") return Mode::statistics;
  if (target.task != "statistics") throw UserError("Compare applies only to task is tensor or statistics");
  if (target.has_md5 != golden.has_md5) {
    throw UserError(
        "Please check the dump task is consistent, dump mode of npu and bench should both be statistics or md5.");
  }
  return target.has_md5 ? Mode::md5 : Mode::statistics;
}

void find_frameworks(Pair& pair, const std::function<void(const std::string&)>& warn) {
  const auto framework = [&](const Recording& side, const char* name) -> std::string {
    if (!side.framework.empty()) return side.framework;
    warn("Unable to get framework information from " + std::string(name) + " dump.json, default setting is pytorch.");
    return "pytorch";
  };
  const std::string target = framework(pair.target, "target");
  const std::string golden = framework(pair.golden, "golden");
  pair.mindspore = target == "mindspore" || target == "mindtorch";
  if (target == "pytorch" && golden == "pytorch") return;
  if (!pair.mindspore || (golden != "pytorch" && golden != "mindspore")) {
    throw UserError("Unrecognized framework, target now is " + target + ", golden now is " + golden +
                    ", please check dump.json.");
  }
  pair.cross = golden == "pytorch";
}

// As msProbe, which writes no line that a spreadsheet would run.
void refuse_odd_stacks(const Pair& pair) {
  if (!pair.stacks) return;
  for (const Call& call : pair.target.calls) {
    const std::string_view name = pair.target.name(call);
    const std::vector<std::string>* const lines = pair.stacks->lines(name);
    if (lines != nullptr && std::ranges::any_of(*lines, [](const std::string& line) { return is_formula(line); })) {
      throw UserError("stack info of " + bounded(std::string(name)) + " contains special characters, please check!");
    }
  }
}

// Of a recorded shape, "[2, 4]". What is no shape promises nothing.
bool has_elements(std::string_view shape) {
  if (!shape.starts_with('[')) return false;
  std::size_t begin = 0;
  while ((begin = shape.find_first_of("0123456789", begin)) != std::string_view::npos) {
    const std::size_t end = std::min(shape.find_first_not_of("0123456789", begin), shape.size());
    if (shape.substr(begin, end - begin) == "0") return false;
    begin = end;
  }
  return true;
}

// The rows of one call, and of the golden rows between its own.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Piece> pieces_of(const std::vector<Row>& rows) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (std::size_t r = 1; r <= rows.size(); ++r) {
    const bool cut = r == rows.size() || (rows[r].target_call != no_place && rows[r - 1].target_call != no_place &&
                                          rows[r].target_call != rows[r - 1].target_call);
    if (!cut || (r < rows.size() && r - begin < rows_of_a_piece)) continue;
    pieces.push_back({begin, r});
    begin = r;
  }
  return pieces;
}

class PieceWork {
 public:
  PieceWork(const Pair& pair, const std::vector<Row>& rows, const RowOptions& options, const ColumnTypes& types)
      : pair_(pair),
        rows_(rows),
        target_forwards_(pair.target),
        golden_forwards_(pair.golden),
        sides_(with_forwards(pair.sides(options.compat))),
        types_(types),
        maker_(sides_, pair.mode, types_, pair.stacks ? &*pair.stacks : nullptr),
        options_(options) {}

  std::vector<ResultRow> run(const Piece& piece) const {
    std::vector<ComparedRow> compared(piece.end - piece.begin);
    for (std::size_t i = 0; i < compared.size(); ++i) {
      compared[i].row = rows_[piece.begin + i];
      measure(compared[i]);
    }
    // Rows of one call are judged together, golden rows each alone.
    std::vector<ComparedRow> group;
    std::vector<std::size_t> places;
    const auto judge_group = [&] {
      judge(sides_, pair_.mode, group);
      for (std::size_t i = 0; i < places.size(); ++i) compared[places[i]] = std::move(group[i]);
      group.clear();
      places.clear();
    };
    std::uint32_t call = no_place;
    for (std::size_t i = 0; i < compared.size(); ++i) {
      if (compared[i].row.target_call == no_place) {
        judge(sides_, pair_.mode, std::span(&compared[i], 1));
        continue;
      }
      if (compared[i].row.target_call != call) judge_group();
      call = compared[i].row.target_call;
      places.push_back(i);
      group.push_back(compared[i]);
    }
    judge_group();
    std::vector<ResultRow> results;
    results.reserve(compared.size());
    std::uint32_t shown = no_place;
    for (const ComparedRow& row : compared) {
      const bool first = row.row.target_call != no_place && row.row.target_call != shown &&
                         row.row.target == sides_.target.calls[row.row.target_call].leaves;
      if (row.row.target_call != no_place) shown = row.row.target_call;
      results.push_back(maker_.make(row, first, options_.for_csv));
      results.back().compared = has_values(row);
      results.back().problem = row.metrics.problem;
      if (options_.for_csv) append_csv(results.back().line, results.back());
    }
    return results;
  }

 private:
  Sides with_forwards(Sides sides) const {
    sides.target_forwards = &target_forwards_;
    sides.golden_forwards = &golden_forwards_;
    return sides;
  }

  // Whether both sides have values of one kind. A structure has none: there the description is what is compared.
  bool has_values(const ComparedRow& compared) const {
    const Row& row = compared.row;
    if (row.target == no_place || row.golden == no_place) return false;
    if (sides_.target.task == "structure") return true;
    const Leaf& mine = sides_.target.leaves[row.target];
    const Leaf& theirs = sides_.golden.leaves[row.golden];
    if (pair_.mode == Mode::md5 && mine.tensor && theirs.tensor) return mine.recorded_md5 && theirs.recorded_md5;
    if (std::ranges::any_of(compared.metrics.cells, [](const MetricCell& cell) { return cell.word == nullptr; }) &&
        pair_.mode == Mode::tensor) {
      return true;
    }
    for (std::size_t i = 0; i < statistic_count; ++i) {
      if (mine.statistics[i].kind != recordings::Kind::none && theirs.statistics[i].kind != recordings::Kind::none) {
        return true;
      }
    }
    return false;
  }

  void measure(ComparedRow& compared) const {
    const Row& row = compared.row;
    const Leaf* mine = row.target == no_place ? nullptr : &sides_.target.leaves[row.target];
    const Leaf* theirs = row.golden == no_place ? nullptr : &sides_.golden.leaves[row.golden];
    for (std::size_t i = 0; i < statistic_count; ++i) {
      compared.differences[i] =
          difference_of({sides_.target.texts, mine == nullptr ? nullptr : &mine->statistics[i], types_.target[i]},
                        {sides_.golden.texts, theirs == nullptr ? nullptr : &theirs->statistics[i], types_.golden[i]},
                        !sides_.compat);
    }
    if (pair_.mode != Mode::tensor) return;
    const auto say = [&](const char* text) { compared.metrics.messages.push_back({Weight::none, text}); };
    if (mine == nullptr) return;
    if (mine->data_name == 0) {
      say("NPU does not have data file.");
    } else if (theirs != nullptr && theirs->data_name == 0) {
      say("Bench does not have data file.");
    } else if (theirs != nullptr) {
      const Call& call = sides_.target.calls[row.target_call];
      compared.metrics =
          compare_tensor_files(target_file(sides_.target, call, *mine, pair_.factors),
                               golden_file(sides_.golden, *theirs, pair_.factors), sides_.compat, *pair_.memory);
      const bool recorded =
          has_elements(sides_.target.text(mine->shape)) || has_elements(sides_.golden.text(theirs->shape));
      if (compared.metrics.empty && recorded && !sides_.compat) {
        compared.metrics.messages.push_back({Weight::error, "The recorded tensor has elements, its file has none."});
      }
    }
    if (theirs == nullptr || !options_.fuzzy) return;
    const std::string name = sides_.target.row_name(sides_.target.calls[row.target_call], *mine);
    if (name != sides_.golden.row_name(sides_.golden.calls[row.golden_call], *theirs)) {
      say("Fuzzy matching data, the comparison accuracy may be affected.");
    }
  }

  const Pair& pair_;
  const std::vector<Row>& rows_;
  const ForwardCalls target_forwards_;
  const ForwardCalls golden_forwards_;
  const Sides sides_;
  const ColumnTypes& types_;
  const RowMaker maker_;
  const RowOptions& options_;
};

}  // namespace

std::unique_ptr<Pair> read_pair(const std::string& target, const std::string& golden, bool compat,
                                const std::function<void(const std::string&)>& warn) {
  auto pair = std::make_unique<Pair>();
  // At the same time, or where no thread can be had, afterwards.
  auto theirs = std::async(std::launch::async | std::launch::deferred,
                           [&] { return recordings::read_recording(golden, "bench"); });
  pair->target = recordings::read_recording(target, "npu");
  pair->golden = theirs.get();
  check_recording(pair->target, "npu");
  check_recording(pair->golden, "bench");
  find_frameworks(*pair, warn);
  pair->mode = mode_of(*pair);
  pair->stacks = recordings::read_stacks_of(pair->target.folder);
  if (compat) {
    for (const Recording* side : {&pair->target, &pair->golden}) {
      if (!side->odd_text.empty()) throw UserError(side->odd_text);
    }
    refuse_odd_stacks(*pair);
  }
  return pair;
}

std::vector<Row> rows_of_pair(const Pair& pair, const MappingFiles& mapping, bool compat,
                              const std::function<void(const std::string&)>& warn, std::string& layer_names) {
  const Sides sides = pair.sides(compat);
  if (pair.target.leaves.empty() && pair.golden.leaves.empty()) {
    throw UserError("No valid data found. No compare result file generated. Please check input json.");
  }
  if (!compat) {
    for (const Recording* side : {&pair.target, &pair.golden}) {
      const std::string repeated = recordings::repeated_calls(*side, recordings::Repeated::replaces);
      if (!repeated.empty()) warn(repeated);
      if (side->no_objects > 0) {
        warn(std::to_string(side->no_objects) + (side->no_objects == 1 ? " entry of " : " entries of ") + side->path +
             " cannot be compared, being no objects, or nested too deep or too large: first " +
             sanitised(bounded(std::string(side->text(side->first_no_object)))) + ".");
      }
      const auto unnamed = std::ranges::count_if(side->calls, [](const Call& c) { return !is_compared_by_msprobe(c); });
      if (unnamed > 0 && !side->debug) {
        warn(std::to_string(unnamed) + " calls of " + side->path +
             " have names without forward, backward or parameters_grad; msProbe would leave them out.");
      }
    }
  }
  std::vector<Row> rows;
  if (mapping.fuzzy && compat) {
    if (pair.mode != Mode::tensor)
      throw UserError("Length mismatch: Expected axis has 18 elements, new values have 20 elements");
    rows = match_rows_as_msprobe_fuzzy(sides);
  } else if (mapping.fuzzy) {
    rows = rows_of_pairs(sides, recordings::align_by_name(pair.target, pair.golden));
  } else {
    const std::optional<NameMap> names = name_map(pair, mapping, compat, warn);
    if (names) layer_names = names->listed;
    rows = match_rows(sides, names ? &*names : nullptr);
  }
  const bool mapped = mapping.fuzzy || mapping.api || mapping.cell || !mapping.data.empty() || mapping.layer;
  const bool any = std::ranges::any_of(rows, [](const Row& r) { return r.target != no_place && r.golden != no_place; });
  if (rows.empty() || (mapped && !any)) throw UserError("Can`t match any op. No compare result file generated.");
  return rows;
}

Counts compare_rows(const Pair& pair, const std::vector<Row>& rows, const RowOptions& options,
                    const std::function<void(ResultRow&&)>& take) {
  Counts counts;
  const Sides sides = pair.sides(options.compat);
  const ColumnTypes types = column_types(sides, rows);
  const PieceWork work(pair, rows, options, types);
  OrderedWork<Piece, std::vector<ResultRow>> ordered(
      options.threads, options.threads * 4, [&] { return [&](const Piece& piece) { return work.run(piece); }; },
      [&](std::vector<ResultRow>&& results) {
        for (ResultRow& row : results) {
          ++counts.rows;
          if (row.level == Level::error) ++counts.errors;
          if (row.level == Level::warning) ++counts.warnings;
          if (row.compared) ++counts.compared;
          if (row.input_apart && counts.inputs_apart++ == 0) counts.first_input_apart = row.cell(0);
          take(std::move(row));
        }
      });
  for (const Piece& piece : pieces_of(rows)) ordered.add(piece);
  ordered.finish();
  return counts;
}

}  // namespace msrun::dump_compare
