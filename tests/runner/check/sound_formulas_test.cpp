// Results by the formulas of frameworks whose terms cancel, or whose kernels differ at NaN: none is accused, and what
// is off by more is found in the same calls.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;
using rounding_device::accelerator;
using rounding_device::check_on;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Numbers between -1 and 1 that look random.
std::vector<double> drawn(std::int64_t count, double step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(step * static_cast<double>(i * i + 1)));
  return values;
}

// Of an elementwise call, with a gradient of 1 for each result.
ApiCall with_gradient(TensorFiles& files, const std::string& name, const Tensor& x) {
  ApiCall call = call_with(name, {files.file(x)});
  call.has_backward = true;
  call.grad_inputs = {files.file(Tensor::full(x.dtype(), x.shape(), 1), false)};
  return call;
}

bool accuses(const TensorFiles& files, const ApiCall& call, const Change& change) {
  return is_suspicious(check(call, change, {}, files.options()));
}

// The gradient (p t + 1 - t) s - p t of the sigmoid s, and the loss (1 - t) x + (1 + (p - 1) t) ln(1 + e^-x), in T.
template <class T>
void check_weighted_logits(DType dtype) {
  constexpr std::int64_t count = 240;
  TensorFiles files;
  const Tensor x = of(dtype, {count}, [] {
    std::vector<double> values = drawn(count, 0.37);
    for (double& value : values) value *= 45;
    return values;
  }());
  std::vector<double> targets = drawn(count, 0.73);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : (1 + targets[i]) / 2;
  const Tensor t = of(dtype, {count}, targets);
  const Tensor p = of(dtype, {1}, {2.7});
  ApiCall call = with_gradient(files, "Functional.binary_cross_entropy_with_logits.0", x);
  call.args.push_back(files.file(t, false));
  call.kwargs = Dict{{"reduction", std::string("none")}, {"pos_weight", files.file(p, false)}};
  const auto at = [](const Tensor& tensor, std::int64_t i) { return static_cast<T>(tensor.item(i)); };
  const auto slope = [&](std::int64_t i) {
    const T weight = at(p, 0) * at(t, i);
    const T factor = weight + 1 - at(t, i);
    const T product = factor * (1 / (1 + std::exp(-at(x, i))));
    return static_cast<double>(product - weight);
  };
  const auto loss = [&](std::int64_t i) {
    const T shift = std::max(-at(x, i), T{0});
    const T softplus = std::log(std::exp(-shift) + std::exp(-at(x, i) - shift)) + shift;
    const T factor = (at(p, 0) - 1) * at(t, i) + 1;
    const T product = factor * softplus;
    const T linear = (1 - at(t, i)) * at(x, i);
    return static_cast<double>(linear + product);
  };
  const auto by_formulas = [&](double off_slope, double off_loss) {
    return [&, off_slope, off_loss](DeviceResult& result, int) {
      set_elements(result.output, [&](double, std::int64_t i) { return loss(i) + (i == 33 ? off_loss : 0); });
      set_elements(result.gradients.front(),
                   [&](double, std::int64_t i) { return slope(i) + (i == 33 ? off_slope : 0); });
    };
  };
  const double few_places = 512 * static_cast<double>(std::numeric_limits<T>::epsilon());
  EXPECT_FALSE(accuses(files, call, by_formulas(0, 0)));
  EXPECT_TRUE(accuses(files, call, by_formulas(few_places, 0)));
  EXPECT_TRUE(accuses(files, call, by_formulas(0, 8 * few_places)));
}

TEST(SoundFormulas, OfWeightedLogitsCancel) {
  check_weighted_logits<float>(DType::float32);
  check_weighted_logits<double>(DType::float64);
}

// As torch composes them of kernels that each store what they give.
template <class Store>
std::vector<double> raised_cosine(std::int64_t length, double alpha, double beta, const Store& store) {
  std::vector<double> values;
  const double scale = store(2 * std::numbers::pi / static_cast<double>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    const double wave = store(std::cos(store(static_cast<double>(i) * scale)));
    values.push_back(store(store(wave * store(-beta)) + store(alpha)));
  }
  return values;
}

Change replaced_by(const std::vector<double>& values) {
  return [values](DeviceResult& result, int) {
    set_elements(result.output, [&](double, std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  };
}

TEST(SoundFormulas, OfWindowsAreComposedInTheirDtype) {
  const auto in_float = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  const auto in_bfloat16 = [](double value) { return static_cast<double>(as_bfloat16(static_cast<float>(value))); };
  for (const std::int64_t length : {9, 33, 100}) {
    const ApiCall single = call_with("Torch.hann_window.0", {length});
    std::vector<double> values = raised_cosine(length, 0.5, 0.5, in_float);
    expect_sound(single, replaced_by(values));
    values[2] += 1e-5;
    expect_fault(single, replaced_by(values));
    const ApiCall half = call_with("Torch.hamming_window.0", {length}, {{"dtype", DType::bfloat16}});
    values = raised_cosine(length, 0.54, 0.46, in_bfloat16);
    const auto accuses_steps = [&] {
      return is_suspicious(check_on(accelerator, half, {}, [&](const MaterialisedCall&, DeviceResult& result) {
        set_elements(result.output, [&](double, std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
      }));
    };
    EXPECT_FALSE(accuses_steps()) << length;
    values[2] += 0.1;
    EXPECT_TRUE(accuses_steps()) << length;
  }
  const ApiCall blackman = call_with("Torch.blackman_window.0", {std::int64_t{9}});
  const auto first = [](double value) {
    return [value](DeviceResult& result, int) {
      set_elements(result.output, [&](double exact, std::int64_t i) { return i == 0 ? value : exact; });
    };
  };
  expect_sound(blackman, first(static_cast<double>(0.08F - 0.5F + 0.42F)));
  expect_fault(blackman, first(-1e-5));
}

// Kernels have one slope at NaN in vectors and another one for the elements behind the last vector: either is right,
// and no third.
TEST(SoundFormulas, OfSlopesAtNanDependOnThePlace) {
  struct Case {
    const char* name;
    double in_vectors;
    double outside;
  };
  for (const Case& c :
       {Case{"Functional.relu6.0", 0, 1}, Case{"Functional.hardtanh.0", 0, 1}, Case{"Functional.hardshrink.0", 0, 1},
        Case{"Functional.softshrink.0", 0, 1}, Case{"Functional.elu.0", nan_value, 1},
        Case{"Functional.celu.0", nan_value, 1}, Case{"Functional.selu.0", nan_value, 1.0507009873554805},
        Case{"Functional.hardswish.0", nan_value, 1}}) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      SCOPED_TRACE(std::string(c.name) + " " + std::string(name(dtype)));
      TensorFiles files;
      std::vector<double> values = drawn(20, 0.37);
      values[18] = values[3] = nan_value;
      const ApiCall call = with_gradient(files, c.name, of(dtype, {20}, values));
      const auto slopes = [](double of_fourth, double of_last, double elsewhere = 0) {
        return [=](DeviceResult& result, int) {
          set_elements(result.gradients.front(), [&](double value, std::int64_t i) {
            return i == 3 ? of_fourth : i == 18 ? of_last : i == 5 ? value + elsewhere : value;
          });
        };
      };
      EXPECT_FALSE(accuses(files, call, slopes(c.in_vectors, c.in_vectors)));
      EXPECT_FALSE(accuses(files, call, slopes(c.in_vectors, c.outside)));
      EXPECT_TRUE(accuses(files, call, slopes(c.in_vectors, 0.5)));
      EXPECT_TRUE(accuses(files, call, slopes(c.in_vectors, c.outside, 0.3)));
      EXPECT_TRUE(accuses(files, call, slopes(c.in_vectors, c.in_vectors == 0 ? nan_value : 0)));
    }
  }
}

// Releases of torch differ at single points: kl_div at a target of 0, smooth_l1_loss without a knee between equal
// numbers. Either is right, and no third.
TEST(SoundFormulas, OfSlopesAtSinglePointsDependOnTheRelease) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    SCOPED_TRACE(name(dtype));
    TensorFiles files;
    std::vector<double> targets = drawn(20, 0.73);
    for (double& target : targets) target = std::abs(target);
    targets[3] = 0;
    ApiCall divergence = with_gradient(files, "Functional.kl_div.0", of(dtype, {20}, drawn(20, 0.37)));
    divergence.args.push_back(files.file(of(dtype, {20}, targets)));
    divergence.kwargs = Dict{{"reduction", std::string("none")}};
    std::vector<double> inputs = drawn(20, 0.37);
    inputs[3] = targets[3] = 0.75;
    ApiCall distance = with_gradient(files, "Functional.smooth_l1_loss.0", of(dtype, {20}, inputs));
    distance.args.push_back(files.file(of(dtype, {20}, targets)));
    distance.kwargs = Dict{{"reduction", std::string("none")}, {"beta", 0.0}};
    const auto at_fourth = [](std::size_t argument, double slope, double elsewhere = 0) {
      return [=](DeviceResult& result, int) {
        set_elements(result.gradients.at(argument), [&](double value, std::int64_t i) {
          return i == 3 ? slope : i == 5 ? value + elsewhere : value;
        });
      };
    };
    EXPECT_FALSE(accuses(files, divergence, at_fourth(1, nan_value)));
    EXPECT_FALSE(accuses(files, divergence, at_fourth(1, 0)));
    EXPECT_TRUE(accuses(files, divergence, at_fourth(1, 0.5)));
    EXPECT_TRUE(accuses(files, divergence, at_fourth(1, 0, 0.3)));
    for (const std::size_t argument : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_FALSE(accuses(files, distance, at_fourth(argument, -1)));
      EXPECT_FALSE(accuses(files, distance, at_fourth(argument, 0)));
      EXPECT_TRUE(accuses(files, distance, at_fourth(argument, dtype == DType::float64 ? 1 : 5)));
      EXPECT_TRUE(accuses(files, distance, at_fourth(argument, 0, 0.3)));
    }
  }
}

// A number or a 0-d tensor beside float16 is held in float32 or in float16, in which it may be infinite: either is
// right, and no third. An integer tensor with dimensions is one of float16.
TEST(SoundFormulas, OfOperandsBeyondFloat16AreInfiniteOrNot) {
  TensorFiles files;
  const Tensor x = of(DType::float16, {20}, drawn(20, 0.37));
  const Value as_integer = files.file(Tensor::scalar(std::int64_t{131072}), false);
  const Value as_float = files.file(Tensor::scalar(DType::float32, 131072), false);
  EvaluationOptions narrow;
  narrow.narrow_parameters = true;
  const auto third = [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t i) { return i == 4 ? 3.0 : value; });
  };
  for (const char* api : {"mul", "div", "add", "sub", "rsub"}) {
    for (const Value& operand : {as_integer, as_float, Value(std::int64_t{131072}), Value(131072.0)}) {
      SCOPED_TRACE(api);
      ApiCall call = with_gradient(files, std::string("Torch.") + api + ".0", x);
      call.args.push_back(operand);
      for (const EvaluationOptions& how : {EvaluationOptions{}, narrow}) {
        const ApiResult sound = check(call, {}, how, files.options());
        EXPECT_FALSE(is_suspicious(sound)) << described(sound);
        EXPECT_TRUE(is_suspicious(check(call, third, how, files.options())));
      }
    }
  }
  const Tensor integers = Tensor::full(DType::int64, Dims{20}, 131072);
  for (const char* api : {"mul", "div", "xlogy"}) {
    ApiCall call = with_gradient(files, std::string("Torch.") + api + ".0", x);
    call.args.push_back(files.file(integers, false));
    EXPECT_FALSE(accuses(files, call, {})) << api;
    const double factor = api == std::string("mul") ? 0x1p17 : api == std::string("div") ? 0x1p-17 : std::log(0x1p17);
    const auto unrounded = [&](DeviceResult& result, int) {
      set_elements(result.output, [&](double, std::int64_t i) { return x.item(i) * factor; });
    };
    EXPECT_TRUE(accuses(files, call, unrounded)) << api;
  }
}

// A mean that is formed by steps leaves a rest where the sum is 0.
TEST(SoundFormulas, OfMeansBesideVariancesLeaveARest) {
  for (const char* name : {"Torch.var_mean.0", "Torch.std_mean.0"}) {
    const ApiCall call = call_with(name, {of(DType::float64, {7}, {1, -2, 3, 1, -1, 2, -4})});
    const auto mean = [](double rest) {
      return [rest](DeviceResult& result, int) {
        List outputs = *result.output.get<List>();
        set_elements(outputs.at(1), [&](double, std::int64_t) { return rest; });
        result.output = outputs;
      };
    };
    expect_sound(call, mean(0));
    expect_sound(call, mean(-2.8e-17));
    expect_fault(call, mean(1e-14));
  }
}

// The slopes of softsign and tanhshrink are differences of terms that are equal but for rounding where they are flat.
TEST(SoundFormulas, OfFlatSlopesCancelInFloat64) {
  TensorFiles files;
  const ApiCall far = with_gradient(files, "Functional.softsign.0", of(DType::float64, {4}, {3e15, -1e16, 7e17, 2}));
  const ApiCall near =
      with_gradient(files, "Functional.tanhshrink.0", of(DType::float64, {4}, {1e-10, -3e-11, 1e-12, 0.5}));
  const auto second = [](double slope) {
    return [slope](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t i) { return i == 1 ? slope : value; });
    };
  };
  for (const ApiCall& call : {far, near}) {
    EXPECT_FALSE(accuses(files, call, {}));
    EXPECT_FALSE(accuses(files, call, second(0)));
    EXPECT_TRUE(accuses(files, call, second(1e-13)));
  }
}

}  // namespace
}  // namespace msrun::testing
