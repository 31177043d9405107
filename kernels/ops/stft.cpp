// The short-time Fourier transform of real signals, with real and imaginary parts side by side. As a product with the
// matrix of the transform, so that its gradient is one too.
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/error.h"
#include "kernels/ops/functions.h"

namespace msrun {
namespace {

// Where in a signal of `length` the element at `position`, which may be outside, is taken from; -1 for a zero.
std::int64_t padded_source(std::int64_t position, std::int64_t length, const std::string& mode) {
  if (position >= 0 && position < length) return position;
  if (mode == "constant") return -1;
  if (mode == "replicate") return position < 0 ? 0 : length - 1;
  if (mode == "circular") return (position + length) % length;
  return position < 0 ? -position : 2 * (length - 1) - position;
}

// Frames of `size` elements, `hop` apart: (batch, frames, size).
Var frames_of(const Var& x, std::int64_t size, std::int64_t hop, bool center, const std::string& mode) {
  const std::int64_t length = x.size(1);
  const std::int64_t margin = center ? size / 2 : 0;
  if (mode != "reflect" && mode != "constant" && mode != "replicate" && mode != "circular") {
    throw SkipError("stft: unknown pad_mode '" + mode + "'.");
  }
  const std::int64_t reach = mode == "reflect" ? length - 1 : mode == "circular" ? length : margin;
  if (margin > reach) throw SkipError("stft: the signal is too short for its padding.");
  if (length + 2 * margin < size || length == 0) {
    throw SkipError("stft: expected 0 < n_fft <= " + std::to_string(length + 2 * margin) + ".");
  }
  const std::int64_t frames = (length + 2 * margin - size) / hop + 1;
  // One zero behind the signal stands for constant padding.
  const Var source = cat({x, x.tape().constant(Tensor::zeros(x.dtype(), Dims{x.size(0), 1}))}, 1);
  Tensor index(DType::int64, {1, frames * size});
  auto* at = index.mutable_data<std::int64_t>();
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from = padded_source(frame * hop + i - margin, length, mode);
      *at++ = from < 0 ? length : from;
    }
  }
  const Dims shape{x.size(0), frames * size};
  return reshape(gather(source, 1, index.expand(shape)), {x.size(0), frames, size});
}

// The window in the middle of n_fft zeros; ones without a window.
Var full_window(const std::optional<Var>& window, const Var& x, std::int64_t n_fft, std::int64_t length) {
  const std::int64_t left = (n_fft - length) / 2;
  if (window && window->shape() != Dims{length}) {
    throw SkipError("stft: expected a window of " + std::to_string(length) + " elements, but got shape " +
                    tuple_text(window->shape()) + ".");
  }
  Tape& tape = x.tape();
  const Var middle = window ? *window : tape.constant(Tensor::full(x.dtype(), Dims{length}, 1));
  return cat({tape.constant(Tensor::zeros(x.dtype(), Dims{left})), middle,
              tape.constant(Tensor::zeros(x.dtype(), Dims{n_fft - length - left}))},
             0);
}

// (n_fft, frequencies * 2): cosines and negative sines, next to each other.
Tensor transform_matrix(std::int64_t n_fft, std::int64_t frequencies, double scale, DType dtype) {
  Tensor matrix(DType::float64, {n_fft, frequencies * 2});
  auto* value = matrix.mutable_data<double>();
  for (std::int64_t i = 0; i < n_fft; ++i) {
    for (std::int64_t f = 0; f < frequencies; ++f) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * f % n_fft) / static_cast<double>(n_fft);
      *value++ = scale * std::cos(angle);
      *value++ = -scale * std::sin(angle);
    }
  }
  return matrix.to(dtype);
}

Value stft(const Bound& args) {
  if (args.given("return_complex") && args.flag("return_complex")) {
    throw SkipError("stft with return_complex returns complex numbers, which are not supported.");
  }
  Raised raised;
  Var x = raised(args.var("input"));
  if (!is_floating(x.dtype()) || (x.rank() != 1 && x.rank() != 2)) {
    throw SkipError("stft expects a floating-point tensor of one or two dimensions.");
  }
  const bool batched = x.rank() == 2;
  if (!batched) x = unsqueeze(x, 0);
  const std::int64_t n_fft = args.integer("n_fft");
  constexpr std::int64_t limit = std::int64_t{1} << 24;
  if (n_fft < 1 || n_fft > limit) throw SkipError("stft: n_fft must be positive and at most 2^24.");
  const std::int64_t hop = args.optional_integer("hop_length").value_or(n_fft / 4);
  const std::int64_t length = args.optional_integer("win_length").value_or(n_fft);
  if (hop < 1) throw SkipError("stft: hop_length must be positive.");
  if (length < 1 || length > n_fft) throw SkipError("stft: win_length must be between 1 and n_fft.");
  const bool onesided = !args.given("onesided") || args.flag("onesided");
  const std::int64_t frequencies = onesided ? n_fft / 2 + 1 : n_fft;
  const Var window = full_window(raised(args.optional_var("window")), x, n_fft, length);
  const Var frames = mul(frames_of(x, n_fft, hop, args.flag("center"), args.text("pad_mode")), window);
  const double scale = args.flag("normalized") ? 1 / std::sqrt(static_cast<double>(n_fft)) : 1;
  const Var matrix = args.tape().constant(transform_matrix(n_fft, frequencies, scale, frames.dtype()));
  const Var parts = reshape(matmul(frames, matrix), {x.size(0), frames.size(1), frequencies, 2});
  const Var result = raised.back(transpose(parts, 1, 2));
  return batched ? result : squeeze(result, 0);
}

}  // namespace

OP("stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
   "str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None)",
   stft);
NAMES("stft", "Torch: stft; Tensor: stft");

}  // namespace msrun
