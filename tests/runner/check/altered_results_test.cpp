// What the check makes of a device that differs from the simulated one in a known way: gradients at ties, and results
// on the other side of a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/compare/bounds/rounding.h"
#include "runner/results/counts.h"
#include "tests/runner/check/support.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using Values = std::vector<double>;
using Change = std::function<void(DeviceResult&)>;

// One call on tensors that lie in files, as in a recording.
class Recording {
 public:
  Recording(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  Value tensor(const Dims& shape, const Values& data) { return files_.file(float64(shape, data).to(dtype_)); }

  ApiResult check(const List& args, const Dict& kwargs, const List& gradients, Change change) const {
    ApiCall call;
    call.name = name_;
    call.args = args;
    call.kwargs = kwargs;
    call.output_dtype = torch_name(dtype_);
    call.has_backward = !gradients.empty();
    call.grad_inputs = gradients;
    ComputingDevice device([&](DeviceResult& result, int) { change(result); });
    return check_api(call, 0, device, 0, files_.options());
  }

 private:
  TensorFiles files_;
  std::string name_;
  DType dtype_;
};

bool is_clean(const ApiResult& result) {
  const bool passes = result.forward == Status::pass && result.backward.value_or(Status::pass) == Status::pass;
  return passes || result.rounding_only;
}

// Changes the elements of the first gradient.
Change of_gradient(const std::function<void(Values&)>& change) {
  return [change](DeviceResult& result) {
    const Tensor& gradient = *result.gradients.at(0).get<Tensor>();
    Values elements = values(gradient);
    change(elements);
    result.gradients.at(0) = float64(gradient.shape(), elements).to(gradient.dtype());
  };
}

struct Picking {
  const char* name;
  List more;  // arguments behind the input
  Dict kwargs;
  std::vector<Dims> outputs;  // shapes of those that have a gradient
};

// Three rows of six with ties: rows of two values, of three, and of one.
const Values tied{1.5, 0.75, 1.5, 0.75, 1.5, 0.75, 3.25, -1.5, 3.25, 0.5, -1.5, -1.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5};
const Dims tied_shape{3, 6};

std::vector<Picking> picking_calls() {
  const auto i = [](std::int64_t value) -> Value { return value; };
  return {
      {"Torch.max.0", {i(1)}, {}, {{3}}},
      {"Torch.min.0", {i(-1)}, {{"keepdim", true}}, {{3, 1}}},
      {"Torch.sort.0", {i(1)}, {}, {{3, 6}}},
      {"Torch.topk.0", {i(2), i(1)}, {}, {{3, 2}}},
      {"Torch.median.0", {i(1)}, {}, {{3}}},
      {"Torch.nanmedian.0", {i(1)}, {}, {{3}}},
      {"Torch.kthvalue.0", {i(2), i(1)}, {}, {{3}}},
      {"Torch.mode.0", {i(1)}, {}, {{3}}},
      {"Torch.quantile.0", {0.45, i(1)}, {}, {{3}}},
      {"Torch.nanquantile.0", {0.3, i(1)}, {}, {{3}}},
  };
}

// Calls that give equal elements equal parts of the gradient.
std::vector<Picking> sharing_calls() {
  const auto i = [](std::int64_t value) -> Value { return value; };
  return {
      {"Torch.amax.0", {i(1)}, {}, {{3}}},
      {"Torch.amin.0", {i(1)}, {}, {{3}}},
      {"Torch.max.0", {}, {}, {{}}},
      {"Torch.median.0", {}, {}, {{}}},
      {"Torch.aminmax.0", {}, {{"dim", i(1)}}, {{3}, {3}}},
  };
}

ApiResult check_picking(const Picking& call, DType dtype, const Change& change) {
  Recording recording(call.name, dtype);
  List args{recording.tensor(tied_shape, tied)};
  args.insert(args.end(), call.more.begin(), call.more.end());
  List gradients;
  for (const Dims& shape : call.outputs) {
    Values data(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t k = 0; k < data.size(); ++k) data[k] = 1.25 + 0.5 * static_cast<double>(k);
    gradients.push_back(recording.tensor(shape, data));
  }
  return recording.check(args, call.kwargs, gradients, change);
}

void negate(Values& gradient) {
  for (double& part : gradient) part = -part;
}

// Of every row the part of one element goes to another one as well.
void give_twice(Values& gradient) {
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(row * 6);
    *std::min_element(first, first + 6) = *std::max_element(first, first + 6) + 0.25;
  }
}

void drop(Values& gradient) { *std::max_element(gradient.begin(), gradient.end()) = 0; }

// The parts of the first row to elements of another value.
void move_elsewhere(Values& gradient) {
  std::swap(gradient[0], gradient[1]);
  std::swap(gradient[2], gradient[3]);
  std::swap(gradient[4], gradient[5]);
}

TEST(GradientsAtTies, AnyOfEqualElementsMayBePicked) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const Picking& call : picking_calls()) {
      const ApiResult same = check_picking(call, dtype, [](DeviceResult&) {});
      EXPECT_TRUE(is_clean(same)) << described(same);
      const ApiResult exchanged = check_picking(call, dtype, of_gradient([](Values& gradient) {
                                                  // In every row the parts of equal elements the other way round.
                                                  std::swap(gradient[0], gradient[4]);
                                                  std::swap(gradient[1], gradient[5]);
                                                  std::swap(gradient[6], gradient[8]);
                                                  std::swap(gradient[7], gradient[11]);
                                                  std::reverse(gradient.begin() + 12, gradient.end());
                                                }));
      EXPECT_TRUE(is_clean(exchanged)) << described(exchanged);
    }
  }
}

void expect_found(const Picking& call, void (*fault)(Values&)) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const ApiResult result = check_picking(call, dtype, of_gradient(fault));
    EXPECT_FALSE(is_clean(result)) << described(result);
    EXPECT_NE(result.backward, Status::skip) << described(result);
  }
}

TEST(GradientsAtTies, FaultsAreFound) {
  for (const Picking& call : picking_calls()) {
    for (const auto& fault : {negate, give_twice, drop, move_elsewhere}) expect_found(call, fault);
  }
  for (const Picking& call : sharing_calls()) {
    for (const auto& fault : {negate, give_twice, drop}) expect_found(call, fault);
  }
}

ApiResult check_step(const char* name, const std::vector<Values>& arguments, const Dict& kwargs, const Values& output) {
  Recording recording(name, DType::float32);
  List args;
  const Dims shape{static_cast<std::int64_t>(output.size())};
  args.reserve(arguments.size());
  for (const Values& argument : arguments) args.push_back(recording.tensor(shape, argument));
  return recording.check(args, kwargs, {},
                         [&](DeviceResult& result) { result.output = float64(shape, output).to(DType::float32); });
}

TEST(Steps, BothSidesAreRightWhereRoundingDecides) {
  // 2.345f * 100 is 234.50000286..., in float32 234.5, which rounds to the even 234.
  const Values x{2.345, -1.255, 1.005, 7.25};
  const Dict decimals{{"decimals", std::int64_t{2}}};
  for (const double first : {2.34, 2.35}) {
    const ApiResult result = check_step("Torch.round.0", {x}, decimals, {first, -1.25, 1, 7.25});
    EXPECT_TRUE(is_clean(result)) << described(result);
  }
  for (const double first : {2.33, 2.36, 2.345, 2.3}) {
    const ApiResult result = check_step("Torch.round.0", {x}, decimals, {first, -1.25, 1, 7.25});
    EXPECT_FALSE(is_clean(result)) << described(result);
  }
  // 1 / 0.1f is 10 but for a ten-millionth.
  for (const double quotient : {9.0, 10.0})
    EXPECT_TRUE(is_clean(check_step("Torch.floor_divide.0", {{1, 7}, {0.1, 2}}, {}, {quotient, 3}))) << quotient;
  for (const double quotient : {8.0, 11.0, 9.5})
    EXPECT_FALSE(is_clean(check_step("Torch.floor_divide.0", {{1, 7}, {0.1, 2}}, {}, {quotient, 3}))) << quotient;
  const Dict floor{{"rounding_mode", std::string("floor")}};
  EXPECT_TRUE(is_clean(check_step("Torch.div.0", {{1, 7}, {0.1, 2}}, floor, {10, 3})));
  EXPECT_FALSE(is_clean(check_step("Torch.div.0", {{1, 7}, {0.1, 2}}, floor, {10, 4})));
  EXPECT_TRUE(is_clean(check_step("Torch.remainder.0", {{1, 7}, {0.1, 4}}, {}, {0, 3})));
  EXPECT_FALSE(is_clean(check_step("Torch.remainder.0", {{1, 7}, {0.1, 4}}, {}, {0.05, 3})));
}

TEST(Steps, OnAStepOnlyItsOwnSideIsRight) {
  for (const double quotient : {1.0, 3.0})
    EXPECT_FALSE(is_clean(check_step("Torch.floor_divide.0", {{6, 7}, {3, 2}}, {}, {quotient, 3}))) << quotient;
  EXPECT_TRUE(is_clean(check_step("Torch.floor_divide.0", {{6, 7}, {3, 2}}, {}, {2, 3})));
  // Nothing is computed before floor and round: their argument is what it is.
  EXPECT_FALSE(is_clean(check_step("Torch.floor.0", {{3, 2.9999998}}, {}, {2, 2})));
  EXPECT_FALSE(is_clean(check_step("Torch.floor.0", {{3, 2.9999998}}, {}, {3, 3})));
  EXPECT_FALSE(is_clean(check_step("Torch.round.0", {{2.5, 3.4999998}}, {}, {2, 4})));
  EXPECT_FALSE(is_clean(check_step("Torch.round.0", {{2.5, 0.75}}, {{"decimals", std::int64_t{1}}}, {2.6, 0.8})));
}

// Whether the check finds nothing wrong with what float32 gives for round, one element of which is off by so many
// units in the last place.
bool is_clean_rounding(std::int64_t decimals, double size, int off_by) {
  const auto power = static_cast<float>(std::pow(10.0, static_cast<double>(std::abs(decimals))));
  Values x = values(uniform({64}, -size, size, 5));
  Values y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto a = static_cast<float>(x[k]);
    const float rounded = decimals < 0 ? std::nearbyint(a / power) * power : std::nearbyint(a * power) / power;
    y[k] = rounded;
    if (k == 7) y[k] += off_by * unit_in_last_place(DType::float32, rounded);
    x[k] = a;
  }
  return !is_suspicious(check_step("Torch.round.0", {x}, {{"decimals", decimals}}, y));
}

// Ten to the fifth of 1000 is beyond what float32 counts by ones.
TEST(Steps, WhereTheyAreFinerThanFloat32WhatLiesBetweenIsRight) {
  for (const auto& [decimals, size] : std::vector<std::pair<std::int64_t, double>>{{1, 1e8},
                                                                                   {2, 5e4},
                                                                                   {2, 1e5},
                                                                                   {2, 1e6},
                                                                                   {3, 1e4},
                                                                                   {4, 1e4},
                                                                                   {5, 1e3},
                                                                                   {6, 10},
                                                                                   {8, 1},
                                                                                   {8, 1e6},
                                                                                   {-2, 1e12}}) {
    EXPECT_TRUE(is_clean_rounding(decimals, size, 0)) << decimals << ' ' << size;
    EXPECT_FALSE(is_clean_rounding(decimals, size, 8)) << decimals << ' ' << size;
    EXPECT_FALSE(is_clean_rounding(decimals, size, -8)) << decimals << ' ' << size;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(is_clean(check_step("Torch.round.0", {{12345.678, 1e4}}, {{"decimals", std::int64_t{5}}}, {nan, 1e4})));
}

// The target of a hinge loss has a gradient of zeros here and none in torch. One that is missing where it is not zero
// is a fault.
TEST(Gradients, OfZerosMayBeMissing) {
  Recording recording("Functional.hinge_embedding_loss.0", DType::float32);
  const List args{recording.tensor({4}, {0.5, -1.25, 2, 0.75}), recording.tensor({4}, {1, -1, 1, -1})};
  const List gradients{recording.tensor({}, {0.5})};
  const auto without = [](std::size_t argument) {
    return [argument](DeviceResult& result) { result.gradients.at(argument) = None{}; };
  };
  const ApiResult sound = recording.check(args, {}, gradients, without(1));
  EXPECT_EQ(sound.backward, Status::pass) << described(sound);
  const ApiResult faulty = recording.check(args, {}, gradients, without(0));
  EXPECT_EQ(faulty.backward, Status::error) << described(faulty);
  EXPECT_FALSE(is_clean(faulty)) << described(faulty);
}

}  // namespace
}  // namespace msrun::testing
