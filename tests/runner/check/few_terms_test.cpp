// Results of half types that hold what was given, or sums of a few such numbers: a copy has no error, and a sum those
// of its few additions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tensor/changed_elements.h"
#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

struct Row {
  ApiCall call;
  bool of_gradients;
};

ApiCall with_integers(const char* name, const Dims& shape, const std::vector<std::int64_t>& numbers,
                      const Dims& output) {
  ApiCall call = call_of(name, {shape}, output, DType::bfloat16, -2, 2);
  for (const std::int64_t number : numbers) call.args.emplace_back(number);
  return call;
}

ApiCall indexed(TensorFiles& files, const char* name, const Dims& shape, const Dims& source,
                const std::vector<std::int64_t>& index, const Dims& output) {
  ApiCall call = with_integers(name, shape, {0}, output);
  Tensor places(DType::int64, Dims{std::ssize(index)});
  std::ranges::copy(index, places.mutable_data<std::int64_t>());
  call.args.push_back(files.file(places, false));
  if (!source.empty()) call.args.push_back(call_of("", {source}, {}, DType::bfloat16, -2, 2).args.front());
  return call;
}

std::vector<Row> rows(TensorFiles& files) {
  ApiCall doubled = call_of("Functional.interpolate.0", {{2, 4, 16}}, {2, 4, 32}, DType::bfloat16);
  doubled.kwargs = {{"scale_factor", 2.0}, {"mode", std::string("nearest")}};
  return {{with_integers("Functional.max_pool1d.0", {2, 8, 33}, {3, 2}, {2, 8, 16}), true},
          {with_integers("Functional.max_pool1d.0", {2, 8, 33}, {3, 1, 1}, {2, 8, 33}), true},
          {with_integers("Torch.cummax.0", {24, 3}, {1}, {24, 3}), true},
          {with_integers("Torch.cumsum.0", {24, 3}, {1}, {24, 3}), false},
          {std::move(doubled), true},
          {indexed(files, "Torch.index_select.0", {6, 16}, {}, {0, 1, 1, 4, 5, 5, 5}, {7, 16}), true},
          {indexed(files, "Torch.index_add.0", {6, 16}, {3, 16}, {1, 4, 4}, {6, 16}), false}};
}

// Multiplies the n-th of the elements that are no smaller than most others. False if there are not so many.
bool scale_one(Value& value, std::size_t n, double factor) {
  const Tensor& tensor = *value.get<Tensor>();
  const Tensor exact = tensor.to(DType::float64).contiguous();
  std::vector<double> sizes;
  for (std::int64_t i = 0; i < exact.numel(); ++i) {
    if (exact.data<double>()[i] != 0) sizes.push_back(std::abs(exact.data<double>()[i]));
  }
  std::ranges::sort(sizes);
  const double large = sizes.at(sizes.size() / 2);
  bool done = false;
  value = changed_elements(tensor, [&](double element, std::int64_t) {
    if (std::abs(element) < large || done) return element;
    done = n == 0;
    if (!done) --n;
    return done ? factor * element : element;
  });
  return done;
}

ApiResult check_row(TensorFiles& files, const Row& row, HalfRounding rounding, const Change& change) {
  EvaluationOptions in_half;
  in_half.arithmetic.summation.accumulator = Accumulator::bfloat16;
  RoundingDevice device(rounding, in_half, change);
  return check_api(row.call, 0, device, 0, files.options());
}

TEST(FewTerms, MayBeAddedInHalfTypes) {
  TensorFiles files;
  for (const Row& row : rows(files)) {
    for (const HalfRounding rounding : {processor, accelerator}) {
      const ApiResult result = check_row(files, row, rounding, {});
      EXPECT_FALSE(is_suspicious(result)) << described(result);
      EXPECT_FALSE(result.forward_rows.empty()) << described(result);
      EXPECT_FALSE(row.of_gradients && result.backward_rows.empty()) << described(result);
    }
  }
}

TEST(FewTerms, HideNoElementThatIsOffByAPart) {
  TensorFiles files;
  for (const Row& row : rows(files)) {
    for (const HalfRounding rounding : {processor, accelerator}) {
      for (std::size_t n = 0; n < 12; ++n) {
        bool changed = false;
        const ApiResult result = check_row(files, row, rounding, [&](const MaterialisedCall&, DeviceResult& computed) {
          changed = scale_one(row.of_gradients ? computed.gradients.at(0) : computed.output, n, 1.05);
        });
        EXPECT_TRUE(changed) << described(result);
        EXPECT_TRUE(is_suspicious(result)) << n << ' ' << described(result);
      }
    }
  }
}

}  // namespace
}  // namespace msrun::testing
