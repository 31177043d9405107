// What counts as an overflow (acc_check_pytorch.md 12), and how the finding travels.
#include "runner/check/overflow.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor tensor(DType dtype, const std::vector<double>& values) {
  const Dims shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, values).to(dtype);
}

TEST(Overflows, InfinityAndNanInAnyFloatingDtype) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    EXPECT_TRUE(overflows(tensor(dtype, {1, infinity}))) << torch_name(dtype);
    EXPECT_TRUE(overflows(tensor(dtype, {-infinity, 1}))) << torch_name(dtype);
    EXPECT_TRUE(overflows(tensor(dtype, {nan}))) << torch_name(dtype);
    EXPECT_FALSE(overflows(tensor(dtype, {1, -2, 0}))) << torch_name(dtype);
    EXPECT_FALSE(overflows(tensor(dtype, {}))) << torch_name(dtype);
    EXPECT_TRUE(overflows(Tensor::scalar(dtype, infinity))) << torch_name(dtype);
  }
}

TEST(Overflows, LargestFiniteValuesAreNone) {
  EXPECT_FALSE(overflows(tensor(DType::float16, {65504, -65504})));
  EXPECT_FALSE(overflows(tensor(DType::float32, std::vector<double>(100, std::numeric_limits<float>::max()))));
  // Compared as float32, and this is beyond it.
  EXPECT_TRUE(overflows(tensor(DType::float64, {1e300})));
}

TEST(Overflows, FarBackInALargeTensorOfStrides) {
  std::vector<double> values(20000, 1);
  values[19999] = nan;
  EXPECT_TRUE(overflows(tensor(DType::float32, values)));
  // Every second element: the NaN is not among them.
  EXPECT_FALSE(overflows(tensor(DType::float32, values).slice(0, 0, 10000, 2)));
  EXPECT_TRUE(overflows(tensor(DType::float32, values).slice(0, 1, 10000, 2)));
}

TEST(Overflows, OfOtherValues) {
  EXPECT_TRUE(overflows(infinity));
  EXPECT_TRUE(overflows(nan));
  EXPECT_FALSE(overflows(1e308));
  EXPECT_FALSE(overflows(true));
  EXPECT_FALSE(overflows(std::int64_t{7}));
  EXPECT_FALSE(overflows(std::string("a")));
  EXPECT_FALSE(overflows(None{}));
  EXPECT_FALSE(overflows(tensor(DType::boolean, {1, 0})));
  EXPECT_FALSE(overflows(tensor(DType::int64, {9e18})));
  EXPECT_FALSE(overflows(List{}));
  EXPECT_FALSE(overflows(List{1.0, List{2.0, None{}}}));
  EXPECT_TRUE(overflows(List{1.0, List{2.0, tensor(DType::float32, {infinity})}}));
}

TEST(Overflows, EitherPartOfAComplexNumber) {
  const Dims shape{2};
  const auto complex = [&](std::complex<double> second) {
    const std::vector<std::complex<double>> values{{1, 2}, second};
    return Tensor::from<std::complex<double>>(DType::complex128, shape, values);
  };
  EXPECT_FALSE(overflows(complex({3, 4})));
  EXPECT_TRUE(overflows(complex({infinity, 4})));
  EXPECT_TRUE(overflows(complex({3, nan})));
  EXPECT_TRUE(overflows(complex({3, infinity}).to(DType::complex64)));
}

// A device that is asked for the call of one name, and answers with one value.
class FixedDevice final : public Device {
 public:
  FixedDevice(std::string name, Value output) : name_(std::move(name)), output_(std::move(output)) {}
  DeviceResult run(const DeviceCall& call) override {
    EXPECT_EQ(call.materialised.name, name_);
    EXPECT_FALSE(call.materialised.backward.run);
    EXPECT_FALSE(call.materialised.autocast);
    DeviceResult result;
    result.output = output_;
    return result;
  }

 private:
  std::string name_;
  Value output_;
};

ApiResult check(const std::string& name, double max, const Value& device_output,
                const std::string& dtype = "torch.float16", bool compat_msprobe = false) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = {4};
  spec->max = max;
  spec->min = max;
  spec->requires_grad = true;
  ApiCall call;
  call.name = name;
  call.args = {std::shared_ptr<const TensorSpec>(spec), std::shared_ptr<const TensorSpec>(spec)};
  call.has_backward = true;
  FixedDevice device(name, device_output);
  CheckOptions options;
  options.overflow = true;
  options.compare.compat_msprobe = compat_msprobe;
  return check_api(call, 3, device, 0, options);
}

TEST(OverflowCheck, ComparesTheTwoSides) {
  using Verdict = OverflowFinding::Verdict;
  const Tensor finite = tensor(DType::float16, {1, 1, 1, 1});
  const Tensor infinite = tensor(DType::float16, {1, 1, infinity, 1});
  struct Case {
    double max;  // of both factors: 1000 * 1000 is beyond float16
    Tensor device;
    bool bench_overflows;
    bool device_overflows;
    Verdict verdict;
    Status status;
    std::string text;
  };
  const std::string normal = "The Torch.mul.0 overflow is a normal overflow.";
  const std::string abnormal = "The Torch.mul.0 overflow is an abnormal overflow.";
  for (const Case& c : {Case{2, finite, false, false, Verdict::normal, Status::pass, "Torch.mul.0: no overflow."},
                        Case{1000, infinite, true, true, Verdict::normal, Status::pass, normal},
                        Case{2, infinite, false, true, Verdict::abnormal, Status::error, abnormal},
                        Case{1000, finite, true, false, Verdict::abnormal, Status::error, abnormal}}) {
    const ApiResult result = check("Torch.mul.0", c.max, c.device);
    ASSERT_TRUE(result.overflow) << result.message;
    EXPECT_EQ(result.overflow->bench, c.bench_overflows);
    EXPECT_EQ(result.overflow->device, c.device_overflows);
    EXPECT_EQ(result.overflow->verdict, c.verdict);
    EXPECT_EQ(result.forward, c.status);
    EXPECT_FALSE(result.backward);
    EXPECT_EQ(result.message, c.text);
    EXPECT_EQ(result.task, 3U);
    EXPECT_GT(result.times.benchmark, 0U);
    const std::string documented = c.verdict == Verdict::normal ? normal : abnormal;
    EXPECT_EQ(check("Torch.mul.0", c.max, c.device, "torch.float16", true).message, documented);
  }
}

// A tensor of finite values overflows for msProbe if their float32 sum does.
TEST(OverflowCheck, OnlyMsProbeLooksAtTheSum) {
  const Tensor large = tensor(DType::float32, {3e38, 3e38, 3e38, 3e38});
  const ApiResult result = check("Torch.maximum.0", 3e38, large, "torch.float32");
  EXPECT_FALSE(result.overflow->device);
  EXPECT_EQ(result.forward, Status::pass);
  const ApiResult upstream = check("Torch.maximum.0", 3e38, large, "torch.float32", true);
  EXPECT_FALSE(upstream.overflow->bench);
  EXPECT_TRUE(upstream.overflow->device);
  EXPECT_EQ(upstream.forward, Status::error);
  EXPECT_EQ(upstream.message, "The Torch.maximum.0 overflow is an abnormal overflow.");
}

TEST(OverflowCheck, BenchIsNotRaised) {
  // In float32, as in the pre-check, 1000 * 1000 would be finite on the CPU.
  EXPECT_TRUE(check("Torch.mul.0", 1000, tensor(DType::float16, {1})).overflow->bench);
  EXPECT_FALSE(check("Torch.mul.0", 1000, tensor(DType::float32, {1}), "torch.float32").overflow->bench);
}

TEST(OverflowCheck, BooleansAreNotJudged) {
  const ApiResult result = check("Torch.equal.0", 2, true);
  ASSERT_TRUE(result.overflow) << result.message;
  EXPECT_EQ(result.overflow->verdict, OverflowFinding::Verdict::not_judged);
  EXPECT_EQ(result.forward, Status::skip);
  EXPECT_EQ(result.message,
            "The output of Torch.equal.0 is bool type.This dtype not support overflow, so it will be skipped.");
  const Tensor finite = tensor(DType::float16, {1});
  for (const Value& device : {Value(true), Value(List{true, finite}), Value(List{finite, true})}) {
    const ApiResult one_side = check("Torch.mul.0", 2, device);
    ASSERT_TRUE(one_side.overflow) << one_side.message;
    EXPECT_EQ(one_side.overflow->verdict, OverflowFinding::Verdict::not_judged);
  }
}

TEST(OverflowCheck, WhatHasNoFloatingElementProvesNothing) {
  const Tensor finite = tensor(DType::float16, {1, 1, 1, 1});
  EXPECT_EQ(check("Torch.mul.0", 2, finite).weak_evidence, WeakEvidence::none);
  EXPECT_EQ(check("Torch.mul.0", 2, finite, "torch.int64").weak_evidence, WeakEvidence::none)
      << "the device's could overflow";
  EXPECT_EQ(check("Torch.mul.0", 2, tensor(DType::int64, {1}), "torch.int64").weak_evidence,
            WeakEvidence::nothing_compared);
}

TEST(OverflowCheck, NoOutputOnOneSideIsCompared) {
  const ApiResult result = check("Torch.mul.0", 1000, None{});
  ASSERT_TRUE(result.overflow) << result.message;
  EXPECT_EQ(result.overflow->verdict, OverflowFinding::Verdict::abnormal);
}

TEST(OverflowCheck, WhatCannotBeRunIsASkip) {
  const ApiResult result = check("Torch.mul.0", 2, None{}, "torch.nonsense");
  EXPECT_FALSE(result.overflow);
  EXPECT_EQ(result.forward, Status::skip);
  EXPECT_EQ(result.message, "Dtype is not supported: torch.nonsense");
}

}  // namespace
}  // namespace msrun
