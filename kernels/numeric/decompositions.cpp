#include "kernels/numeric/decompositions.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/layout.h"
#include "kernels/numeric/matrix_algebra.h"
#include "kernels/numeric/matrix_batches.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

template <class Factors>
void require_regular(const Factors& factors, const char* who) {
  const auto& lu = factors.matrixLU();
  for (Eigen::Index i = 0; i < lu.rows(); ++i) {
    if (lu(i, i) != 0) continue;
    throw SkipError(std::string(who) + ": The diagonal element " + std::to_string(i + 1) +
                    " is zero, the input matrix is singular.");
  }
}

// Singular values by one-sided Jacobi rotations: columns of the matrix are rotated in pairs until all are orthogonal.
// The matrix has at least as many rows as columns.
struct Jacobi {
  ColumnMatrix left;  // orthonormal in its first `rank` columns, zero in the others
  Eigen::VectorXd values;
  ColumnMatrix right;
  Eigen::Index rank = 0;

  explicit Jacobi(ColumnMatrix a) : values(a.cols()), right(ColumnMatrix::Identity(a.cols(), a.cols())) {
    const Eigen::Index n = a.cols();
    const double largest = a.cwiseAbs().maxCoeff();
    // Scaled, so that squares neither overflow nor vanish.
    const double scale = largest > 0 ? largest : 1;
    a /= scale;
    constexpr int most_sweeps = 60;
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < most_sweeps; ++sweep) {
      rotated = false;
      for (Eigen::Index p = 0; p + 1 < n; ++p) {
        for (Eigen::Index q = p + 1; q < n; ++q) rotated = rotate(a, p, q) || rotated;
      }
    }
    std::vector<Eigen::Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    const Eigen::VectorXd lengths = a.colwise().norm();
    std::stable_sort(order.begin(), order.end(),
                     [&](Eigen::Index i, Eigen::Index j) { return lengths[i] > lengths[j]; });
    left = ColumnMatrix::Zero(a.rows(), n);
    const ColumnMatrix rotations = right;
    for (Eigen::Index i = 0; i < n; ++i) {
      const Eigen::Index from = order[static_cast<std::size_t>(i)];
      values[i] = lengths[from] * scale;
      right.col(i) = rotations.col(from);
      if (lengths[from] <= std::numeric_limits<double>::min()) continue;
      left.col(i) = a.col(from) / lengths[from];
      rank = i + 1;
    }
  }

 private:
  // Makes columns p and q orthogonal; false if they already are, to working precision.
  bool rotate(ColumnMatrix& a, Eigen::Index p, Eigen::Index q) {
    const double alpha = a.col(p).squaredNorm();
    const double beta = a.col(q).squaredNorm();
    const double gamma = a.col(p).dot(a.col(q));
    if (std::abs(gamma) <= std::numeric_limits<double>::epsilon() * std::sqrt(alpha * beta)) return false;
    const double zeta = (beta - alpha) / (2 * gamma);
    const double tangent = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
    const double cosine = 1 / std::hypot(1.0, tangent);
    const double sine = cosine * tangent;
    for (ColumnMatrix* m : {&a, &right}) {
      double* x = m->col(p).data();
      double* y = m->col(q).data();
      for (Eigen::Index i = 0; i < m->rows(); ++i) {
        const double xi = x[i];
        x[i] = cosine * xi - sine * y[i];
        y[i] = sine * xi + cosine * y[i];
      }
    }
    return true;
  }
};

// `count` orthonormal columns, the first `rank` of which are those given.
ColumnMatrix completed(const ColumnMatrix& given, Eigen::Index count, Eigen::Index rank) {
  ColumnMatrix result(given.rows(), count);
  result.leftCols(rank) = given.leftCols(rank);
  if (rank == count) return result;
  const RowMatrix basis = given.leftCols(rank);
  const Eigen::HouseholderQR<RowMatrix> factors(basis);
  const RowMatrix all = factors.householderQ() * RowMatrix::Identity(given.rows(), count);
  result.rightCols(count - rank) = all.rightCols(count - rank);
  return result;
}

// Complex A X = B as the real equations [Ar -Ai; Ai Ar] [Xr; Xi] = [Br; Bi].
Tensor solve_parts(const EvaluationContext& context, const Tensor& a, const Tensor& b) {
  const std::int64_t n = a.size(-1);
  const auto side_by_side = [](const Tensor& left, const Tensor& right, std::int64_t axis) {
    return concatenate(DType::float64, {left, right}, axis);
  };
  const Tensor real = real_part(a);
  const Tensor imaginary = imaginary_part(a);
  const Tensor equations =
      side_by_side(side_by_side(real, negative(imaginary), -1), side_by_side(imaginary, real, -1), -2);
  const Tensor parts = solve(context, equations, side_by_side(real_part(b), imaginary_part(b), -2));
  return complex_of(parts.slice(-2, 0, n), parts.slice(-2, n, n)).to(b.dtype());
}

}  // namespace

void require_square(const Tensor& a, const char* who) {
  if (a.rank() >= 2 && a.size(-1) == a.size(-2)) return;
  throw SkipError(std::string(who) + ": A must be batches of square matrices, but it has shape " +
                  tuple_text(a.shape()) + ".");
}

Tensor inverse(const EvaluationContext& context, const Tensor& input) {
  require_square(input, "inverse");
  const Tensor a = wide(context, input);
  Tensor result(a.dtype(), a.shape());
  if (a.numel() == 0) return result.to(input.dtype());
  for (std::int64_t index = 0; index < matrix_count(a); ++index) {
    const Eigen::PartialPivLU<RowMatrix> factors(matrix(a, index));
    require_regular(factors, "inverse");
    matrix(result, index) = factors.inverse();
  }
  return result.to(input.dtype());
}

Tensor solve(const EvaluationContext& context, const Tensor& left, const Tensor& right) {
  require_square(left, "solve");
  if (is_complex(left.dtype())) return solve_parts(context, left, right);
  const Tensor a = wide(context, left);
  const Tensor b = wide(context, right);
  Tensor result(b.dtype(), b.shape());
  if (b.numel() == 0) return result.to(right.dtype());
  for (std::int64_t index = 0; index < matrix_count(a); ++index) {
    const Eigen::PartialPivLU<RowMatrix> factors(matrix(a, index));
    require_regular(factors, "solve");
    matrix(result, index) = factors.solve(matrix(b, index));
  }
  return result.to(right.dtype());
}

Determinant determinant(const EvaluationContext& context, const Tensor& input) {
  require_square(input, "det");
  const Tensor a = wide(context, input);
  const Dims batch = batch_of(a);
  Determinant result{Tensor(a.dtype(), batch), Tensor(a.dtype(), batch), Tensor(a.dtype(), batch)};
  for (std::int64_t index = 0; index < matrix_count(a); ++index) {
    double value = 1;
    double sign = 1;
    double logarithm = 0;
    if (a.size(-1) > 0) {
      const Eigen::PartialPivLU<RowMatrix> factors(matrix(a, index));
      value = sign = static_cast<double>(factors.permutationP().determinant());
      for (Eigen::Index i = 0; i < factors.matrixLU().rows(); ++i) {
        const double pivot = factors.matrixLU()(i, i);
        value *= pivot;
        sign *= static_cast<double>((pivot > 0) - (pivot < 0));
        logarithm += std::log(std::abs(pivot));
      }
    }
    result.value.mutable_data<double>()[index] = value;
    result.sign.mutable_data<double>()[index] = sign;
    result.logarithm.mutable_data<double>()[index] = logarithm;
  }
  return {result.value.to(input.dtype()), result.sign.to(input.dtype()), result.logarithm.to(input.dtype())};
}

Tensor cholesky(const EvaluationContext& context, const Tensor& input) {
  require_square(input, "cholesky");
  const Tensor a = wide(context, input);
  Tensor result(a.dtype(), a.shape());
  if (a.numel() == 0) return result.to(input.dtype());
  for (std::int64_t index = 0; index < matrix_count(a); ++index) {
    const Eigen::LLT<RowMatrix> factors(matrix(a, index));
    if (factors.info() != Eigen::Success) {
      throw SkipError("cholesky: The factorization could not be completed because the input is not positive-definite.");
    }
    matrix(result, index) = factors.matrixL();
  }
  return result.to(input.dtype());
}

SingularValues singular_values(const EvaluationContext& context, const Tensor& input, bool full) {
  const Tensor a = wide(context, input);
  const Dims batch = batch_of(a);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  const std::int64_t count = std::min(rows, columns);
  SingularValues result{Tensor::zeros(a.dtype(), with(batch, {rows, full ? rows : count})),
                        Tensor(a.dtype(), with(batch, {count})),
                        Tensor::zeros(a.dtype(), with(batch, {columns, full ? columns : count}))};
  for (std::int64_t index = 0; a.numel() == 0 && index < matrix_count(a); ++index) {
    // Full factors of a matrix without rows or columns: any orthogonal matrix will do.
    matrix(result.u, index).setIdentity();
    matrix(result.v, index).setIdentity();
  }
  for (std::int64_t index = 0; a.numel() > 0 && index < matrix_count(a); ++index) {
    const auto source = matrix(a, index);
    if (!source.allFinite()) throw SkipError("svd: the input contains infinite or NaN elements.");
    // The tall form of the matrix has the factors of the wide one with their roles exchanged.
    const bool tall = rows >= columns;
    const Jacobi factors(tall ? ColumnMatrix(source) : ColumnMatrix(source.transpose()));
    const ColumnMatrix left = completed(factors.left, full ? std::max(rows, columns) : count, factors.rank);
    matrix(tall ? result.u : result.v, index) = left;
    matrix(tall ? result.v : result.u, index) = factors.right;
    std::copy_n(factors.values.data(), count, result.s.mutable_data<double>() + index * count);
  }
  return {result.u.to(input.dtype()), result.s.to(input.dtype()), result.v.to(input.dtype())};
}

Orthogonal qr(const EvaluationContext& context, const Tensor& input, bool full) {
  const Tensor a = wide(context, input);
  const Dims batch = batch_of(a);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  const std::int64_t count = full ? rows : std::min(rows, columns);
  Orthogonal result{Tensor::zeros(a.dtype(), with(batch, {rows, count})),
                    Tensor::zeros(a.dtype(), with(batch, {count, columns}))};
  for (std::int64_t index = 0; a.numel() == 0 && index < matrix_count(a); ++index) {
    matrix(result.q, index).setIdentity();
  }
  for (std::int64_t index = 0; a.numel() > 0 && index < matrix_count(a); ++index) {
    const Eigen::HouseholderQR<RowMatrix> factors(matrix(a, index));
    matrix(result.q, index) = factors.householderQ() * RowMatrix::Identity(rows, count);
    matrix(result.r, index) = factors.matrixQR().topRows(count).triangularView<Eigen::Upper>();
  }
  return {result.q.to(input.dtype()), result.r.to(input.dtype())};
}

Reflectors reflectors_of(const EvaluationContext& context, const Tensor& input) {
  const Tensor a = wide(context, input);
  const Dims batch = batch_of(a);
  const std::int64_t count = std::min(a.size(-2), a.size(-1));
  Reflectors result{Tensor(a.dtype(), a.shape()), Tensor(a.dtype(), with(batch, {count}))};
  if (a.numel() > 0) {
    for (std::int64_t index = 0; index < matrix_count(a); ++index) {
      const Eigen::HouseholderQR<RowMatrix> factors(matrix(a, index));
      matrix(result.packed, index) = factors.matrixQR();
      std::copy_n(factors.hCoeffs().data(), count, result.tau.mutable_data<double>() + index * count);
    }
  }
  return {result.packed.to(input.dtype()), result.tau.to(input.dtype())};
}

}  // namespace msrun
