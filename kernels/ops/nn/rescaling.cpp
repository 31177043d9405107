// Norms without mean and variance: division by a p-norm, a cap on it, and local response normalisation
// (api_inventory.md 3, normalisation).
#include <cmath>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/norm_orders.h"
#include "kernels/ops/common/numbers.h"

namespace msrun {
namespace {

Var normalize(const Var& x, double p, const Dims& axes, double epsilon) {
  const Var norm = unary(
      vector_norm(x, p, axes, true), [epsilon](auto n) { return std::max(n, static_cast<decltype(n)>(epsilon)); },
      [epsilon](auto n, auto, auto g) { return n >= static_cast<decltype(n)>(epsilon) ? g : decltype(g){0}; });
  return div(x, norm);
}

Var renorm(const Var& x, double p, std::int64_t dim, double max_norm, bool in_float16) {
  if (x.rank() < 2) throw SkipError("renorm: the input should have at least 2 dimensions.");
  if (!(p > 0) || !(max_norm >= 0)) throw SkipError("renorm: the power must be positive and maxnorm not negative.");
  const std::int64_t kept = normalize_axis(dim, x.rank());
  Dims axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != kept) axes.push_back(axis);
  }
  const Var factor = unary(
      vector_norm(x, p, axes, true, {.elements_in_float16 = in_float16, .norm_in_float16 = false}),
      [max_norm](auto n) {
        using T = decltype(n);
        return n > static_cast<T>(max_norm) ? static_cast<T>(max_norm) / (n + static_cast<T>(1e-7)) : T{1};
      },
      [max_norm](auto n, auto y, auto g) {
        using T = decltype(n);
        return n > static_cast<T>(max_norm) ? -g * y / (n + static_cast<T>(1e-7)) : T{0};
      });
  return mul(x, factor);
}

// x / (k + alpha / size * sum of x^2 over the window of channels)^beta, over [samples, channels, space].
struct LocalResponse {
  std::int64_t size = 1;
  double alpha = 0;
  double beta = 0;
  double k = 0;
  std::int64_t samples = 1;
  std::int64_t channels = 1;
  std::int64_t space = 1;
  Accumulator accumulator = Accumulator::wide;

  // Channels c - size / 2 to c + (size - 1) / 2, as far as they exist.
  std::int64_t first(std::int64_t c) const { return std::max<std::int64_t>(c - size / 2, 0); }
  std::int64_t last(std::int64_t c) const { return std::min(c + (size - 1) / 2, channels - 1); }

  // The base of the power.
  template <class T>
  void bases(const T* x, std::int64_t c, T* out) const {
    std::fill_n(out, space, T{0});
    with_accumulator(accumulator, [&]<Accumulator A>(std::integral_constant<Accumulator, A>) {
      for (std::int64_t other = first(c); other <= last(c); ++other) {
        const T* from = x + other * space;
        for (std::int64_t i = 0; i < space; ++i) out[i] = add_step<A>(out[i], from[i] * from[i]);
      }
    });
    const T scale = static_cast<T>(alpha / static_cast<double>(size));
    for (std::int64_t i = 0; i < space; ++i) out[i] = static_cast<T>(k) + scale * out[i];
  }

  template <class T>
  void forward(const T* x, T* y) const {
    std::vector<T> base(static_cast<std::size_t>(space));
    for (std::int64_t c = 0; c < channels; ++c) {
      bases(x, c, base.data());
      for (std::int64_t i = 0; i < space; ++i) {
        y[c * space + i] = x[c * space + i] / std::pow(base[static_cast<std::size_t>(i)], static_cast<T>(beta));
      }
    }
  }

  // result is zero on entry.
  template <class T>
  void backward(const T* x, const T* g, T* result) const {
    std::vector<T> base(static_cast<std::size_t>(space));
    std::vector<T> shared(static_cast<std::size_t>(space));  // what all channels of the window receive, times their x
    const T factor = static_cast<T>(-2 * beta * alpha / static_cast<double>(size));
    for (std::int64_t c = 0; c < channels; ++c) {
      bases(x, c, base.data());
      for (std::int64_t i = 0; i < space; ++i) {
        const T b = base[static_cast<std::size_t>(i)];
        const T direct = g[c * space + i] / std::pow(b, static_cast<T>(beta));
        result[c * space + i] += direct;
        shared[static_cast<std::size_t>(i)] = factor * direct * x[c * space + i] / b;
      }
      for (std::int64_t other = first(c); other <= last(c); ++other) {
        T* to = result + other * space;
        const T* from = x + other * space;
        for (std::int64_t i = 0; i < space; ++i) to[i] += shared[static_cast<std::size_t>(i)] * from[i];
      }
    }
  }
};

// For integers, the average of the squares is cut towards zero, as that of integers is.
Tensor integer_response(const Tensor& input, const LocalResponse& response) {
  const Tensor x = input.to(DType::int64).contiguous();
  Tensor y(DType::float32, x.shape());
  const std::int64_t space = response.space;
  for (std::int64_t n = 0; n < response.samples; ++n) {
    const std::int64_t* from = x.data<std::int64_t>() + n * response.channels * space;
    float* to = y.mutable_data<float>() + n * response.channels * space;
    for (std::int64_t c = 0; c < response.channels; ++c) {
      for (std::int64_t i = 0; i < space; ++i) {
        std::int64_t total = 0;
        for (std::int64_t other = response.first(c); other <= response.last(c); ++other) {
          const std::int64_t value = from[other * space + i];
          total = wrapping_add(total, wrapping_mul(value, value));
        }
        const std::int64_t mean = total / response.size;
        const float base =
            static_cast<float>(mean) * static_cast<float>(response.alpha) + static_cast<float>(response.k);
        to[c * space + i] = static_cast<float>(from[c * space + i]) / std::pow(base, static_cast<float>(response.beta));
      }
    }
  }
  return y;
}

Var local_response_norm(const Bound& args) {
  const Var x = args.var("input");
  if (x.rank() < 3 || (!is_floating(x.dtype()) && x.dtype() != DType::int64)) {
    throw SkipError("local_response_norm expects an input of floats or int64 with 3 or more dimensions, not " +
                    std::string(name(x.dtype())) + " of shape " + tuple_text(x.shape()) + ".");
  }
  require_bounded(x.shape());
  LocalResponse response{args.integer("size"), args.real("alpha"), args.real("beta"), args.real("k")};
  if (response.size < 1) throw SkipError("local_response_norm: size must be positive.");
  response.samples = x.size(0);
  response.channels = x.size(1);
  response.space = x.numel() == 0 ? 0 : x.numel() / (x.size(0) * x.size(1));
  response.accumulator = x.arithmetic().summation.accumulator;
  if (x.numel() == 0) return x;
  if (!is_floating(x.dtype())) return x.tape().constant(integer_response(x.tensor(), response));
  // A window beyond all channels on both sides sums the same elements.
  const Tensor wide = to_compute(x.tensor());
  Tensor y(wide.dtype(), wide.shape());
  const std::int64_t sample = response.channels * response.space;
  visit_compute(wide.dtype(), [&](auto element) {
    using T = decltype(element);
    for (std::int64_t n = 0; n < response.samples; ++n)
      response.forward(wide.data<T>() + n * sample, y.mutable_data<T>() + n * sample);
  });
  return x.tape().record(y.to(x.dtype()), {{x, [response, sample, x = x.tensor()](const Tensor& gradient) {
                                              const Tensor input = to_compute(x);
                                              const Tensor g = gradient.to(input.dtype()).contiguous();
                                              Tensor result = Tensor::zeros(input.dtype(), input.shape());
                                              visit_compute(input.dtype(), [&](auto element) {
                                                using T = decltype(element);
                                                for (std::int64_t n = 0; n < response.samples; ++n) {
                                                  response.backward(input.data<T>() + n * sample,
                                                                    g.data<T>() + n * sample,
                                                                    result.mutable_data<T>() + n * sample);
                                                }
                                              });
                                              return result;
                                            }}});
}

}  // namespace

OP("normalize(Tensor input, float p=2.0, int[] dim=1, float eps=1e-12, Tensor? out=None)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var input = args.var("input");
     // Frameworks store the raised norm in the dtype of the call.
     const double least = as_stored(input, args.real("eps"));
     return raised.back(normalize(raised(input), args.real("p"), args.ints("dim"), least));
   });
NAMES("normalize", "Functional: normalize");
TRAITS("normalize", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<1>,
       .recorded_gradients = RecordedGradients::of_last_step);

OP("renorm(Tensor input, Scalar p, int dim, Scalar maxnorm)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x = args.var("input");
  const bool in_float16 = x.dtype() == DType::float16;
  return raised.back(renorm(raised(x), args.real("p"), args.integer("dim"), args.real("maxnorm"), in_float16));
});
NAMES("renorm", "Torch: renorm; Tensor: renorm renorm_; Aten: renorm renorm_");
TRAITS("renorm", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<1>);

OP("local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0)",
   [](const Bound& args) -> Value { return local_response_norm(args); });
NAMES("local_response_norm", "Functional: local_response_norm");
TRAITS("local_response_norm", .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace msrun
