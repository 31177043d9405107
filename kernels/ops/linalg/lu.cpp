// Factors of Gaussian elimination with row exchanges, and what is solved with them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/api/operators.h"
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

// In place; the pivot of a column is its first element of largest magnitude, as LAPACK chooses it. Returns the number
// of the first pivot that is zero, or 0.
std::int32_t eliminate(double* a, std::int64_t rows, std::int64_t columns, bool pivot, std::int32_t* pivots) {
  std::int32_t info = 0;
  for (std::int64_t k = 0; k < std::min(rows, columns); ++k) {
    std::int64_t chosen = k;
    for (std::int64_t i = k + 1; pivot && i < rows; ++i) {
      if (std::abs(a[i * columns + k]) > std::abs(a[chosen * columns + k])) chosen = i;
    }
    pivots[k] = static_cast<std::int32_t>(chosen + 1);
    if (chosen != k) std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + chosen * columns);
    const double* pivot_row = a + k * columns;
    if (pivot_row[k] == 0) {
      if (info == 0) info = static_cast<std::int32_t>(k + 1);
      continue;
    }
    for (std::int64_t i = k + 1; i < rows; ++i) {
      double* row = a + i * columns;
      const double factor = row[k] /= pivot_row[k];
      for (std::int64_t j = k + 1; j < columns; ++j) row[j] -= factor * pivot_row[j];
    }
  }
  return info;
}

}  // namespace

LuFactors lu_factors(const Tensor& a, bool pivot) {
  const Dims batch = batch_of(a);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = a.size(-1);
  const std::int64_t count = std::min(rows, columns);
  Tensor lu = a.to(DType::float64).clone();
  LuFactors result{{}, Tensor(DType::int32, with(batch, {count})), Tensor::zeros(DType::int32, batch)};
  if (a.numel() > 0) {
    for (std::int64_t index = 0; index < matrix_count(a); ++index) {
      result.info.mutable_data<std::int32_t>()[index] =
          eliminate(lu.mutable_data<double>() + index * rows * columns, rows, columns, pivot,
                    result.pivots.mutable_data<std::int32_t>() + index * count);
    }
  }
  result.lu = lu.to(a.dtype());
  return result;
}

namespace {

// The exchanges as one permutation: int64 of shape (*batch, rows), row i of P^T A is row permutation[i] of A. Throws
// SkipError for pivots that name no row.
Tensor permutation_of(const Tensor& pivots, std::int64_t rows) {
  const Tensor exchanges = pivots.to(DType::int64).contiguous();
  const std::int64_t count = exchanges.size(-1);
  const Dims batch(exchanges.shape().begin(), exchanges.shape().end() - 1);
  Tensor result(DType::int64, with(batch, {rows}));
  const auto* from = exchanges.data<std::int64_t>();
  for (std::int64_t index = 0; index < element_count(batch) && rows > 0; ++index, from += count) {
    auto* rows_of = result.mutable_data<std::int64_t>() + index * rows;
    std::iota(rows_of, rows_of + rows, std::int64_t{0});
    for (std::int64_t i = 0; i < count; ++i) {
      if (i >= rows || from[i] < 1 || from[i] > rows) {
        throw SkipError("lu: pivot " + std::to_string(from[i]) + " is not the number of a row, they count from 1.");
      }
      std::swap(rows_of[i], rows_of[from[i] - 1]);
    }
  }
  return result;
}

// P with A = P L U.
Tensor permutation_matrix(const Tensor& permutation, DType dtype) {
  const std::int64_t rows = permutation.size(-1);
  Tensor result =
      Tensor::zeros(DType::float64, with({permutation.shape().begin(), permutation.shape().end() - 1}, {rows, rows}));
  for (std::int64_t i = 0; i < permutation.numel(); ++i) {
    const std::int64_t first = i / rows * rows * rows;
    result.mutable_data<double>()[first + permutation.data<std::int64_t>()[i] * rows + i % rows] = 1;
  }
  return result.to(dtype);
}

// x has the batch axes of the permutation.
Var gather_rows(const Var& x, const Tensor& permutation) {
  return gather(x, x.rank() - 2, permutation.unsqueeze(-1).expand(x.shape()).contiguous());
}

Tensor inverse_permutation(const Tensor& permutation) {
  const std::int64_t rows = permutation.size(-1);
  Tensor result(DType::int64, permutation.shape());
  for (std::int64_t i = 0; i < permutation.numel(); ++i) {
    result.mutable_data<std::int64_t>()[i / rows * rows + permutation.data<std::int64_t>()[i]] = i % rows;
  }
  return result;
}

struct LuParts {
  Var l;
  Var u;
};
LuParts unpack(const Var& lu) {
  const std::int64_t count = std::min(lu.size(-2), lu.size(-1));
  const Var l = slice(lu, -1, 0, count);
  return {add(triangle(l, -1, true), identity_like(l)), triangle(slice(lu, -2, 0, count), 0, false)};
}

// The gradient of A from that of its packed factors: with B = P^T A = L U, square parts L1, U1 and what lies beyond
// them, L2 or U2,
//   gB1 = L1^-T [strictly lower of (L1^T gL1 - gU2 U2^T) + upper of (gU1 U1^T - L2^T gL2)] U1^-T,
//   gB2 = L1^-T gU2 or gL2 U1^-T.
Tensor lu_gradient(const EvaluationContext& context, const Tensor& lu, const Tensor& permutation, const Tensor& g) {
  const Times times(context);
  const std::int64_t rows = lu.size(-2);
  const std::int64_t columns = lu.size(-1);
  const std::int64_t n = std::min(rows, columns);
  const auto corner = [n](const Tensor& x) { return x.slice(-2, 0, n).slice(-1, 0, n); };
  const Tensor square = corner(lu);
  const Tensor of_square = corner(g);
  const auto divide_left = [&](const Tensor& x) {
    return solve_triangular(context, transposed(square), x, true, true);
  };
  const auto divide_right = [&](const Tensor& x) {
    return transposed(solve_triangular(context, square, transposed(x), true, false));
  };
  // L1^T gL1: the ones on the diagonal of L1 add gL1 itself.
  const Tensor of_lower = triangle(of_square, -1, true);
  Tensor below = added(of_lower, times(transposed(triangle(square, -1, true)), of_lower));
  Tensor above = times(triangle(of_square, 0, false), transposed(triangle(square, 0, false)));
  std::vector<Tensor> parts;
  std::int64_t axis = -1;
  if (columns > n) {
    const Tensor rest = g.slice(-1, n, columns - n);
    below = subtracted(below, times(rest, transposed(lu.slice(-1, n, columns - n))));
    parts.push_back(divide_left(rest));
  } else if (rows > n) {
    const Tensor rest = g.slice(-2, n, rows - n);
    above = subtracted(above, times(transposed(lu.slice(-2, n, rows - n)), rest));
    parts.push_back(divide_right(rest));
    axis = -2;
  }
  parts.insert(parts.begin(), divide_right(divide_left(added(triangle(below, -1, true), triangle(above, 0, false)))));
  const Tensor whole = concatenate(g.dtype(), parts, g.rank() + axis);
  Tape tape(context.with_sound_arithmetic());
  return gather_rows(tape.constant(whole), inverse_permutation(permutation)).tensor();
}

struct Lu {
  Var lu;
  LuFactors factors;
};

Lu lu_factor(const Var& a, bool pivot) {
  require_float(a, "lu_factor");
  const LuFactors factors = lu_factors(a.tensor(), pivot);
  const Var lu = a.tape().record(
      factors.lu, {{a, [lu = factors.lu, pivots = factors.pivots, &context = a.context()](const Tensor& g) {
                      if (g.numel() == 0) return g;
                      return lu_gradient(context, lu, permutation_of(pivots, lu.size(-2)), g);
                    }}});
  return {lu, factors};
}

void require_regular(const Tensor& info, const char* who) {
  for (std::int64_t i = 0; i < info.numel(); ++i) {
    if (info.int_item(i) == 0) continue;
    throw SkipError(std::string(who) + ": U[" + std::to_string(info.int_item(i)) + "," +
                    std::to_string(info.int_item(i)) +
                    "] is zero and using it on lu_solve would result in a division by zero.");
  }
}

Var untransposed(const Var& x) { return transpose(x, -1, -2); }

// X with A X = B, or X A = B if not left; with adjoint A^T instead of A.
Var lu_solve(const Var& lu, const Tensor& pivots, const Var& b, bool left, bool adjoint) {
  require_square(lu.tensor(), "lu_solve");
  if (!left) {
    if (b.rank() < 2) throw SkipError("lu_solve: expected matrices.");
    return untransposed(lu_solve(lu, pivots, untransposed(b), true, !adjoint));
  }
  const std::int64_t n = lu.size(-1);
  if (b.rank() < 2 || b.size(-2) != n) {
    throw SkipError("lu_solve: B of shape " + tuple_text(b.shape()) + " does not fit factors of shape " +
                    tuple_text(lu.shape()) + ".");
  }
  const Dims batch = broadcast_shapes(batch_axes(lu), batch_axes(b));
  if (is_floating(pivots.dtype()) || pivots.rank() < 1 || pivots.size(-1) != n) {
    throw SkipError("lu_solve: the pivots must be one integer per row.");
  }
  const Var factors = batched(lu, batch);
  const Var right = batched(b, batch);
  const Tensor permutation = permutation_of(pivots.expand(with(batch, {n})), n);
  if (adjoint) {
    const Var y = solve_triangular(untransposed(factors), right, false, false);
    return gather_rows(solve_triangular(untransposed(factors), y, true, true), inverse_permutation(permutation));
  }
  const Var y = solve_triangular(factors, gather_rows(right, permutation), false, true);
  return solve_triangular(factors, y, true, false);
}

// (P, L, U) of the packed form; what is not wanted is an empty tensor.
List unpacked(const Var& lu, const Tensor& pivots, bool data, bool permutation) {
  if (lu.rank() < 2 || is_floating(pivots.dtype()) || is_complex(pivots.dtype()) || pivots.rank() + 1 != lu.rank()) {
    throw SkipError("lu_unpack: expected packed factors and their integer pivots.");
  }
  const std::int64_t rows = lu.size(-2);
  Dims wanted = batch_axes(lu);
  wanted.push_back(std::min(rows, lu.size(-1)));
  if (!(pivots.shape() == wanted)) throw SkipError("lu_unpack: the pivots do not fit the factors.");
  Tape& tape = lu.tape();
  const Var nothing = tape.constant(Tensor(lu.dtype(), {0}));
  const Var p = permutation ? tape.constant(permutation_matrix(permutation_of(pivots, rows), lu.dtype())) : nothing;
  if (!data) return {p, nothing, nothing};
  const LuParts parts = unpack(lu);
  return {p, parts.l, parts.u};
}

List factor_operator(const Bound& args, const char* input, bool with_info, const char* strict) {
  Raised raised;
  const Lu result = lu_factor(raised(args.var(input)), args.flag("pivot"));
  if (strict != nullptr) require_regular(result.factors.info, strict);
  Tape& tape = args.tape();
  List list{raised.back(result.lu), tape.constant(result.factors.pivots)};
  if (with_info) list.push_back(tape.constant(result.factors.info));
  return list;
}

List decomposed(const Bound& args) {
  Raised raised;
  const Var a = raised(args.var("A"));
  const Lu result = lu_factor(a, args.flag("pivot"));
  Tape& tape = args.tape();
  const LuParts parts = unpack(result.lu);
  // Without row exchanges P is empty.
  const Tensor p = args.flag("pivot") ? permutation_matrix(permutation_of(result.factors.pivots, a.size(-2)), a.dtype())
                                      : Tensor(a.dtype(), {0});
  return {raised.back(tape.constant(p)), raised.back(parts.l), raised.back(parts.u)};
}

OP("linalg_lu_factor(Tensor A, *, bool pivot=True)",
   [](const Bound& args) -> Value { return factor_operator(args, "A", false, "linalg.lu_factor"); });
NAMES("linalg_lu_factor", "Torch: linalg.lu_factor lu_factor");

OP("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)", [](const Bound& args) -> Value {
  return factor_operator(args, "A", true, args.flag("check_errors") ? "linalg.lu_factor_ex" : nullptr);
});
NAMES("linalg_lu_factor_ex", "Torch: linalg.lu_factor_ex lu_factor_ex; Aten: linalg_lu_factor_ex");

// The method gives the packed factors, linalg.lu, which the dumper calls by the same name, P, L and U. get_infos is
// the method's alone.
OP("lu(Tensor input, bool pivot=True, bool get_infos=False)", [](const Bound& args) -> Value {
  const bool infos = args.flag("get_infos");
  return factor_operator(args, "input", infos, infos ? nullptr : "lu");
});
NAMES("lu", "Tensor: lu");

OP("linalg_lu(Tensor A, *, bool pivot=True)", [](const Bound& args) -> Value { return decomposed(args); });
OP("linalg_lu(Tensor input, bool pivot=True, bool get_infos=False)", [](const Bound& args) -> Value {
  const bool infos = args.flag("get_infos");
  return factor_operator(args, "input", infos, infos ? nullptr : "lu");
});
NAMES("linalg_lu", "Torch: linalg.lu lu; Aten: linalg_lu");

OP("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)",
   [](const Bound& args) -> Value {
     Raised raised;
     List parts = unpacked(raised(args.var("LU_data")), args.var("LU_pivots").tensor(), args.flag("unpack_data"),
                           args.flag("unpack_pivots"));
     for (Value& part : parts) part = raised.back(*part.get<Var>());
     return parts;
   });
NAMES("lu_unpack", "Torch: lu_unpack; Aten: lu_unpack");

// torch.lu_solve(b, LU, pivots) and linalg.lu_solve(LU, pivots, B), which the dumper calls by the same name: the place
// of the integer pivots tells them apart.
OP("lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots)", [](const Bound& args) -> Value {
  Raised raised;
  const Var first = raised(args.var("input"));
  const bool linalg = !is_floating(args.var("LU_data").dtype());
  const Var last = args.var("LU_pivots");
  if (linalg) return raised.back(lu_solve(first, args.var("LU_data").tensor(), raised(last), true, false));
  return raised.back(lu_solve(raised(args.var("LU_data")), last.tensor(), first, true, false));
});
OP("lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var lu = raised(args.var("LU"));
     const Var b = raised(args.var("B"));
     return raised.back(lu_solve(lu, args.var("pivots").tensor(), b, args.flag("left"), args.flag("adjoint")));
   });
NAMES("lu_solve", "Torch: lu_solve linalg.lu_solve; Tensor: lu_solve; Aten: linalg_lu_solve lu_solve");

}  // namespace
}  // namespace msrun
