// Sound devices that do not compute as msrun does: functions that are off by a place, and formulas of frameworks that
// lose digits. None is accused, and faults of a size that matters are found in the same calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "runner/results/counts.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

// Where tanh is a place below 1, a device may have 1, whose slope is 0.
TEST(SoundDevices, MayBeAPlaceOffWhereAFunctionSaturates) {
  const ApiCall call = differentiated("Torch.tanh.0", {12}, 8.66);
  expect_sound(call, [](DeviceResult& result, int) {
    set_elements(result.gradients.front(), [](double value, std::int64_t i) { return i == 5 ? 0 : value; });
  });
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.gradients.front(), [](double value, std::int64_t i) { return i == 5 ? 1e-5 : value; });
  });
}

// x - (max + log of the sum) where msrun has (x - max) - log of the sum. The benchmark of float64 is no more precise.
TEST(SoundDevices, MayLoseDigitsInFloat64) {
  const std::vector<double> x{-3.2, 8.87, -1.1, 0.4, -7.7, 1.3};
  const ApiCall call = call_with("Torch.log_softmax.0", {of(DType::float64, {6}, x), std::int64_t{0}});
  double total = 0;
  for (const double value : x) total += std::exp(value - 8.87);
  const double log_sum = 8.87 + std::log(total);
  expect_sound(call, [&](DeviceResult& result, int) {
    set_elements(result.output, [&](double, std::int64_t i) { return x[static_cast<std::size_t>(i)] - log_sum; });
  });
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t i) { return i == 1 ? value * (1 + 1e-6) : value; });
  });
}

// A decomposition errs by what a place of its largest elements makes, in every element.
TEST(SoundDevices, ErrByWholeMatrices) {
  const ApiCall call =
      call_with("Torch.inverse.0", {of(DType::float32, {4, 4}, {4, 1, -2, 2, 1, 2, 0, 1, -2, 0, 3, -2, 2, 1, -2, -1})});
  double largest = 0;
  expect_sound(call, [&](DeviceResult& result, int) {
    for (std::int64_t i = 0; i < 16; ++i) largest = std::max(largest, std::abs(element(result.output, i)));
    set_elements(result.output,
                 [&](double value, std::int64_t i) { return value + (i % 2 == 0 ? 1 : -1) * 0x1p-23 * largest; });
  });
  expect_fault(call, [&](DeviceResult& result, int) {
    set_elements(result.output, [&](double value, std::int64_t i) { return i == 3 ? value + 1e-3 * largest : value; });
  });
}

// Positions between elements are a place off where a device fuses a multiplication with an addition.
TEST(SoundDevices, MayPlaceElementsElsewhere) {
  const std::vector<double> x{0.0886, -0.944, 0.31, 0.92};
  const ApiCall call = call_with("Functional.interpolate.0", {of(DType::float32, {1, 1, 4}, x)},
                                 {{"scale_factor", 0.6}, {"mode", std::string("linear")}});
  const auto at = [&](std::int64_t i, float shift) {
    const double position = static_cast<double>(static_cast<float>(1 / 0.6) * (static_cast<float>(i) + 0.5F) - 0.5F) +
                            static_cast<double>(shift);
    const auto low = static_cast<std::size_t>(position);
    return x[low] + (x[std::min<std::size_t>(low + 1, 3)] - x[low]) * (position - static_cast<double>(low));
  };
  const auto moved = [&](float shift) {
    return [&, shift](DeviceResult& result, int) {
      set_elements(result.output, [&](double, std::int64_t i) { return at(i, shift); });
    };
  };
  expect_sound(call, moved(0x1p-23F));
  expect_fault(call, moved(0x1p-14F));
}

// What is left of the mean of a row is multiplied by as much as epsilon allows.
TEST(SoundDevices, MayLeaveARestOfTheMean) {
  const ApiCall call = call_with("Functional.layer_norm.0", {of(DType::float32, {1}, {-7.407}), List{std::int64_t{1}}});
  expect_sound(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double, std::int64_t) { return 316.2 * 0x1p-22; });
  });
  expect_fault(
      call, [](DeviceResult& result, int) { set_elements(result.output, [](double, std::int64_t) { return 0.01; }); });
}

// A benchmark of fewer digits than the result says nothing about the others.
TEST(SoundDevices, MayHaveMoreDigitsThanTheBenchmark) {
  const ApiCall call = call_with("Torch.mean.0", {of(DType::bfloat16, {6}, {0.3, 1.7, -0.2, 0.9, 2.2, 1.1})},
                                 {{"dtype", DType::float64}});
  expect_sound(call, {});
}

// At the corner of hardswish one side's slope is as right as the other's: 1.5 or 1. Nothing else is, nor elsewhere.
TEST(SoundDevices, MayHaveTheSlopeOfEitherSideOfAKink) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    ApiCall call = differentiated("Functional.hardswish.0", {12}, 3);
    auto spec = std::make_shared<TensorSpec>(**call.args[0].get<std::shared_ptr<const TensorSpec>>());
    spec->dtype = torch_name(dtype);
    call.args[0] = std::shared_ptr<const TensorSpec>(spec);
    const auto fifth = [](double slope) {
      return [slope](DeviceResult& result, int) {
        set_elements(result.gradients.front(), [&](double value, std::int64_t i) { return i == 5 ? slope : value; });
      };
    };
    expect_sound(call, fifth(1));
    expect_sound(call, fifth(1.5));
    expect_fault(call, fifth(1.25));
    expect_fault(call, fifth(0));
    spec->min = spec->max = 2.75;
    call.args[0] = std::shared_ptr<const TensorSpec>(spec);
    expect_fault(call, fifth(1));
  }
}

// So it is where the straight lines of others end, of which no argument says where that is; not beside these places.
TEST(SoundDevices, MayHaveTheSlopeOfEitherSideWhereALineEnds) {
  struct Case {
    const char* name;
    double at;
    double slope;
  };
  for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
    for (const Case& c :
         {Case{"Functional.relu6.0", 6, 1}, Case{"Functional.hardtanh.0", 1, 1}, Case{"Functional.hardtanh.0", -1, 1},
          Case{"Functional.hardsigmoid.0", 3, 1.0 / 6}, Case{"Functional.hardsigmoid.0", -3, 1.0 / 6}}) {
      const ApiCall call = differentiated(c.name, {12}, c.at, dtype);
      const auto fifth = [](double slope) {
        return [slope](DeviceResult& result, int) {
          set_elements(result.gradients.front(), [&](double value, std::int64_t i) { return i == 5 ? slope : value; });
        };
      };
      expect_sound(call, fifth(0));
      expect_sound(call, fifth(c.slope));
      for (const double other : {0.5, 1.25, -1.0, 0.01}) expect_fault(call, fifth(other * c.slope));
      // A place further on in bfloat16, and far more than that in float64.
      const double off = dtype == DType::float64 ? 0x1p-30 : 0x1p-6;
      const auto beside = [&](double at) { return differentiated(c.name, {12}, at, dtype); };
      expect_fault(beside(c.at * (1 + off)), fifth(c.slope));
      expect_fault(beside(c.at * (1 - off)), fifth(0));
    }
  }
}

// max + log(1 + e) where e is small loses the digits of e.
TEST(SoundDevices, MayAddOneBeforeTheLogarithm) {
  const ApiCall call = call_with("Torch.logaddexp.0",
                                 {of(DType::float32, {4}, {-10, -9.5, -8, -2}), of(DType::float32, {4}, {0, 0, 0, 0})});
  expect_sound(call, [](DeviceResult& result, int) {
    const std::array<float, 4> x{-10, -9.5, -8, -2};
    set_elements(result.output, [&](double, std::int64_t i) {
      return static_cast<double>(std::log(1 + std::exp(x[static_cast<std::size_t>(i)])));
    });
  });
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t i) { return i == 1 ? value + 1e-5 : value; });
  });
}

// Distances of many points by way of their products.
TEST(SoundDevices, MayComputeDistancesByProducts) {
  constexpr std::int64_t rows = 30;
  constexpr std::int64_t length = 3;
  std::vector<double> x;
  for (std::int64_t i = 0; i < rows * length; ++i) x.push_back(1 + 1e-3 * std::sin(static_cast<double>(5 * i + 1)));
  const Tensor points = of(DType::float32, {rows, length}, x);
  const Tensor others = of(DType::float32, {rows, length}, std::vector<double>(x.rbegin(), x.rend()));
  const ApiCall call = call_with("Torch.cdist.0", {points, others});
  const auto product = [](const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
  expect_sound(call, [&](DeviceResult& result, int) {
    set_elements(result.output, [&](double, std::int64_t i) {
      const float* const a = points.data<float>() + i / rows * length;
      const float* const b = others.data<float>() + i % rows * length;
      return static_cast<double>(std::sqrt(std::max(product(a, a) + product(b, b) - 2 * product(a, b), 0.0F)));
    });
  });
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double value, std::int64_t i) { return i == 7 ? value + 0.05 : value; });
  });
}

// Sums of any norm are as long as the rows: one after the other, their errors grow.
TEST(SoundDevices, MayAddTheTermsOfADistanceOneByOne) {
  constexpr std::int64_t rows = 40;
  for (const double p : {1.0, 0.5, 3.0}) {
    ApiCall call = call_of("Torch.cdist.0", {{rows, 512}, {rows, 512}}, {rows, rows});
    call.kwargs = {{"p", p}};
    const List args = materialise(call, {}).args;
    const Tensor x = args[0].get<Tensor>()->contiguous();
    const Tensor y = args[1].get<Tensor>()->contiguous();
    const auto with = [&](double factor) {
      return [&, factor](DeviceResult& result, int) {
        set_elements(result.output, [&](double, std::int64_t at) {
          float total = 0;
          for (std::int64_t i = 0; i < 512; ++i) {
            const float d = std::abs(x.data<float>()[at / rows * 512 + i] - y.data<float>()[at % rows * 512 + i]);
            total += p == 1 ? d : std::pow(d, static_cast<float>(p));
          }
          const float norm = p == 1 ? total : std::pow(total, static_cast<float>(1 / p));
          return static_cast<double>(norm) * (at == 77 ? factor : 1);
        });
      };
    };
    expect_sound(call, with(1));
    expect_fault(call, with(1.001));
  }
}

// A place beside the end of a domain, where the slope is steep and changed inputs may leave the domain.
TEST(SoundDevices, MayErrAtTheEndOfADomain) {
  const ApiCall call = call_with("Torch.acos.0", {of(DType::float64, {3}, {1 - 1e-7, 1 - 3e-7, 0.5})});
  expect_sound(call, [](DeviceResult& result, int) {
    const std::array<double, 3> x{1 - 1e-7, 1 - 3e-7, 0.5};
    set_elements(result.output, [&](double, std::int64_t i) {
      return std::numbers::pi / 2 - std::asin(x[static_cast<std::size_t>(i)]);
    });
  });
}

// Products of 1e40 are infinite in float32: where both infinities meet, the sum is NaN, and proves nothing.
TEST(SoundDevices, MayOverflowBeforeTermsCancel) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::float32, -1e20, 1e20);
  call.has_backward = false;
  const auto with = [&](double value) {
    return check(call, [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double, std::int64_t) { return value; });
    });
  };
  const ApiResult sound = with(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  EXPECT_EQ(sound.forward_rows.front().trust.weak_evidence, WeakEvidence::overflow) << described(sound);
  EXPECT_TRUE(is_suspicious(with(1)));
  const ApiResult other =
      check(call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}), [](DeviceResult& result, int) {
        set_elements(result.output, [](double, std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
      });
  EXPECT_TRUE(is_suspicious(other)) << described(other);
}

// Functions of one element have no partial sums: the largest of these is 6e37.
TEST(SoundDevices, HaveNoInfinityWhereAFunctionIsLarge) {
  expect_fault(call_with("Torch.exp.0", {of(DType::float32, {4}, {87, 86, 85, 84})}), [](DeviceResult& result, int) {
    set_elements(result.output,
                 [](double value, std::int64_t i) { return i == 0 ? std::numeric_limits<double>::infinity() : value; });
  });
}

// ln(1 + e^100) with an exponential that is infinite.
TEST(SoundDevices, MayOverflowWithinASoftMargin) {
  ApiCall call = call_with("Functional.soft_margin_loss.0",
                           {of(DType::float32, {4}, {-100, 2, -3, 0.5}), of(DType::float32, {4}, {1, 1, -1, 1})},
                           {{"reduction", std::string("none")}});
  const auto with = [&](double first) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t i) { return i == 0 ? first : value; });
    };
  };
  expect_sound(call, with(std::numeric_limits<double>::infinity()));
  expect_sound(call, with(100));
  expect_fault(call, with(99));
  expect_fault(call, with(-std::numeric_limits<double>::infinity()));
}

// 1 - 0.001 is 1 in bfloat16, and the logarithm of 1 / (1 - 1) infinite.
TEST(SoundDevices, MayHoldTheLimitOfALogitInAHalfType) {
  const ApiCall call = call_with("Torch.logit.0", {of(DType::bfloat16, {4}, {1, 0.5, 0.25, 0})}, {{"eps", 1e-3}});
  const auto with = [&](double first) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t i) { return i == 0 ? first : value; });
    };
  };
  expect_sound(call, with(std::numeric_limits<double>::infinity()));
  expect_fault(call, with(-std::numeric_limits<double>::infinity()));
  expect_fault(call, with(9));
  // NaN, the same on all sides, has no other side of a step.
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  const ApiCall with_nan =
      call_with("Torch.logit.0", {of(DType::bfloat16, {4}, {1, nan_value, 0.25, 0})}, {{"eps", 1e-3}});
  const std::string text = described(check(with_nan, with(std::numeric_limits<double>::infinity())));
  EXPECT_NE(text.find("At 1 of 4 elements a step"), std::string::npos) << text;
}

// Float16 sums of numbers so small are 0 as well: what is 0 says nothing about how it was added.
TEST(SoundDevices, HaveNoFloat16SumsWhereAllIsZero) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16, 1e-20, 3e-20);
  call.has_backward = false;
  const ApiResult result = check(
      call, [](DeviceResult& found, int) { set_elements(found.output, [](double, std::int64_t) { return 0.0; }); });
  EXPECT_TRUE(is_suspicious(result)) << described(result);
  EXPECT_EQ(described(result).find("float16"), std::string::npos) << described(result);
}

// The largest number is not computed: a device that has infinity in its place has not copied it.
TEST(SoundDevices, HaveNoInfinityForTheLargestNumber) {
  const double most = max_finite(DType::float32);
  const ApiCall call = call_with("Torch.full.0", {List{std::int64_t{4}, std::int64_t{4}}, -most});
  expect_sound(call, {});
  expect_fault(call, [](DeviceResult& result, int) {
    set_elements(result.output, [](double, std::int64_t) { return -std::numeric_limits<double>::infinity(); });
  });
}

// Activations as their formulas are written, in float32: sums and quotients lose digits that other forms keep.
struct WrittenForm {
  const char* api;
  double low;
  double high;
  float (*value)(float x);
  float (*slope)(float x);  // null: not looked at
};

float erf_of(float x) { return static_cast<float>(std::erf(static_cast<double>(x) / std::numbers::sqrt2)); }
float sigmoid_of(float x) { return 1 / (1 + std::exp(-x)); }

const std::vector<WrittenForm>& written_forms() {
  static const std::vector<WrittenForm> forms{
      // The error function a place below what is nearest, so that 1 is added to another number.
      {"Functional.gelu.0", -6, 6, [](float x) { return x * 0.5F * (1 + std::nextafter(erf_of(x), 0.F)); },
       [](float x) {
         const float density = std::exp(-0.5F * x * x) * 0.39894228F;
         return 0.5F * (1 + std::nextafter(erf_of(x), 0.F)) + x * density;
       }},
      // e^-x overflows from -88.7 down.
      {"Torch.sigmoid.0", -100, 1, sigmoid_of, nullptr},
      {"Torch.sigmoid.1", -87, 1, sigmoid_of, [](float x) { return sigmoid_of(x) * (1 - sigmoid_of(x)); }},
      {"Functional.silu.0", -87, 1, [](float x) { return x * sigmoid_of(x); },
       [](float x) { return sigmoid_of(x) * (1 + x * (1 - sigmoid_of(x))); }},
      {"Functional.mish.0", -100, 1, [](float x) { return x * std::tanh(std::log1p(std::exp(x))); },
       [](float x) {
         const float bend = std::tanh(std::log1p(std::exp(x)));
         return bend + x * sigmoid_of(x) * (1 - bend * bend);
       }},
      {"Functional.logsigmoid.0", -1, 100, [](float x) { return -std::log1p(std::exp(-x)); },
       [](float x) { return sigmoid_of(-x); }},
      {"Functional.tanhshrink.0", -6, 6, [](float x) { return x - std::nextafter(std::tanh(x), 2.F); },
       [](float x) { return 1 - (1 - std::tanh(x) * std::tanh(x)); }},
  };
  return forms;
}

TEST(SoundDevices, MayComputeActivationsAsTheyAreWritten) {
  for (const WrittenForm& form : written_forms()) {
    SCOPED_TRACE(form.api);
    const ApiCall call = call_of(form.api, {{64, 500}}, {64, 500}, DType::float32, form.low, form.high);
    const auto x = materialise(call, {}).args.front().get<Tensor>()->contiguous();
    const auto of = [&](float (*function)(float), double error) {
      return changed_elements(x, [=](double element, std::int64_t i) {
        return function(static_cast<float>(element)) + (i == 777 ? error : 0);
      });
    };
    for (const double error : {0.0, 1e-3}) {
      const ApiResult result = check(call, [&](DeviceResult& device, int) {
        device.output = of(form.value, error);
        if (form.slope == nullptr) return;
        const Tensor given = materialise(call, {}).gradients.front().get<Tensor>()->contiguous();
        device.gradients.front() = changed_elements(of(form.slope, error), [&](double slope, std::int64_t i) {
          return static_cast<float>(slope) * given.data<float>()[i];
        });
      });
      ASSERT_EQ(result.forward_rows.size(), 1U) << result.message;
      ASSERT_EQ(result.backward_rows.size(), 1U) << result.message;
      EXPECT_EQ(result.forward_rows.front().beyond_rounding, error > 0) << result.forward_rows.front().message;
      if (form.slope == nullptr) continue;
      EXPECT_EQ(result.backward_rows.front().beyond_rounding, error > 0) << result.backward_rows.front().message;
    }
  }
}

// The gate of glu is 0 from -88.7 down, and with it the gradients of both halves. Gradients that are 0 where the gate
// is not are wrong.
TEST(SoundDevices, MayLoseGatesBelowTheSmallestNumber) {
  const ApiCall call = call_of("Functional.glu.0", {{64, 64}}, {64, 32}, DType::float32, -100, 100);
  const MaterialisedCall inputs = materialise(call, {});
  const Tensor x = inputs.args.front().get<Tensor>()->contiguous();
  const Tensor g = inputs.gradients.front().get<Tensor>()->contiguous();
  for (const float lowest : {-200.F, -85.F}) {
    const auto gate = [&](std::int64_t row, std::int64_t i) {
      const float at = x.data<float>()[row * 64 + 32 + i];
      return at < lowest ? 0 : sigmoid_of(at);
    };
    const ApiResult result = check(call, [&](DeviceResult& device, int) {
      device.output = changed_elements(*device.output.get<Tensor>(), [&](double, std::int64_t i) {
        return x.data<float>()[i / 32 * 64 + i % 32] * gate(i / 32, i % 32);
      });
      device.gradients.front() = changed_elements(*device.gradients.front().get<Tensor>(), [&](double, std::int64_t i) {
        const std::int64_t row = i / 64;
        const std::int64_t at = i % 32;
        const float s = gate(row, at);
        const float upstream = g.data<float>()[row * 32 + at];
        return i % 64 < 32 ? upstream * s : upstream * x.data<float>()[row * 64 + at] * s * (1 - s);
      });
    });
    ASSERT_EQ(result.forward_rows.size(), 1U) << result.message;
    ASSERT_EQ(result.backward_rows.size(), 1U) << result.message;
    EXPECT_FALSE(lowest < -100 && result.forward_rows.front().beyond_rounding) << result.forward_rows.front().message;
    EXPECT_EQ(result.backward_rows.front().beyond_rounding, lowest > -100) << result.backward_rows.front().message;
  }
}

// The last of 6 places on 20 elements is 5 * 3.8, which is 19 or a little less: a gradient goes to element 18 as well,
// and to no other.
TEST(SoundDevices, MayPlaceAnElementBesideAnother) {
  ApiCall call = call_of("Functional.interpolate.0", {{1, 8, 30, 20}}, {1, 8, 9, 6});
  call.kwargs = {
      {"size", List{std::int64_t{9}, std::int64_t{6}}}, {"mode", std::string("bilinear")}, {"align_corners", true}};
  struct Place {
    std::int64_t element;
    float part;
  };
  for (const Place& place : {Place{18, 1.9e-6F}, Place{17, 1.9e-6F}, Place{18, 1e-3F}}) {
    const ApiResult result = check(call, [&](DeviceResult& device, int) {
      Tensor gradient = device.gradients.front().get<Tensor>()->contiguous().clone();
      for (float* row = gradient.mutable_data<float>(); row < gradient.data<float>() + gradient.numel(); row += 20)
        row[place.element] += place.part * row[19];
      device.gradients.front() = gradient;
    });
    ASSERT_EQ(result.backward_rows.size(), 1U) << result.message;
    EXPECT_EQ(result.backward_rows.front().beyond_rounding, place.element != 18 || place.part > 1e-5F)
        << result.backward_rows.front().message;
  }
}

// The same of bfloat16, whose functions are computed in float32: how far the terms are off shows at other arguments.
TEST(SoundDevices, MayComputeActivationsOfHalfTypesAsTheyAreWritten) {
  const WrittenForm& gelu = written_forms().front();
  const ApiCall call = call_of(gelu.api, {{64, 500}}, {64, 500}, DType::bfloat16, -4.5, 0);
  const Tensor x = materialise(call, {}).args.front().get<Tensor>()->contiguous();
  for (const double error : {0.0, 0.05}) {
    const ApiResult result = check(call, [&](DeviceResult& device, int) {
      device.output = changed_elements(x, [&](double element, std::int64_t i) {
        return gelu.value(static_cast<float>(element)) + (i == 777 ? error : 0);
      });
    });
    ASSERT_EQ(result.forward_rows.size(), 1U) << result.message;
    EXPECT_EQ(result.forward_rows.front().beyond_rounding, error > 0) << result.forward_rows.front().message;
  }
}

// (1 - y) z + max(-z, 0) + ln(1 + e^-|z|) with the sum rounded to float32, which loses most of a small logarithm.
TEST(SoundDevices, MayTakeTheLogarithmOfARoundedSum) {
  ApiCall call = call_of("Functional.binary_cross_entropy_with_logits.0", {{64, 500}, {64, 500}}, {64, 500},
                         DType::float32, -30, 30);
  call.args[1] = call_of("Torch.abs.0", {{64, 500}}, {64, 500}, DType::float32, 0, 1).args[0];
  call.kwargs = {{"reduction", Value(std::string("none"))}};
  const List args = materialise(call, {}).args;
  const Tensor targets = args[1].get<Tensor>()->contiguous();
  for (const double error : {0.0, 1e-3}) {
    const ApiResult result = check(call, [&](DeviceResult& device, int) {
      device.output = changed_elements(*args[0].get<Tensor>(), [&](double element, std::int64_t i) {
        const auto z = static_cast<float>(element);
        const float y = targets.data<float>()[i];
        return (1 - y) * z + std::max(-z, 0.F) + std::log(1 + std::exp(-std::abs(z))) + (i == 777 ? error : 0);
      });
    });
    ASSERT_EQ(result.forward_rows.size(), 1U) << result.message;
    EXPECT_EQ(result.forward_rows.front().beyond_rounding, error > 0) << result.forward_rows.front().message;
  }
}

// The gradient of a number beside float32 is a sum in float32, stored as float64.
TEST(SoundDevices, SumInTheDtypeOfTheTensorsWithAxes) {
  ApiCall call = call_of("Torch.mul.0", {{64}, {}}, {64});
  TensorSpec number = **call.args[1].get<std::shared_ptr<const TensorSpec>>();
  number.dtype = "torch.float64";
  call.args[1] = std::make_shared<const TensorSpec>(number);
  const auto sum_with = [&](double factor) {
    return check(call, [=](DeviceResult& result, int) {
      result.gradients[1] = changed_elements(*result.gradients[1].get<Tensor>(), [=](double sum, std::int64_t) {
        return static_cast<double>(static_cast<float>(sum * factor));
      });
    });
  };
  EXPECT_FALSE(is_suspicious(sum_with(1 + 1e-7)));
  EXPECT_TRUE(is_suspicious(sum_with(1 + 1e-4)));
}

}  // namespace
}  // namespace msrun::testing
