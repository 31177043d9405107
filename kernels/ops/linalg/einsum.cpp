// Einstein summation: every label is an axis; pairs of operands are contracted from left to right by batched matrix
// products.
#include <algorithm>
#include <map>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// Letters, and numbers from -1 downwards for the axes of "...", the last axis being -1.
using Label = int;
using Labels = std::vector<Label>;

struct Operand {
  Var var;
  Labels labels;  // one per axis
};

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::int64_t position(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// The diagonal of two axes of equal size, which replaces the first.
Var diagonal(const Var& x, std::size_t first, std::size_t second) {
  const auto view_of = [first, second](const Dims& full, const Dims& full_strides) {
    Placement view{full, full_strides};
    view.strides[first] += view.strides[second];
    view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(second));
    view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(second));
    return view;
  };
  if (x.shape()[first] != x.shape()[second])
    throw SkipError("einsum: a repeated subscript has axes of different sizes.");
  const Placement view = view_of(x.shape(), x.tensor().strides());
  return x.tape().record(x.tensor().with_strides(view.shape, view.strides, 0),
                         {{x, [view_of, full = x.shape()](const Tensor& g) {
                             return embed(full, view_of(full, row_major_strides(full)).strides, 0, g);
                           }}});
}

// Axes in the order of labels; size-1 axes for labels that the operand lacks.
Var arranged(const Operand& operand, const Labels& labels) {
  Dims axes;
  Dims shape;
  for (const Label label : labels) {
    if (!contains(operand.labels, label)) {
      shape.push_back(1);
      continue;
    }
    axes.push_back(position(operand.labels, label));
    shape.push_back(operand.var.size(axes.back()));
  }
  return reshape(permute(operand.var, axes), shape);
}

// Sums over the labels that are not in `kept`.
Operand reduced(const Operand& operand, const Labels& kept) {
  Dims axes;
  Labels labels;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (contains(kept, operand.labels[i])) {
      labels.push_back(operand.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  return {axes.empty() ? operand.var : sum(operand.var, axes, false), labels};
}

std::int64_t size_of_label(const Operand& operand, Label label) {
  return operand.var.size(position(operand.labels, label));
}

// The operand with its axes of `labels` repeated to the sizes given.
Operand repeated(const Operand& operand, const std::map<Label, std::int64_t>& sizes) {
  Dims shape = operand.var.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto found = sizes.find(operand.labels[i]);
    if (found != sizes.end()) shape[i] = found->second;
  }
  return {shape == operand.var.shape() ? operand.var : expand(operand.var, shape), operand.labels};
}

std::int64_t product_of(const std::map<Label, std::int64_t>& sizes, const Labels& labels) {
  std::int64_t result = 1;
  for (const Label label : labels) result *= sizes.at(label);
  return result;
}

// Contracts two operands; labels not in `kept` are summed.
Operand contract(Operand a, Operand b, const Labels& kept) {
  const auto kept_beside = [&](const Operand& other) {
    Labels labels = kept;
    labels.insert(labels.end(), other.labels.begin(), other.labels.end());
    return labels;
  };
  a = reduced(a, kept_beside(b));
  b = reduced(b, kept_beside(a));
  Labels batch;
  Labels inner;
  Labels only_a;
  Labels only_b;
  std::map<Label, std::int64_t> sizes;
  for (const Label label : a.labels) {
    const bool shared = contains(b.labels, label);
    (shared ? contains(kept, label) ? batch : inner : only_a).push_back(label);
    sizes[label] = size_of_label(a, label);
  }
  for (const Label label : b.labels) {
    if (!contains(a.labels, label)) only_b.push_back(label);
    const std::int64_t size = size_of_label(b, label);
    const std::int64_t other = sizes.try_emplace(label, size).first->second;
    if (size != other && size != 1 && other != 1) {
      throw SkipError("einsum: operands have different sizes (" + std::to_string(other) + " and " +
                      std::to_string(size) + ") for one subscript.");
    }
    if (other == 1) sizes[label] = size;
  }
  a = repeated(a, sizes);
  b = repeated(b, sizes);
  const auto joined = [](Labels first, const Labels& second, const Labels& third) {
    first.insert(first.end(), second.begin(), second.end());
    first.insert(first.end(), third.begin(), third.end());
    return first;
  };
  const std::int64_t batches = product_of(sizes, batch);
  const std::int64_t length = product_of(sizes, inner);
  const Var left = reshape(arranged(a, joined(batch, only_a, inner)), Dims{batches, product_of(sizes, only_a), length});
  const Var right =
      reshape(arranged(b, joined(batch, inner, only_b)), Dims{batches, length, product_of(sizes, only_b)});
  const Labels labels = joined(batch, only_a, only_b);
  Dims shape;
  for (const Label label : labels) shape.push_back(sizes[label]);
  return {reshape(matmul(left, right), shape), labels};
}

struct Term {
  std::string before;  // letters before and after "..."
  std::string after;
  bool ellipsis = false;
};

Term parse_term(std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      if (term.ellipsis || text.substr(i, 3) != "...")
        throw SkipError("einsum: '.' is only valid in one '...' per operand.");
      term.ellipsis = true;
      i += 2;
      continue;
    }
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    if (!letter) throw SkipError(std::string("einsum: invalid subscript '") + text[i] + "'.");
    (term.ellipsis ? term.after : term.before).push_back(text[i]);
  }
  return term;
}

Labels labels_of(const Term& term, std::int64_t ellipsis_axes) {
  Labels labels(term.before.begin(), term.before.end());
  for (std::int64_t i = term.ellipsis ? ellipsis_axes : 0; i > 0; --i) labels.push_back(static_cast<Label>(-i));
  labels.insert(labels.end(), term.after.begin(), term.after.end());
  return labels;
}

Operand without_repeats(Operand operand) {
  for (std::size_t first = 0; first < operand.labels.size(); ++first) {
    for (std::size_t second = operand.labels.size() - 1; second > first; --second) {
      if (operand.labels[first] != operand.labels[second]) continue;
      operand.var = diagonal(operand.var, first, second);
      operand.labels.erase(operand.labels.begin() + static_cast<std::ptrdiff_t>(second));
    }
  }
  return operand;
}

Var einsum(std::string_view equation, const std::vector<Var>& vars) {
  if (vars.empty()) throw SkipError("einsum needs at least one operand.");
  const std::size_t arrow = equation.find("->");
  std::string_view inputs = equation.substr(0, arrow);
  std::vector<Operand> operands;
  std::int64_t ellipsis_axes = 0;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const std::size_t comma = inputs.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == vars.size())) {
      throw SkipError("einsum: the equation does not have one term per operand.");
    }
    const Term term = parse_term(inputs.substr(0, comma));
    inputs = comma == std::string_view::npos ? std::string_view{} : inputs.substr(comma + 1);
    const std::int64_t covered = vars[i].rank() - static_cast<std::int64_t>(term.before.size() + term.after.size());
    if (covered < 0 || (covered > 0 && !term.ellipsis)) {
      throw SkipError("einsum: an operand has " + std::to_string(vars[i].rank()) +
                      " dimensions, not as many as its subscripts.");
    }
    if (term.ellipsis) ellipsis_axes = std::max(ellipsis_axes, covered);
    operands.push_back({vars[i], labels_of(term, covered)});
  }
  Labels output;
  if (arrow != std::string_view::npos) {
    output = labels_of(parse_term(equation.substr(arrow + 2)), ellipsis_axes);
  } else {
    // Implicit output: the axes of "...", then the letters that occur once, in alphabetical order.
    std::map<Label, int> count;
    for (const Operand& operand : operands) {
      for (const Label label : operand.labels) ++count[label];
    }
    for (const auto& [label, times] : count) {
      if (label < 0 || times == 1) output.push_back(label);
    }
  }
  for (std::size_t i = 0; i < output.size(); ++i) {
    const bool known = std::any_of(operands.begin(), operands.end(),
                                   [&](const Operand& operand) { return contains(operand.labels, output[i]); });
    if (!known || position(output, output[i]) != static_cast<std::int64_t>(i)) {
      throw SkipError("einsum: an output subscript appears twice or in no operand.");
    }
  }
  for (Operand& operand : operands) operand = without_repeats(operand);
  Operand result = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Labels kept = output;
    for (std::size_t later = i + 1; later < operands.size(); ++later) {
      kept.insert(kept.end(), operands[later].labels.begin(), operands[later].labels.end());
    }
    result = contract(result, operands[i], kept);
  }
  return arranged(reduced(result, output), output);
}

// The form with a list of axis numbers after every operand: einsum(a, [0, 1], b, [1, 2], [0, 2]).
Var einsum_of_sublists(const List& items) {
  std::string equation;
  std::vector<Var> vars;
  const auto append = [&equation](const Value& value) {
    for (const Value& item : *value.get<List>()) {
      if (item.is<Ellipsis>()) {
        equation += "...";
        continue;
      }
      const auto* number = item.get<std::int64_t>();
      if (number == nullptr || *number < 0 || *number > 51)
        throw SkipError("einsum: subscripts must be in the range [0, 52).");
      equation.push_back(static_cast<char>(*number < 26 ? 'A' + *number : 'a' + (*number - 26)));
    }
  };
  std::size_t i = 0;
  for (; i + 1 < items.size(); i += 2) {
    const Var* var = items[i].get<Var>();
    if (var == nullptr || !items[i + 1].is<List>())
      throw SkipError("einsum: expected pairs of an operand and its subscripts.");
    if (i > 0) equation.push_back(',');
    vars.push_back(*var);
    append(items[i + 1]);
  }
  if (i < items.size()) {
    if (!items[i].is<List>()) throw SkipError("einsum: expected a list of output subscripts.");
    equation += "->";
    append(items[i]);
  }
  return einsum(equation, vars);
}

OP("einsum(str equation, Tensor[]... operands)", [](const Bound& args) -> Value {
  Raised raised;
  std::vector<Var> operands = args.vars("operands");
  for (Var& operand : operands) operand = raised(operand);
  return raised.back(einsum(args.text("equation"), operands));
});
OP("einsum(any... items)", [](const Bound& args) -> Value {
  const List* items = args.value("items").get<List>();
  if (items == nullptr) throw SkipError("einsum: expected an equation or pairs of operands and subscripts.");
  Raised raised;
  List raised_items;
  for (const Value& item : *items) {
    const Var* var = item.get<Var>();
    raised_items.push_back(var == nullptr ? item : Value(raised(*var)));
  }
  return raised.back(einsum_of_sublists(raised_items));
});
NAMES("einsum", "Torch: einsum");
TRAITS("einsum", .autocast = AutocastPolicy::lower, .complex = true, .rounds_once = true,
       .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace
}  // namespace msrun
