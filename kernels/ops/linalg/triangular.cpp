// Triangular systems, and what follows from a given Cholesky factor.
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

Tensor solve_triangular(const EvaluationContext& context, const Tensor& left, const Tensor& right, bool upper,
                        bool unit) {
  require_square(left, "triangular_solve");
  const Tensor a = wide(context, left);
  Tensor x = right.to(DType::float64).clone();
  if (x.numel() == 0) return x.to(right.dtype());
  for (std::int64_t index = 0; index < matrix_count(a); ++index) {
    const auto t = matrix(a, index);
    auto target = matrix(x, index);
    if (upper && unit) {
      t.triangularView<Eigen::UnitUpper>().solveInPlace(target);
    } else if (upper) {
      t.triangularView<Eigen::Upper>().solveInPlace(target);
    } else if (unit) {
      t.triangularView<Eigen::UnitLower>().solveInPlace(target);
    } else {
      t.triangularView<Eigen::Lower>().solveInPlace(target);
    }
  }
  return x.to(right.dtype());
}

Var solve_triangular(const Var& a, const Var& b, bool upper, bool unit) {
  require_float(a, "triangular_solve");
  const Tensor& matrices = a.tensor();
  const Tensor x = solve_triangular(a.context(), matrices, b.tensor().to(a.dtype()), upper, unit);
  return a.tape().record(x, {a, b}, [=, &context = a.context()](const Tensor& g) {
    const Tensor of_b = solve_triangular(context, transposed(matrices), g, !upper, unit);
    const std::int64_t diagonal = !unit ? 0 : upper ? 1 : -1;
    return std::vector<Tensor>{triangle(negative(Times(context)(of_b, transposed(x))), diagonal, !upper), of_b};
  });
}

namespace {

// Batch axes of both operands made the same. Throws SkipError where A and B do not fit.
struct System {
  Var a;
  Var b;
};
System system_of(const Var& a, const Var& b, const char* who) {
  require_square(a.tensor(), who);
  if (b.rank() < 2 || b.size(-2) != a.size(-1)) {
    throw SkipError(std::string(who) + ": a right side of shape " + tuple_text(b.shape()) +
                    " does not fit matrices of shape " + tuple_text(a.shape()) + ".");
  }
  const Dims batch = broadcast_shapes(batch_axes(a), batch_axes(b));
  return {batched(a, batch), batched(b, batch)};
}

Var transposed(const Var& a) { return transpose(a, -1, -2); }

// X with L L^T X = B, or U^T U X = B. The gradient of the factor is that of A = L L^T times L: torch does not cut it to
// the triangle that was read.
Var cholesky_solve(const Var& factor, const Var& right, bool upper) {
  const auto [f, b] = system_of(factor, right, "cholesky_solve");
  const auto solve = [l = upper ? msrun::transposed(f.tensor()) : f.tensor(),
                      &context = factor.context()](const Tensor& side) {
    return solve_triangular(context, msrun::transposed(l), solve_triangular(context, l, side, false, false), true,
                            false);
  };
  const Tensor x = solve(b.tensor());
  return f.tape().record(x, {f, b},
                         [solve, x, upper, given = f.tensor(), times = Times(factor.context())](const Tensor& g) {
                           const Tensor of_b = solve(g);
                           const Tensor one_side = times(of_b, msrun::transposed(x));
                           const Tensor both = added(one_side, msrun::transposed(one_side));
                           return std::vector<Tensor>{negative(upper ? times(given, both) : times(both, given)), of_b};
                         });
}

OP("triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const System system = system_of(raised(args.var("A")), raised(args.var("input")), "triangular_solve");
     const bool upper = args.flag("upper");
     const bool unit = args.flag("unitriangular");
     const Var x = args.flag("transpose") ? solve_triangular(transposed(system.a), system.b, !upper, unit)
                                          : solve_triangular(system.a, system.b, upper, unit);
     return List{raised.back(x), raised.back(system.a)};
   });
NAMES("triangular_solve", "Torch: triangular_solve; Tensor: triangular_solve; Aten: triangular_solve");

OP("linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("A"));
     const Var b = raised(args.var("B"));
     const bool upper = args.flag("upper");
     const bool unit = args.flag("unitriangular");
     if (args.flag("left")) {
       const System system = system_of(a, b, "solve_triangular");
       return raised.back(solve_triangular(system.a, system.b, upper, unit));
     }
     if (a.rank() < 2 || b.rank() < 2) throw SkipError("solve_triangular: expected matrices.");
     const System system = system_of(transposed(a), transposed(b), "solve_triangular");
     return raised.back(transposed(solve_triangular(system.a, system.b, !upper, unit)));
   });
NAMES("linalg_solve_triangular", "Torch: linalg.solve_triangular solve_triangular; Aten: linalg_solve_triangular");

OP("cholesky_solve(Tensor input, Tensor input2, bool upper=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var b = raised(args.var("input"));
  return raised.back(cholesky_solve(raised(args.var("input2")), b, args.flag("upper")));
});
NAMES("cholesky_solve", "Torch: cholesky_solve; Tensor: cholesky_solve; Aten: cholesky_solve");

OP("cholesky_inverse(Tensor input, bool upper=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var l = raised(args.var("input"));
  require_square(l.tensor(), "cholesky_inverse");
  return raised.back(cholesky_solve(l, identity_like(l), args.flag("upper")));
});
NAMES("cholesky_inverse", "Torch: cholesky_inverse; Tensor: cholesky_inverse; Aten: cholesky_inverse");

}  // namespace
}  // namespace msrun
