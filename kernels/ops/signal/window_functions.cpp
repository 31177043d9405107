// Windows of signal processing: functions of the position in a row of given length.
#include <cmath>
#include <numbers>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/special_functions.h"

namespace msrun {
namespace {

// f(position, last position) over the window. A periodic window is the symmetric one of one more element without its
// last.
template <class F>
Value window(const Bound& args, F f) {
  const std::int64_t length = args.integer("window_length");
  if (length < 0) throw SkipError("The length of a window must not be negative.");
  const DType dtype = args.optional_dtype("dtype").value_or(DType::float32);
  if (!is_floating(dtype)) throw SkipError("A window needs a floating-point dtype.");
  Tensor result(DType::float64, Dims{length});
  auto* values = result.mutable_data<double>();
  const auto last = static_cast<double>(args.flag("periodic") ? length : length - 1);
  for (std::int64_t i = 0; i < length; ++i) values[i] = length == 1 ? 1 : f(static_cast<double>(i), last);
  return args.tape().constant(result.to(dtype));
}

// alpha - beta * cos(2 pi i / last)
auto raised_cosine(double alpha, double beta) {
  return [alpha, beta](double i, double last) { return alpha - beta * std::cos(2 * std::numbers::pi * i / last); };
}

}  // namespace

OP("bartlett_window(int window_length, bool periodic=True, *, dtype? dtype=None)", [](const Bound& args) {
  return window(args, [](double i, double last) { return 1 - std::abs(2 * i / last - 1); });
});
NAMES("bartlett_window", "Torch: bartlett_window; Aten: bartlett_window");

OP("blackman_window(int window_length, bool periodic=True, *, dtype? dtype=None)", [](const Bound& args) {
  return window(args, [](double i, double last) {
    const double angle = 2 * std::numbers::pi * i / last;
    return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
  });
});
NAMES("blackman_window", "Torch: blackman_window; Aten: blackman_window");

OP("hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None)",
   [](const Bound& args) { return window(args, raised_cosine(args.real("alpha"), args.real("beta"))); });
NAMES("hamming_window", "Torch: hamming_window; Aten: hamming_window");

OP("hann_window(int window_length, bool periodic=True, *, dtype? dtype=None)",
   [](const Bound& args) { return window(args, raised_cosine(0.5, 0.5)); });
NAMES("hann_window", "Torch: hann_window; Aten: hann_window");

OP("kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, dtype? dtype=None)",
   [](const Bound& args) {
     const double beta = args.real("beta");
     return window(args, [beta](double i, double last) {
       const double position = 2 * i / last - 1;
       return bessel_i0(beta * std::sqrt(1 - position * position)) / bessel_i0(beta);
     });
   });
NAMES("kaiser_window", "Torch: kaiser_window; Aten: kaiser_window");

}  // namespace msrun
