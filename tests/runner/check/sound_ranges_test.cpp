// Sound devices at the ends of the range of a dtype: formulas of frameworks that overflow, underflow or lose all digits
// on the way. None is accused, and faults of a size that matters are found in the same calls.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "kernels/numeric/special_functions.h"
#include "runner/results/counts.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

// The square of 500 is no number of float16, the square of what is stored there infinite: y * y is a tensor of its own
// in the frameworks' formula -g * (y * y).
TEST(SoundDevices, MayStoreAFactorOfAGradientThatItsDtypeDoesNotHold) {
  const double infinite = std::numeric_limits<double>::infinity();
  struct Case {
    const char* name;
    DType dtype;
    std::size_t arguments;
    double at;
    double gradient;
    double factor;  // of the sound gradient
    double held;    // an argument whose factor is held
  };
  for (const Case& c : {Case{"Torch.reciprocal.0", DType::float16, 1, 0.002, 1e-3, infinite, 0.01},
                        Case{"Torch.rsqrt.0", DType::float16, 1, 5e-4, 1e-3, infinite, 0.01},
                        Case{"Torch.atan.0", DType::float16, 1, 300, 10, 0, 20},
                        Case{"Torch.asinh.0", DType::float16, 1, 300, 1, 0, 20},
                        Case{"Torch.atan2.0", DType::float16, 2, 0.001, 1e-3, infinite, 0.1}}) {
    const auto call_at = [&](double at) {
      ApiCall call = call_of(c.name, std::vector<Dims>(c.arguments, Dims{12}), {12}, c.dtype, at, at);
      auto gradient = std::make_shared<TensorSpec>(**call.grad_inputs[0].get<std::shared_ptr<const TensorSpec>>());
      gradient->min = gradient->max = c.gradient;
      call.grad_inputs = {std::shared_ptr<const TensorSpec>(std::move(gradient))};
      return call;
    };
    const auto times = [](double factor, double sound) {
      return [=](DeviceResult& result, int) {
        set_elements(result.gradients[0], [=](double, std::int64_t) { return factor == 0 ? 0 : sound * factor; });
      };
    };
    EvaluationOptions benchmark;
    benchmark.benchmark = true;
    const MaterialisedCall inputs = materialise(call_at(c.at), {});
    const Evaluation sound = evaluate(*find_operator(inputs.parts.type, inputs.parts.api), inputs, benchmark);
    const double value = element(sound.gradients[0], 0);
    ASSERT_TRUE(std::isfinite(value)) << c.name;
    expect_sound(call_at(c.at), times(c.factor, value));
    expect_sound(call_at(c.at), times(1, value));
    // Where all elements are 0 in place of a small number, six times that is the noise of the call.
    for (const double factor : {1.5, -1.0, 8.0}) {
      if (c.factor != 0 || factor == 8) expect_fault(call_at(c.at), times(factor, value));
    }
    expect_fault(call_at(c.held), times(c.factor, value));
  }
}

// The product of sixteen times a thousand is infinite in float32, as are its shares, the gradients.
TEST(SoundDevices, MayStoreAProductThatItsDtypeDoesNotHold) {
  ApiCall call = call_of("Torch.prod.0", {{16}}, {}, DType::float32, 900, 1100);
  auto gradient = std::make_shared<TensorSpec>(**call.grad_inputs[0].get<std::shared_ptr<const TensorSpec>>());
  gradient->min = gradient->max = 1e-10;
  call.grad_inputs = {std::shared_ptr<const TensorSpec>(std::move(gradient))};
  const auto with = [](double value) {
    return [=](DeviceResult& result, int) {
      set_elements(result.gradients[0], [=](double, std::int64_t) { return value; });
    };
  };
  expect_sound(call, with(std::numeric_limits<double>::infinity()));
  expect_fault(call, with(-std::numeric_limits<double>::infinity()));
  expect_fault(call, with(1));
}

// Inputs between -inf and a large number are as large as the dtype has numbers: a recorded call need not have had any
// of them. Those between -inf and an ordinary number have masked places.
TEST(SoundDevices, MayOverflowWhereAnInfiniteExtremumWasRecorded) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](double value) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double sound, std::int64_t i) { return i == 3 ? value : sound; });
    };
  };
  const auto forward_of = [&](const std::string& name, const std::vector<Dims>& shapes, const Dims& output,
                              double most = 1) {
    ApiCall call = call_of(name, shapes, output, DType::float32, -infinite, most);
    call.has_backward = false;
    return call;
  };
  const ApiCall product = forward_of("Torch.mv.0", {{8, 16}, {16}}, {8}, 1e38);
  const ApiResult sound = check(product, with(nan_value));
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  EXPECT_EQ(sound.forward_rows.front().trust.weak_evidence, WeakEvidence::overflow) << described(sound);
  EXPECT_NE(described(sound).find("not finite because an infinite extremum was recorded"), std::string::npos);
  // Only the elements that a mask leads out of the range are lost.
  ApiCall masked = forward_of("Torch.add.0", {{4, 64}, {4, 64}}, {4, 64});
  masked.args[1] = call_of("", {{4, 64}}, {}).args.front();
  expect_sound(masked, {});
  expect_fault(masked, [=](DeviceResult& result, int) {
    set_elements(result.output, [=](double, std::int64_t) { return nan_value; });
  });
  // What comes out is small whatever goes in, or is what goes in.
  for (const char* name : {"Functional.selu.0", "Torch.sigmoid.0", "Torch.clone.0"})
    expect_fault(forward_of(name, {{12}}, {12}), with(nan_value));
  ApiCall softmax = forward_of("Functional.softmax.0", {{2, 6}}, {2, 6});
  softmax.kwargs = {{"dim", std::int64_t{-1}}};
  expect_fault(softmax, with(nan_value));
  expect_fault(forward_of("Functional.selu.0", {{12}}, {12}), with(1));
  // Nor is a number right because others are none.
  ApiCall growing = call_of("Torch.exp.0", {{12}}, {12}, DType::float32, -1, infinite);
  growing.has_backward = false;
  expect_sound(growing, {});
  expect_fault(growing, [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t) { return std::isfinite(value) ? 5 : value; });
  });
  expect_fault(call_with("Functional.selu.0", {of(DType::float32, {5}, {-infinite, 1, 2, 3, 4})}), with(nan_value));
}

// Squares beyond the range: frameworks have NaN in the whole row, or what is left of a number over infinity. A row
// whose squares are within the range has neither.
TEST(SoundDevices, MayLoseTheRowsWhoseVarianceOverflows) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < 12; ++i) x.push_back((i < 6 ? 1e20 : 1) * std::sin(static_cast<double>(2 * i + 1)));
  const ApiCall call = call_with("Functional.layer_norm.0", {of(DType::float32, {2, 6}, x), List{std::int64_t{6}}});
  const auto in_row = [](std::int64_t row, double instead) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t i) { return i / 6 == row ? instead : value; });
    };
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  expect_sound(call, in_row(0, nan));
  expect_sound(call, in_row(0, 0));
  expect_fault(call, in_row(0, -std::numeric_limits<double>::infinity()));
  expect_fault(call, in_row(1, nan));
  expect_fault(call, in_row(1, 0));
}

// The squares of a row add up to more than float32 holds, in which the benchmark of bfloat16 is computed as well: a
// device that divides them first, or scales them, has the row, one that does not has zeros.
TEST(SoundDevices, MayHoldTheRowsWhoseSquaresOverflow) {
  for (const char* name : {"Functional.rms_norm.0", "Functional.layer_norm.0"}) {
    TensorFiles files;
    std::vector<double> x;
    for (int i = 0; i < 2048; ++i) x.push_back((i % 2 == 0 ? 1 : -1) * (1 + i % 1024 % 7 * 0.25) * 4e18);
    const Tensor rows = of(DType::bfloat16, {2, 1024}, x);
    ApiCall call = call_with(name, {files.file(rows, false), List{std::int64_t{1024}}});
    const Tensor stored = rows.to(DType::float64);
    double mean = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < 1024; ++i) mean += stored.data<double>()[i] / 1024;
    if (call.name == "Functional.rms_norm.0") mean = 0;
    for (std::int64_t i = 0; i < 1024; ++i) squares += std::pow(stored.data<double>()[i] - mean, 2);
    const auto is_accused = [&](double factor) {
      const Change change = [&](DeviceResult& result, int) {
        set_elements(result.output, [&](double, std::int64_t i) {
          return factor * (stored.data<double>()[i % 1024] - mean) / std::sqrt(squares / 1024);
        });
      };
      return is_suspicious(check(call, change, {}, files.options()));
    };
    EXPECT_FALSE(is_accused(1)) << name;
    EXPECT_FALSE(is_accused(0)) << name;
    EXPECT_TRUE(is_accused(1.1)) << name;
    EXPECT_TRUE(is_accused(-1)) << name;
  }
}

// Steps from one element to the next find the difference of two infinities.
TEST(SoundDevices, MayLoseTheMeanBesideADeviation) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = of(DType::float32, {2, 3}, {1, inf, 2, 3, 5, 4});
  for (const char* name : {"Torch.std_mean.0", "Torch.var_mean.0"}) {
    const ApiCall call = call_with(name, {x, std::int64_t{1}});
    const auto mean_of = [](std::int64_t row, double instead) {
      return [=](DeviceResult& result, int) {
        set_elements((*result.output.get<List>())[1],
                     [=](double value, std::int64_t i) { return i == row ? instead : value; });
      };
    };
    expect_sound(call, mean_of(0, inf));
    expect_sound(call, mean_of(0, nan));
    expect_fault(call, mean_of(0, 3));
    expect_fault(call, mean_of(1, nan));
  }
}

// All areas at once less half of the two ends.
TEST(SoundDevices, MayLoseTheAreaBesideAnInfiniteEnd) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const ApiCall call = call_with("Torch.trapezoid.0", {of(DType::float32, {2, 3}, {inf, 1, 2, 3, 5, 4})});
  const auto area = [](std::int64_t row, double instead) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t i) { return i == row ? instead : value; });
    };
  };
  expect_sound(call, area(0, nan));
  expect_fault(call, area(0, 7));
  expect_fault(call, area(1, nan));
}

// e^x - 1 and the slope of sin(x) / x, where terms next to 1 cancel: what float64 keeps of them is a place of 1.
TEST(SoundDevices, MayLoseDigitsNearZeroInFloat64) {
  const std::vector<double> x{-1e-9, -3e-10, -2e-12, -0.4, -1e-6, 0.3, -5e-11, -1.2};
  const ApiCall call = call_with("Functional.elu.0", {of(DType::float64, {8}, x)});
  expect_sound(call, [&](DeviceResult& result, int) {
    set_elements(result.output, [&](double value, std::int64_t i) {
      const double at = x[static_cast<std::size_t>(i)];
      return at > 0 ? value : std::exp(at) - 1;
    });
  });
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t i) { return i == 3 ? value * (1 + 1e-9) : value; });
  });
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double place = dtype == DType::float32 ? 0x1p-24 : 0x1p-53;
    const ApiCall sinc = differentiated("Torch.sinc.0", {12}, 1e-5, dtype);
    const auto by_places = [place](double places) {
      return [=](DeviceResult& result, int) {
        set_elements(result.gradients.front(),
                     [=](double value, std::int64_t i) { return i == 5 ? value + places * place / 1e-5 : value; });
      };
    };
    expect_sound(sinc, by_places(1));
    expect_fault(sinc, by_places(1000));
  }
}

// As `differentiated`, of elements of a dtype that start at `first` and are `step` apart, with a gradient.
ApiCall call_from(TensorFiles& files, const std::string& name, DType dtype, double first, double step,
                  double gradient = 1) {
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(first + i * step);
  ApiCall call = call_with(name, {files.file(of(dtype, {12}, x))});
  call.has_backward = true;
  call.grad_inputs = {files.file(of(dtype, {12}, std::vector<double>(12, gradient)), false)};
  return call;
}

bool accuses(const ApiCall& call, const TensorFiles& files, const Change& change) {
  return is_suspicious(check(call, change, {}, files.options()));
}

// The slope of digamma by a series that is cut for float32, and that of hardsigmoid times the sixth of float32: what
// frameworks have of float64.
TEST(SoundDevices, MayCutSeriesAndConstantsOfFloat64) {
  TensorFiles files;
  const ApiCall digamma = call_from(files, "Torch.digamma.0", DType::float64, 0.25, 0.375);
  const auto slopes = [](double share) {
    return [share](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double, std::int64_t i) {
        return trigamma_cut_short(0.25 + 0.375 * static_cast<double>(i)) * (1 + share);
      });
    };
  };
  EXPECT_FALSE(accuses(digamma, files, slopes(0)));
  EXPECT_TRUE(accuses(digamma, files, slopes(1e-6)));
  const ApiCall hardsigmoid = call_from(files, "Functional.hardsigmoid.0", DType::float64, -2.5, 0.375);
  const auto sixths = [](double sixth) {
    return [sixth](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t) { return value == 0 ? 0 : sixth; });
    };
  };
  EXPECT_FALSE(accuses(hardsigmoid, files, sixths(1.0 / 6)));
  EXPECT_FALSE(accuses(hardsigmoid, files, sixths(static_cast<double>(1.0F / 6))));
  EXPECT_TRUE(accuses(hardsigmoid, files, sixths(1.0 / 6 + 0x1p-28)));
  EXPECT_TRUE(accuses(hardsigmoid, files, sixths(1.0 / 6 + 0x1p-31)));
}

// 0.7 is a little more than the number of bfloat16 that is nearest to it, and that very number where it is held there.
TEST(SoundDevices, MayEndALineAtANumberOfTheHalfType) {
  TensorFiles files;
  const auto at = [&](double x) {
    ApiCall call = call_from(files, "Functional.hardtanh.0", DType::bfloat16, x, 0);
    call.kwargs = {{"min_val", -0.7}, {"max_val", 0.7}};
    return call;
  };
  const auto fifth = [](double slope) {
    return [slope](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t i) { return i == 5 ? slope : value; });
    };
  };
  EXPECT_FALSE(accuses(at(0.69921875), files, fifth(0)));
  EXPECT_FALSE(accuses(at(0.69921875), files, fifth(1)));
  EXPECT_TRUE(accuses(at(0.69921875), files, fifth(0.5)));
  EXPECT_TRUE(accuses(at(0.6953125), files, fifth(0)));
  // Of the other end, which the half type holds, the other side is right in the same call.
  ApiCall both = at(0.69921875);
  both.kwargs = {{"min_val", -1.0}, {"max_val", 0.7}};
  both.args = {files.file(of(DType::bfloat16, {4}, {-1, 0.69921875, -1, 0.69921875}))};
  both.grad_inputs = {files.file(of(DType::bfloat16, {4}, {1, 1, 1, 1}), false)};
  const auto turned = [](double other) {
    return [other](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t i) {
        return i == 2 ? other : i == 3 ? 0 : value;
      });
    };
  };
  EXPECT_FALSE(accuses(both, files, turned(1)));
  EXPECT_TRUE(accuses(both, files, turned(0.5)));
}

// ln(1 + 1e-12): what is left of it in a sum that begins with 1 is four digits.
TEST(SoundDevices, MayTakeTheLogarithmOfASumNextToOne) {
  const ApiCall call =
      call_with("Functional.log_softmax.0", {of(DType::float64, {2, 2}, {0, -27.6, 0.3, 0.1}), std::int64_t{1}});
  const auto off_by = [](double difference) {
    return [difference](DeviceResult& result, int) {
      set_elements(result.output, [&](double value, std::int64_t i) { return i == 0 ? value + difference : value; });
    };
  };
  expect_sound(call, off_by(0x1p-52));
  expect_sound(call, off_by(-0x1p-53));
  expect_fault(call, off_by(1e-13));
}

// |x|^2 and y^2, of which the gradient of a norm of order 3 is the quotient, are beyond the range of float16 here.
TEST(SoundDevices, MayLoseTheGradientOfANormWhosePowersOverflow) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto all = [](double value) {
    return [value](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double, std::int64_t) { return value; });
    };
  };
  for (const DType dtype : {DType::float16, DType::float32}) {
    const auto norms = [dtype](double size) {
      ApiCall call = call_of("Functional.pairwise_distance.0", {{2, 6}, {2, 6}}, {2}, dtype, size, size);
      auto other = std::make_shared<TensorSpec>(**call.args[1].get<std::shared_ptr<const TensorSpec>>());
      other->min = other->max = -size;
      call.args[1] = std::shared_ptr<const TensorSpec>(std::move(other));
      call.kwargs = {{"p", 3.0}};
      return call;
    };
    const bool narrow = dtype == DType::float16;
    EXPECT_EQ(is_suspicious(check(norms(400), all(nan))), !narrow);
    expect_fault(norms(400), all(inf));
    expect_fault(norms(400), all(-1));
    expect_fault(norms(4), all(nan));
    ApiCall capped = call_of("Torch.renorm.0", {{2, 6}}, {2, 6}, dtype, 400, 500);
    capped.args = {capped.args.front(), 3.0, std::int64_t{0}, 10.0};
    std::int64_t infinite = 0;
    expect_sound(capped, [&](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t) {
        infinite += std::isinf(value) ? 1 : 0;
        return value;
      });
    });
    EXPECT_EQ(infinite > 0, narrow);
    capped.args[0] = call_of("Torch.renorm.0", {{2, 6}}, {2, 6}, dtype, 4, 5).args.front();
    expect_fault(capped, all(inf));
  }
}

// g x loses digits below the normal numbers of float32, of which a division by what is small makes many places.
TEST(SoundDevices, MayMultiplyByAGradientNextToNothingFirst) {
  const float gradient = 3e-40F;
  const float x = 0.06392408F;
  const float y = -0.012656764F;
  const float z = std::hypot(x, y);
  ApiCall call = call_with("Torch.hypot.0", {});
  TensorFiles files;
  const auto twelve = [&](float value) { return of(DType::float32, {12}, std::vector<double>(12, value)); };
  call.args = {files.file(twelve(x)), files.file(twelve(y))};
  call.has_backward = true;
  call.grad_inputs = {files.file(twelve(gradient), false)};
  const auto fifth = [](float value) {
    return [value](DeviceResult& result, int) {
      set_elements(result.gradients[0], [&](double sound, std::int64_t i) { return i == 5 ? value : sound; });
    };
  };
  EXPECT_FALSE(accuses(call, files, fifth(gradient * x / z)));
  EXPECT_FALSE(accuses(call, files, fifth(std::nextafter(gradient * x, 1.0F) / z)));
  EXPECT_TRUE(accuses(call, files, fifth(gradient * x / z * 1.01F)));
  EXPECT_TRUE(accuses(call, files, fifth(0)));
}

// The gate 1 / (1 + e^89.2) is 2e-39, and 0 where e^89.2 is infinite.
TEST(SoundDevices, MayShutAGateWhereItsExponentialOverflows) {
  const ApiCall call = call_with(
      "Torch.lstm_cell.0",
      {of(DType::float32, {1, 1}, {89.2}), List{of(DType::float32, {1, 1}, {0.3}), of(DType::float32, {1, 1}, {0.2})},
       of(DType::float32, {4, 1}, {0.5, 0.5, 0.7, -1}), of(DType::float32, {4, 1}, {0, 0, 0, 0})});
  const auto gated = [](double instead) {
    return [=](DeviceResult& result, int) {
      set_elements((*result.output.get<List>())[0], [=](double, std::int64_t) { return instead; });
    };
  };
  expect_sound(call, gated(0));
  expect_fault(call, gated(1e-6));
}

// ln(1 + e^-x) less ln(1 + e^x) is -x, and a place of ln 2 beside it where x is small.
TEST(SoundDevices, MayFormTheGradientOfATargetOfTwoLogarithms) {
  ApiCall call =
      call_of("Functional.multilabel_soft_margin_loss.0", {{4, 6}, {4, 6}}, {4}, DType::float32, -1e-3, 1e-3);
  call.kwargs = {{"reduction", std::string("none")}};
  const auto off_by = [](double difference) {
    return [=](DeviceResult& result, int) {
      set_elements(result.gradients[1],
                   [=](double value, std::int64_t i) { return i == 5 ? value + difference : value; });
    };
  };
  expect_sound(call, off_by(0x1p-24 / 6));
  expect_fault(call, off_by(1e-4));
}

// What a function may err by is its slope times the rounding of its input; far from there an exponential is larger by
// orders of magnitude.
TEST(SoundDevices, AreGrantedTheSlopeOfAFunctionAndNotItsCurve) {
  for (const char* name : {"Torch.exp.0", "Torch.sinh.0", "Torch.expm1.0"}) {
    ApiCall call = call_of(name, {{64}}, {64}, DType::float32, 79, 81);
    call.has_backward = false;
    const auto off_by = [](double share) {
      return [=](DeviceResult& result, int) {
        set_elements(result.output,
                     [=](double value, std::int64_t i) { return i % 5 == 3 ? value * (1 + share) : value; });
      };
    };
    expect_sound(call, off_by(2e-6));
    expect_fault(call, off_by(1e-3));
  }
}

}  // namespace
}  // namespace msrun::testing
