// The short-time Fourier transform and its inverse, as products with the matrices of the transforms, so that their
// gradients are such products too.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_extrema.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"

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

constexpr std::int64_t length_limit = std::int64_t{1} << 24;

// The sizes that both directions share.
struct FrameSizes {
  std::int64_t n_fft;
  std::int64_t hop;
  std::int64_t window;
};

FrameSizes frame_sizes(const Bound& args, const std::string& who) {
  const std::int64_t n_fft = args.integer("n_fft");
  if (n_fft < 1 || n_fft > length_limit) throw SkipError(who + ": n_fft must be positive and at most 2^24.");
  const FrameSizes sizes{n_fft, args.optional_integer("hop_length").value_or(n_fft / 4),
                         args.optional_integer("win_length").value_or(n_fft)};
  if (sizes.hop < 1) throw SkipError(who + ": hop_length must be positive.");
  if (sizes.window < 1 || sizes.window > n_fft) throw SkipError(who + ": win_length must be between 1 and n_fft.");
  return sizes;
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
  // Constant padding reads the one zero behind the signal.
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

// The window in the middle of n_fft zeros; ones without a window. dtype is that of the other elements.
Var full_window(const std::optional<Var>& window, Tape& tape, DType dtype, const FrameSizes& sizes) {
  const std::int64_t left = (sizes.n_fft - sizes.window) / 2;
  if (window && window->shape() != Dims{sizes.window}) {
    throw SkipError("stft: expected a window of " + std::to_string(sizes.window) + " elements, but got shape " +
                    tuple_text(window->shape()) + ".");
  }
  const Var middle = window ? *window : tape.constant(Tensor::full(dtype, Dims{sizes.window}, 1));
  return cat({tape.constant(Tensor::zeros(dtype, Dims{left})), middle,
              tape.constant(Tensor::zeros(dtype, Dims{sizes.n_fft - sizes.window - left}))},
             0);
}

// cos and sin of the angle that frequency f has at element i of n_fft.
struct Turn {
  double cosine;
  double sine;
};
// Quarters of a turn are exact: the imaginary parts of the lowest and the highest frequency of real signals are 0.
Turn turn(std::int64_t i, std::int64_t f, std::int64_t n_fft) {
  const std::int64_t part = i * f % n_fft;
  if (4 * part % n_fft == 0) {
    constexpr std::array<Turn, 4> quarters{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    return quarters.at(static_cast<std::size_t>(4 * part / n_fft));
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(n_fft);
  return {std::cos(angle), std::sin(angle)};
}

// (n_fft, frequencies * 2): cosines and negative sines, next to each other.
Tensor transform_matrix(std::int64_t n_fft, std::int64_t frequencies, double scale) {
  Tensor matrix(DType::float64, {n_fft, frequencies * 2});
  auto* value = matrix.mutable_data<double>();
  for (std::int64_t i = 0; i < n_fft; ++i) {
    for (std::int64_t f = 0; f < frequencies; ++f) {
      const Turn at = turn(i, f, n_fft);
      *value++ = scale * at.cosine;
      *value++ = -scale * at.sine;
    }
  }
  return matrix;
}

// The pairs of numbers in every row as complex numbers.
Tensor rows_of_complex(const Tensor& matrix) {
  const Tensor pairs = matrix.reshape(Dims{matrix.size(0), matrix.size(1) / 2, 2});
  return complex_of(pairs.select(2, 0), pairs.select(2, 1));
}

Value stft(const Bound& args, bool center, const std::string& pad_mode) {
  Raised raised;
  Var x = raised(args.var("input"));
  if (!(is_floating(x.dtype()) || is_complex(x.dtype())) || (x.rank() != 1 && x.rank() != 2)) {
    throw SkipError("stft expects a floating-point or complex tensor of one or two dimensions.");
  }
  const bool batched = x.rank() == 2;
  if (!batched) x = unsqueeze(x, 0);
  const FrameSizes sizes = frame_sizes(args, "stft");
  const DType part = is_complex(x.dtype()) ? part_dtype(x.dtype()) : x.dtype();
  const Var window = full_window(raised(args.optional_var("window")), x.tape(), part, sizes);
  const Var frames = mul(frames_of(x, sizes.n_fft, sizes.hop, center, pad_mode), window);
  const bool from_complex = is_complex(frames.dtype());
  const bool onesided = args.given("onesided") ? args.flag("onesided") : !from_complex;
  if (from_complex && onesided) throw SkipError("Cannot have onesided output if window or input is complex.");
  const std::int64_t frequencies = onesided ? sizes.n_fft / 2 + 1 : sizes.n_fft;
  const double scale = args.flag("normalized") ? 1 / std::sqrt(static_cast<double>(sizes.n_fft)) : 1;
  const Tensor matrix = transform_matrix(sizes.n_fft, frequencies, scale);
  // With the parts along a last axis until the end.
  const Dims shape{x.size(0), frames.size(1), frequencies, 2};
  const auto multiply = [&](const Tensor& factor) {
    return matmul(frames, args.tape().constant(factor.to(frames.dtype())));
  };
  const Var parts = from_complex ? view_as_real(multiply(rows_of_complex(matrix))) : reshape(multiply(matrix), shape);
  const Var transposed = transpose(parts, 1, 2);
  const Var whole = batched ? transposed : squeeze(transposed, 0);
  const bool wants_complex = args.given("return_complex") ? args.flag("return_complex") : from_complex;
  return wants_complex ? view_as_complex(whole) : raised.back(whole);
}

Value stft_with_padding(const Bound& args) { return stft(args, args.flag("center"), args.text("pad_mode")); }

// Frames (batch, frames, size) added up, each `hop` elements behind the one before: (batch, length).
Var overlapped(const Var& frames, std::int64_t hop) {
  const std::int64_t size = frames.size(2);
  std::int64_t length = 0;
  if (__builtin_mul_overflow(hop, frames.size(1) - 1, &length) || __builtin_add_overflow(length, size, &length)) {
    throw SkipError("istft: the signal would be too long.");
  }
  const Dims strides{length, hop, 1};
  return frames.tape().record(embed(Dims{frames.size(0), length}, strides, 0, frames.tensor()),
                              {{frames, [shape = frames.shape(), strides](const Tensor& g) {
                                  return g.contiguous().with_strides(shape, strides, 0);
                                }}});
}

// (frequencies * 2, n_fft): what real and imaginary part of each frequency add to the elements of a real frame. The
// frequencies above half of n_fft mirror those below, and the imaginary parts of the first and middle one do not count.
Tensor real_inverse_matrix(std::int64_t n_fft, std::int64_t frequencies, double scale) {
  Tensor matrix(DType::float64, {frequencies * 2, n_fft});
  auto* value = matrix.mutable_data<double>();
  for (std::int64_t f = 0; f < frequencies; ++f) {
    const bool alone = f == 0 || 2 * f == n_fft;
    const double weight = alone ? scale : 2 * scale;
    for (std::int64_t i = 0; i < n_fft; ++i) *value++ = weight * turn(i, f, n_fft).cosine;
    for (std::int64_t i = 0; i < n_fft; ++i) *value++ = alone ? 0 : -weight * turn(i, f, n_fft).sine;
  }
  return matrix;
}

// The frames (batch, frames, n_fft) of spectra (batch, frames, frequencies).
Var inverse_frames(const Var& spectra, std::int64_t n_fft, bool to_complex, double scale) {
  Tape& tape = spectra.tape();
  if (to_complex) {
    const Tensor forward = rows_of_complex(transform_matrix(n_fft, n_fft, scale));
    return matmul(spectra, tape.constant(conjugate(forward).to(spectra.dtype())));
  }
  const std::int64_t frequencies = n_fft / 2 + 1;
  const Var half = slice(spectra, 2, 0, frequencies);
  const Var parts = reshape(view_as_real(half), {spectra.size(0), spectra.size(1), frequencies * 2});
  return matmul(parts, tape.constant(real_inverse_matrix(n_fft, frequencies, scale).to(parts.dtype())));
}

Value istft(const Bound& args) {
  const Var given = args.var("input");
  Var x = is_complex(given.dtype()) ? given : view_as_complex(given);
  if (x.numel() == 0 || (x.rank() != 2 && x.rank() != 3)) {
    throw SkipError("istft expects a complex tensor of two or three dimensions that is not empty.");
  }
  const bool batched = x.rank() == 3;
  if (!batched) x = unsqueeze(x, 0);
  const FrameSizes sizes = frame_sizes(args, "istft");
  const bool onesided = args.given("onesided") ? args.flag("onesided") : x.size(1) != sizes.n_fft;
  const bool to_complex = args.flag("return_complex");
  if (to_complex && onesided) throw SkipError("Cannot have onesided output if window or input is complex.");
  const std::int64_t frequencies = onesided ? sizes.n_fft / 2 + 1 : sizes.n_fft;
  if (x.size(1) != frequencies) {
    throw SkipError("istft: expected " + std::to_string(frequencies) + " frequencies, but got " +
                    std::to_string(x.size(1)) + ".");
  }
  if (sizes.hop > sizes.window) throw SkipError("istft: hop_length must not be above win_length.");
  const std::optional<Var> given_window = args.optional_var("window");
  if (given_window && is_complex(given_window->dtype()) && !to_complex) {
    throw SkipError("Complex windows are incompatible with return_complex=False.");
  }
  const Var window = full_window(given_window, x.tape(), part_dtype(x.dtype()), sizes);
  const auto count = static_cast<double>(sizes.n_fft);
  const double scale = args.flag("normalized") ? 1 / std::sqrt(count) : 1 / count;
  const Var frames = inverse_frames(transpose(x, 1, 2), sizes.n_fft, to_complex, scale);
  const Var signal = overlapped(mul(frames, window), sizes.hop);
  const Var weights = expand(square(window), {1, frames.size(1), sizes.n_fft});
  const Var envelope = overlapped(weights, sizes.hop);

  const std::int64_t margin = args.flag("center") ? sizes.n_fft / 2 : 0;
  const std::int64_t available = signal.size(1) - margin;
  const std::optional<std::int64_t> length = args.optional_integer("length");
  const std::int64_t wanted = length.value_or(available - margin);
  if (wanted < 1 || wanted > length_limit << 8) throw SkipError("istft: there is no signal of this length.");
  const std::int64_t kept = std::min(wanted, available);
  const Var weight = slice(envelope, 1, margin, kept);
  const Tensor smallest = extremum(Extremum::minimum, abs(weight).tensor(), {}, false);
  if (!(smallest.item() > 1e-11)) throw SkipError("istft: the windows do not cover the whole signal.");
  Var y = div(slice(signal, 1, margin, kept), weight);
  if (wanted > kept) {
    y = cat({y, y.tape().constant(Tensor::zeros(y.dtype(), Dims{y.size(0), wanted - kept}))}, 1);
  }
  return batched ? y : squeeze(y, 0);
}

}  // namespace

OP("stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
   "str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None)",
   stft_with_padding);
NAMES("stft", "Torch: stft; Tensor: stft");
TRAITS("stft", .complex = true);

// The dispatcher's first overload, which takes every call that names neither centre nor padding, does not pad.
OP("aten_stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
   "bool normalized=False, bool? onesided=None, bool? return_complex=None)",
   [](const Bound& args) -> Value { return stft(args, false, "reflect"); });
OP("aten_stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
   "bool center=True, str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None)",
   stft_with_padding);
NAMES("aten_stft", "Aten: stft");
TRAITS("aten_stft", .complex = true);

OP("istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
   "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False)",
   istft);
NAMES("istft", "Torch: istft; Tensor: istft; Aten: istft");
TRAITS("istft", .complex = true);

}  // namespace msrun
