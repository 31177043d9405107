// What a sound device may choose otherwise than the benchmark: which of equal elements a maximum over a window picks,
// and on which side of an edge an element within rounding of it is counted. Anything else is a fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using Values = std::vector<double>;
using Change = std::function<void(const MaterialisedCall&, DeviceResult&)>;

class ChangingDevice final : public Device {
 public:
  explicit ChangingDevice(Change change) : computing_({}), change_(std::move(change)) {}

  DeviceResult run(const DeviceCall& call) override {
    DeviceResult result = computing_.run(call);
    change_(call.materialised, result);
    return result;
  }
  DeviceArithmetic arithmetic() const override { return {}; }

 private:
  ComputingDevice computing_;
  Change change_;
};

// Sliding windows over the last two axes of (planes, size, size).
struct Pooling {
  std::int64_t size;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t planes = 2;
  std::int64_t out() const { return (size - kernel) / stride + 1; }
};

// As relu leaves it: more than half of the elements are 0, and the others are of three values.
Tensor after_relu(const Pooling& pooling) {
  Values values(static_cast<std::size_t>(pooling.planes * pooling.size * pooling.size));
  std::uint32_t state = 7;
  for (double& value : values) {
    state = state * 1664525 + 1013904223;
    value = std::max(0.0, static_cast<double>(state >> 24) / 64 - 2);
    value = std::floor(value * 2) / 2 * 1.25;
  }
  return float64({pooling.planes, pooling.size, pooling.size}, values).to(DType::float32);
}

// The element of a window that a device picks, among those that equal the largest.
using Pick = std::function<std::int64_t(const std::vector<std::int64_t>&)>;

std::vector<std::int64_t> picked(const Pooling& pooling, const Tensor& x, const Pick& pick) {
  std::vector<std::int64_t> result;
  for (std::int64_t at = 0; at < pooling.planes * pooling.out() * pooling.out(); ++at) {
    const std::int64_t plane = at / (pooling.out() * pooling.out());
    const std::int64_t row = at / pooling.out() % pooling.out() * pooling.stride;
    const std::int64_t column = at % pooling.out() * pooling.stride;
    std::vector<std::int64_t> equal;
    float largest = -1;
    for (std::int64_t i = row; i < row + pooling.kernel; ++i) {
      for (std::int64_t j = column; j < column + pooling.kernel; ++j) {
        const std::int64_t element = (plane * pooling.size + i) * pooling.size + j;
        const float value = x.data<float>()[element];
        if (value > largest) equal.clear();
        largest = std::max(largest, value);
        if (value == largest) equal.push_back(element);
      }
    }
    result.push_back(pick(equal));
  }
  return result;
}

class PooledTies : public ::testing::TestWithParam<Pooling> {
 protected:
  PooledTies() : x_(after_relu(GetParam())) {
    const std::int64_t out = GetParam().out();
    call_ = call_of("Functional.max_pool2d.0", {}, {GetParam().planes, out, out});
    call_.args = {files_.file(x_), Value(GetParam().kernel), Value(GetParam().stride)};
  }

  ApiResult checked(const Change& change) {
    ChangingDevice device(change);
    ApiResult result = check_api(call_, 0, device, 0, files_.options());
    EXPECT_EQ(result.outcome, Outcome::checked) << result.message;
    return result;
  }

  // The gradient of a device that picks so.
  void give(const MaterialisedCall& call, DeviceResult& result, const Pick& pick, const Change& then = {}) const {
    const Tensor given = call.gradients.front().get<Tensor>()->contiguous();
    Tensor gradient = Tensor::zeros(DType::float32, x_.shape());
    const auto elements = picked(GetParam(), x_, pick);
    for (std::size_t i = 0; i < elements.size(); ++i)
      gradient.mutable_data<float>()[elements[i]] += given.data<float>()[i];
    result.gradients.front() = gradient;
    if (then) then(call, result);
  }

  TensorFiles files_;
  Tensor x_;
  ApiCall call_;
};

const Pick first = [](const auto& equal) { return equal.front(); };
const Pick last = [](const auto& equal) { return equal.back(); };
const Pick middle = [](const auto& equal) { return equal[equal.size() / 2]; };

TEST_P(PooledTies, MayPickAnyOfTheLargest) {
  for (const Pick& pick : {first, last}) {
    const ApiResult result = checked([&](const auto& call, auto& device) { give(call, device, pick); });
    EXPECT_FALSE(is_suspicious(result)) << result.message;
  }
  if (GetParam().kernel > GetParam().stride) return;
  const ApiResult result = checked([&](const auto& call, auto& device) { give(call, device, middle); });
  EXPECT_FALSE(is_suspicious(result)) << result.message;
}

// An input that is given by its name is the input all the same.
TEST_P(PooledTies, MayPickAnyOfTheLargestOfANamedInput) {
  call_.kwargs = {{"kernel_size", call_.args[1]}, {"input", call_.args[0]}, {"stride", call_.args[2]}};
  call_.args.clear();
  for (const Pick& pick : {first, last}) {
    const ApiResult result = checked([&](const auto& call, auto& device) { give(call, device, pick); });
    EXPECT_FALSE(is_suspicious(result)) << result.message;
  }
  const ApiResult faulty = checked([&](const auto& call, auto& device) {
    give(call, device, last, [](const auto&, DeviceResult& result) { scale(result.gradients.front(), 1.01); });
  });
  EXPECT_TRUE(is_suspicious(faulty));
}

TEST_P(PooledTies, LeaveFaultsAsTheyAre) {
  const auto faulty = [&](const std::function<void(float*)>& fault) {
    return checked([&](const auto& call, auto& device) {
      give(call, device, last, [&](const auto&, DeviceResult& result) {
        Tensor gradient = result.gradients.front().template get<Tensor>()->clone();
        fault(gradient.mutable_data<float>());
        result.gradients.front() = gradient;
      });
    });
  };
  const float* x = x_.data<float>();
  // An element that is not the largest of any window.
  std::vector<bool> never(static_cast<std::size_t>(x_.numel()), true);
  picked(GetParam(), x_, [&](const std::vector<std::int64_t>& equal) {
    for (const std::int64_t element : equal) never[static_cast<std::size_t>(element)] = false;
    return equal.front();
  });
  const auto other = std::ranges::find(never, true) - never.begin();
  ASSERT_LT(other, x_.numel());
  const auto largest = std::max_element(x, x + x_.numel()) - x;
  EXPECT_TRUE(is_suspicious(faulty([&](float* gradient) { gradient[largest] += 0.5F; }))) << "more than there is";
  EXPECT_TRUE(is_suspicious(faulty([&](float* gradient) {
    for (std::int64_t i = 0; i < x_.numel(); ++i) gradient[i] *= 1.01F;
  })));
  const auto nonzero = [&](float* gradient) {
    return std::find_if(gradient, gradient + x_.numel(), [](float value) { return value != 0; });
  };
  EXPECT_TRUE(is_suspicious(faulty([&](float* gradient) { std::swap(*nonzero(gradient), gradient[other]); })))
      << "an element that is not the largest";
  EXPECT_TRUE(is_suspicious(faulty([&](float* gradient) { *nonzero(gradient) *= -1; })));
}

INSTANTIATE_TEST_SUITE_P(Windows, PooledTies,
                         ::testing::Values(Pooling{8, 2, 2}, Pooling{9, 3, 2}, Pooling{8, 3, 1}, Pooling{12, 5, 2}));

// Indices beside the values: any equal element of the same window.
TEST_P(PooledTies, MayNameAnyOfTheLargest) {
  call_.name = "Functional.max_pool2d_with_indices.0";
  call_.has_backward = false;
  const std::int64_t plane = GetParam().size * GetParam().size;
  const auto named = [&](const Pick& pick, std::int64_t off) {
    return checked([&](const auto&, DeviceResult& device) {
      List outputs = *device.output.get<List>();
      Tensor index = outputs[1].get<Tensor>()->clone();
      const auto elements = picked(GetParam(), x_, pick);
      for (std::size_t i = 0; i < elements.size(); ++i) index.mutable_data<std::int64_t>()[i] = elements[i] % plane;
      index.mutable_data<std::int64_t>()[0] += off;
      outputs[1] = index;
      device.output = outputs;
    });
  };
  EXPECT_FALSE(is_suspicious(named(last, 0)));
  EXPECT_FALSE(is_suspicious(named(middle, 0)));
  EXPECT_TRUE(is_suspicious(named(last, plane - 1 - GetParam().kernel * GetParam().size)));
}

ApiResult counted(const Values& counts) {
  ApiCall call;
  call.name = "Torch.histc.0";
  call.args = {float64({11}, {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}).to(DType::float32), std::int64_t{10},
               std::int64_t{0}, std::int64_t{1}};
  return check(call, [&](DeviceResult& result, int) { result.output = float64({10}, counts).to(DType::float32); });
}

// 0.3 and 0.6 are a little above the edges in float32, 0.7 and 0.9 a little below. 0 and 1 stay where they are.
TEST(CountsByBins, MayCountWhatIsOnAnEdgeOnEitherSide) {
  EXPECT_FALSE(is_suspicious(counted({1, 1, 1, 1, 1, 1, 1, 1, 1, 2})));
  EXPECT_FALSE(is_suspicious(counted({1, 1, 1, 1, 1, 1, 2, 0, 1, 2})));
  EXPECT_TRUE(is_suspicious(counted({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}))) << "one is lost";
  EXPECT_TRUE(is_suspicious(counted({1, 1, 1, 1, 1, 1, 1, 1, 0, 3}))) << "two have crossed one edge";
  EXPECT_TRUE(is_suspicious(counted({0, 1, 1, 1, 1, 1, 1, 1, 1, 3}))) << "one has crossed all edges";
  EXPECT_TRUE(is_suspicious(counted({1.5, 0.5, 1, 1, 1, 1, 1, 1, 1, 2}))) << "half an element";
}

// The middle of linspace(-1, 1) is the sum of two numbers near 1 and -1.
TEST(Ranges, MayLoseTheLastPlaceOfTheirStart) {
  struct Range {
    const char* name;
    List args;
    std::size_t at;
  };
  const std::vector<Range> ranges{{"Torch.linspace.0", {-1.0, 1.0, std::int64_t{21}}, 10},
                                  {"Torch.arange.0", {-1.0, 1.0, 0.1}, 10}};
  for (const Range& range : ranges) {
    SCOPED_TRACE(range.name);
    for (const double off : {1.49e-8, 1e-5}) {
      ApiCall call;
      call.name = range.name;
      call.args = range.args;
      const ApiResult result = check(call, [&](DeviceResult& device, int) {
        Tensor values = device.output.get<Tensor>()->clone();
        values.mutable_data<float>()[range.at] = static_cast<float>(off);
        device.output = values;
      });
      EXPECT_EQ(is_suspicious(result), off > 1e-6) << result.message;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
