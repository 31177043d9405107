#include "tools/op_generate/fitted_values.h"

#include <utility>

#include "kernels/base/error.h"
#include "tools/op_generate/drawn_inputs.h"
#include "tools/op_generate/python_text.h"

namespace msrun::op_generate {

namespace {

// A script of more is no text that anybody reads.
constexpr std::size_t most_runs = std::size_t{1} << 16;

std::string element_text(const Tensor& tensor, std::int64_t index) {
  if (tensor.dtype() == DType::boolean) return tensor.int_item(index) != 0 ? "True" : "False";
  return is_integer(tensor.dtype()) ? std::to_string(tensor.int_item(index)) : python_number(tensor.item(index));
}

bool differs(const Tensor& one, const Tensor& other, std::int64_t index) {
  return is_floating(one.dtype()) ? one.item(index) != other.item(index) : one.int_item(index) != other.int_item(index);
}

// The elements that differ, as runs of equal steps and values.
std::vector<FittedRun> runs_of(const Tensor& drawn, const Tensor& fitted) {
  std::vector<FittedRun> runs;
  if (drawn.data<std::byte>() == fitted.data<std::byte>()) return runs;
  for (std::int64_t i = 0; i < drawn.numel() && runs.size() <= most_runs; ++i) {
    if (!differs(drawn, fitted, i)) continue;
    std::string value = element_text(fitted, i);
    FittedRun* last = runs.empty() || runs.back().value != value ? nullptr : &runs.back();
    if (last != nullptr && last->count == 1) {
      last->step = i - last->first;
      last->count = 2;
    } else if (last != nullptr && i == last->first + last->step * last->count) {
      ++last->count;
    } else {
      runs.push_back({.first = i, .step = 1, .count = 1, .value = std::move(value)});
    }
  }
  return runs;
}

}  // namespace

void note_fitted_values(RecordedCase& recorded, const std::function<void(const std::string&)>& report) {
  const Operator* op = operator_of(recorded.type, recorded.api);
  if (op == nullptr || op->traits().fit == nullptr || recorded.framework != Framework::pytorch) return;
  if (recorded.data_mode != DataMode::random_data) return;
  std::map<std::string, FittedTensor> fitted;
  std::size_t count = 0;
  DrawnInputs inputs(recorded, SeedMode::stream, [](const std::string&) {});
  for (std::int64_t i = 0; i < recorded.iterations && count <= most_runs; ++i) {
    const BuiltCall drawn = inputs.next();
    std::size_t place = 0;
    for_each_argument(drawn.call, [&](const Tensor& tensor) {
      const Tensor& before = drawn.unfitted[place];
      std::vector<FittedRun> runs;
      if (tensor.numel() == before.numel() && tensor.dtype() == before.dtype()) runs = runs_of(before, tensor);
      count += runs.size();
      FittedTensor& all = fitted[drawn.names[place++]];
      all.is_changed = all.is_changed || !runs.empty();
      all.iterations.push_back(std::move(runs));
    });
  }
  if (count > most_runs) {
    report(recorded.key() + ": too many elements would have to be changed so that random data fit each other; the " +
           "script has them as they were drawn, and may fail. Real data (--data_mode real_data) fit.");
    return;
  }
  std::erase_if(fitted, [](const auto& entry) { return !entry.second.is_changed; });
  recorded.fitted = std::move(fitted);
}

}  // namespace msrun::op_generate
