// Complex results: rounding is not accused, and what is no rounding is not taken for it, in real and imaginary parts.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tensor/complex.h"
#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using Change = ComputingDevice::Change;
using Parts = std::function<double(double, std::int64_t)>;

// Of numbers between -size and size without a pattern.
Tensor complex_of_size(double size, const Dims& shape, DType dtype, int seed) {
  Dims parts = shape;
  parts.push_back(2);
  const Tensor numbers = changed_elements(Tensor::zeros(DType::float64, parts), [&](double, std::int64_t i) {
    return size * std::sin(1.7 * static_cast<double>(i + 31) * seed);
  });
  return joined_pairs(numbers.to(part_dtype(dtype)));
}

// A call of complex tensors, which are checked only where their data were recorded.
class Recorded {
 public:
  Recorded(std::string name, const std::vector<Tensor>& tensors, const std::optional<Tensor>& gradient = std::nullopt) {
    call_.name = std::move(name);
    for (const Tensor& tensor : tensors) call_.args.emplace_back(files_.file(tensor));
    call_.has_backward = gradient.has_value();
    if (gradient) call_.grad_inputs = {files_.file(*gradient)};
  }

  ApiCall& call() { return call_; }
  ApiResult check(const Change& change) const { return testing::check(call_, change, {}, files_.options()); }

 private:
  TensorFiles files_;
  ApiCall call_;
};

void change_parts(Value& value, const Parts& change) {
  value = number_by_number(*value.get<Tensor>(), [&](const Tensor& parts) { return changed_elements(parts, change); });
}

Change output_parts(const Parts& change) {
  return [change](DeviceResult& result, int) { change_parts(result.output, change); };
}

struct Case {
  const char* name;
  std::vector<Dims> shapes;
  Dims output;
};

const std::vector<Case> cases{
    {"Torch.add.0", {{12, 12}, {12, 12}}, {12, 12}},    {"Torch.mul.0", {{12, 12}, {12}}, {12, 12}},
    {"Torch.div.0", {{12, 12}, {12, 12}}, {12, 12}},    {"Torch.exp.0", {{12, 12}}, {12, 12}},
    {"Torch.matmul.0", {{12, 40}, {40, 12}}, {12, 12}}, {"Aten.fft_fft.0", {{4, 36}}, {4, 36}}};

Recorded recorded(const Case& one, double size, DType dtype) {
  std::vector<Tensor> tensors;
  for (const Dims& shape : one.shapes) {
    tensors.push_back(complex_of_size(size, shape, dtype, static_cast<int>(tensors.size()) + 1));
  }
  return {one.name, tensors, complex_of_size(1, one.output, dtype, 5)};
}

TEST(ComplexRows, SoundResultsAreNotSuspicious) {
  for (const Case& one : cases) {
    for (const double size : {1e-4, 1.0, 30.0}) {
      for (const DType dtype : {DType::complex64, DType::complex128}) {
        const ApiResult result = recorded(one, size, dtype).check({});
        EXPECT_FALSE(is_suspicious(result)) << size << described(result);
        ASSERT_EQ(result.forward_rows.size(), 1U) << described(result);
        ASSERT_FALSE(result.backward_rows.empty()) << described(result);
      }
    }
  }
}

// The documented limits look at absolute errors, below which all of a small result lies.
TEST(ComplexRows, AFactorIsSeenAtEverySize) {
  for (const Case& one : cases) {
    for (const double size : {1e-4, 1.0}) {
      for (const DType dtype : {DType::complex64, DType::complex128}) {
        const Recorded call = recorded(one, size, dtype);
        const ApiResult forward = call.check(output_parts([](double v, std::int64_t) { return v * 1.1; }));
        EXPECT_TRUE(is_suspicious(forward)) << size << described(forward);
        const ApiResult backward = call.check([](DeviceResult& result, int) {
          change_parts(result.gradients.front(), [](double v, std::int64_t) { return v * 1.1; });
        });
        EXPECT_TRUE(is_suspicious(backward)) << size << described(backward);
      }
    }
  }
}

TEST(ComplexRows, OneWrongImaginaryPartIsSeen) {
  for (const Case& one : cases) {
    const Recorded call = recorded(one, 1, DType::complex64);
    const ApiResult result = call.check(output_parts([](double v, std::int64_t i) { return i == 21 ? v + 1e-3 : v; }));
    EXPECT_TRUE(is_suspicious(result)) << described(result);
  }
}

// Parts whose products cancel have the errors of the products.
TEST(ComplexRows, WhatOneProductErrsByIsRounding) {
  const std::int64_t terms = 256;
  const double size = 1e3;
  const Tensor left = complex_of_size(size, {16, terms}, DType::complex64, 1);
  const Tensor right = complex_of_size(size, {terms, 16}, DType::complex64, 2);
  const double error = 0x1p-24 * 0.5 * static_cast<double>(terms) * size * size;
  const Change errs = output_parts([&](double v, std::int64_t i) { return i % 2 == 0 ? v + error : v - error; });
  const Recorded call("Torch.matmul.0", {left, right});
  const ApiResult result = call.check(errs);
  EXPECT_NE(result.forward_rows.front().status, Status::pass);
  EXPECT_FALSE(is_suspicious(result)) << described(result);
  const ApiResult wrong =
      call.check(output_parts([&](double v, std::int64_t i) { return i % 2 == 0 ? v + 300 * error : v; }));
  EXPECT_TRUE(is_suspicious(wrong)) << described(wrong);
}

TEST(ComplexRows, CopiesAreRightInEveryBit) {
  const Tensor tensor = complex_of_size(1, {6, 4}, DType::complex64, 1);
  Recorded transpose("Torch.transpose.0", {tensor});
  transpose.call().args.emplace_back(std::int64_t{0});
  transpose.call().args.emplace_back(std::int64_t{1});
  EXPECT_FALSE(is_suspicious(transpose.check({})));
  const ApiResult result =
      transpose.check(output_parts([](double v, std::int64_t i) { return i == 3 ? v * (1 + 0x1p-23) : v; }));
  EXPECT_TRUE(is_suspicious(result)) << described(result);
}

}  // namespace
}  // namespace msrun::testing
