// Calls of float64 and float32 tensors: what a framework makes of the latter alone is rounded to float32, though the
// result is float64. Nothing else is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/runner/check/other_arithmetic.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

const std::vector<double> inputs{0.3, -1.2, 2.4, 0.7, -0.1, 1.9, -2.2, 1.1};
const std::vector<double> targets{1.5, 0.2, 3.7, 2.2, 0.9, 4.1, 0.4, 1.3};

Change replaced_by(const std::vector<double>& values) {
  return [values](DeviceResult& result, int) {
    set_elements(result.output, [&](double, std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  };
}

// e^x less t x, with the exponential in `T` and a share of it beside it.
template <class T>
std::vector<double> poisson_losses(double share) {
  const Tensor x = of(DType::float32, {8}, inputs);
  std::vector<double> losses;
  for (std::int64_t i = 0; i < 8; ++i) {
    const T grown = std::exp(static_cast<T>(x.item(i)));
    losses.push_back(static_cast<double>(grown) * (1 + share) - targets[static_cast<std::size_t>(i)] * x.item(i));
  }
  return losses;
}

TEST(MixedDTypes, RoundTheExponentialOfFloat32BesideFloat64) {
  const auto call_of = [](DType input, DType target) {
    return call_with("Functional.poisson_nll_loss.0", {of(input, {8}, inputs), of(target, {8}, targets)},
                     {{"reduction", std::string("none")}});
  };
  const ApiCall mixed = call_of(DType::float32, DType::float64);
  expect_sound(mixed, replaced_by(poisson_losses<double>(0)));
  expect_sound(mixed, replaced_by(poisson_losses<float>(0)));
  expect_sound(mixed, replaced_by(poisson_losses<float>(0x1p-23)));
  expect_fault(mixed, replaced_by(poisson_losses<float>(1e-5)));
  // Nothing of float64 alone is float32.
  const auto rounded = [](DeviceResult& result, int) {
    set_elements(result.output,
                 [](double value, std::int64_t) { return static_cast<double>(static_cast<float>(value)); });
  };
  expect_fault(call_of(DType::float64, DType::float64), rounded);
  const ApiCall sum = call_with("Torch.add.0", {of(DType::float32, {8}, inputs), of(DType::float64, {8}, targets)});
  expect_sound(sum, {});
  expect_fault(sum, rounded);
}

// What is formed of a float32 operand alone in a gradient of float64: ln x, y^2, and t ln t of a loss.
TEST(MixedDTypes, RoundFactorsOfFloat32BesideFloat64) {
  TensorFiles files;
  struct Case {
    const char* name;
    DType first;
    DType second;
    bool of_gradient;
  };
  for (const Case& c : {Case{"Torch.pow.0", DType::float32, DType::float64, true},
                        Case{"Torch.atan2.0", DType::float32, DType::float64, true},
                        Case{"Functional.kl_div.0", DType::float64, DType::float32, false}}) {
    const auto checked = [&](DType first, DType second, double share) {
      ApiCall call = call_with(c.name, {files.file(of(first, {8}, targets)), files.file(of(second, {8}, targets))});
      if (c.name == std::string("Functional.kl_div.0")) call.kwargs = {{"reduction", std::string("none")}};
      call.has_backward = true;
      call.grad_inputs = {files.file(of(DType::float64, {8}, std::vector<double>(8, 1)), false)};
      const Change change = [&](DeviceResult& result, int) {
        Value& changed = c.of_gradient ? result.gradients[1] : result.output;
        set_elements(changed,
                     [&](double value, std::int64_t i) { return value * (1 + (i % 2 == 0 ? share : -share)); });
      };
      return is_suspicious(check(call, change, {}, files.options()));
    };
    EXPECT_FALSE(checked(c.first, c.second, 0x1p-24)) << c.name;
    EXPECT_TRUE(checked(c.first, c.second, 1e-4)) << c.name;
    EXPECT_TRUE(checked(DType::float64, DType::float64, 0x1p-24)) << c.name;
  }
}

// The squares of one vector are added in float32, those of the other in float64.
TEST(MixedDTypes, RoundTheSumsOfFloat32BesideFloat64) {
  const ApiCall call =
      call_with("Functional.cosine_embedding_loss.0",
                {of(DType::float32, {1, 8}, inputs), of(DType::float64, {1, 8}, targets), of(DType::float64, {1}, {1})},
                {{"reduction", std::string("none")}});
  const auto off_by = [](double share) {
    return [share](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t) { return 1 - (1 - value) * (1 + share); });
    };
  };
  expect_sound(call, off_by(0x1p-24));
  expect_sound(call, off_by(-0x1p-24));
  expect_fault(call, off_by(1e-4));
}

}  // namespace
}  // namespace msrun::testing
