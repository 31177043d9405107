// float64 where functions lose their digits at places that are float64's own: at the ends of domains, where functions
// saturate and where steps underflow. The same call in float32 has these elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/numeric/special_functions.h"
#include "runner/results/counts.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

// A call of some float64 numbers with a gradient of 1 for each result.
class CallOf {
 public:
  CallOf(const std::string& name, const std::vector<double>& x) : call_(call_with(name, {})) {
    const Dims shape{static_cast<std::int64_t>(x.size())};
    call_.args = {files_.file(of(DType::float64, shape, x))};
    call_.has_backward = true;
    call_.grad_inputs = {files_.file(of(DType::float64, shape, std::vector<double>(x.size(), 1)), false)};
  }

  bool accuses(const Change& change) const { return is_suspicious(check(call_, change, {}, files_.options())); }
  // Element i of the output, or of the gradient, as f(value, i) has it.
  bool accuses_output(const std::function<double(double, std::int64_t)>& f) const {
    return accuses([&](DeviceResult& result, int) { set_elements(result.output, f); });
  }
  bool accuses_gradient(const std::function<double(double, std::int64_t)>& f) const {
    return accuses([&](DeviceResult& result, int) { set_elements(result.gradients.front(), f); });
  }

 private:
  TensorFiles files_;
  ApiCall call_;
};

// Two numbers beside each other in place of one: tanh of 18.6 is 1 less a place or two.
TEST(Float64Ends, MishMayBeAPlaceOffWhereItSaturates) {
  std::vector<double> x;
  for (int i = 0; i < 24; ++i) x.push_back(18.3 + 0.02 * i);
  const CallOf mish("Functional.mish.0", x);
  const auto slope = [&](double bend_off) {
    return [&, bend_off](double, std::int64_t i) {
      const double a = x[static_cast<std::size_t>(i)];
      const double bend = std::tanh(std::log1p(std::exp(a))) - bend_off;
      return bend + a * (1 - bend * bend) / (1 + std::exp(-a));
    };
  };
  EXPECT_FALSE(mish.accuses_gradient(slope(0)));
  EXPECT_FALSE(mish.accuses_gradient(slope(0x1p-53)));
  EXPECT_TRUE(mish.accuses_gradient(slope(0x1p-42)));
}

// e^-720 has seven bits, and e^720 is beyond the range.
TEST(Float64Ends, ExponentialsMayUnderflow) {
  std::vector<double> x;
  for (int i = 0; i < 24; ++i) x.push_back(-740 + 2.1 * i);
  const CallOf mish("Functional.mish.0", x);
  const auto of_decay = [&](double places) {
    return [&, places](double, std::int64_t i) {
      const double a = x[static_cast<std::size_t>(i)];
      return a * (std::exp(a) + places * std::numeric_limits<double>::denorm_min());
    };
  };
  EXPECT_FALSE(mish.accuses_output(of_decay(1)));
  EXPECT_TRUE(mish.accuses_output(of_decay(1000)));
  const CallOf silu("Functional.silu.0", x);
  EXPECT_FALSE(silu.accuses_output([&](double, std::int64_t i) {
    const double a = x[static_cast<std::size_t>(i)];
    return a / (1 + std::exp(-a));
  }));
  EXPECT_TRUE(silu.accuses_output([](double value, std::int64_t i) { return i == 23 ? 0 : value; }));
}

// 1 less a millionth of a millionth: a place of it is a ten-thousandth of what is left to the end of the domain.
TEST(Float64Ends, FunctionsMayTakeAPlaceOfTheirArgumentForAnother) {
  std::vector<double> x;
  for (int i = 1; i < 24; ++i) x.push_back(1 - 1e-12 * i);
  const auto at = [&](std::int64_t i, double places) {
    return x[static_cast<std::size_t>(i)] + places * std::numeric_limits<double>::epsilon() / 2;
  };
  const CallOf erfinv("Torch.erfinv.0", x);
  const auto inverse = [&](double places) {
    return [&, places](double, std::int64_t i) { return erf_inverse(at(i, places)); };
  };
  EXPECT_FALSE(erfinv.accuses_output(inverse(1)));
  EXPECT_TRUE(erfinv.accuses_output(inverse(-2000)));
  const CallOf acos("Torch.acos.0", x);
  const auto slope = [&](double places) {
    return [&, places](double, std::int64_t i) { return -1 / std::sqrt(1 - at(i, places) * at(i, places)); };
  };
  EXPECT_FALSE(acos.accuses_gradient(slope(1)));
  EXPECT_TRUE(acos.accuses_gradient(slope(-2000)));
  for (double& number : x) number = -number;
  const CallOf digamma_of("Torch.digamma.0", x);
  const auto beside_a_pole = [&](double places) {
    return [&, places](double, std::int64_t i) { return digamma(at(i, places)); };
  };
  EXPECT_FALSE(digamma_of.accuses_output(beside_a_pole(1)));
  EXPECT_TRUE(digamma_of.accuses_output(beside_a_pole(2000)));
}

// The product of so many is below the range, and it is what frameworks divide.
TEST(Float64Ends, RunningProductsMayUnderflow) {
  std::vector<double> x;
  for (int i = 0; i < 60; ++i) x.push_back(1e-6 * (1 + i % 7));
  TensorFiles files;
  ApiCall call = call_with("Torch.cumprod.0", {files.file(of(DType::float64, {60}, x)), std::int64_t{0}});
  call.has_backward = true;
  call.grad_inputs = {files.file(of(DType::float64, {60}, std::vector<double>(60, 1)), false)};
  const auto divided = [&](double factor) {
    return [&, factor](DeviceResult& result, int) {
      std::vector<double> sums(60);
      double product = 1;
      for (std::size_t i = 0; i < 60; ++i) sums[i] = product *= x[i];
      for (std::size_t i = 59; i-- > 0;) sums[i] += sums[i + 1];
      set_elements(result.gradients.front(), [&](double, std::int64_t i) {
        return factor * sums[static_cast<std::size_t>(i)] / x[static_cast<std::size_t>(i)];
      });
    };
  };
  EXPECT_FALSE(is_suspicious(check(call, divided(1), {}, files.options())));
  EXPECT_TRUE(is_suspicious(check(call, divided(1.001), {}, files.options())));
}

}  // namespace
}  // namespace msrun::testing
