#include "tools/dump_compare/table.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/io/files/csv.h"
#include "tools/recordings/python_text.h"

namespace msrun::dump_compare {
namespace {

using recordings::RequiresGrad;

constexpr const char* not_there = "N/A";

std::string_view requires_grad_text(const Leaf* leaf) {
  if (leaf == nullptr || leaf->requires_grad == RequiresGrad::absent) return not_there;
  return leaf->requires_grad == RequiresGrad::yes ? "True" : "False";
}

std::string real_text(double value) {
  std::string text;
  recordings::append_real(text, value);
  return text;
}

// As Python's json.dumps() prints a list of texts, but for letters beyond ASCII, which stay readable.
std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return out + "]";
}

std::string python_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    recordings::append_repr(out, text);
  }
  return out + "]";
}

}  // namespace

std::vector<std::string> titles(Mode mode, bool with_stack) {
  std::vector<std::string> all{"NPU Name",         "Bench Name",         "NPU Dtype",         "Bench Dtype",
                               "NPU Tensor Shape", "Bench Tensor Shape", "NPU Requires_grad", "Bench Requires_grad"};
  const auto add = [&](std::initializer_list<const char*> more) { all.insert(all.end(), more.begin(), more.end()); };
  if (mode == Mode::statistics) {
    add({"Max diff", "Min diff", "Mean diff", "L2norm diff", "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr",
         "NormRelativeErr"});
  } else if (mode == Mode::tensor) {
    add({"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"});
  } else {
    add({"NPU MD5", "BENCH MD5"});
  }
  if (mode != Mode::md5) {
    add({"NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min", "Bench mean", "Bench l2norm"});
  }
  add({"Requires_grad Consistent", "Result", "Err_message"});
  if (with_stack) add({"NPU_Stack_Info"});
  if (mode == Mode::tensor) add({"Data_name"});
  return all;
}

void ResultRow::add(std::string_view cell, CellKind kind) {
  text_ += cell;
  ends_[count_] = static_cast<std::uint32_t>(text_.size());
  kinds_[count_++] = kind;
}

std::string_view ResultRow::cell(std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

void RowMaker::add_foreign(std::string_view text, ResultRow& result) const {
  if (!sides_.compat && is_formula(text)) return result.add(marked_as_text(text));
  result.add(text);
}

void RowMaker::add_description(const ComparedRow& compared, ResultRow& result) const {
  const Row& row = compared.row;
  const Leaf* mine = row.target == no_place ? nullptr : &sides_.target.leaves[row.target];
  const Leaf* theirs = row.golden == no_place ? nullptr : &sides_.golden.leaves[row.golden];
  const auto name = [&](const Recording& side, std::uint32_t call, const Leaf* leaf) {
    if (leaf == nullptr) return result.add(not_there);
    add_foreign(side.row_name(side.calls[call], *leaf), result);
  };
  name(sides_.target, row.target_call, mine);
  name(sides_.golden, row.golden_call, theirs);
  const auto text = [&](const Recording& side, const Leaf* leaf, recordings::TextId Leaf::*id) {
    add_foreign(leaf == nullptr ? std::string_view(not_there) : side.text(leaf->*id), result);
  };
  text(sides_.target, mine, &Leaf::dtype);
  text(sides_.golden, theirs, &Leaf::dtype);
  text(sides_.target, mine, &Leaf::shape);
  text(sides_.golden, theirs, &Leaf::shape);
  // Texts, also where whether they are equal is a truth value: msProbe's workbooks have them so.
  result.add(requires_grad_text(mine));
  result.add(requires_grad_text(theirs));
}

void RowMaker::add_statistics(const ComparedRow& compared, bool for_csv, ResultRow& result) const {
  const auto side = [&](const Recording& recording, std::uint32_t place, const auto& real) {
    for (std::size_t i = 0; i < statistic_count; ++i) {
      if (place == no_place) {
        result.add(not_there);
        continue;
      }
      const Leaf& leaf = recording.leaves[place];
      const Value& value = leaf.statistics[i];
      const std::string text = statistic_text(recording.texts, value, real[i], for_csv);
      if (value.is_number()) {
        result.add(text, CellKind::number);
      } else if (value.kind == recordings::Kind::boolean && recording.text(leaf.dtype).starts_with("<class")) {
        // In msProbe's workbooks those of tensors are texts.
        result.add(text, CellKind::boolean);
      } else {
        add_foreign(text, result);
      }
    }
  };
  side(sides_.target, compared.row.target, types_.target);
  side(sides_.golden, compared.row.golden, types_.golden);
}

// Recordings of structures have no statistics of tensors, whose equality would be a claim that nothing supports.
void RowMaker::add_differences(const ComparedRow& compared, ResultRow& result) const {
  const Row& row = compared.row;
  const bool pair = row.target != no_place && row.golden != no_place;
  const bool structure = !sides_.compat && sides_.target.task == "structure";
  for (const bool relative : {false, true}) {
    for (std::size_t i = 0; i < statistic_count; ++i) {
      const Difference& difference = compared.differences[i];
      const auto is_none = [&](const Recording& side, std::uint32_t leaf) {
        return side.leaves[leaf].statistics[i].kind == recordings::Kind::none;
      };
      if (structure && pair && is_none(sides_.target, row.target) && is_none(sides_.golden, row.golden)) {
        result.add(not_there);
      } else if (difference.word != nullptr) {
        result.add(difference.word, difference.word[0] == '0' ? CellKind::number : CellKind::text);
      } else if (!relative) {
        result.add(real_text(difference.difference), CellKind::number);
      } else {
        result.add(std::isinf(difference.percent) ? "inf" : real_text(difference.percent) + "%");
      }
    }
  }
}

ResultRow RowMaker::make(const ComparedRow& compared, bool first_of_call, bool for_csv) const {
  ResultRow result;
  const Row& row = compared.row;
  result.level = compared.level;
  result.input_apart = compared.input_apart;
  result.golden_only = row.target == no_place;
  result.call = result.golden_only ? row.golden_call : row.target_call;
  const Leaf* mine = row.target == no_place ? nullptr : &sides_.target.leaves[row.target];
  const Leaf* theirs = row.golden == no_place ? nullptr : &sides_.golden.leaves[row.golden];
  add_description(compared, result);
  if (mode_ == Mode::statistics) {
    add_differences(compared, result);
  } else if (mode_ == Mode::tensor) {
    for (const MetricCell& cell : compared.metrics.cells) {
      if (cell.word != nullptr) {
        result.add(cell.word);
      } else {
        result.add(real_text(cell.number), CellKind::number);
      }
    }
  } else {
    const auto sum = [&](const Recording& side, const Leaf* leaf) {
      const bool missing = leaf == nullptr || leaf->md5 == 0;
      add_foreign(missing ? std::string_view(not_there) : side.text(leaf->md5), result);
    };
    sum(sides_.target, mine);
    sum(sides_.golden, theirs);
  }
  if (mode_ != Mode::md5) add_statistics(compared, for_csv, result);
  result.add(requires_grad_text(mine) == requires_grad_text(theirs) ? "True" : "False", CellKind::boolean);
  result.add(level_text(compared.level));
  result.add(json_list(compared.messages));
  if (stacks_ != nullptr) {
    const std::vector<std::string>* lines = nullptr;
    if (first_of_call && mine != nullptr) {
      lines = stacks_->lines(sides_.target.name(sides_.target.calls[row.target_call]));
    }
    result.add(lines == nullptr ? not_there : python_list(*lines));
  }
  if (mode_ == Mode::tensor) {
    if (row.target != no_place && row.golden == no_place) result.metric_message = "Bench api/module unmatched.";
    for (const MetricMessage& message : compared.metrics.messages) {
      if (!result.metric_message.empty()) result.metric_message += ' ';
      result.metric_message += message.text;
    }
    const auto file = [&](const Recording& side, const Leaf* leaf) -> std::string {
      if (leaf == nullptr) return not_there;
      return leaf->data_name == 0 ? "-1" : std::string(side.text(leaf->data_name));
    };
    result.add(python_list({file(sides_.target, mine), file(sides_.golden, theirs)}));
  }
  return result;
}

void append_csv(std::string& out, const ResultRow& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ',';
    append_csv_field(out, row.cell(i));
  }
  out += '\n';
}

}  // namespace msrun::dump_compare
