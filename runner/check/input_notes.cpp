#include "runner/check/input_notes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

constexpr std::size_t most_notes = 32;
// Elements at a time, so that a look at a tensor takes no memory worth speaking of.
constexpr std::int64_t piece = 1 << 16;

using Visit = std::function<void(const std::string& name, const Value& leaf)>;

void visit_named(const std::string& name, const Value& value, const Visit& visit) {
  if (const List* list = value.get<List>()) {
    for (std::size_t i = 0; i < list->size(); ++i) visit_named(name + "." + std::to_string(i), (*list)[i], visit);
  } else if (const Dict* dict = value.get<Dict>()) {
    for (const auto& [key, entry] : *dict) visit_named(name + "." + key, entry, visit);
  } else {
    visit(name, value);
  }
}

void visit_inputs(const List& args, const Dict& kwargs, const List& gradients, const Visit& visit) {
  visit_named("args", args, visit);
  visit_named("kwargs", kwargs, visit);
  visit_named("grad", gradients, visit);
}

std::string plain_dtype(const std::string& recorded) {
  const std::size_t dot = recorded.rfind('.');
  return dot == std::string::npos ? recorded : recorded.substr(dot + 1);
}

void look_at(const Tensor& tensor, InputNote& note) {
  if (is_complex(tensor.dtype())) return;
  const Tensor elements = tensor.contiguous();
  const std::int64_t count = elements.numel();
  const Tensor flat = elements.reshape(std::vector<std::int64_t>{count});
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t size = std::min(piece, count - begin);
    const Tensor part = flat.slice(0, begin, size).to(DType::float64);
    for (std::int64_t i = 0; i < size; ++i) {
      const double value = part.data<double>()[i];
      if (!std::isfinite(value)) {
        note.is_finite = false;
        continue;
      }
      note.least = std::min(note.least.value_or(value), value);
      note.most = std::max(note.most.value_or(value), value);
    }
  }
}

InputNote note_of(const std::string& name, const std::string& dtype, const std::string& shape) {
  return {bounded(readable(name)), bounded(readable(dtype)), shape, std::nullopt, std::nullopt, true};
}

}  // namespace

std::vector<InputNote> input_notes(const ApiCall& call) {
  std::vector<InputNote> notes;
  visit_inputs(call.args, call.kwargs, call.grad_inputs, [&](const std::string& name, const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || notes.size() == most_notes) return;
    InputNote note = note_of(name, plain_dtype(spec->dtype), tuple_text(spec->shape));
    for (const auto& [finite, any, to] :
         {std::tuple(&spec->min_finite, &spec->min, &note.least), {&spec->max_finite, &spec->max, &note.most}}) {
      const std::optional<double>& known = *finite ? *finite : *any;
      if (known && std::isfinite(*known)) *to = known;
      if (*any && !std::isfinite(**any)) note.is_finite = false;
    }
    notes.push_back(std::move(note));
  });
  return notes;
}

std::vector<InputNote> input_notes(const MaterialisedCall& call) {
  std::vector<InputNote> notes;
  visit_inputs(call.args, call.kwargs, call.gradients, [&](const std::string& name, const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr || !tensor->defined() || notes.size() == most_notes) return;
    InputNote note = note_of(name, std::string(msrun::name(tensor->dtype())), tuple_text(tensor->shape()));
    try {
      look_at(*tensor, note);
    } catch (const SkipError&) {
      // There is no memory to look at it.
      note.least.reset();
      note.most.reset();
    }
    notes.push_back(std::move(note));
  });
  return notes;
}

}  // namespace msrun
