// Distances between rows: of all pairs, and of corresponding ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/norm_orders.h"

namespace msrun {
namespace {

// The p-norms by what they need in the inner loop: term(d) is summed (or maximised), root() makes the norm of the
// total, and slope(difference, distance) is d distance / d difference, with 0 at distance 0.
template <class T>
struct HammingNorm {
  T term(T d) const { return d == 0 ? T{0} : T{1}; }
  T root(T total) const { return total; }
  T slope(T, T) const { return 0; }
};
template <class T>
struct ManhattanNorm {
  T term(T d) const { return std::abs(d); }
  T root(T total) const { return total; }
  T slope(T difference, T) const { return static_cast<T>((difference > 0) - (difference < 0)); }
};
template <class T>
struct EuclideanNorm {
  T term(T d) const { return d * d; }
  T root(T total) const { return std::sqrt(total); }
  T slope(T difference, T distance) const { return distance == 0 ? T{0} : difference / distance; }
};
template <class T>
struct GeneralNorm {
  T p;
  T term(T d) const { return std::pow(std::abs(d), p); }
  T root(T total) const { return std::pow(total, 1 / p); }
  T slope(T difference, T distance) const {
    if (difference == 0 || distance == 0) return 0;
    return std::copysign(std::pow(std::abs(difference) / distance, p - 1), difference);
  }
};
template <class T>
struct MaximumNorm {
  T slope(T difference, T distance) const {
    const auto sign = static_cast<T>((difference > 0) - (difference < 0));
    return std::abs(difference) == distance ? sign : T{0};
  }
};

template <class T, class F>
void with_norm(double p, F&& f) {
  if (p == 0) {
    f(HammingNorm<T>{});
  } else if (p == 1) {
    f(ManhattanNorm<T>{});
  } else if (p == 2) {
    f(EuclideanNorm<T>{});
  } else if (std::isinf(p)) {
    f(MaximumNorm<T>{});
  } else {
    f(GeneralNorm<T>{static_cast<T>(p)});
  }
}

template <class T, class Norm>
T distance(const Norm& norm, const T* x, const T* y, std::int64_t length) {
  T total = 0;
  if constexpr (std::is_same_v<Norm, MaximumNorm<T>>) {
    for (std::int64_t i = 0; i < length; ++i) {
      const T d = std::abs(x[i] - y[i]);
      total = d > total || std::isnan(d) ? d : total;
    }
    return total;
  } else {
    constexpr std::int64_t lanes = 16;
    std::array<T, lanes> sums{};
    std::int64_t i = 0;
    for (; i + lanes <= length; i += lanes) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        sums[static_cast<std::size_t>(lane)] += norm.term(x[i + lane] - y[i + lane]);
      }
    }
    for (; i < length; ++i) total += norm.term(x[i] - y[i]);
    for (const T part : sums) total += part;
    return norm.root(total);
  }
}

// Up to so many, torch computes Euclidean distances from differences unless it is told otherwise.
constexpr std::int64_t few_rows = 25;

struct Pairs {
  std::int64_t batches;
  std::int64_t rows_x;
  std::int64_t rows_y;
  std::int64_t length;
};

// Euclidean distances by products of matrices: |x|^2 + |y|^2 - 2 x y. Frameworks compute many of them so, and lose the
// digits that cancel where points are near each other.
template <class T>
void distances_by_products(const Pairs& pairs, const T* x, const T* y, T* result) {
  const auto product = [&](const T* left, const T* right) {
    return std::inner_product(left, left + pairs.length, right, T{0});
  };
  for (std::int64_t b = 0; b < pairs.batches; ++b) {
    for (std::int64_t i = 0; i < pairs.rows_x; ++i) {
      const T* const row_x = x + (b * pairs.rows_x + i) * pairs.length;
      for (std::int64_t j = 0; j < pairs.rows_y; ++j) {
        const T* const row_y = y + (b * pairs.rows_y + j) * pairs.length;
        const T square = product(row_x, row_x) + product(row_y, row_y) - 2 * product(row_x, row_y);
        *result++ = std::sqrt(std::max(square, T{0}));
      }
    }
  }
}

template <class T>
void distances(const Pairs& pairs, double p, const T* x, const T* y, T* result) {
  with_norm<T>(p, [&](const auto& norm) {
    for (std::int64_t b = 0; b < pairs.batches; ++b) {
      for (std::int64_t i = 0; i < pairs.rows_x; ++i) {
        for (std::int64_t j = 0; j < pairs.rows_y; ++j) {
          *result++ = distance(norm, x + (b * pairs.rows_x + i) * pairs.length,
                               y + (b * pairs.rows_y + j) * pairs.length, pairs.length);
        }
      }
    }
  });
}

// Adds the gradients of both operands to gradient_x and gradient_y.
template <class T>
void distances_backward(const Pairs& pairs, double p, const T* x, const T* y, const T* result, const T* gradient,
                        T* gradient_x, T* gradient_y) {
  with_norm<T>(p, [&](const auto& norm) {
    for (std::int64_t b = 0; b < pairs.batches; ++b) {
      for (std::int64_t i = 0; i < pairs.rows_x; ++i) {
        const std::int64_t at_x = (b * pairs.rows_x + i) * pairs.length;
        for (std::int64_t j = 0; j < pairs.rows_y; ++j, ++result, ++gradient) {
          const std::int64_t at_y = (b * pairs.rows_y + j) * pairs.length;
          for (std::int64_t k = 0; k < pairs.length; ++k) {
            const T slope = *gradient * norm.slope(x[at_x + k] - y[at_y + k], *result);
            gradient_x[at_x + k] += slope;
            gradient_y[at_y + k] -= slope;
          }
        }
      }
    }
  });
}

Var cdist(const Var& a, const Var& b, double p) {
  if (a.rank() < 2 || b.rank() < 2 || a.size(-1) != b.size(-1)) {
    throw SkipError("cdist: shapes " + tuple_text(a.shape()) + " and " + tuple_text(b.shape()) +
                    " are not matrices with rows of the same length.");
  }
  if (!(p >= 0)) throw SkipError("cdist only supports non-negative p values.");
  const DType dtype = result_dtype({&a, &b});
  if (!is_floating(dtype)) throw SkipError("cdist only supports floating-point dtypes.");
  const DType compute = product_dtype(dtype);
  const Dims batch =
      broadcast_shapes(Dims(a.shape().begin(), a.shape().end() - 2), Dims(b.shape().begin(), b.shape().end() - 2));
  Dims shape_x = batch;
  Dims shape_y = batch;
  Dims shape = batch;
  for (const std::int64_t axis : {-2, -1}) {
    shape_x.push_back(a.size(axis));
    shape_y.push_back(b.size(axis));
  }
  shape.push_back(a.size(-2));
  shape.push_back(b.size(-2));
  const Pairs pairs{element_count(batch), a.size(-2), b.size(-2), a.size(-1)};
  const Tensor x = a.tensor().to(compute).expand(shape_x).contiguous();
  const Tensor y = b.tensor().to(compute).expand(shape_y).contiguous();
  Tensor result(compute, shape);
  a.context().note_sums(pairs.length, result.numel());
  const bool by_products = p == 2 && a.context().jitter_seed != 0 && std::max(pairs.rows_x, pairs.rows_y) > few_rows;
  if (by_products && compute == DType::float64) {
    distances_by_products(pairs, x.data<double>(), y.data<double>(), result.mutable_data<double>());
  } else if (by_products) {
    distances_by_products(pairs, x.data<float>(), y.data<float>(), result.mutable_data<float>());
  } else if (compute == DType::float64) {
    distances(pairs, p, x.data<double>(), y.data<double>(), result.mutable_data<double>());
  } else {
    distances(pairs, p, x.data<float>(), y.data<float>(), result.mutable_data<float>());
  }
  return a.tape().record(
      result.to(dtype), {a, b}, [=, &context = a.context(), from_a = a.shape(), from_b = b.shape()](const Tensor& g) {
        Tensor gradient_x = Tensor::zeros(compute, x.shape());
        Tensor gradient_y = Tensor::zeros(compute, y.shape());
        const Tensor gradient = g.to(compute).contiguous();
        context.note_sums(std::max(pairs.rows_x, pairs.rows_y), x.numel() + y.numel());
        if (compute == DType::float64) {
          distances_backward(pairs, p, x.data<double>(), y.data<double>(), result.data<double>(),
                             gradient.data<double>(), gradient_x.mutable_data<double>(),
                             gradient_y.mutable_data<double>());
        } else {
          distances_backward(pairs, p, x.data<float>(), y.data<float>(), result.data<float>(), gradient.data<float>(),
                             gradient_x.mutable_data<float>(), gradient_y.mutable_data<float>());
        }
        const EvaluationContext sound = context.with_sound_arithmetic();
        return std::vector<Tensor>{sum_to(gradient_x, from_a, sound), sum_to(gradient_y, from_b, sound)};
      });
}

// Distances of rows i < j of one matrix, in the order (0, 1), (0, 2) ... (1, 2) ...
template <class Visit>
void for_each_row_pair(const Tensor& x, const Visit& visit) {
  const std::int64_t rows = x.size(0);
  const std::int64_t length = x.size(1);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i + 1; j < rows; ++j) visit(at++, i * length, j * length);
  }
}

Var pdist(const Var& input, double p) {
  if (input.rank() != 2) throw SkipError("pdist only supports 2D tensors, got: " + std::to_string(input.rank()) + "D.");
  if (!is_floating(input.dtype())) throw SkipError("pdist only supports floating-point dtypes.");
  if (!(p >= 0)) throw SkipError("pdist only supports non-negative p values.");
  const Tensor x = to_compute(input.tensor());
  const std::int64_t rows = x.size(0);
  const std::int64_t length = x.size(1);
  require_bounded(x.shape());
  Tensor result(x.dtype(), {rows < 2 ? 0 : rows * (rows - 1) / 2});
  input.context().note_sums(length, result.numel());
  visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    with_norm<T>(p, [&](const auto& norm) {
      for_each_row_pair(x, [&](std::int64_t at, std::int64_t i, std::int64_t j) {
        result.mutable_data<T>()[at] = distance(norm, x.data<T>() + i, x.data<T>() + j, length);
      });
    });
  });
  return input.tape().record(result.to(input.dtype()),
                             {{input, [=, &context = input.context()](const Tensor& gradient) {
                                 const Tensor g = to_compute(gradient.to(x.dtype()));
                                 Tensor of_x = Tensor::zeros(x.dtype(), x.shape());
                                 context.note_sums(rows, x.numel());
                                 visit_compute(x.dtype(), [&](auto element) {
                                   using T = decltype(element);
                                   T* target = of_x.mutable_data<T>();
                                   with_norm<T>(p, [&](const auto& norm) {
                                     for_each_row_pair(x, [&](std::int64_t at, std::int64_t i, std::int64_t j) {
                                       for (std::int64_t k = 0; k < length; ++k) {
                                         const T difference = x.data<T>()[i + k] - x.data<T>()[j + k];
                                         const T slope = g.data<T>()[at] * norm.slope(difference, result.data<T>()[at]);
                                         target[i + k] += slope;
                                         target[j + k] -= slope;
                                       }
                                     });
                                   });
                                 });
                                 return of_x;
                               }}});
}

OP("pdist(Tensor input, float p=2.0)",
   [](const Bound& args) -> Value { return pdist(args.var("input"), args.real("p")); });
NAMES("pdist", "Functional: pdist; Torch: pdist; Aten: pdist");
TRAITS("pdist", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<1>);

OP("cdist(Tensor x1, Tensor x2, float p=2.0, any compute_mode=None)",
   [](const Bound& args) -> Value { return cdist(args.var("x1"), args.var("x2"), args.real("p")); });
NAMES("cdist", "Torch: cdist");
TRY_FIRST("cdist", Trial::of_sizes);
TRAITS("cdist", .autocast = AutocastPolicy::float32, .ranks_all_in = asks_for_extreme_norm<2>);

// The p-norm of x1 - x2 + eps along the last axis.
OP("pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var first = args.var("x1");
     const Var second = args.var("x2");
     const bool in_float16 = first.dtype() == DType::float16 && second.dtype() == DType::float16;
     const Var difference = add(sub(raised(first), raised(second)), args.real("eps"));
     return raised.back(vector_norm(difference, args.real("p"), Dims{-1}, args.flag("keepdim"),
                                    {.elements_in_float16 = in_float16, .norm_in_float16 = in_float16}));
   });
NAMES("pairwise_distance", "Functional: pairwise_distance; Torch: pairwise_distance; Aten: pairwise_distance");
TRAITS("pairwise_distance", .ranks_all_in = asks_for_extreme_norm<2>,
       .recorded_gradients = RecordedGradients::of_last_step);

}  // namespace
}  // namespace msrun
