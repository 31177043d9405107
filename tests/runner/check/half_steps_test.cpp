// Results in half types that are rounded on the way: a class of their own where the kernels of a processor, or those of
// an accelerator that a framework composes, may have computed them, and a fault where a device did that rounds once.
// Faults in such results are found all the same.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "kernels/numeric/special_functions.h"
#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"
#include "tests/support/sanitized.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using namespace rounding_device;

// The gradient of silu, g s (1 + x (1 - s)), with every step rounded.
void take_steps_of_silu(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  Value& gradient = result.gradients.front();
  gradient = changed_elements(*gradient.get<Tensor>(), [&](double, std::int64_t i) {
    const double s = rounded(1 / rounded(1 + rounded(std::exp(-x.data<double>()[i]))));
    const double slope = rounded(1 + rounded(x.data<double>()[i] * rounded(1 - s)));
    return rounded(rounded(g.data<double>()[i] * s) * slope);
  });
}

// x + 3 y with the product rounded.
void take_steps_of_scaled_add(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args[0].get<Tensor>()->to(DType::float64).contiguous();
  const Tensor y = call.args[1].get<Tensor>()->to(DType::float64).contiguous();
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
    return rounded(x.data<double>()[i] + rounded(3 * y.data<double>()[i]));
  });
}

// The gradient of logsumexp over rows, g e^(x - y) with y as it was stored and every step rounded.
void take_steps_of_logsumexp(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  const std::int64_t count = x.size(1);
  Value& gradient = result.gradients.front();
  gradient = changed_elements(*gradient.get<Tensor>(), [&](double, std::int64_t i) {
    const double* row = x.data<double>() + i / count * count;
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += std::exp(row[k]);
    const double y = rounded(std::log(sum));
    return rounded(g.data<double>()[i / count] * rounded(std::exp(rounded(row[i % count] - y))));
  });
}

// The gradient of mvlgamma, g times the sum of five digammas, with every step rounded.
void take_steps_of_mvlgamma(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  Value& gradient = result.gradients.front();
  gradient = changed_elements(*gradient.get<Tensor>(), [&](double, std::int64_t i) {
    double sum = 0;
    for (int j = 0; j < 5; ++j) sum += rounded(digamma(x.data<double>()[i] - j / 2.0));
    return rounded(g.data<double>()[i] * rounded(sum));
  });
}

// The gradient of acosh, g / sqrt(x^2 - 1), with every step rounded.
void take_steps_of_acosh(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  Value& gradient = result.gradients.front();
  gradient = changed_elements(*gradient.get<Tensor>(), [&](double, std::int64_t i) {
    const double square = rounded(x.data<double>()[i] * x.data<double>()[i]);
    return rounded(g.data<double>()[i] / rounded(std::sqrt(rounded(square - 1))));
  });
}

// t ln t - t x with each of both terms rounded.
void take_steps_of_kl_div(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args[0].get<Tensor>()->to(DType::float64).contiguous();
  const Tensor t = call.args[1].get<Tensor>()->to(DType::float64).contiguous();
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
    const double target = t.data<double>()[i];
    return rounded(rounded(target * std::log(target)) - rounded(target * x.data<double>()[i]));
  });
}

// A grid of 16 x 16 places by their coordinates, which are added up from -1 and scaled with every step rounded.
void take_steps_of_affine_grid(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor theta = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const auto coordinate = [](std::int64_t i) {
    const double step = rounded(2.0 / 15);
    const double from_end = i < 8 ? rounded(-1 + rounded(step * static_cast<double>(i)))
                                  : rounded(1 - rounded(step * static_cast<double>(15 - i)));
    return rounded(rounded(from_end * 15) / 16);
  };
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t at) {
    const double* const row = theta.data<double>() + at / 512 * 6 + at % 2 * 3;
    return rounded(row[0] * coordinate(at / 2 % 16) + row[1] * coordinate(at / 32 % 16) + row[2]);
  });
}

// The weights of the four elements around a place between them, x beyond the second, with every step rounded.
std::array<double, 4> cubic_weights(double x) {
  constexpr double a = -0.75;
  const auto inner = [](double d) {
    return rounded(rounded(rounded(rounded(rounded((a + 2) * d) - (a + 3)) * d) * d) + 1);
  };
  const auto outer = [](double d) {
    return rounded(rounded(rounded(rounded(rounded(rounded(a * d) - 5 * a) * d) + 8 * a) * d) - 4 * a);
  };
  return {outer(x + 1), inner(x), inner(1 - x), outer(2 - x)};
}

// Planes of twice the size.
void take_steps_of_bicubic(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const std::int64_t size = x.size(-1);
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
    const std::int64_t plane = i / (4 * size * size);
    const auto of_axis = [](std::int64_t at) {
      const double position = static_cast<double>(at) / 2 - 0.25;
      return std::pair(static_cast<std::int64_t>(std::floor(position)), cubic_weights(position - std::floor(position)));
    };
    const auto [row, of_rows] = of_axis(i / (2 * size) % (2 * size));
    const auto [column, of_columns] = of_axis(i % (2 * size));
    double sum = 0;
    for (std::int64_t k = 0; k < 16; ++k) {
      const std::int64_t from = std::clamp<std::int64_t>(row + k / 4 - 1, 0, size - 1) * size +
                                std::clamp<std::int64_t>(column + k % 4 - 1, 0, size - 1);
      const double weight = of_rows[static_cast<std::size_t>(k / 4)] * of_columns[static_cast<std::size_t>(k % 4)];
      sum = rounded(sum + rounded(weight * x.data<double>()[plane * size * size + from]));
    }
    return sum;
  });
}

struct Sample {
  ApiCall call;
  EvaluationOptions options;
  Change steps;
  bool is_gradient = false;
  std::string named;
};

std::vector<Sample> samples() {
  EvaluationOptions narrow_sums;
  narrow_sums.arithmetic.summation.accumulator = Accumulator::bfloat16;
  ApiCall product = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16);
  product.has_backward = false;
  ApiCall resized = call_of("Functional.interpolate.0", {{1, 4, 9, 9}}, {1, 4, 18, 18}, DType::bfloat16, 1, 2);
  resized.has_backward = false;
  resized.kwargs = {{"scale_factor", 2.0}, {"mode", std::string("bicubic")}};
  ApiCall scaled_add = call_of("Torch.add.0", {{16, 64}, {16, 64}}, {16, 64}, DType::bfloat16);
  scaled_add.args[1] = call_of("Torch.abs.0", {{16, 64}}, {16, 64}, DType::bfloat16, -1, 0.5).args[0];
  scaled_add.kwargs = {{"alpha", std::int64_t{3}}};
  ApiCall logsumexp = call_of("Torch.logsumexp.0", {{40, 9}}, {40}, DType::bfloat16, 3, 3);
  logsumexp.args.emplace_back(std::int64_t{1});
  ApiCall grid = call_of("Functional.affine_grid.0", {{2, 2, 3}}, {2, 16, 16, 2}, DType::bfloat16);
  grid.has_backward = false;
  grid.args.emplace_back(List{std::int64_t{2}, std::int64_t{1}, std::int64_t{16}, std::int64_t{16}});
  grid.kwargs = {{"align_corners", false}};
  ApiCall kl_div = call_of("Functional.kl_div.0", {{16, 64}, {16, 64}}, {16, 64}, DType::bfloat16, -3, -0.1);
  kl_div.args[1] = call_of("Torch.abs.0", {{16, 64}}, {16, 64}, DType::bfloat16, 0.1, 0.9).args[0];
  kl_div.kwargs = {{"reduction", std::string("none")}};
  kl_div.has_backward = false;
  ApiCall gamma = call_of("Torch.mvlgamma.0", {{16, 64}}, {16, 64}, DType::bfloat16, 2.3, 3.5);
  gamma.args.emplace_back(std::int64_t{5});
  const char* steps = "Rounds its intermediate results to bfloat16";
  return {
      {std::move(product), narrow_sums, {}, false, "Rounds its partial sums to bfloat16"},
      {std::move(resized), {}, take_steps_of_bicubic, false, steps},
      {call_of("Functional.silu.0", {{16, 64}}, {16, 64}, DType::bfloat16, -6, 6), {}, take_steps_of_silu, true, steps},
      {std::move(scaled_add), {}, take_steps_of_scaled_add, false, steps},
      {std::move(gamma), {}, take_steps_of_mvlgamma, true, steps},
      {std::move(kl_div), {}, take_steps_of_kl_div, false, steps},
      {std::move(grid), {}, take_steps_of_affine_grid, false, steps},
      {std::move(logsumexp), {}, take_steps_of_logsumexp, true, "Rounds its partial sums to bfloat16"},
      {call_of("Torch.acosh.0", {{16, 64}}, {16, 64}, DType::bfloat16, 1.05, 1.3),
       {},
       take_steps_of_acosh,
       true,
       steps}};
}

const DetailsRow& row_of(const Sample& sample, const ApiResult& result) {
  return (sample.is_gradient ? result.backward_rows : result.forward_rows).at(0);
}

TEST(HalfSteps, AreAClassOfTheirOwnOnAProcessor) {
  for (const Sample& sample : samples()) {
    const ApiResult result = check_on(processor, sample.call, sample.options, sample.steps);
    EXPECT_FALSE(is_suspicious(result)) << described(result);
    EXPECT_TRUE(is_weak_evidence(result)) << described(result);
    const DetailsRow& row = row_of(sample, result);
    EXPECT_EQ(row.trust.weak_evidence, WeakEvidence::half_steps) << described(result);
    EXPECT_THAT(row.message, HasSubstr(sample.named));
  }
}

TEST(HalfSteps, AreAFaultOnADeviceThatRoundsOnce) {
  for (const Sample& sample : samples()) {
    const ApiResult result = check_on(HalfRounding::nothing, sample.call, sample.options, sample.steps);
    EXPECT_TRUE(is_suspicious(result)) << described(result);
    EXPECT_NE(row_of(sample, result).trust.weak_evidence, WeakEvidence::half_steps);
  }
}

// Each element errs by no more than the worst may, all together by more than chance allows. Equal terms, so that the
// noise of all elements is of one size.
TEST(HalfSteps, AreNoneWhereAllElementsErrAsTheWorstMay) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 24}, {24, 20}}, {24, 20}, DType::bfloat16, 1.1, 1.1);
  call.has_backward = false;
  const auto off_by = [&](double size) {
    return check_on(processor, call, {}, [&](const MaterialisedCall&, DeviceResult& computed) {
      computed.output = changed_elements(*computed.output.get<Tensor>(), [&](double value, std::int64_t i) {
        return value + (i % 2 == 0 ? size : -size);
      });
    });
  };
  EXPECT_EQ(off_by(0.5).forward_rows.at(0).trust.weak_evidence, WeakEvidence::half_steps) << described(off_by(0.5));
  EXPECT_TRUE(is_suspicious(off_by(4.2))) << described(off_by(4.2));
}

// Arithmetic that no processor has, which errs by less than such steps do.
TEST(HalfSteps, AreNoneWhereADeviceErredOtherwise) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16);
  call.has_backward = false;
  EvaluationOptions options;
  options.arithmetic.summation.accumulator = Accumulator::float16;
  EXPECT_TRUE(is_suspicious(check_on(processor, call, options, {})));
  options.arithmetic = {};
  options.arithmetic.rounds_to_zero = true;
  EXPECT_TRUE(is_suspicious(check_on(processor, call, options, {})));
}

Accumulator accumulator_in(DType dtype) {
  return dtype == DType::float16 ? Accumulator::float16 : Accumulator::bfloat16;
}

// And a sum, which is rounded once as well.
std::vector<ApiCall> products(DType dtype) {
  ApiCall sum = call_of("Torch.sum.0", {{40, 200}}, {40}, dtype);
  sum.args.emplace_back(std::int64_t{1});
  return {std::move(sum),
          call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, dtype),
          call_of("Functional.linear.0", {{24, 96}, {20, 96}, {20}}, {24, 20}, dtype),
          call_of("Torch.addmm.0", {{24, 20}, {24, 96}, {96, 20}}, {24, 20}, dtype),
          call_of("Torch.baddbmm.0", {{2, 24, 20}, {2, 24, 96}, {2, 96, 20}}, {2, 24, 20}, dtype),
          call_of("Functional.conv2d.0", {{2, 16, 8, 8}, {12, 16, 3, 3}, {12}}, {2, 12, 6, 6}, dtype),
          call_of("Functional.scaled_dot_product_attention.0", {{2, 2, 32, 64}, {2, 2, 48, 64}, {2, 2, 48, 64}},
                  {2, 2, 32, 64}, dtype)};
}

// The sums of products are what an accelerator computes in float32.
TEST(HalfSteps, OfProductsAreAFaultOnAnAccelerator) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const ApiCall& call : products(dtype)) {
      EvaluationOptions narrow_sums;
      narrow_sums.arithmetic.summation.accumulator = accumulator_in(dtype);
      const ApiResult result = check_on(accelerator, call, narrow_sums, {});
      EXPECT_TRUE(is_suspicious(result)) << name(dtype) << " " << described(result);
      EXPECT_NE(result.forward_rows.at(0).trust.weak_evidence, WeakEvidence::half_steps) << described(result);
      EXPECT_FALSE(is_suspicious(check_on(accelerator, call, {}, {}))) << name(dtype) << " " << call.name;
    }
  }
}

TEST(HalfSteps, OfProductsHideNoFaultOnAnAccelerator) {
  const std::vector<std::pair<const char*, std::function<double(double, std::int64_t)>>> faults{
      {"one element", [](double value, std::int64_t i) { return i == 37 ? value + 20 : value; }},
      {"scaled", [](double value, std::int64_t) { return 1.01 * value; }},
      {"negated", [](double value, std::int64_t) { return -value; }}};
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const ApiCall& call : products(dtype)) {
      for (const auto& [what, fault] : faults) {
        const auto& damage = fault;  // clang 14 captures no structured bindings
        const ApiResult result = check_on(accelerator, call, {}, [&](const MaterialisedCall&, DeviceResult& computed) {
          computed.output = changed_elements(*computed.output.get<Tensor>(), damage);
        });
        EXPECT_TRUE(is_suspicious(result)) << what << " in " << name(dtype) << " " << described(result);
      }
    }
  }
}

// The product of an accelerator is the nearest number: each of these elements is a place off.
TEST(HalfSteps, OfProductsAreNotMisrounded) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16);
  call.has_backward = false;
  const ApiResult result = check_on(accelerator, call, {}, [](const MaterialisedCall&, DeviceResult& computed) {
    computed.output = changed_elements(*computed.output.get<Tensor>(), [](double value, std::int64_t i) {
      return i % 20 == 3 ? value + std::scalbn(1.0, std::ilogb(value) - 7) : value;
    });
  });
  EXPECT_TRUE(is_suspicious(result)) << described(result);
}

// x W^T, stored, and the bias added to that.
void store_the_product(const MaterialisedCall& call, DeviceResult& result) {
  const auto argument = [&](std::size_t i) { return call.args.at(i).get<Tensor>()->to(DType::float64).contiguous(); };
  const Tensor x = argument(0);
  const Tensor weight = argument(1);
  const Tensor bias = argument(2);
  const std::int64_t terms = x.size(1);
  const std::int64_t columns = weight.size(0);
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < terms; ++k)
      sum += x.data<double>()[i / columns * terms + k] * weight.data<double>()[i % columns * terms + k];
    return rounded(rounded(sum) + bias.data<double>()[i % columns]);
  });
}

std::vector<Sample> samples_of_an_accelerator() {
  EvaluationOptions narrow_sums;
  narrow_sums.arithmetic.summation.accumulator = Accumulator::bfloat16;
  ApiCall linear = call_of("Functional.linear.0", {{24, 4}, {20, 4}, {20}}, {24, 20}, DType::bfloat16);
  linear.has_backward = false;
  ApiCall running = call_of("Torch.cumsum.0", {{16, 64}}, {16, 64}, DType::bfloat16);
  running.args.emplace_back(std::int64_t{1});
  running.has_backward = false;
  return {{std::move(linear), {}, store_the_product, false, "Rounds its intermediate results to bfloat16"},
          {std::move(running), narrow_sums, {}, false, "Rounds its partial sums to bfloat16"},
          samples().back()};
}

TEST(HalfSteps, BetweenKernelsAreAClassOfTheirOwnOnAnAccelerator) {
  for (const Sample& sample : samples_of_an_accelerator()) {
    const ApiResult result = check_on(accelerator, sample.call, sample.options, sample.steps);
    EXPECT_FALSE(is_suspicious(result)) << described(result);
    const DetailsRow& row = row_of(sample, result);
    EXPECT_EQ(row.trust.weak_evidence, WeakEvidence::half_steps) << described(result);
    EXPECT_THAT(row.message, HasSubstr(sample.named));
    EXPECT_TRUE(is_suspicious(check_on(HalfRounding::nothing, sample.call, sample.options, sample.steps)));
  }
}

std::vector<std::pair<Sample, HalfRounding>> samples_with_their_devices() {
  std::vector<std::pair<Sample, HalfRounding>> all;
  for (const Sample& sample : samples()) all.emplace_back(sample, processor);
  for (const Sample& sample : samples_of_an_accelerator()) all.emplace_back(sample, accelerator);
  return all;
}

TEST(HalfSteps, HideNoFault) {
  // The steps of an interpolation, which hide a fifth but for a little, are a little larger without optimisation.
  constexpr double factor = sanitized ? 1.3 : 1.2;
  const std::vector<std::pair<const char*, std::function<double(double, std::int64_t)>>> faults{
      {"one element", [](double value, std::int64_t i) { return i == 37 ? value + 1.5 : value; }},
      {"scaled", [](double value, std::int64_t) { return factor * value; }},
      {"negated", [](double value, std::int64_t) { return -value; }},
      {"zero", [](double, std::int64_t) { return 0.0; }}};
  for (const auto& [sample, rounding] : samples_with_their_devices()) {
    for (const auto& [name, fault] : faults) {
      const auto& of = sample;  // clang 14 captures no structured bindings
      const auto& damage = fault;
      const ApiResult result =
          check_on(rounding, sample.call, sample.options, [&](const MaterialisedCall& call, DeviceResult& computed) {
            if (of.steps) of.steps(call, computed);
            Value& value = of.is_gradient ? computed.gradients.front() : computed.output;
            value = changed_elements(*value.get<Tensor>(), damage);
          });
      EXPECT_TRUE(is_suspicious(result)) << name << " in " << described(result);
      EXPECT_NE(row_of(sample, result).trust.weak_evidence, WeakEvidence::half_steps)
          << name << " in " << described(result);
    }
  }
}

// Frameworks store the factor p x^(p-1) and multiply it by the gradient, which may be small: infinity is right, and so
// is the number, but no other one.
TEST(HalfSteps, OfGradientsMayOverflow) {
  const ApiCall call = call_of("Torch.pow.0", {{64}, {64}}, {64}, DType::float16, 6.3, 6.5);
  const auto with_gradient = [&](const std::function<double(double)>& change) {
    return check_on(accelerator, call, {}, [&](const MaterialisedCall&, DeviceResult& computed) {
      Value& gradient = computed.gradients.front();
      gradient = changed_elements(*gradient.get<Tensor>(), [&](double value, std::int64_t) { return change(value); });
    });
  };
  const auto infinite = [](double value) { return std::copysign(std::numeric_limits<double>::infinity(), value); };
  EXPECT_FALSE(is_suspicious(with_gradient([](double value) { return value; })));
  EXPECT_FALSE(is_suspicious(with_gradient(infinite))) << described(with_gradient(infinite));
  EXPECT_TRUE(is_suspicious(with_gradient([](double value) { return std::copysign(100.0, value); })));
}

// float32 has no such kernels.
TEST(HalfSteps, AreOfHalfTypesOnly) {
  const ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20});
  for (const Accumulator accumulator : {Accumulator::float16, Accumulator::bfloat16}) {
    EvaluationOptions narrow_sums;
    narrow_sums.arithmetic.summation.accumulator = accumulator;
    EXPECT_TRUE(is_suspicious(check_on(processor, call, narrow_sums, {})));
  }
}

// Sums over an axis of a tensor that is too large for all measurements, and of which there is no part.
TEST(HalfSteps, AreKnownInLargeCalls) {
  ApiCall sum = call_of("Torch.sum.0", {{2049, 2049}}, {2049}, DType::bfloat16);
  sum.kwargs = {{"dim", Value(std::int64_t{0})}};
  sum.has_backward = false;
  EvaluationOptions in_bfloat16;
  in_bfloat16.arithmetic.summation.accumulator = Accumulator::bfloat16;
  const ApiResult of_processor = check_on(processor, sum, in_bfloat16, {});
  EXPECT_FALSE(is_suspicious(of_processor)) << of_processor.forward_rows.at(0).message;
  EXPECT_EQ(of_processor.weak_evidence, WeakEvidence::half_steps);
  EXPECT_TRUE(is_suspicious(check_on(accelerator, sum, in_bfloat16, {})));
  const ApiResult wrong = check_on(processor, sum, in_bfloat16, [](const MaterialisedCall&, DeviceResult& result) {
    result.output = changed_elements(*result.output.get<Tensor>(),
                                     [](double value, std::int64_t i) { return i == 77 ? value + 40 : value; });
  });
  EXPECT_TRUE(is_suspicious(wrong));
}

// Of a call that is too large even for a few samples, errors of half a unit of rounding are no news, and neither is
// what sums in bfloat16 lose, some twenty units; larger ones are.
TEST(HalfSteps, AreGrantedWhereNothingIsMeasured) {
  constexpr std::int64_t size = 4100;
  ApiCall sums = call_of("Torch.sum.0", {{4150, size}}, {size}, DType::bfloat16);
  sums.kwargs = {{"dim", Value(std::int64_t{0})}};
  sums.has_backward = false;
  const auto is_suspicious_off_by = [&](HalfRounding rounding, double units) {
    const ApiResult result = check_on(rounding, sums, {}, [&](const MaterialisedCall&, DeviceResult& device) {
      const Tensor sound = device.output.get<Tensor>()->to(DType::float64).contiguous();
      double squares = 0;
      for (std::int64_t i = 0; i < size; ++i) squares += sound.data<double>()[i] * sound.data<double>()[i];
      const double off = units * 0x1p-8 * std::sqrt(squares / static_cast<double>(size));
      device.output = changed_elements(sound, [&](double value, std::int64_t i) {
                        return i % 2 == 0 ? value + off : value - off;
                      }).to(DType::bfloat16);
    });
    const bool is_granted = result.weak_evidence == WeakEvidence::half_steps;
    EXPECT_NE(is_granted, is_suspicious(result)) << units;
    return is_suspicious(result);
  };
  EXPECT_FALSE(is_suspicious_off_by(processor, 1));
  EXPECT_FALSE(is_suspicious_off_by(processor, 4));
  EXPECT_TRUE(is_suspicious_off_by(processor, 80));
  EXPECT_TRUE(is_suspicious_off_by(HalfRounding::nothing, 1));
}

}  // namespace
}  // namespace msrun::testing
