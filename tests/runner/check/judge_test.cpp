// The judge end to end within one process: calls with given inputs, and devices that compute them in a given way. One
// test a rule of the judge, hence longer than other files.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "kernels/compare/bounds/rounding.h"
#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Tensor tensor(DType dtype, const std::vector<double>& values, Dims shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

std::vector<double> random_values(std::size_t count, double low, double high, unsigned seed = 5) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(random);
  return values;
}

using Change = std::function<Tensor(const Tensor&)>;

void change_first(Value& value, const Change& change) {
  bool done = false;
  value = transform_leaves(value, [&](const Value& leaf) -> Value {
    const Tensor* found = leaf.get<Tensor>();
    if (found == nullptr || done) return leaf;
    done = true;
    return change(*found);
  });
}

// Sound arithmetic in the dtypes of the call, of which the first output and the first gradient are changed.
ComputingDevice changed_device(const Change& output, const Change& gradient = {}) {
  return ComputingDevice([=](DeviceResult& result, int) {
    if (output) change_first(result.output, output);
    if (gradient && !result.gradients.empty()) change_first(result.gradients.front(), gradient);
  });
}

ApiCall call_of(std::string name, List args, Dict kwargs = {}) {
  ApiCall call;
  call.name = std::move(name);
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  return call;
}

// An argument with random elements between -1 and 1 that takes part in the backward.
Value random_argument(const Dims& shape, const std::string& dtype = "torch.float32", double size = 1) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = {shape.begin(), shape.end()};
  spec->max = size;
  spec->min = -size;
  spec->requires_grad = true;
  return std::shared_ptr<const TensorSpec>(spec);
}

ApiResult checked(const ApiCall& call, Device& device, const CheckOptions& options = {}) {
  ApiResult result = check_api(call, 0, device, 0, options);
  EXPECT_EQ(result.outcome, Outcome::checked) << result.message;
  return result;
}

ApiResult checked(const ApiCall& call, const Change& output = {}, const Change& gradient = {}) {
  ComputingDevice device = changed_device(output, gradient);
  return checked(call, device);
}

Tensor doubled(const Tensor& from) {
  return changed_elements(from, [](double value, std::int64_t) { return 2 * value; });
}
Tensor negated(const Tensor& from) {
  return changed_elements(from, [](double value, std::int64_t) { return -value; });
}

// Elements whose own terms are small are changed, and those of another kind stay.
Tensor where_small(const Tensor& from, double limit, const Change& change) {
  const Tensor changed = change(from).to(DType::float64);
  return changed_elements(
      from, [&](double value, std::int64_t i) { return std::abs(value) < limit ? changed.data<double>()[i] : value; });
}

struct Mask {
  const char* name;
  double value;
};

class MaskedScores : public ::testing::TestWithParam<Mask> {
 protected:
  // 63 % of the elements are masked.
  static ApiCall scores(DType dtype) {
    const std::vector<double> values = random_values(800, -4, 4);
    std::vector<double> mask(values.size());
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (i % 100 < 63) mask[i] = GetParam().value < 0 ? GetParam().value : -max_finite(dtype);
    }
    return call_of("Torch.add.0", {tensor(dtype, values, {8, 100}), tensor(dtype, mask, {8, 100})});
  }
};

TEST_P(MaskedScores, AreJudgedByTheirOwnTerms) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const ApiCall call = scores(dtype);
    EXPECT_FALSE(is_suspicious(checked(call)));
    for (const auto& wrong : {doubled, negated}) {
      const ApiResult result = checked(call, [&](const Tensor& from) { return where_small(from, 100, wrong); });
      EXPECT_TRUE(is_suspicious(result)) << result.forward_rows.at(0).message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, MaskedScores, ::testing::Values(Mask{"Lowest", 0}, Mask{"MinusBillion", -1e9}),
                         [](const auto& mask) { return std::string(mask.param.name); });

TEST(Judge, ProductsWithAMaskedSummandAreJudgedByTheirOwnTerms) {
  std::vector<double> mask(120);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 10 < 6 ? -1e9 : 0;
  const ApiCall call = call_of("Torch.baddbmm.0", {tensor(DType::float32, mask, {2, 6, 10}),
                                                   tensor(DType::float32, random_values(384, -1, 1, 1), {2, 6, 32}),
                                                   tensor(DType::float32, random_values(640, -1, 1, 2), {2, 32, 10})});
  EXPECT_FALSE(is_suspicious(checked(call)));
  for (const auto& wrong : {doubled, negated}) {
    EXPECT_TRUE(is_suspicious(checked(call, [&](const Tensor& from) { return where_small(from, 1e6, wrong); })));
  }
}

TEST(Judge, LargeElementsExcuseNoSmallOnes) {
  std::vector<double> left = random_values(60, 1, 2, 3);
  for (std::size_t i = 0; i < 40; ++i) left[i] *= 1e12;
  const std::vector<double> right = random_values(60, 1, 2, 4);
  for (const char* api : {"Torch.add.0", "Torch.sub.0", "Torch.mul.0", "Torch.div.0"}) {
    const ApiCall call = call_of(api, {tensor(DType::float32, left), tensor(DType::float32, right)});
    EXPECT_FALSE(is_suspicious(checked(call))) << api;
    for (const auto& wrong : {doubled, negated}) {
      const ApiResult result = checked(call, [&](const Tensor& from) { return where_small(from, 1e6, wrong); });
      EXPECT_TRUE(is_suspicious(result)) << api;
    }
  }
}

TEST(Judge, APassBeyondRoundingIsSuspicious) {
  const ApiCall call = call_of("Torch.mul.0", {tensor(DType::float32, random_values(20000, 1, 2, 1)),
                                               tensor(DType::float32, random_values(20000, 1, 2, 2))});
  const auto wrong = [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 7777 ? value * 1.00001 : value; });
  };
  const ApiResult result = checked(call, wrong);
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_TRUE(is_suspicious(result));
  EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("\nNot explained by rounding: 1 of 20000 elements differ"));
  EXPECT_FALSE(is_suspicious(checked(call)));
  // The tool in use does not look there.
  ComputingDevice device = changed_device(wrong);
  CheckOptions options;
  options.compare.compat_msprobe = true;
  const ApiResult compat = checked(call, device, options);
  EXPECT_FALSE(is_suspicious(compat));
  EXPECT_THAT(compat.forward_rows.at(0).message, Not(HasSubstr("xplained")));
  EXPECT_EQ(compat.forward_rows.at(0).trust.visible, std::nullopt);
}

TEST(Judge, GradientsThatPassAreJudged) {
  ApiCall call = call_of("Functional.linear.0", {random_argument({16, 64}), random_argument({32, 64})});
  call.has_backward = true;
  call.grad_inputs = {random_argument({16, 32})};
  EXPECT_FALSE(is_suspicious(checked(call)));
  const ApiResult result = checked(call, {}, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 100 ? value + 0.0001 : value; });
  });
  EXPECT_EQ(result.backward, Status::pass);
  EXPECT_TRUE(is_suspicious(result));
  EXPECT_TRUE(result.backward_rows.at(0).beyond_rounding);
  EXPECT_FALSE(result.backward_rows.at(1).beyond_rounding);
  EXPECT_FALSE(result.forward_rows.at(0).beyond_rounding);
}

// A device that truncates is off by one place in half of all elements, and by no more in any.
TEST(Judge, ProductsThatAreNotRoundedToNearestAreSuspicious) {
  const ApiCall call = call_of(
      "Torch.matmul.0", {random_argument({32, 64}, "torch.bfloat16"), random_argument({64, 32}, "torch.bfloat16")});
  EXPECT_FALSE(is_suspicious(checked(call)));
  const ApiResult result = checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) {
      return i % 4 == 0 ? value + unit_in_last_place(DType::bfloat16, value) : value;
    });
  });
  EXPECT_TRUE(is_suspicious(result)) << result.forward_rows.at(0).message;
  EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("are not the nearest number"));
  // One place in a few elements may be chance.
  EXPECT_FALSE(is_suspicious(checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) {
      return i == 5 ? value + unit_in_last_place(DType::bfloat16, value) : value;
    });
  })));
}

// What overflows inside in float32 does so on any device; nothing but the dtype is to blame.
TEST(Judge, OverflowInsideFloat32IsExplained) {
  const ApiCall product =
      call_of("Torch.matmul.0", {tensor(DType::float32, random_values(64, -1e20, 1e20, 1), {8, 8}),
                                 tensor(DType::float32, random_values(64, -1e20, 1e20, 2), {8, 8})});
  const ApiCall norm = call_of("Torch.norm.0", {tensor(DType::float32, random_values(64, 1e24, 1e25))});
  for (const ApiCall& call : {product, norm}) {
    const ApiResult result = checked(call);
    EXPECT_FALSE(is_suspicious(result)) << call.name << result.forward_rows.at(0).message;
    EXPECT_THAT(result.forward_rows.at(0).message, Not(HasSubstr("HF32"))) << call.name;
    const ApiResult wrong = checked(
        call, [](const Tensor& from) { return changed_elements(from, [](double, std::int64_t) { return 1.0; }); });
    EXPECT_TRUE(is_suspicious(wrong)) << call.name;
  }
}

// Gives the results of a run before, as a recording does.
class Replay final : public Device {
 public:
  DeviceResult run(const DeviceCall& /*call*/) override { return result; }
  DeviceArithmetic arithmetic() const override { return says; }
  DeviceResult result;
  DeviceArithmetic says;
};

class Hf32 : public ::testing::Test {
 protected:
  // A convolution whose inputs are between -size and size, and what sound hardware makes of it that rounds them to
  // HF32, or does not.
  void record(const std::string& name, const Dims& input, const Dims& weight, const Dims& output, double size) {
    call_ = call_of(name, {random_argument(input, "torch.float32", size), random_argument(weight)});
    call_.has_backward = true;
    call_.grad_inputs = {random_argument(output)};
    for (const bool rounds : {false, true}) {
      DeviceResult& recorded = rounds ? rounded_ : exact_;
      ComputingDevice recorder([&](DeviceResult& result, int) { recorded = result; });
      CheckOptions options;
      options.materialise.round_to_hf32 = rounds;
      EXPECT_FALSE(is_suspicious(checked(call_, recorder, options)));
    }
    call_.recorded.emplace();
  }
  ApiResult replayed(const DeviceResult& result) const {
    Replay device;
    device.result = result;
    return checked(call_, device);
  }

  ApiCall call_;
  DeviceResult exact_;
  DeviceResult rounded_;
};

TEST_F(Hf32, HardwareThatDoesNotRoundIsRightWhateverTheScale) {
  for (const double size : {0.001, 1.0, 100.0, 10000.0}) {
    record("Functional.conv2d.0", {1, 16, 18, 18}, {16, 16, 3, 3}, {1, 16, 16, 16}, size);
    const ApiResult result = replayed(exact_);
    EXPECT_FALSE(is_suspicious(result)) << size << result.forward_rows.at(0).message;
    EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("not rounded to HF32"));
    EXPECT_FALSE(is_suspicious(replayed(rounded_))) << size;
    EXPECT_THAT(replayed(rounded_).forward_rows.at(0).message, Not(HasSubstr("not rounded to HF32")));
  }
}

// Computes convolutions with the spatial axes of the weight reversed.
class Flipping final : public Device {
 public:
  DeviceResult run(const DeviceCall& call) override {
    MaterialisedCall flipped = call.materialised;
    const Tensor weight = flipped.args[1].get<Tensor>()->contiguous();
    Dims strides = row_major_strides(weight.shape());
    const std::int64_t last = (weight.size(2) - 1) * strides[2] + (weight.size(3) - 1) * strides[3];
    strides[2] = -strides[2];
    strides[3] = -strides[3];
    flipped.args[1] = weight.with_strides(weight.shape(), strides, last).contiguous();
    const Evaluation evaluation = evaluate(*find_operator(flipped.parts.type, flipped.parts.api), flipped, {});
    result.output = evaluation.output;
    result.gradients = evaluation.gradients;
    return result;
  }
  DeviceResult result;
};

// Neither reading of the inputs is that of the result, and one of them shows why.
TEST_F(Hf32, AMistakeIsNamedWhetherOrNotInputsWereRounded) {
  record("Functional.conv2d.0", {1, 8, 10, 10}, {8, 8, 3, 3}, {1, 8, 8, 8}, 1);
  for (const bool rounds : {false, true}) {
    Flipping device;
    CheckOptions options;
    options.materialise.round_to_hf32 = rounds;
    ApiCall call = call_;
    call.recorded.reset();
    checked(call, device, options);
    const ApiResult result = replayed(device.result);
    EXPECT_TRUE(is_suspicious(result));
    EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("With the spatial axes of weight reversed")) << rounds;
  }
}

// It is the benchmark whose inputs are rounded, and no device that may round operands.
TEST_F(Hf32, OperandsOfTheDeviceExplainNothingWhereItHasNotRoundedThem) {
  record("Functional.conv2d.0", {1, 16, 18, 18}, {16, 16, 3, 3}, {1, 16, 16, 16}, 100);
  Replay device;
  device.says = {.operands = {.convolutions = OperandRounding::truncated_tf32}, .settings_are_known = false};
  device.result = exact_;
  const ApiResult result = checked(call_, device);
  EXPECT_FALSE(is_suspicious(result));
  for (const DetailsRow& row : result.forward_rows) {
    EXPECT_THAT(row.message, HasSubstr("not rounded to HF32"));
    EXPECT_THAT(row.message, Not(HasSubstr("round these float32 operands")));
  }
}

TEST_F(Hf32, DirectionsAreJudgedEachByItself) {
  record("Functional.conv1d.0", {1, 4, 20}, {2, 4, 3}, {1, 2, 18}, 10);
  DeviceResult mixed = exact_;
  mixed.gradients = rounded_.gradients;
  EXPECT_FALSE(is_suspicious(replayed(mixed)));
  mixed = exact_;
  mixed.backward_problem = "The gradients were not recorded.";
  const ApiResult result = replayed(mixed);
  EXPECT_FALSE(is_suspicious(result)) << result.forward_rows.at(0).message;
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.backward, Status::skip);
}

TEST_F(Hf32, NeitherReadingExcusesAWrongResult) {
  record("Functional.conv2d.0", {1, 16, 18, 18}, {16, 16, 3, 3}, {1, 16, 16, 16}, 1);
  for (const DeviceResult& right : {exact_, rounded_}) {
    DeviceResult wrong = right;
    wrong.output = changed_elements(*right.output.get<Tensor>(),
                                    [](double value, std::int64_t i) { return i == 9 ? value + 0.01 : value; });
    EXPECT_TRUE(is_suspicious(replayed(wrong)));
    wrong = right;
    wrong.gradients.front() = negated(*right.gradients.front().get<Tensor>());
    EXPECT_TRUE(is_suspicious(replayed(wrong)));
  }
}

// Terms of 1 and -1 may be flags: their sums are exact.
TEST(Judge, SumsOfOnesAreExact) {
  std::vector<double> ones(128, 1);
  for (std::size_t i = 0; i < ones.size(); i += 2) ones[i] = -1;
  const ApiCall call = call_of("Torch.sum.0", {tensor(DType::float32, ones, {2, 64}), std::int64_t{1}});
  EXPECT_FALSE(is_suspicious(checked(call)));
  EXPECT_TRUE(is_suspicious(checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 1 ? value + 1e-5 : value; });
  })));
}

TEST(Judge, CopiesAreExactBesideNan) {
  std::vector<double> values = random_values(64, -1, 1);
  values[7] = nan_value;
  const ApiCall call = call_of("Torch.clone.0", {tensor(DType::float32, values)});
  EXPECT_FALSE(is_suspicious(checked(call)));
  EXPECT_TRUE(is_suspicious(checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 3 ? value * (1 + 0x1p-23) : value; });
  })));
}

TEST(Judge, InfinitiesOfTheBenchmarkExcuseNothing) {
  const ApiCall call = call_of("Torch.reciprocal.0", {tensor(DType::float32, {0, 1, 2, 4, 8, 16, 32, 64, 3, 5})});
  EXPECT_FALSE(is_suspicious(checked(call)));
  EXPECT_TRUE(is_suspicious(checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 0 ? -value : value; });
  })));
  EXPECT_TRUE(is_suspicious(checked(call, [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) { return i == 3 ? nan_value : value; });
  })));
}

WeakEvidence weak_evidence_of(const ApiCall& call) {
  const ApiResult result = checked(call);
  EXPECT_FALSE(is_suspicious(result));
  return result.weak_evidence;
}

TEST(Judge, SaysOfWhatAgreesThatItProvesLittle) {
  const Tensor some = tensor(DType::float32, random_values(64, -1, 1));
  const auto filled = [](double value) { return tensor(DType::float32, std::vector<double>(64, value)); };
  EXPECT_EQ(weak_evidence_of(call_of("Torch.add.0", {some, some})), WeakEvidence::none);
  EXPECT_EQ(weak_evidence_of(call_of("Torch.mul.0", {some, filled(0)})), WeakEvidence::all_zero);
  EXPECT_EQ(weak_evidence_of(call_of("Torch.exp.0", {filled(0.5)})), WeakEvidence::constant);
  EXPECT_EQ(weak_evidence_of(call_of("Torch.mul.0", {some, filled(nan_value)})), WeakEvidence::not_finite);
  EXPECT_EQ(weak_evidence_of(call_of("Torch.add.0", {filled(infinity), some})), WeakEvidence::not_finite);
  const ApiResult result = checked(call_of("Torch.mul.0", {some, filled(0)}));
  EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("\nProves little: every element of the benchmark is 0.\n"));
  EXPECT_TRUE(is_weak_evidence(result));
  EXPECT_EQ(result.forward_rows.at(0).trust.visible, std::nullopt);
}

TEST(Judge, SaysOfSumsThatCancelThatTheyProveLittle) {
  // Every sum is of terms near 1e6 and comes out below a hundredth.
  std::vector<double> rows;
  const std::vector<double> terms = random_values(512, 1e6, 2e6);
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t i = 0; i < 64; ++i) {
      const double term = static_cast<float>(terms[row * 64 + i / 2 * 2]);
      rows.push_back(i % 2 == 0 ? term : -term);
    }
    rows.back() += row % 2 == 0 ? 0.125 : -0.125;
  }
  const ApiCall call = call_of("Torch.sum.0", {tensor(DType::float32, rows, {8, 64}), std::int64_t{1}});
  EXPECT_FALSE(is_suspicious(checked(call)));
  const auto plus = [&](double error) {
    return checked(call, [=](const Tensor& from) {
      return changed_elements(from, [=](double value, std::int64_t) { return value + error; });
    });
  };
  // In float32 the sums of such terms are known to a few units.
  const ApiResult result = plus(1);
  EXPECT_FALSE(is_suspicious(result)) << result.forward_rows.at(0).message;
  EXPECT_EQ(result.weak_evidence, WeakEvidence::cancellation);
  EXPECT_TRUE(is_suspicious(plus(1000)));
}

// A dropout of few elements differs from another one by more than the documented tenth now and then.
TEST(Judge, ChanceIsNoFaultOfADropout) {
  const Tensor input = tensor(DType::float32, random_values(128, 1, 2));
  const auto zeros = [&](std::int64_t count) {
    return [=](const Tensor& from) {
      const auto* x = input.data<float>();
      return changed_elements(from, [=](double, std::int64_t i) { return i < count ? 0.0 : 2.0 * x[i]; });
    };
  };
  const ApiCall call = call_of("Functional.dropout.0", {input, 0.5});
  const ApiResult result = checked(call, zeros(88));
  EXPECT_EQ(result.forward, Status::error);
  EXPECT_FALSE(is_suspicious(result));
  EXPECT_TRUE(is_suspicious(checked(call, zeros(1))));
  EXPECT_EQ(checked(call, zeros(128)).weak_evidence, WeakEvidence::all_dropped);
  EXPECT_THAT(checked(call, zeros(128)).forward_rows.at(0).message,
              HasSubstr("Chance does not drop 128 of 128 with probability 0.5."));
  const ApiCall few = call_of("Functional.dropout.0", {tensor(DType::float32, random_values(10, 1, 2)), 0.5});
  EXPECT_EQ(checked(few).weak_evidence, WeakEvidence::nothing_compared);
}

// An empty list has no rows, and neither has a dropout, of which something was compared.
TEST(Judge, AnEmptyListOfResultsComparesNothing) {
  const Tensor scalar = tensor(DType::float32, {2}).reshape(Dims{});
  for (const ApiCall& call :
       {call_of("Tensor.size.0", {scalar}), call_of("Torch.unbind.0", {Tensor(DType::float32, Dims{0, 3})})}) {
    const ApiResult result = checked(call);
    EXPECT_EQ(result.forward, Status::pass) << call.name;
    EXPECT_TRUE(result.forward_rows.empty()) << call.name;
    EXPECT_EQ(result.weak_evidence, WeakEvidence::nothing_compared) << call.name;
    VerdictCounts counts;
    counts.add(result);
    EXPECT_EQ(counts.compared(), 0U) << call.name;
  }
  const ApiCall dropout = call_of("Functional.dropout.0", {tensor(DType::float32, random_values(128, 1, 2)), 0.5});
  EXPECT_EQ(checked(dropout).weak_evidence, WeakEvidence::none);
}

// The winners and the bags are what the kernels of a device keep for the backward: some give no bags, or the sizes of
// the bags in place of the winners.
TEST(Judge, WhatAnEmbeddingBagKeepsForItsBackwardIsNotCompared) {
  const ApiCall call =
      call_of("Torch.embedding_bag.0", {tensor(DType::float32, random_values(12, -1, 1), {4, 3}),
                                        tensor(DType::int64, {0, 2, 3}), tensor(DType::int64, {0, 2})});
  ComputingDevice device([](DeviceResult& result, int) {
    const List outputs = *result.output.get<List>();
    const Tensor empty(DType::int64, Dims{0});
    result.output = List{outputs.at(0), empty, outputs.at(2), empty};
  });
  const ApiResult result = checked(call, device);
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.forward_rows.size(), 1U);
}

TEST(Judge, MagnitudesOfComplexNumbersAreRounded) {
  const Tensor parts = tensor(DType::float64, random_values(64, -1, 1), {2, 32});
  const Tensor complex = parts.to(DType::complex64);
  EXPECT_FALSE(is_suspicious(checked(call_of("Torch.abs.0", {complex}), [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) {
      return i == 7 ? value + unit_in_last_place(DType::float32, value) : value;
    });
  })));
  const Tensor real = tensor(DType::float32, random_values(64, -1, 1));
  EXPECT_TRUE(is_suspicious(checked(call_of("Torch.abs.0", {real}), [](const Tensor& from) {
    return changed_elements(from, [](double value, std::int64_t i) {
      return i == 7 ? value + unit_in_last_place(DType::float32, value) : value;
    });
  })));
}

TEST(Judge, SaysHowSmallAFaultIsSeen) {
  const auto visible = [](const char* dtype) {
    const ApiResult result =
        checked(call_of("Torch.matmul.0", {random_argument({32, 64}, dtype), random_argument({64, 32}, dtype)}));
    EXPECT_TRUE(result.forward_rows.at(0).trust.visible.has_value());
    return result.forward_rows.at(0).trust.visible.value_or(VisibleFault{});
  };
  const VisibleFault narrow = visible("torch.bfloat16");
  EXPECT_GE(narrow.of_one, -8);
  EXPECT_LE(narrow.of_one, -6);
  const VisibleFault wide = visible("torch.float32");
  EXPECT_LT(wide.of_one, -14);
  EXPECT_GT(wide.of_one, -22);
  EXPECT_LE(wide.of_all, wide.of_one);
}

// What is said to be visible is found.
TEST(Judge, FindsTheFaultThatItSaysIsVisible) {
  const ApiCall call = call_of("Torch.matmul.0", {random_argument({32, 64}), random_argument({64, 32})});
  const VisibleFault visible = checked(call).forward_rows.at(0).trust.visible.value();
  const double all = std::ldexp(1.0, visible.of_all);
  EXPECT_TRUE(is_suspicious(checked(call, [&](const Tensor& from) {
    return changed_elements(from, [&](double value, std::int64_t) { return value * (1 + 2 * all); });
  })));
}

// A recording may call torch.linalg.cross so, which takes the last axis.
TEST(Judge, AnAmbiguousCrossSaysAlongWhichAxis) {
  const std::string remark = "torch.linalg.cross, which a dump may call so too, takes the last.";
  const auto message = [](const std::string& name, const Dims& shape, const Dict& kwargs = {}) {
    const auto factor = [&](unsigned seed) {
      return tensor(DType::float32, random_values(static_cast<std::size_t>(element_count(shape)), -1, 1, seed), shape);
    };
    return checked(call_of(name, {factor(1), factor(2)}, kwargs)).forward_rows.at(0).message;
  };
  EXPECT_THAT(message("Torch.cross.0", {3, 4, 3}), HasSubstr(remark));
  EXPECT_THAT(message("Torch.cross.0", {4, 3}), Not(HasSubstr(remark)));
  EXPECT_THAT(message("Torch.cross.0", {3, 4}), Not(HasSubstr(remark)));
  EXPECT_THAT(message("Torch.cross.0", {3, 3}, {{"dim", std::int64_t{0}}}), Not(HasSubstr(remark)));
  EXPECT_THAT(message("Tensor.cross.0", {3, 3}), Not(HasSubstr(remark))) << "there is no such method";
}

}  // namespace
}  // namespace msrun::testing
