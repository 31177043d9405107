// Complex numbers: their parts, polar coordinates and conjugates. Gradients follow torch: of a real loss with respect
// to z it is the derivative by the real part plus i times that by the imaginary part.
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/numeric/complex_numbers.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

void require_real(const Var& x, const char* who) {
  if (!is_floating(x.dtype())) throw SkipError(std::string(who) + " needs floating-point tensors.");
}

// r (cos t + i sin t).
Var polar(const Var& r, const Var& t) {
  require_real(r, "polar");
  require_real(t, "polar");
  const DType dtype = complex_dtype(result_dtype({&r, &t}));
  const auto point = [](Complex radius, Complex angle) {
    return radius.real() * Complex(std::cos(angle.real()), std::sin(angle.real()));
  };
  const Edge radial{r, [angle = t.tensor(), shape = r.shape(), dtype, &context = r.context()](const Tensor& g) {
                      const auto along = [](Complex a, Complex gradient) {
                        return gradient.real() * std::cos(a.real()) + gradient.imag() * std::sin(a.real());
                      };
                      return sum_to(map_complex(part_dtype(dtype), along, angle, g), shape,
                                    context.with_sound_arithmetic());
                    }};
  const Edge angular{
      t, [radius = r.tensor(), angle = t.tensor(), shape = t.shape(), dtype, &context = r.context()](const Tensor& g) {
        const auto across = [](Complex size, Complex a, Complex gradient) {
          return size.real() * (gradient.imag() * std::cos(a.real()) - gradient.real() * std::sin(a.real()));
        };
        return sum_to(map_complex(part_dtype(dtype), across, radius, angle, g), shape, context.with_sound_arithmetic());
      }};
  return r.tape().record(map_complex(dtype, point, r.tensor(), t.tensor()), {radial, angular});
}

Value is_complex_operator(const Bound& args) { return is_complex(args.var("input").dtype()); }

Value imaginary_operator(const Bound& args) {
  const Var x = args.var("input");
  if (!is_complex(x.dtype())) throw SkipError("imag is not implemented for tensors with non-complex dtypes.");
  return imaginary(x);
}

Value complex_operator(const Bound& args) {
  const Var real = args.var("real");
  const Var imaginary = args.var("imag");
  require_real(real, "complex");
  require_real(imaginary, "complex");
  return complex_of(real, imaginary);
}

}  // namespace

Var magnitude(const Var& z) {
  const Tensor y = map_complex(
      part_dtype(z.dtype()), [](Complex a) { return std::abs(a); }, z.tensor());
  return z.tape().record(y, {{z, [t = z.tensor()](const Tensor& g) {
                                return map_complex(
                                    t.dtype(), [](Complex a, Complex gradient) { return gradient * direction(a); }, t,
                                    g);
                              }}});
}

Var unit(const Var& z) {
  // Only what is across the direction of z turns it.
  const auto turn = [](Complex a, Complex gradient) {
    const double size = std::abs(a);
    if (size == 0) return Complex{};
    const Complex along = direction(a);
    return (gradient - along * (gradient * std::conj(along)).real()) / size;
  };
  return z.tape().record(map_complex(
                             z.dtype(), [](Complex a) { return direction(a); }, z.tensor()),
                         {{z, [t = z.tensor(), turn](const Tensor& g) { return map_complex(t.dtype(), turn, t, g); }}});
}

Var argument(const Var& z) {
  const Tensor y = map_complex(
      part_dtype(z.dtype()), [](Complex a) { return std::arg(a); }, z.tensor());
  const auto across = [](Complex a, Complex gradient) {
    return a == Complex{} ? Complex{} : Complex(-a.imag(), a.real()) * (gradient.real() / std::norm(a));
  };
  return z.tape().record(
      y, {{z, [t = z.tensor(), across](const Tensor& g) { return map_complex(t.dtype(), across, t, g); }}});
}

Var conjugate(const Var& z) {
  if (!is_complex(z.dtype())) return z;
  return z.tape().record(conjugate(z.tensor()), {{z, [](const Tensor& g) { return conjugate(g); }}});
}

Var real(const Var& z) {
  if (!is_complex(z.dtype())) return z;
  return z.tape().record(real_part(z.tensor()),
                         {{z, [](const Tensor& g) { return complex_of(g, Tensor::scalar(g.dtype(), 0)); }}});
}

Var imaginary(const Var& z) {
  return z.tape().record(imaginary_part(z.tensor()),
                         {{z, [](const Tensor& g) { return complex_of(Tensor::scalar(g.dtype(), 0), g); }}});
}

Var complex_of(const Var& re, const Var& im) {
  return re.tape().record(
      complex_of(re.tensor(), im.tensor()),
      {{re, [shape = re.shape(), &context = re.context()](
                const Tensor& g) { return sum_to(real_part(g), shape, context.with_sound_arithmetic()); }},
       {im, [shape = im.shape(), &context = re.context()](const Tensor& g) {
          return sum_to(imaginary_part(g), shape, context.with_sound_arithmetic());
        }}});
}

Var view_as_real(const Var& z) {
  if (!is_complex(z.dtype())) throw SkipError("view_as_real is only supported for complex tensors.");
  return z.tape().record(pairs_of(z.tensor()), {{z, joined_pairs}});
}

Var view_as_complex(const Var& pairs) {
  if (!is_floating(pairs.dtype()) || pairs.rank() == 0 || pairs.size(-1) != 2) {
    throw SkipError("view_as_complex needs a floating-point tensor whose last dimension has size 2.");
  }
  return pairs.tape().record(joined_pairs(pairs.tensor()), {{pairs, pairs_of}});
}

OP("polar(Tensor abs, Tensor angle)",
   [](const Bound& args) -> Value { return polar(args.var("abs"), args.var("angle")); });
NAMES("polar", "Torch: polar; Aten: polar");
TRAITS("polar", .complex = true);

OP("complex(Tensor real, Tensor imag)", complex_operator);
NAMES("complex", "Torch: complex; Aten: complex");
TRAITS("complex", .complex = true);

OP("view_as_real(Tensor input)", unary_operator<view_as_real>);
NAMES("view_as_real", "Torch: view_as_real; Aten: view_as_real");
TRAITS("view_as_real", .complex = true);

OP("view_as_complex(Tensor input)", unary_operator<view_as_complex>);
NAMES("view_as_complex", "Torch: view_as_complex; Aten: view_as_complex");
TRAITS("view_as_complex", .complex = true);

OP("real(Tensor input)", unary_operator<real>);
NAMES("real", "Torch: real; Tensor: real");
TRAITS("real", .complex = true);

OP("imag(Tensor input)", imaginary_operator);
NAMES("imag", "Torch: imag; Tensor: imag");
TRAITS("imag", .complex = true);

OP("conj(Tensor input)", unary_operator<conjugate>);
NAMES("conj",
      "Torch: conj conj_physical; Tensor: _conj conj _conj_physical conj_physical; Aten: conj_physical conj_physical_");
TRAITS("conj", .complex = true);

OP("is_complex(Tensor input)", is_complex_operator);
NAMES("is_complex", "Torch: is_complex; Tensor: is_complex");
TRAITS("is_complex", .complex = true);

}  // namespace msrun
