// Arguments that are equal, to one another or within themselves: how much a result depends on its arguments is measured
// with changes that leave them equal, because what other arguments would give excuses nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/evaluate/evaluate.h"
#include "kernels/evaluate/materialise.h"
#include "runner/judge/variations.h"
#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

Tensor waves(DType dtype, const Dims& shape, double first) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    values.push_back(1.9 * std::sin(first + 2.3 * static_cast<double>(i)));
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

// With gradients for an output of that shape.
ApiCall call_with(const std::string& name, List args, const Dims& output, DType dtype = DType::float32) {
  ApiCall call = call_of(name, {}, output, dtype);
  call.args = std::move(args);
  return call;
}

ApiResult scaled(const ApiCall& call, const TensorFiles& files, double factor) {
  const auto change = [=](DeviceResult& device, int) {
    for (Value& gradient : device.gradients) {
      if (gradient.get<Tensor>() != nullptr) scale(gradient, factor);
    }
  };
  return check(call, change, {}, files.options());
}

void expect_found(const ApiCall& call, const TensorFiles& files, double factor) {
  const ApiResult sound = scaled(call, files, 1);
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  const ApiResult wrong = scaled(call, files, factor);
  EXPECT_TRUE(is_suspicious(wrong)) << described(wrong);
}

// x - x + eps is eps, and would be a thousand times that with changes of each x of its own.
TEST(EqualElements, OfTwoArgumentsLeaveADistanceExact) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    TensorFiles files;
    const Tensor x = waves(dtype, {6, 5}, 0.3);
    const Tensor other = waves(dtype, {6, 5}, 0.9);
    expect_found(call_with("Functional.pairwise_distance.0", {files.file(x), files.file(x)}, {6}, dtype), files, 1.01);
    for (const char* name : {"Functional.triplet_margin_loss.0", "Functional.triplet_margin_with_distance_loss.0"}) {
      ApiCall call = call_with(name, {files.file(x), files.file(x), files.file(other)}, {}, dtype);
      call.kwargs = {{"margin", Value(9.0)}};
      expect_found(call, files, 1.01);
    }
  }
}

// Rows that are equal, beside others that are not.
TEST(EqualElements, OfSomeRowsLeaveTheirDistancesExact) {
  TensorFiles files;
  const Tensor x = waves(DType::float32, {6, 5}, 0.3);
  const Tensor y = changed_elements(x, [](double value, std::int64_t i) { return i < 15 ? value : value + 0.75; });
  const ApiCall call = call_with("Functional.pairwise_distance.0", {files.file(x), files.file(y)}, {6});
  const auto change = [](DeviceResult& device, int) {
    for (Value& gradient : device.gradients) {
      gradient = changed_elements(*gradient.get<Tensor>(),
                                  [](double value, std::int64_t i) { return i < 15 ? value * 1.01 : value; });
    }
  };
  EXPECT_FALSE(is_suspicious(check(call, {}, {}, files.options())));
  EXPECT_TRUE(is_suspicious(check(call, change, {}, files.options())));
}

// Where two arguments are equal, each gets half of the gradient, or none.
TEST(EqualElements, OfTwoArgumentsStayOnTheKink) {
  TensorFiles files;
  const Tensor x = waves(DType::float32, {6, 5}, 0.3);
  const List twice{files.file(x), files.file(x)};
  expect_found(call_with("Torch.maximum.0", twice, {6, 5}), files, 0);
  const auto one = [](DeviceResult& device, int) {
    device.gradients.front() =
        changed_elements(*device.gradients.front().get<Tensor>(), [](double, std::int64_t) { return 0.03; });
  };
  EXPECT_TRUE(is_suspicious(check(call_with("Functional.l1_loss.0", twice, {}), one, {}, files.options())));
}

// The largest of equal rows, or of a window of equal elements.
TEST(EqualElements, OfOneArgumentStayTiesWhereALargestIsPicked) {
  TensorFiles files;
  const Tensor table = Tensor::full(DType::float32, Dims{5, 6}, 1.7);
  std::vector<std::int64_t> members;
  for (std::int64_t i = 0; i < 20; ++i) members.push_back(i * 3 % 5);
  const Tensor indices = Tensor::from<std::int64_t>(DType::int64, Dims{20}, std::span<const std::int64_t>(members));
  const std::vector<std::int64_t> starts{0, 4, 10, 16};
  const Tensor offsets = Tensor::from<std::int64_t>(DType::int64, Dims{4}, std::span<const std::int64_t>(starts));
  ApiCall bags = call_with("Functional.embedding_bag.0",
                           {files.file(indices, false), files.file(table), files.file(offsets, false)}, {4, 6});
  bags.kwargs = {{"mode", Value(std::string("max"))}};
  expect_found(bags, files, 0);
  const ApiCall numbered = call_with(
      "Torch.embedding_bag.0",
      {files.file(table), files.file(indices, false), files.file(offsets, false), false, std::int64_t{2}}, {4, 6});
  expect_found(numbered, files, 0);
}

// The gradient of a norm of infinite order is shared by all elements of that magnitude, whatever their signs; that of a
// distance goes to all differences of that size.
TEST(EqualElements, OfEqualMagnitudeStayTiesOfANorm) {
  const Value infinity = std::numeric_limits<double>::infinity();
  TensorFiles files;
  const Tensor x = changed_elements(waves(DType::float32, {4, 24}, 0.3), [](double value, std::int64_t i) {
    return i % 24 == 5 ? 0.25 : std::copysign(1.7, value);
  });
  const Value file = files.file(x);
  const std::int64_t last = -1;
  const List along{file, infinity, last};
  for (const double factor : {0.0, 1.3}) {
    for (const char* name : {"Torch.norm.0", "Torch.linalg.norm.0", "Torch.linalg.vector_norm.0"})
      expect_found(call_with(name, along, {4}), files, factor);
    expect_found(call_with("Torch.linalg.matrix_norm.0", {file, infinity}, {}), files, factor);
    expect_found(call_with("Torch.linalg.matrix_norm.0", {file, std::int64_t{1}}, {}), files, factor);
    expect_found(call_with("Functional.normalize.0", {file, infinity, last}, {4, 24}), files, factor == 0 ? 0 : 1.01);
  }
  const Value zeros = files.file(Tensor::zeros(DType::float32, Dims{3, 24}));
  expect_found(call_with("Torch.cdist.0", {file, zeros, infinity}, {4, 3}), files, 1.01);
  expect_found(
      call_with("Functional.pairwise_distance.0", {file, files.file(waves(DType::float32, {24}, 9)), infinity}, {4}),
      files, 1.01);
  expect_found(call_with("Torch.dist.0", {file, files.file(Tensor::zeros(DType::float32, Dims{24})), infinity}, {}),
               files, 1.3);
}

TEST(EqualElements, OfSourceAndSelfStayTiesOfAReduction) {
  TensorFiles files;
  const Tensor x = Tensor::full(DType::float32, Dims{3, 4}, 1.7);
  const Tensor source = Tensor::full(DType::float32, Dims{12, 4}, 1.7);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 12; ++i) rows.push_back(i % 2);
  const Tensor index = Tensor::from<std::int64_t>(DType::int64, Dims{12}, std::span<const std::int64_t>(rows));
  const Value at = files.file(index.reshape(Dims{12, 1}).expand(Dims{12, 4}).contiguous(), false);
  const std::int64_t first = 0;
  for (const char* reduce : {"amax", "amin"}) {
    const List element_by_element{files.file(x), first, at, files.file(source), std::string(reduce)};
    expect_found(call_with("Torch.scatter_reduce.0", element_by_element, {3, 4}), files, 1.3);
    const List slice_by_slice{files.file(x), first, files.file(index, false), files.file(source), std::string(reduce)};
    expect_found(call_with("Torch.index_reduce.0", slice_by_slice, {3, 4}), files, 1.3);
  }
}

// An element that is a limit itself passes the gradient on, or does not; it is never in between.
TEST(EqualElements, OfALimitStayOnTheirSide) {
  TensorFiles files;
  const Tensor x = changed_elements(waves(DType::float32, {6, 5}, 0.3), [](double value, std::int64_t) {
    return std::copysign(static_cast<double>(0.3F), value);
  });
  expect_found(call_with("Torch.clamp.0", {files.file(x), -0.3, 0.3}, {6, 5}), files, 1.1);
  const auto some = [](DeviceResult& device, int) {
    device.gradients.front() = changed_elements(*device.gradients.front().get<Tensor>(),
                                                [](double, std::int64_t i) { return i == 7 ? 0.1 : 0; });
  };
  const Value limit = files.file(Tensor::full(DType::float32, Dims{}, 0.3), false);
  const Value all = files.file(Tensor::full(DType::float32, Dims{6, 5}, 0.3));
  expect_found(call_with("Torch.minimum.0", {all, limit}, {6, 5}), files, 1.1);
  const ApiCall hard = call_with("Functional.hardtanh.0", {files.file(x), -0.3, 0.3}, {6, 5});
  EXPECT_TRUE(is_suspicious(check(hard, some, {}, files.options())));
}

// A group of equal elements has no deviation, and 1 / sqrt(epsilon) in place of its inverse: that times a place of the
// sums is what a device has that makes the gradients of sums, and in other rows nothing like it.
TEST(EqualElements, OfAGroupLeaveRoundingTimesTheInverseOfNoDeviation) {
  TensorFiles files;
  const Tensor x = changed_elements(waves(DType::float32, {1, 4, 8}, 0.3),
                                    [](double value, std::int64_t i) { return i < 16 ? 100.3 : value; });
  const Value weight = files.file(waves(DType::float32, {4}, 2));
  const ApiCall call =
      call_with("Functional.group_norm.0", {files.file(x), std::int64_t{2}, weight, weight}, {1, 4, 8});
  const auto off_by = [&](std::int64_t channel, double difference) {
    return check(
        call,
        [=](DeviceResult& device, int) {
          device.gradients[1] = changed_elements(*device.gradients[1].get<Tensor>(), [=](double value, std::int64_t i) {
            return i == channel ? value + difference : value;
          });
        },
        {}, files.options());
  };
  const double rounding = 0x1p-24 * 100.3 * 2 / std::sqrt(1e-5);
  EXPECT_FALSE(is_suspicious(off_by(1, rounding)));
  EXPECT_TRUE(is_suspicious(off_by(1, 1000 * rounding)));
  EXPECT_TRUE(is_suspicious(off_by(2, rounding)));
}

// Every other sample of noise leaves equal elements equal, in one argument and in two; the others move each by itself.
TEST(NearbyInputs, OfEveryOtherSampleLeaveEqualElementsEqual) {
  const Tensor x = waves(DType::float32, {8, 64}, 0.3);
  const MaterialisedCall call =
      materialise(call_with("Torch.sub.0", {Value(x), Value(x.slice(0, 0, 8).clone())}, {8, 64}), {});
  const Operator& op = *find_operator(call.parts.type, call.parts.api);
  EvaluationOptions benchmark;
  benchmark.benchmark = true;
  const Evaluation bench = evaluate(op, call, benchmark);
  Variations variations(op, call, bench, benchmark);
  const std::vector<Variations::Nearby>& nearby = variations.nearby({}, 4, CostLimit::many);
  ASSERT_EQ(nearby.size(), 4U);
  for (std::size_t sample = 0; sample < nearby.size(); ++sample) {
    const Tensor difference = nearby[sample].bench.output.get<Tensor>()->contiguous();
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < difference.numel(); ++i) different += difference.item(i) != 0 ? 1 : 0;
    if (sample % 2 == 1) {
      EXPECT_EQ(different, 0) << sample;
    } else {
      EXPECT_GT(different, difference.numel() / 2) << sample;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
