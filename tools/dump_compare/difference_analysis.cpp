#include "tools/dump_compare/difference_analysis.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "kernels/base/text.h"
#include "tools/dump_compare/difference_search.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

using recordings::State;

constexpr double different_percent = 50;
constexpr auto relative_errors =
    std::to_array<std::string_view>({"MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"});

std::string json_string(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// As Python's json.dump() writes a number: infinities bare.
std::string number_text(std::string_view cell) {
  if (cell == "inf") return "Infinity";
  if (cell == "-inf") return "-Infinity";
  return std::string(cell);
}

std::string list_text(const std::vector<std::string>& texts, const std::string& indent) {
  if (texts.empty()) return "[]";
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "\n" : ",\n") + indent + "  " + json_string(texts[i]);
  return out + "\n" + indent + "]";
}

const char* state_text(State state) {
  switch (state) {
    case State::input:
      return "input";
    case State::parameters:
      return "parameters";
    case State::output:
      return "output";
    case State::parameters_grad:
      return "parameters_grad";
  }
  return "";
}

struct Peer {
  std::string operation = "None";
  std::string peer = "None";
};

Peer peer_of(const Recording& side, std::uint32_t leaf) {
  const auto found = side.peer_operations.find(leaf);
  if (found == side.peer_operations.end()) return {};
  const auto text = [&](recordings::TextId id) { return id == 0 ? std::string("None") : std::string(side.text(id)); };
  return {text(found->second.operation), text(found->second.peer)};
}

// One rank: its rows as a document, and what the search needs of its calls.
class RankAnalysis {
 public:
  RankAnalysis(RankPair& rank, std::size_t threads, const std::function<void(const std::string&)>& warn)
      : pair_(*rank.pair) {
    searched_.number = rank.rank;
    if (pair_.mode == Mode::tensor) pair_.mode = Mode::statistics;
    std::string no_names;
    rows_ = rows_of_pair(pair_, {}, true, warn, no_names);
    types_ = column_types(pair_.sides(true), rows_);
    titles_ = titles(pair_.mode, pair_.stacks.has_value());
    options_.compat = true;
    options_.for_csv = false;
    options_.threads = threads;
  }

  const SearchedRank& searched() const { return searched_; }

  void write(ReportFile& file) {
    std::size_t next = 0;
    file.write("{");
    compare_rows(pair_, rows_, options_, [&](ResultRow&& row) { add(rows_[next++], row, file); });
    end_call(file);
    file.write(searched_.calls.empty() ? "}" : "\n}");
  }

  // The entry of a call in the file that says where ranks part first.
  std::string entry(std::size_t number) const {
    const std::uint32_t place = places_[number];
    const Call& call = pair_.target.calls[place];
    std::string inputs;
    std::string outputs;
    for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
      const Leaf& leaf = pair_.target.leaves[i];
      if (leaf.state != State::input && leaf.state != State::output) continue;
      std::string& into = leaf.state == State::input ? inputs : outputs;
      into +=
          (into.empty() ? "\n          " : ",\n          ") + json_string(pair_.target.row_name(call, leaf)) + ": {\n";
      for (const auto& [title, value] : shown(i)) into += "            " + json_string(title) + ": " + value + ",\n";
      into += "            \"NPU P2POp peer\": " + json_string(peer_of(pair_.target, i).peer) + "\n          }";
    }
    const auto object = [](const std::string& members) {
      return members.empty() ? "{}" : "{" + members + "\n        }";
    };
    const std::vector<std::string>* const lines = pair_.stacks ? pair_.stacks->lines(pair_.target.name(call)) : nullptr;
    return "    {\n      \"op_name\": " + json_string(pair_.target.name(call)) +
           ",\n      \"data_info\": {\n        \"input\": " + object(inputs) +
           ",\n        \"output\": " + object(outputs) +
           "\n      },\n      \"stack_info\": " + (lines == nullptr ? "null" : list_text(*lines, "      ")) + "\n    }";
  }

 private:
  // What msProbe shows of the values of one leaf, as members of an object.
  std::vector<std::pair<std::string, std::string>> shown(std::uint32_t place) const {
    const Leaf& leaf = pair_.target.leaves[place];
    if (pair_.mode == Mode::md5) {
      return {{"NPU MD5", json_string(leaf.md5 == 0 ? std::string_view("N/A") : pair_.target.text(leaf.md5))}};
    }
    constexpr std::array names{"NPU max", "NPU min", "NPU mean", "NPU l2norm"};
    std::vector<std::pair<std::string, std::string>> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Value& value = leaf.statistics[i];
      const std::string text = statistic_text(pair_.target.texts, value, types_.target[i], false);
      const bool bare = value.is_number() && text != "Nan";
      const bool boolean = value.kind == recordings::Kind::boolean;
      values.emplace_back(names[i], bare      ? number_text(text)
                                    : boolean ? std::string(value.integer != 0 ? "true" : "false")
                                              : json_string(text));
    }
    return values;
  }

  void add(const Row& row, const ResultRow& result, ReportFile& file) {
    const std::string name(pair_.target.name(pair_.target.calls[row.target_call]));
    if (places_.empty() || places_.back() != row.target_call) {
      end_call(file);
      file.write((places_.empty() ? "\n    " : ",\n    ") + json_string(name) + ": {\n        \"is_same\": ");
      places_.push_back(row.target_call);
      searched_.calls.push_back({name, false, {}});
    }
    SearchedCall& call = searched_.calls.back();
    const Leaf& leaf = pair_.target.leaves[row.target];
    call.differs = call.differs || (leaf.state == State::output && differs(row, result));
    if (leaf.state == State::input && is_communication_of_msprobe(name)) {
      const std::string value =
          pair_.mode == Mode::md5 ? std::string(pair_.target.text(leaf.md5))
                                  : recordings::value_text(pair_.target.texts, leaf.statistics[recordings::max_value]);
      call.inputs.push_back({pair_.target.row_name(pair_.target.calls[row.target_call], leaf), value,
                             peer_of(pair_.target, row.target).peer});
    }
    items_ += items_.empty() ? "\n            {" : ",\n            {";
    for (std::size_t i = 0; i < titles_.size(); ++i) add_item(titles_[i], cell(row, result, i), i == 0);
    add_item("state", json_string(state_text(leaf.state)), false);
    add_item("api_origin_name", json_string(name), false);
    const Peer mine = peer_of(pair_.target, row.target);
    const Peer theirs = row.golden == no_place ? Peer() : peer_of(pair_.golden, row.golden);
    add_item("NPU P2POp op", json_string(mine.operation), false);
    add_item("Bench P2POp op", json_string(theirs.operation), false);
    add_item("NPU P2POp peer", json_string(mine.peer), false);
    add_item("Bench P2POp peer", json_string(theirs.peer), false);
    items_ += "\n            }";
  }

  void add_item(std::string_view title, const std::string& value, bool first) {
    items_ += (first ? "\n                " : ",\n                ") + json_string(title) + ": " + value;
  }

  void end_call(ReportFile& file) {
    if (places_.empty()) return;
    file.write(searched_.calls.back().differs ? "false" : "true");
    file.write(",\n        \"op_items\": [" + items_ + "\n        ]\n    }");
    items_.clear();
  }

  // The state of a row before calls are judged, which msProbe does not do here.
  std::string cell(const Row& row, const ResultRow& result, std::size_t i) const {
    const std::string_view text = result.cell(i);
    const bool matched = row.golden != no_place;
    if (titles_[i] == "Result") {
      if (!matched) return json_string("N/A");
      if (pair_.mode != Mode::md5) return json_string("");
      return json_string(sums_differ(row) ? "Different" : "pass");
    }
    if (titles_[i] == "Err_message") {
      if (!matched) return json_string("No bench data matched.");
      if (pair_.mode == Mode::md5) return "NaN";
      const bool same_grad =
          pair_.target.leaves[row.target].requires_grad == pair_.golden.leaves[row.golden].requires_grad;
      return json_string(same_grad ? "" : "Requires_grad inconsistent. ");
    }
    if (titles_[i] == "NPU_Stack_Info" && text != "N/A") {
      return list_text(*pair_.stacks->lines(pair_.target.name(pair_.target.calls[row.target_call])),
                       "                ");
    }
    if (titles_[i].ends_with(" Requires_grad") && text != "N/A") return text == "True" ? "true" : "false";
    switch (result.kind(i)) {
      case CellKind::boolean:
        return text == "True" ? "true" : "false";
      case CellKind::number:
        // Equal statistics differ by the word 0.
        return (text == "0" && i < first_statistic_) || text == "Nan" ? json_string(text) : number_text(text);
      case CellKind::text:
        break;
    }
    return json_string(text);
  }

  bool sums_differ(const Row& row) const {
    return pair_.target.text(pair_.target.leaves[row.target].md5) !=
           pair_.golden.text(pair_.golden.leaves[row.golden].md5);
  }

  bool differs(const Row& row, const ResultRow& result) const {
    if (row.golden == no_place) return false;
    if (pair_.mode == Mode::md5) return sums_differ(row);
    const std::string_view name = result.cell(0);
    const bool left_out = name.find("npu_fusion_attention") != std::string_view::npos &&
                          (name.ends_with(".output.4") || name.ends_with(".output.5"));
    if (left_out) return false;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      if (std::ranges::find(relative_errors, titles_[i]) == relative_errors.end()) continue;
      std::string_view text = result.cell(i);
      if (!text.ends_with('%')) continue;
      text.remove_suffix(1);
      if (parse_number<double>(text).value_or(0) > different_percent) return true;
    }
    return false;
  }

  static constexpr std::size_t first_statistic_ = 16;  // column of the first of the recorded statistics

  Pair& pair_;
  std::vector<Row> rows_;
  ColumnTypes types_;
  std::vector<std::string> titles_;
  RowOptions options_;
  SearchedRank searched_;
  std::vector<std::uint32_t> places_;  // in the recording, of the calls that are searched
  std::string items_;                  // of the current call
};

std::string nanoseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void analyze_differences(std::vector<RankPair>& pairs, const std::vector<std::string>& names, const Options& options,
                         const std::string& folder, std::string& stamp, std::ostream& out,
                         const std::function<void(const std::string&)>& warn) {
  std::vector<RankAnalysis> ranks;
  std::vector<SearchedRank> searched;
  const auto publish_one = [&](const std::string& kind, std::string& of_file, const auto& write) {
    const ResultPlace place{folder, kind};
    std::vector<NamelessFile> files;
    files.push_back({".json", std::make_unique<ReportFile>(place.folder, place.kind)});
    write(*files.back().file);
    return publish(place, of_file, files).front();
  };
  for (std::size_t r = 0; r < pairs.size(); ++r) {
    ranks.emplace_back(pairs[r], options.threads, warn);
    const std::string path =
        publish_one("compare_result_" + names[r] + "_", stamp, [&](ReportFile& file) { ranks.back().write(file); });
    out << "Saving json file to disk: " << path << '\n';
    searched.push_back(ranks.back().searched());
  }
  const std::vector<FoundCall> found = search_differences(searched);
  if (found.empty()) {
    out << "Cannot find any diff node, no need to generate analyze file.\n";
    return;
  }
  std::map<std::size_t, std::string> entries;
  for (const FoundCall& call : found) {
    std::string& of_rank = entries[call.rank];
    of_rank += (of_rank.empty() ? "\n" : ",\n") + ranks[call.rank].entry(call.call);
  }
  std::string stamp_of_analysis = nanoseconds();
  const std::string path = publish_one("diff_analyze_", stamp_of_analysis, [&](ReportFile& file) {
    std::string text = "{";
    for (const auto& [rank, calls] : entries) {
      text += (text == "{" ? "\n  " : ",\n  ") + json_string("rank_" + std::to_string(pairs[rank].rank)) + ": [" +
              calls + "\n  ]";
    }
    file.write(text + "\n}");
  });
  out << "The analyze result is saved in: " << path << '\n';
}

}  // namespace msrun::dump_compare
