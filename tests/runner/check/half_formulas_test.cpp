// Gradients in half types by the formulas of torch's autograd, of which accelerators store every step: none is accused,
// however many elements there are, and an element that is off by more is found among them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "kernels/numeric/special_functions.h"
#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

// A number of a half type, of which every operation is rounded to it.
template <class Stored>
struct Number {
  Number(double exact) : value(stored(exact)) {}  // NOLINT(google-explicit-constructor): it stands for a number

  static double stored(double exact) {
    if constexpr (std::is_same_v<Stored, Half>) {
      return static_cast<double>(as_half(static_cast<float>(exact)));
    } else {
      return static_cast<double>(as_bfloat16(static_cast<float>(exact)));
    }
  }

  friend Number operator+(Number a, Number b) { return a.value + b.value; }
  friend Number operator-(Number a, Number b) { return a.value - b.value; }
  friend Number operator*(Number a, Number b) { return a.value * b.value; }
  friend Number operator/(Number a, Number b) { return a.value / b.value; }
  Number operator-() const { return -value; }

  double value;
};

// What a Python number is multiplied by or added to is rounded once: such numbers are not stored in the half type.
template <class N>
N times(double factor, N x) {
  return factor * x.value;
}
template <class N>
N plus(double number, N x) {
  return number + x.value;
}
template <class N>
N of(double (*f)(double), N x) {
  return f(x.value);
}

template <class N>
struct Formula {
  std::string name;
  double min;
  double max;
  // The gradients of the arguments x, of which the first may be the only one, from the result y and its gradient g.
  std::vector<std::function<N(N g, const std::vector<N>& x, N y)>> gradients;
  List numbers = {};
  // Calls of many elements, among which some have errors that none of a few has.
  bool of_many = false;
};

template <class N>
std::vector<Formula<N>> formulas() {
  using X = std::vector<N>;
  const auto root = [](N x) -> N { return 1 / std::sqrt(x.value); };
  const auto power = [](double exponent) {
    return Formula<N>{"Torch.pow",
                      0.2,
                      4,
                      {[=](N g, const X& x, N) { return g * times(exponent, N(std::pow(x[0].value, exponent - 1))); }},
                      {exponent}};
  };
  return {
      {"Torch.acos", -0.99, 0.99, {[=](N g, const X& x, N) { return g * -root(plus(1, -x[0] * x[0])); }}},
      {"Torch.asin", -0.99, 0.99, {[=](N g, const X& x, N) { return g * root(plus(1, -x[0] * x[0])); }}},
      {"Torch.acosh", 1.05, 9, {[=](N g, const X& x, N) { return g * root(plus(-1, x[0] * x[0])); }}},
      {"Torch.asinh", -4, 4, {[=](N g, const X& x, N) { return g * root(plus(1, x[0] * x[0])); }}},
      {"Torch.atan", -4, 4, {[](N g, const X& x, N) { return g / plus(1, x[0] * x[0]); }}, {}, true},
      {"Torch.atan", -100, 100, {[](N g, const X& x, N) { return g / plus(1, x[0] * x[0]); }}, {}, true},
      {"Torch.atanh", -0.99, 0.99, {[](N g, const X& x, N) { return g * (1 / plus(1, -(x[0] * x[0]))); }}},
      {"Torch.cos", -4, 4, {[](N g, const X& x, N) { return g * -of(std::sin, x[0]); }}},
      {"Torch.sin", -4, 4, {[](N g, const X& x, N) { return g * of(std::cos, x[0]); }}},
      {"Torch.tan", -1.4, 1.4, {[](N g, const X&, N y) { return g * plus(1, y * y); }}},
      {"Torch.cosh", -4, 4, {[](N g, const X& x, N) { return g * of(std::sinh, x[0]); }}},
      {"Torch.sinh", -4, 4, {[](N g, const X& x, N) { return g * of(std::cosh, x[0]); }}},
      {"Torch.exp", -4, 4, {[](N g, const X&, N y) { return g * y; }}},
      {"Torch.exp2", -4, 4, {[](N g, const X&, N y) { return times(std::numbers::ln2, g * y); }}},
      {"Torch.expm1", -4, 4, {[](N g, const X&, N y) { return g * plus(1, y); }}},
      {"Torch.erf", -2, 2, {[](N g, const X& x, N) {
         return times(2 * std::numbers::inv_sqrtpi, of(std::exp, -(x[0] * x[0]))) * g;
       }}},
      {"Torch.erfc", -2, 2, {[](N g, const X& x, N) {
         return times(-2 * std::numbers::inv_sqrtpi, of(std::exp, -(x[0] * x[0]))) * g;
       }}},
      {"Torch.erfinv", -0.9, 0.9, {[](N g, const X&, N y) {
         return times(0.5 / std::numbers::inv_sqrtpi, of(std::exp, y * y)) * g;
       }}},
      {"Torch.log", 0.1, 9, {[](N g, const X& x, N) { return g / x[0]; }}},
      {"Torch.log2", 0.1, 9, {[](N g, const X& x, N) { return g / times(std::numbers::ln2, x[0]); }}},
      {"Torch.log10", 0.1, 9, {[](N g, const X& x, N) { return g / times(std::numbers::ln10, x[0]); }}},
      {"Torch.log1p", -0.9, 9, {[](N g, const X& x, N) { return g / plus(1, x[0]); }}},
      {"Torch.log2", 1e-3, 1e3, {[](N g, const X& x, N) { return g / times(std::numbers::ln2, x[0]); }}, {}, true},
      {"Torch.log1p", 10, 1e3, {[](N g, const X& x, N) { return g / plus(1, x[0]); }}, {}, true},
      {"Torch.asinh", -100, 100, {[=](N g, const X& x, N) { return g * root(plus(1, x[0] * x[0])); }}},
      {"Torch.reciprocal", 0.1, 4, {[](N g, const X&, N y) { return -g * (y * y); }}},
      {"Torch.rsqrt", 0.1, 4, {[](N g, const X&, N y) { return times(-0.5, g) * N(std::pow(y.value, 3)); }}},
      {"Torch.sqrt", 0.1, 4, {[](N g, const X&, N y) { return g / times(2, y); }}},
      {"Torch.square", -4, 4, {[](N g, const X& x, N) { return g * times(2, x[0]); }}},
      {"Torch.sinc", -4, 4, {[](N g, const X& x, N) -> N {
         const N angle = times(std::numbers::pi, x[0]);
         if (times(std::numbers::pi, x[0] * x[0]).value == 0) return N(0);
         return g * ((angle * of(std::cos, angle) - of(std::sin, angle)) / times(std::numbers::pi, x[0] * x[0]));
       }}},
      {"Torch.digamma", 0.1, 9, {[](N g, const X& x, N) { return g * N(trigamma(x[0].value)); }}},
      {"Torch.lgamma", 0.1, 9, {[](N g, const X& x, N) { return g * N(digamma(x[0].value)); }}},
      {"Functional.softsign", -4, 4, {[](N g, const X& x, N) {
         const N width = plus(1, N(std::abs(x[0].value)));
         const N of_width = -g * ((x[0] / width) / width);
         return g / width + of_width * (x[0].value < 0 ? N(-1) : N(1));
       }}},
      {"Functional.tanhshrink", -4, 4, {[](N g, const X& x, N) {
         const double y = of(std::tanh, x[0]).value;
         return g + N(-g.value * (1 - y * y));
       }}},
      {"Torch.atanh", -0.4, 0.4, {[](N g, const X& x, N) { return g * (1 / plus(1, -(x[0] * x[0]))); }}, {}, true},
      {"Torch.logaddexp",
       -120,
       120,
       {[](N g, const X& x, N) { return g / plus(1, of(std::exp, x[1] - x[0])); },
        [](N g, const X& x, N) { return g / plus(1, of(std::exp, x[0] - x[1])); }},
       {},
       true},
      power(4),
      power(2.5),
      power(-2),
      {"Torch.div",
       0.5,
       4,
       {[](N g, const X& x, N) { return g / x[1]; }, [](N g, const X& x, N) { return -g * ((x[0] / x[1]) / x[1]); }}},
      {"Torch.hypot",
       0.2,
       4,
       {[](N g, const X& x, N y) { return g * (x[0] / y); }, [](N g, const X& x, N y) { return g * (x[1] / y); }}},
      {"Torch.atan2",
       0.2,
       4,
       {[](N g, const X& x, N) { return g * x[1] * (1 / (x[0] * x[0] + x[1] * x[1])); },
        [](N g, const X& x, N) { return g * -x[0] * (1 / (x[0] * x[0] + x[1] * x[1])); }}},
      {"Torch.xlogy",
       0.2,
       4,
       {[](N g, const X& x, N) { return g * of(std::log, x[1]); }, [](N g, const X& x, N) { return g * x[0] / x[1]; }}},
      {"Torch.logaddexp",
       -4,
       4,
       {[](N g, const X& x, N) { return g / plus(1, of(std::exp, x[1] - x[0])); },
        [](N g, const X& x, N) { return g / plus(1, of(std::exp, x[0] - x[1])); }}},
      {"Torch.logaddexp2",
       -4,
       4,
       {[](N g, const X& x, N) { return g / plus(1, of(std::exp2, x[1] - x[0])); },
        [](N g, const X& x, N) { return g / plus(1, of(std::exp2, x[0] - x[1])); }}},
      {"Torch.pow",
       0.5,
       3,
       {[](N g, const X& x, N) { return g * (x[1] * N(std::pow(x[0].value, (x[1] - 1).value))); },
        [](N g, const X& x, N y) { return g * (y * of(std::log, x[0])); }}},
  };
}

template <class N>
ApiResult check_formula(const Formula<N>& formula, DType dtype, const Dims& shape, double fault) {
  ApiCall call = call_of(formula.name + ".0", std::vector<Dims>(formula.gradients.size(), shape), shape, dtype,
                         formula.min, formula.max);
  call.args.insert(call.args.end(), formula.numbers.begin(), formula.numbers.end());
  return check_on(accelerator, call, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
    std::vector<Tensor> tensors;
    for_each_argument(inputs, [&](const Tensor& x) { tensors.push_back(x.to(DType::float64).contiguous()); });
    const Tensor y = result.output.template get<Tensor>()->to(DType::float64).contiguous();
    const Tensor g = inputs.gradients.front().template get<Tensor>()->to(DType::float64).contiguous();
    for (std::size_t k = 0; k < formula.gradients.size(); ++k) {
      Value& gradient = result.gradients.at(k);
      gradient = changed_elements(*gradient.template get<Tensor>(), [&](double, std::int64_t i) {
        std::vector<N> x;
        for (const Tensor& tensor : tensors) x.push_back(tensor.data<double>()[i]);
        const double sound = formula.gradients[k](g.data<double>()[i], x, y.data<double>()[i]).value;
        return i == 777 ? sound + fault : sound;
      });
    }
  });
}

template <class Stored>
void expect_sound_and_find_faults(DType dtype) {
  for (const Formula<Number<Stored>>& formula : formulas<Number<Stored>>()) {
    const Dims few{48, 48};
    const Dims many{512, 512};
    for (const Dims& shape : formula.of_many ? std::vector{few, many} : std::vector{few}) {
      const ApiResult sound = check_formula(formula, dtype, shape, 0);
      EXPECT_FALSE(is_suspicious(sound)) << name(dtype) << " " << described(sound);
      // Among many elements one half type may stand for both.
      if (shape == many && dtype == DType::float16) continue;
      const ApiResult wrong = check_formula(formula, dtype, shape, 0.7);
      EXPECT_TRUE(is_suspicious(wrong)) << name(dtype) << " " << described(wrong);
    }
  }
}

TEST(HalfFormulas, OfAutogradAreSoundInBFloat16) { expect_sound_and_find_faults<BFloat16>(DType::bfloat16); }

TEST(HalfFormulas, OfAutogradAreSoundInFloat16) { expect_sound_and_find_faults<Half>(DType::float16); }

// b * 0.7 is stored before it is multiplied by the gradient, and 0.7 is less in bfloat16: all elements that are off by
// two places are too small, as if results were cut, of which every sound result is a neighbour.
TEST(HalfFormulas, OfTwoRoundingsAreNotTruncated) {
  const Dims shape{128, 512};
  ApiCall call = call_of("Torch.addcmul.0", {shape, shape, shape}, shape, DType::bfloat16, -4, 4);
  call.kwargs = {{"value", 0.7}};
  const auto by_formula = [](const MaterialisedCall& inputs, DeviceResult& result) {
    const Tensor g = inputs.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
    for (std::size_t k = 1; k < 3; ++k) {
      const Tensor other = inputs.args[3 - k].get<Tensor>()->to(DType::float64).contiguous();
      result.gradients[k] = changed_elements(*result.gradients[k].get<Tensor>(), [&](double, std::int64_t i) {
        return rounded(g.data<double>()[i] * rounded(rounded(0.7) * other.data<double>()[i]));
      });
    }
  };
  for (const HalfRounding rounding : {accelerator, processor}) {
    const ApiResult sound = check_on(rounding, call, {}, by_formula);
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  }
}

}  // namespace
}  // namespace msrun::testing
