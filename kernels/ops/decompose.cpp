#define EIGEN_DONT_PARALLELIZE
#include "kernels/ops/decompose.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/error.h"
#include "kernels/ops/rows.h"

namespace msrun {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Eigen::Map<const Matrix<T>> matrix(const Tensor& tensor, std::int64_t index) {
  const std::int64_t rows = tensor.size(-2);
  const std::int64_t columns = tensor.size(-1);
  return {tensor.data<T>() + index * rows * columns, rows, columns};
}

template <class T>
Eigen::Map<Matrix<T>> matrix(Tensor& tensor, std::int64_t index) {
  const std::int64_t rows = tensor.size(-2);
  const std::int64_t columns = tensor.size(-1);
  return {tensor.mutable_data<T>() + index * rows * columns, rows, columns};
}

Dims batch_of(const Tensor& a) {
  if (a.rank() < 2) throw SkipError("A matrix decomposition needs a tensor of at least 2 dimensions.");
  return {a.shape().begin(), a.shape().end() - 2};
}

Dims with(Dims batch, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) batch.push_back(size);
  return batch;
}

// Calls f(T{}, index) for every matrix of the batch; there is nothing to do for empty matrices.
template <class F>
void for_each_matrix(const Tensor& a, F&& f) {
  visit_compute(a.dtype(), [&](auto element) {
    for (std::int64_t index = 0; index < element_count(batch_of(a)); ++index) f(element, index);
  });
}

template <class Factors>
void require_regular(const Factors& factors, const char* who) {
  const auto& lu = factors.matrixLU();
  for (Eigen::Index i = 0; i < lu.rows(); ++i) {
    if (lu(i, i) != 0) continue;
    throw SkipError(std::string(who) + ": The diagonal element " + std::to_string(i + 1) +
                    " is zero, the input matrix is singular.");
  }
}

}  // namespace

void require_square(const Tensor& a, const char* who) {
  if (a.rank() >= 2 && a.size(-1) == a.size(-2)) return;
  throw SkipError(std::string(who) + ": A must be batches of square matrices, but it has shape " +
                  tuple_text(a.shape()) + ".");
}

Tensor inverse(const Tensor& input) {
  require_square(input, "inverse");
  const Tensor a = input.contiguous();
  Tensor result(a.dtype(), a.shape());
  if (a.numel() == 0) return result;
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    const Eigen::PartialPivLU<Matrix<T>> factors(matrix<T>(a, index));
    require_regular(factors, "inverse");
    matrix<T>(result, index) = factors.inverse();
  });
  return result;
}

Tensor solve(const Tensor& left, const Tensor& right) {
  require_square(left, "solve");
  const Tensor a = left.contiguous();
  const Tensor b = right.contiguous();
  Tensor result(b.dtype(), b.shape());
  if (b.numel() == 0) return result;
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    const Eigen::PartialPivLU<Matrix<T>> factors(matrix<T>(a, index));
    require_regular(factors, "solve");
    matrix<T>(result, index) = factors.solve(matrix<T>(b, index));
  });
  return result;
}

Determinant determinant(const Tensor& input) {
  require_square(input, "det");
  const Tensor a = input.contiguous();
  const Dims batch = batch_of(a);
  Determinant result{Tensor(a.dtype(), batch), Tensor(a.dtype(), batch), Tensor(a.dtype(), batch)};
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    T value = 1;
    T sign = 1;
    T logarithm = 0;
    if (a.size(-1) > 0) {
      const Eigen::PartialPivLU<Matrix<T>> factors(matrix<T>(a, index));
      value = sign = static_cast<T>(factors.permutationP().determinant());
      for (Eigen::Index i = 0; i < factors.matrixLU().rows(); ++i) {
        const T pivot = factors.matrixLU()(i, i);
        value *= pivot;
        sign *= static_cast<T>((pivot > 0) - (pivot < 0));
        logarithm += std::log(std::abs(pivot));
      }
    }
    result.value.mutable_data<T>()[index] = value;
    result.sign.mutable_data<T>()[index] = sign;
    result.logarithm.mutable_data<T>()[index] = logarithm;
  });
  return result;
}

Tensor cholesky(const Tensor& input) {
  require_square(input, "cholesky");
  const Tensor a = input.contiguous();
  Tensor result(a.dtype(), a.shape());
  if (a.numel() == 0) return result;
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    const Eigen::LLT<Matrix<T>> factors(matrix<T>(a, index));
    if (factors.info() != Eigen::Success) {
      throw SkipError("cholesky: The factorization could not be completed because the input is not positive-definite.");
    }
    matrix<T>(result, index) = factors.matrixL();
  });
  return result;
}

SingularValues singular_values(const Tensor& input, bool full) {
  const Tensor a = input.contiguous();
  const Dims batch = batch_of(a);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  const std::int64_t count = std::min(rows, columns);
  SingularValues result{Tensor::zeros(a.dtype(), with(batch, {rows, full ? rows : count})),
                        Tensor(a.dtype(), with(batch, {count})),
                        Tensor::zeros(a.dtype(), with(batch, {columns, full ? columns : count}))};
  if (a.numel() == 0) return result;
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    const auto source = matrix<T>(a, index);
    if (!source.allFinite()) throw SkipError("svd: the input contains infinite or NaN elements.");
    const unsigned options =
        full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
    const Eigen::BDCSVD<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>> svd(source, options);
    matrix<T>(result.u, index) = svd.matrixU();
    matrix<T>(result.v, index) = svd.matrixV();
    std::copy_n(svd.singularValues().data(), count, result.s.mutable_data<T>() + index * count);
  });
  return result;
}

Orthogonal qr(const Tensor& input, bool full) {
  const Tensor a = input.contiguous();
  const Dims batch = batch_of(a);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  const std::int64_t count = full ? rows : std::min(rows, columns);
  Orthogonal result{Tensor::zeros(a.dtype(), with(batch, {rows, count})),
                    Tensor::zeros(a.dtype(), with(batch, {count, columns}))};
  if (a.numel() == 0) return result;
  for_each_matrix(a, [&](auto element, std::int64_t index) {
    using T = decltype(element);
    const Eigen::HouseholderQR<Matrix<T>> factors(matrix<T>(a, index));
    matrix<T>(result.q, index) = factors.householderQ() * Matrix<T>::Identity(rows, count);
    matrix<T>(result.r, index) = factors.matrixQR().topRows(count).template triangularView<Eigen::Upper>();
  });
  return result;
}

}  // namespace msrun
