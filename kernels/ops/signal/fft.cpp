// The Fourier transforms of torch.fft, as the dispatcher names them. Every one is made of complex transforms along
// single axes, whose gradients are such transforms, too.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/fourier.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

// What a transform over n elements is divided by: the number that ATen's operators take.
enum class Divisor : std::uint8_t { none, root_of_n, n };

double scale_of(Divisor divisor, std::int64_t n) {
  const auto count = static_cast<double>(n);
  return divisor == Divisor::none ? 1 : divisor == Divisor::n ? 1 / count : 1 / std::sqrt(count);
}

// norm= of torch.fft: which direction is divided, or both.
Divisor divisor_of(const Bound& args, FourierDirection direction) {
  const bool forward = direction == FourierDirection::forward;
  if (!args.given("norm")) return forward ? Divisor::none : Divisor::n;
  const std::string& norm = args.text("norm");
  if (norm == "ortho") return Divisor::root_of_n;
  if (norm == "backward") return forward ? Divisor::none : Divisor::n;
  if (norm == "forward") return forward ? Divisor::n : Divisor::none;
  throw SkipError("Invalid normalization mode: '" + norm + "'.");
}

Divisor numbered_divisor(const Bound& args) {
  const std::int64_t number = args.integer("normalization");
  if (number < 0 || number > 2) throw SkipError("The normalization of a Fourier transform is 0, 1 or 2.");
  return static_cast<Divisor>(number);
}

Var transformed(const Var& x, std::int64_t axis, FourierDirection direction, Divisor divisor) {
  const double scale = scale_of(divisor, x.size(axis));
  const bool forward = direction == FourierDirection::forward;
  const FourierDirection back = forward ? FourierDirection::inverse : FourierDirection::forward;
  return x.tape().record(fourier(x.tensor(), axis, direction, scale),
                         {{x, [axis, back, scale](const Tensor& g) { return fourier(g, axis, back, scale); }}});
}

// Integers become float32 first; half is not transformed.
Var as_complex(const Var& x) {
  if (is_complex(x.dtype())) return x;
  if (is_half(x.dtype()) || is_float8(x.dtype())) throw SkipError("Half tensors have no Fourier transform on the CPU.");
  return cast(x, complex_dtype(x.dtype()));
}

void require_real(const Var& x) {
  if (is_complex(x.dtype())) throw SkipError("A Fourier transform of real numbers got a complex tensor.");
}

// Cut, or with zeros behind, to n elements along an axis.
Var resized(const Var& x, std::int64_t axis, std::int64_t n) {
  if (n < 1) throw SkipError("Invalid number of data points (" + std::to_string(n) + ") specified.");
  const std::int64_t size = x.size(axis);
  if (n == size) return x;
  if (n < size) return slice(x, axis, 0, n);
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(normalize_axis(axis, x.rank()))] = n - size;
  return cat({x, x.tape().constant(Tensor::zeros(x.dtype(), shape))}, axis);
}

// The first half of a real signal's spectrum.
Var half_of(const Var& spectrum, std::int64_t axis) { return slice(spectrum, axis, 0, spectrum.size(axis) / 2 + 1); }

// The real signal of n elements whose spectrum's first half this is: what the other half adds is the conjugate.
Var from_half(const Var& half, std::int64_t axis, std::int64_t n, FourierDirection direction, Divisor divisor) {
  if (n < 1) throw SkipError("Invalid number of data points (" + std::to_string(n) + ") specified.");
  const Var cut = resized(half, axis, n / 2 + 1);
  const std::int64_t at = normalize_axis(axis, half.rank());
  Dims shape(half.shape().size(), 1);
  shape[static_cast<std::size_t>(at)] = n / 2 + 1;
  Tensor weights = Tensor::full(part_dtype(half.dtype()), shape, 2).to(DType::float64);
  auto* weight = weights.mutable_data<double>();
  weight[0] = 1;
  if (n % 2 == 0) weight[n / 2] = 1;
  const Var weighted = mul(cut, half.tape().constant(weights.to(part_dtype(half.dtype()))));
  return real(transformed(resized(weighted, axis, n), axis, direction, divisor));
}

// The axes of a transform over several: dim, or as many of the last ones as s has, or all. sizes has one entry per
// axis.
struct Axes {
  Dims dims;
  Dims sizes;  // -1: as it is
};

Axes axes_of(const Bound& args, const Var& x) {
  Axes axes;
  const Dims sizes = args.ints("s");
  if (args.given("dim")) {
    for (const std::int64_t axis : args.ints("dim")) axes.dims.push_back(normalize_axis(axis, x.rank()));
  } else {
    const std::int64_t count = args.given("s") ? static_cast<std::int64_t>(sizes.size()) : x.rank();
    for (std::int64_t i = 0; i < count; ++i) axes.dims.push_back(normalize_axis(x.rank() - count + i, x.rank()));
  }
  for (std::size_t i = 0; i < axes.dims.size(); ++i) {
    if (std::count(axes.dims.begin(), axes.dims.end(), axes.dims[i]) > 1) {
      throw SkipError("The dimensions of a Fourier transform must be unique.");
    }
  }
  if (args.given("s") && sizes.size() != axes.dims.size()) {
    throw SkipError("A Fourier transform needs one size per dimension.");
  }
  if (axes.dims.empty() || x.rank() == 0) throw SkipError("A Fourier transform must be over at least one dimension.");
  axes.sizes = args.given("s") ? sizes : Dims(axes.dims.size(), -1);
  return axes;
}

// Complex transforms over the first `count` of the axes.
Var over_axes(Var x, const Axes& axes, std::size_t count, FourierDirection direction, Divisor divisor) {
  for (std::size_t i = 0; i < count; ++i) {
    if (axes.sizes[i] != -1) x = resized(x, axes.dims[i], axes.sizes[i]);
    x = transformed(x, axes.dims[i], direction, divisor);
  }
  return x;
}

// fftn, ifftn; with one axis fft, ifft.
template <FourierDirection direction>
Var complex_transform(const Var& x, const Axes& axes, Divisor divisor) {
  return over_axes(as_complex(x), axes, axes.dims.size(), direction, divisor);
}

// rfftn forward, the conjugate of its inverse ihfftn.
template <FourierDirection direction>
Var real_transform(const Var& x, const Axes& axes, Divisor divisor) {
  require_real(x);
  const std::int64_t last = axes.dims.back();
  const Var z = as_complex(x);
  const Var cut = axes.sizes.back() == -1 ? z : resized(z, last, axes.sizes.back());
  return over_axes(half_of(transformed(cut, last, direction, divisor), last), axes, axes.dims.size() - 1, direction,
                   divisor);
}

// irfftn is the inverse one, hfftn the forward one.
template <FourierDirection direction>
Var transform_to_real(const Var& x, const Axes& axes, Divisor divisor) {
  const std::int64_t last = axes.dims.back();
  const Var z = over_axes(as_complex(x), axes, axes.dims.size() - 1, direction, divisor);
  const std::int64_t n = axes.sizes.back() == -1 ? 2 * (z.size(last) - 1) : axes.sizes.back();
  return from_half(z, last, n, direction, divisor);
}

using Transform = Var (*)(const Var&, const Axes&, Divisor);

template <FourierDirection direction, Transform transform>
Value one_axis(const Bound& args) {
  const Var x = args.var("input");
  if (x.rank() == 0) throw SkipError("A Fourier transform needs a tensor of at least one dimension.");
  Axes axes;
  axes.dims.push_back(normalize_axis(args.integer("dim"), x.rank()));
  axes.sizes.push_back(args.optional_integer("n").value_or(-1));
  return transform(x, axes, divisor_of(args, direction));
}

template <FourierDirection direction, Transform transform>
Value many_axes(const Bound& args) {
  const Var x = args.var("input");
  return transform(x, axes_of(args, x), divisor_of(args, direction));
}

constexpr FourierDirection ahead = FourierDirection::forward;
constexpr FourierDirection back = FourierDirection::inverse;

// ATen's own operators: over axes that are listed, without a change of size.
Axes listed_axes(const Bound& args, const Var& x) {
  Axes axes;
  for (const std::int64_t axis : args.ints("dim")) {
    axes.dims.push_back(normalize_axis(axis, x.rank()));
    axes.sizes.push_back(-1);
  }
  if (axes.dims.empty() || x.rank() == 0) throw SkipError("A Fourier transform must be over at least one dimension.");
  return axes;
}

Value c2c(const Bound& args) {
  const Var x = args.var("input");
  if (!is_complex(x.dtype())) throw SkipError("_fft_c2c needs a complex tensor.");
  const Axes axes = listed_axes(args, x);
  const Divisor divisor = numbered_divisor(args);
  return args.flag("forward") ? complex_transform<ahead>(x, axes, divisor) : complex_transform<back>(x, axes, divisor);
}

Value r2c(const Bound& args) {
  const Var x = args.var("input");
  require_real(x);
  const Axes axes = listed_axes(args, x);
  const Divisor divisor = numbered_divisor(args);
  return args.flag("onesided") ? real_transform<ahead>(x, axes, divisor) : complex_transform<ahead>(x, axes, divisor);
}

Value c2r(const Bound& args) {
  const Var x = args.var("input");
  if (!is_complex(x.dtype())) throw SkipError("_fft_c2r needs a complex tensor.");
  Axes axes = listed_axes(args, x);
  const std::int64_t last = args.integer("last_dim_size");
  // Frameworks lengthen nothing here, and read on.
  if (last < 1 || last / 2 >= x.size(axes.dims.back())) {
    throw SkipError("_fft_c2r: " + std::to_string(last) + " real numbers have more than the " +
                    std::to_string(x.size(axes.dims.back())) + " frequencies of the input.");
  }
  axes.sizes.back() = last;
  return transform_to_real<back>(x, axes, numbered_divisor(args));
}

// Half of the elements rotated, so that frequency zero comes to the middle, and back.
Value shifted(const Bound& args, bool inverse) {
  const Var x = args.var("input");
  Dims dims = args.ints("dim");
  for (std::int64_t axis = 0; !args.given("dim") && axis < x.rank(); ++axis) dims.push_back(axis);
  const auto turn = [dims, inverse](Tensor t, bool backwards) {
    for (const std::int64_t axis : dims) {
      const std::int64_t shift = (t.size(axis) + (inverse ? 1 : 0)) / 2;
      t = roll(t, backwards ? -shift : shift, axis);
    }
    return t;
  };
  return x.tape().record(turn(x.tensor(), false), {{x, [turn](const Tensor& g) { return turn(g, true); }}});
}

}  // namespace

OP("fft_fft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<ahead, complex_transform<ahead>>);
NAMES("fft_fft", "Aten: fft_fft");
TRAITS("fft_fft", .complex = true);
OP("fft_ifft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<back, complex_transform<back>>);
NAMES("fft_ifft", "Aten: fft_ifft");
TRAITS("fft_ifft", .complex = true);
OP("fft_rfft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<ahead, real_transform<ahead>>);
NAMES("fft_rfft", "Aten: fft_rfft");
TRAITS("fft_rfft", .complex = true);
OP("fft_irfft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<back, transform_to_real<back>>);
NAMES("fft_irfft", "Aten: fft_irfft");
TRAITS("fft_irfft", .complex = true);
OP("fft_hfft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<ahead, transform_to_real<ahead>>);
NAMES("fft_hfft", "Aten: fft_hfft");
TRAITS("fft_hfft", .complex = true);
OP("fft_ihfft(Tensor input, int? n=None, int dim=-1, str? norm=None)", one_axis<back, real_transform<back>>);
NAMES("fft_ihfft", "Aten: fft_ihfft");
TRAITS("fft_ihfft", .complex = true);

OP("fft_fft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<ahead, complex_transform<ahead>>);
NAMES("fft_fft2", "Aten: fft_fft2");
TRAITS("fft_fft2", .complex = true);
OP("fft_ifft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<back, complex_transform<back>>);
NAMES("fft_ifft2", "Aten: fft_ifft2");
TRAITS("fft_ifft2", .complex = true);
OP("fft_rfft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<ahead, real_transform<ahead>>);
NAMES("fft_rfft2", "Aten: fft_rfft2");
TRAITS("fft_rfft2", .complex = true);
OP("fft_irfft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<back, transform_to_real<back>>);
NAMES("fft_irfft2", "Aten: fft_irfft2");
TRAITS("fft_irfft2", .complex = true);
OP("fft_hfft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<ahead, transform_to_real<ahead>>);
NAMES("fft_hfft2", "Aten: fft_hfft2");
TRAITS("fft_hfft2", .complex = true);
OP("fft_ihfft2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), str? norm=None)",
   many_axes<back, real_transform<back>>);
NAMES("fft_ihfft2", "Aten: fft_ihfft2");
TRAITS("fft_ihfft2", .complex = true);

OP("fft_fftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)",
   many_axes<ahead, complex_transform<ahead>>);
NAMES("fft_fftn", "Aten: fft_fftn");
TRAITS("fft_fftn", .complex = true);
OP("fft_ifftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)", many_axes<back, complex_transform<back>>);
NAMES("fft_ifftn", "Aten: fft_ifftn");
TRAITS("fft_ifftn", .complex = true);
OP("fft_rfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)", many_axes<ahead, real_transform<ahead>>);
NAMES("fft_rfftn", "Aten: fft_rfftn");
TRAITS("fft_rfftn", .complex = true);
OP("fft_irfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)",
   many_axes<back, transform_to_real<back>>);
NAMES("fft_irfftn", "Aten: fft_irfftn");
TRAITS("fft_irfftn", .complex = true);
OP("fft_hfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)",
   many_axes<ahead, transform_to_real<ahead>>);
NAMES("fft_hfftn", "Aten: fft_hfftn");
TRAITS("fft_hfftn", .complex = true);
OP("fft_ihfftn(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None)", many_axes<back, real_transform<back>>);
NAMES("fft_ihfftn", "Aten: fft_ihfftn");
TRAITS("fft_ihfftn", .complex = true);

OP("_fft_c2c(Tensor input, int[] dim, int normalization, bool forward)", c2c);
NAMES("_fft_c2c", "Aten: _fft_c2c");
TRAITS("_fft_c2c", .complex = true);
OP("_fft_r2c(Tensor input, int[] dim, int normalization, bool onesided)", r2c);
NAMES("_fft_r2c", "Aten: _fft_r2c");
TRAITS("_fft_r2c", .complex = true);
OP("_fft_c2r(Tensor input, int[] dim, int normalization, int last_dim_size)", c2r);
NAMES("_fft_c2r", "Aten: _fft_c2r");
TRY_FIRST("_fft_c2r", Trial::of_sizes);
TRAITS("_fft_c2r", .complex = true);

OP("fft_fftshift(Tensor input, int[]? dim=None)", [](const Bound& args) { return shifted(args, false); });
NAMES("fft_fftshift", "Aten: fft_fftshift");
TRAITS("fft_fftshift", .copies_only = true);
OP("fft_ifftshift(Tensor input, int[]? dim=None)", [](const Bound& args) { return shifted(args, true); });
NAMES("fft_ifftshift", "Aten: fft_ifftshift");
TRAITS("fft_ifftshift", .copies_only = true);

}  // namespace msrun
