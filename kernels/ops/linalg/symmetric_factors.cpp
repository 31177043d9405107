// A = L D L^T of a symmetric matrix with exchanges of rows and columns, D of blocks of size 1 and 2, in LAPACK's packed
// form (sytrf, lower triangle): L below D, and pivots that count from 1. A negative pivot twice in a row marks a block
// of size 2.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/decompositions.h"
#include "kernels/numeric/layout.h"
#include "kernels/numeric/matrix_algebra.h"
#include "kernels/numeric/matrix_batches.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/linalg/matrix_functions.h"

namespace msrun {
namespace {

// Bunch and Kaufman's choice: what a pivot of size 1 must reach beside the largest element of its column, so that the
// growth of elements over two steps of size 1 is that over one of size 2.
const double pivot_share = (1 + std::sqrt(17.0)) / 8;

// One matrix, of which the lower triangle is read and overwritten.
class Elimination {
 public:
  Elimination(const Eigen::Map<RowMatrix>& a, std::int32_t* pivots) : a_(a), pivots_(pivots), n_(a.rows()) {}

  // The number of the first block of D that is zero, or 0.
  std::int32_t run() {
    std::int32_t info = 0;
    for (Eigen::Index k = 0; k < n_;) {
      const Choice choice = choose(k);
      if (choice.size == 0) {
        if (info == 0) info = static_cast<std::int32_t>(k + 1);
        pivots_[k] = static_cast<std::int32_t>(k + 1);
        ++k;
        continue;
      }
      exchange(k, k + choice.size - 1, choice.row, choice.size);
      if (choice.size == 1) {
        eliminate_one(k);
        pivots_[k] = static_cast<std::int32_t>(choice.row + 1);
      } else {
        eliminate_two(k);
        pivots_[k] = pivots_[k + 1] = -static_cast<std::int32_t>(choice.row + 1);
      }
      k += choice.size;
    }
    return info;
  }

 private:
  struct Choice {
    Eigen::Index row;
    Eigen::Index size;  // of the block; 0 for a column of zeros or NaN
  };

  Choice choose(Eigen::Index k) const {
    const double own = std::abs(a_(k, k));
    Eigen::Index row = k;
    double largest = 0;
    for (Eigen::Index i = k + 1; i < n_; ++i) {
      if (std::abs(a_(i, k)) <= largest && row != k) continue;
      largest = std::abs(a_(i, k));
      row = i;
    }
    if (std::max(own, largest) == 0 || std::isnan(own)) return {k, 0};
    if (own >= pivot_share * largest) return {k, 1};
    // The largest element off the diagonal in that row.
    double in_row = 0;
    for (Eigen::Index j = k; j < row; ++j) in_row = std::max(in_row, std::abs(a_(row, j)));
    for (Eigen::Index i = row + 1; i < n_; ++i) in_row = std::max(in_row, std::abs(a_(i, row)));
    if (own >= pivot_share * largest * (largest / in_row)) return {k, 1};
    if (std::abs(a_(row, row)) >= pivot_share * in_row) return {row, 1};
    return {row, 2};
  }

  // Rows and columns `at` and `row` of the part that is left; the block starts at k.
  void exchange(Eigen::Index k, Eigen::Index at, Eigen::Index row, Eigen::Index size) {
    if (at == row) return;
    for (Eigen::Index i = row + 1; i < n_; ++i) std::swap(a_(i, at), a_(i, row));
    for (Eigen::Index j = at + 1; j < row; ++j) std::swap(a_(j, at), a_(row, j));
    std::swap(a_(at, at), a_(row, row));
    if (size == 2) std::swap(a_(k + 1, k), a_(row, k));
  }

  void eliminate_one(Eigen::Index k) {
    const double reciprocal = 1 / a_(k, k);
    for (Eigen::Index i = k + 1; i < n_; ++i) {
      const double factor = reciprocal * a_(i, k);
      for (Eigen::Index j = k + 1; j <= i; ++j) a_(i, j) -= factor * a_(j, k);
    }
    for (Eigen::Index i = k + 1; i < n_; ++i) a_(i, k) *= reciprocal;
  }

  void eliminate_two(Eigen::Index k) {
    const double off = a_(k + 1, k);
    const double first = a_(k + 1, k + 1) / off;
    const double second = a_(k, k) / off;
    const double scale = 1 / (first * second - 1) / off;
    // Column by column of the rest: the factors of row j are final once its column is done.
    for (Eigen::Index j = k + 2; j < n_; ++j) {
      const double left = scale * (first * a_(j, k) - a_(j, k + 1));
      const double right = scale * (second * a_(j, k + 1) - a_(j, k));
      for (Eigen::Index i = j; i < n_; ++i) a_(i, j) -= a_(i, k) * left + a_(i, k + 1) * right;
      a_(j, k) = left;
      a_(j, k + 1) = right;
    }
  }

  Eigen::Map<RowMatrix> a_;
  std::int32_t* pivots_;
  Eigen::Index n_;
};

struct Factors {
  Tensor packed;
  Tensor pivots;  // int32
  Tensor info;    // int32
};

Factors symmetric_factors(const Tensor& input) {
  require_square(input, "ldl_factor");
  const Dims batch = batch_of(input);
  const std::int64_t n = input.size(-1);
  Tensor packed = triangle(input.to(DType::float64), 0, true).clone();
  Factors result{{}, Tensor(DType::int32, with(batch, {n})), Tensor::zeros(DType::int32, batch)};
  for (std::int64_t index = 0; packed.numel() > 0 && index < matrix_count(packed); ++index) {
    result.info.mutable_data<std::int32_t>()[index] =
        Elimination(matrix(packed, index), result.pivots.mutable_data<std::int32_t>() + index * n).run();
  }
  result.packed = packed.to(input.dtype());
  return result;
}

// X with L D L^T X = B, in place; pivots are in range.
void solve_with(const Eigen::Map<const RowMatrix>& a, const std::int32_t* pivots, Eigen::Map<RowMatrix> b) {
  const Eigen::Index n = a.rows();
  const auto exchange = [&](Eigen::Index row, std::int32_t pivot) {
    const Eigen::Index other = std::abs(pivot) - 1;
    if (other != row) b.row(row).swap(b.row(other));
  };
  for (Eigen::Index k = 0; k < n;) {
    if (pivots[k] > 0) {
      exchange(k, pivots[k]);
      for (Eigen::Index i = k + 1; i < n; ++i) b.row(i) -= a(i, k) * b.row(k);
      b.row(k) /= a(k, k);
      ++k;
      continue;
    }
    exchange(k + 1, pivots[k]);
    for (Eigen::Index i = k + 2; i < n; ++i) b.row(i) -= a(i, k) * b.row(k) + a(i, k + 1) * b.row(k + 1);
    const double off = a(k + 1, k);
    const double first = a(k, k) / off;
    const double second = a(k + 1, k + 1) / off;
    const Eigen::RowVectorXd upper = b.row(k) / off;
    const Eigen::RowVectorXd lower = b.row(k + 1) / off;
    b.row(k) = (second * upper - lower) / (first * second - 1);
    b.row(k + 1) = (first * lower - upper) / (first * second - 1);
    k += 2;
  }
  for (Eigen::Index k = n - 1; k >= 0;) {
    const bool two = pivots[k] < 0;
    for (const Eigen::Index row : {k, k - 1}) {
      if (row < k && !two) break;
      for (Eigen::Index i = k + 1; i < n; ++i) b.row(row) -= a(i, row) * b.row(i);
    }
    exchange(k, pivots[k]);
    k -= two ? 2 : 1;
  }
}

// Every pivot names a row, and negative ones come in equal pairs.
void check_pivots(const std::int32_t* pivots, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const bool two = pivots[k] < 0;
    const bool named = pivots[k] != 0 && pivots[k] >= -n && pivots[k] <= n;
    if (!named || (two && (k + 1 == n || pivots[k + 1] != pivots[k]))) {
      throw SkipError("ldl_solve: the pivots are not those of a factorisation.");
    }
    if (two) ++k;
  }
}

Tensor solve_symmetric(const EvaluationContext& context, const Tensor& packed, const Tensor& pivots,
                       const Tensor& right) {
  require_square(packed, "ldl_solve");
  const std::int64_t n = packed.size(-1);
  if (right.rank() < 2 || right.size(-2) != n) throw SkipError("ldl_solve: B does not fit the factors.");
  if (is_floating(pivots.dtype()) || pivots.rank() < 1 || pivots.size(-1) != n) {
    throw SkipError("ldl_solve: the pivots must be one integer per row.");
  }
  const Dims batch = broadcast_shapes(batch_of(packed), batch_of(right));
  const Tensor a = wide(context, packed.expand(with(batch, {n, n})));
  const Tensor exchanges = pivots.expand(with(batch, {n})).to(DType::int32).contiguous();
  Tensor x = right.to(DType::float64).expand(with(batch, {n, right.size(-1)})).clone();
  for (std::int64_t index = 0; x.numel() > 0 && index < matrix_count(x); ++index) {
    check_pivots(exchanges.data<std::int32_t>() + index * n, n);
    solve_with(matrix(a, index), exchanges.data<std::int32_t>() + index * n, matrix(x, index));
  }
  return x.to(right.dtype());
}

// No gradient, as in torch.
List factor_operator(const Bound& args, bool with_info, bool strict) {
  Raised raised;
  const Var a = raised(args.var("input"));
  require_float(a, "ldl_factor");
  const Factors factors = symmetric_factors(a.tensor());
  for (std::int64_t i = 0; strict && i < factors.info.numel(); ++i) {
    if (factors.info.int_item(i) != 0) throw SkipError("ldl_factor: the input is singular.");
  }
  Tape& tape = args.tape();
  List list{raised.back(tape.constant(factors.packed)), tape.constant(factors.pivots)};
  if (with_info) list.push_back(tape.constant(factors.info));
  return list;
}

OP("linalg_ldl_factor(Tensor input, *, bool hermitian=False)",
   [](const Bound& args) -> Value { return factor_operator(args, false, true); });
NAMES("linalg_ldl_factor", "Torch: linalg.ldl_factor ldl_factor");

OP("linalg_ldl_factor_ex(Tensor input, *, bool hermitian=False, bool check_errors=False)",
   [](const Bound& args) -> Value { return factor_operator(args, true, args.flag("check_errors")); });
NAMES("linalg_ldl_factor_ex", "Torch: linalg.ldl_factor_ex ldl_factor_ex; Aten: linalg_ldl_factor_ex");

OP("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var packed = raised(args.var("LD"));
  const Var b = raised(args.var("B"));
  require_float(packed, "ldl_solve");
  require_float(b, "ldl_solve");
  return raised.back(args.tape().constant(
      solve_symmetric(args.tape().context(), packed.tensor(), args.var("pivots").tensor(), b.tensor())));
});
NAMES("linalg_ldl_solve", "Torch: linalg.ldl_solve ldl_solve; Aten: linalg_ldl_solve");
TRY_FIRST("linalg_ldl_solve", Trial::of_values);

}  // namespace
}  // namespace msrun
