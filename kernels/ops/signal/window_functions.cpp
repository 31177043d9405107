// Windows of signal processing: functions of the position in a row of given length.
#include <cmath>
#include <numbers>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/special_functions.h"

namespace msrun {
namespace {

// Rounds what each of the steps gives of which frameworks compose a window, in a rough computation.
struct WindowStep {
  std::uint32_t seed;
  template <class T>
  T operator()(T value) const {
    return rough_step(value, seed);
  }
};

// f(position, last position, step) in T over the window. A periodic window is the symmetric one of one more element
// without its last.
template <class T, class F>
Tensor window_in(std::uint32_t seed, std::int64_t length, bool periodic, const F& f) {
  Tensor result(std::is_same_v<T, double> ? DType::float64 : DType::float32, Dims{length});
  T* values = result.mutable_data<T>();
  const T last = static_cast<T>(periodic ? length : length - 1);
  const WindowStep step{seed};
  for (std::int64_t i = 0; i < length; ++i) values[i] = length == 1 ? T{1} : f(static_cast<T>(i), last, step);
  return result;
}

// Frameworks compose a window in its dtype, so that its errors are those of terms that cancel. The benchmark is as
// precise as can be.
template <class F>
Value window(const Bound& args, const F& f) {
  const EvaluationContext& context = args.tape().context();
  const std::int64_t length = args.integer("window_length");
  if (length < 0) throw SkipError("The length of a window must not be negative.");
  const DType dtype = args.optional_dtype("dtype").value_or(DType::float32);
  if (!is_floating(dtype)) throw SkipError("A window needs a floating-point dtype.");
  const bool in_double = context.in_benchmark() || dtype == DType::float64;
  const bool periodic = args.flag("periodic");
  const Tensor result = in_double ? window_in<double>(context.jitter_seed, length, periodic, f)
                                  : window_in<float>(context.jitter_seed, length, periodic, f);
  return args.tape().constant(result.to(dtype));
}

// The position times a constant over the last position, of which frameworks make one factor.
template <class T>
T scaled_position(T i, T last, double constant, const WindowStep& step) {
  const T scale = static_cast<T>(constant);
  return step.seed == 0 ? scale * i / last : step(step(scale / last) * i);
}

// alpha - beta * cos(2 pi i / last)
auto raised_cosine(double alpha, double beta) {
  return [alpha, beta](auto i, auto last, const WindowStep& step) {
    using T = decltype(i);
    const T wave = step(std::cos(scaled_position(i, last, 2 * std::numbers::pi, step)));
    return step(step(static_cast<T>(alpha)) - step(step(static_cast<T>(beta)) * wave));
  };
}

}  // namespace

OP("bartlett_window(int window_length, bool periodic=True, *, dtype? dtype=None)", [](const Bound& args) {
  return window(args, [](auto i, auto last, const WindowStep& step) {
    const auto height = scaled_position(i, last, 2, step);
    return height > 1 ? step(2 - height) : height;
  });
});
NAMES("bartlett_window", "Torch: bartlett_window; Aten: bartlett_window");
TRY_FIRST("bartlett_window", Trial::of_sizes);

OP("blackman_window(int window_length, bool periodic=True, *, dtype? dtype=None)", [](const Bound& args) {
  return window(args, [](auto i, auto last, const WindowStep& step) {
    using T = decltype(i);
    const T angle = scaled_position(i, last, 2 * std::numbers::pi, step);
    const T slow = step(step(static_cast<T>(0.5)) * step(std::cos(angle)));
    const T fast = step(step(static_cast<T>(0.08)) * step(std::cos(2 * angle)));
    return step(step(fast - slow) + step(static_cast<T>(0.42)));
  });
});
NAMES("blackman_window", "Torch: blackman_window; Aten: blackman_window");
TRY_FIRST("blackman_window", Trial::of_sizes);

OP("hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None)",
   [](const Bound& args) { return window(args, raised_cosine(args.real("alpha"), args.real("beta"))); });
NAMES("hamming_window", "Torch: hamming_window; Aten: hamming_window");
TRY_FIRST("hamming_window", Trial::of_sizes);

OP("hann_window(int window_length, bool periodic=True, *, dtype? dtype=None)",
   [](const Bound& args) { return window(args, raised_cosine(0.5, 0.5)); });
NAMES("hann_window", "Torch: hann_window; Aten: hann_window");
TRY_FIRST("hann_window", Trial::of_sizes);

OP("kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, dtype? dtype=None)",
   [](const Bound& args) {
     const double beta = args.real("beta");
     return window(args, [beta](auto i, auto last, const WindowStep& step) {
       using T = decltype(i);
       const auto bessel = [step](T x) { return step(static_cast<T>(bessel_i0(static_cast<double>(x)))); };
       const T slope = step(static_cast<T>(beta));
       const T position = step(scaled_position(i, last, 2, step) - 1);
       const T width = step(std::sqrt(step(1 - step(position * position))));
       return step(bessel(step(slope * width)) * step(1 / bessel(slope)));
     });
   });
NAMES("kaiser_window", "Torch: kaiser_window; Aten: kaiser_window");
TRY_FIRST("kaiser_window", Trial::of_sizes);

}  // namespace msrun
