// Eigenvalues and eigenvectors of symmetric and of general real matrices.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <complex>
#include <utility>
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
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

using Complex = std::complex<double>;
using ComplexMatrix = Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void require_finite(const Eigen::Map<const RowMatrix>& a, const char* who) {
  if (!a.allFinite()) throw SkipError(std::string(who) + ": the input contains infinite or NaN elements.");
}

struct Symmetric {
  Tensor values;   // rising
  Tensor vectors;  // orthonormal columns
};
Symmetric symmetric_eigenpairs(const EvaluationContext& context, const Tensor& input, bool upper) {
  require_square(input, "eigh");
  // The solver reads the lower triangle.
  const Tensor a = wide(context, upper ? transposed(input) : input);
  const std::int64_t n = a.size(-1);
  Symmetric result{Tensor(a.dtype(), with(batch_of(a), {n})), Tensor(a.dtype(), a.shape())};
  for (std::int64_t index = 0; a.numel() > 0 && index < matrix_count(a); ++index) {
    require_finite(matrix(std::as_const(a), index), "eigh");
    const Eigen::SelfAdjointEigenSolver<ColumnMatrix> solver{ColumnMatrix(matrix(a, index))};
    if (solver.info() != Eigen::Success) throw SkipError("eigh: the algorithm failed to converge.");
    std::copy_n(solver.eigenvalues().data(), n, result.values.mutable_data<double>() + index * n);
    matrix(result.vectors, index) = solver.eigenvectors();
  }
  return {result.values.to(input.dtype()), result.vectors.to(input.dtype())};
}

// 1 / (values[j] - values[i]) at (i, j), 0 on the diagonal.
Tensor reciprocal_gaps(const Tensor& values) {
  const Tensor rows = values.unsqueeze(-1);
  const Tensor gaps = map(values.dtype(), values.unsqueeze(-2), rows, [](auto own, auto other) { return own - other; });
  const Tensor outside = Tensor::full(values.dtype(), gaps.shape(), 1);
  const Tensor mask = added(triangle(outside, 1, false), triangle(outside, -1, true));
  return map(values.dtype(), mask, gaps, [](auto m, auto gap) { return m == 0 ? m : 1 / gap; });
}

struct SymmetricVars {
  Var values;
  Var vectors;
};
SymmetricVars eigh(const Var& a, bool upper) {
  require_float(a, "eigh");
  const Symmetric pairs = symmetric_eigenpairs(a.context(), a.tensor(), upper);
  const Var values = a.tape().record(pairs.values, {{a, [pairs, times = Times(a.context())](const Tensor& g) {
                                                       return times(multiplied(pairs.vectors, g.unsqueeze(-2)),
                                                                    transposed(pairs.vectors));
                                                     }}});
  const Var vectors = a.tape().record(
      pairs.vectors, {{a, [pairs, times = Times(a.context())](const Tensor& g) {
                         // Orthonormal vectors can only turn: of V^T g
                         // the antisymmetric part counts.
                         const Tensor& v = pairs.vectors;
                         const Tensor x = times(transposed(v), g);
                         const Tensor turn =
                             map(x.dtype(), x, transposed(x), [](auto here, auto there) { return (here - there) / 2; });
                         const Tensor inner = multiplied(turn, reciprocal_gaps(pairs.values));
                         return times(times(v, inner), transposed(v));
                       }}});
  return {values, vectors};
}

bool reads_upper(const std::string& triangle_name) {
  if (triangle_name == "U" || triangle_name == "u") return true;
  if (triangle_name == "L" || triangle_name == "l") return false;
  throw SkipError("eigh: UPLO must be 'L' or 'U'.");
}

// complex128 eigenvalues (*batch, n) and eigenvectors (*batch, n, n) as columns of length 1 whose largest element is
// real, as LAPACK scales them, and positive.
struct General {
  Tensor values;
  Tensor vectors;
};
General general_eigenpairs(const EvaluationContext& context, const Tensor& input, const char* who) {
  require_square(input, who);
  const Tensor a = wide(context, input);
  const std::int64_t n = a.size(-1);
  General result{Tensor(DType::complex128, with(batch_of(a), {n})), Tensor(DType::complex128, a.shape())};
  for (std::int64_t index = 0; a.numel() > 0 && index < matrix_count(a); ++index) {
    require_finite(matrix(std::as_const(a), index), who);
    const Eigen::EigenSolver<ColumnMatrix> solver{ColumnMatrix(matrix(a, index))};
    if (solver.info() != Eigen::Success) throw SkipError(std::string(who) + ": the algorithm failed to converge.");
    Eigen::MatrixXcd vectors = solver.eigenvectors();
    for (Eigen::Index j = 0; j < n; ++j) {
      auto column = vectors.col(j);
      column.normalize();
      Eigen::Index largest = 0;
      column.cwiseAbs2().maxCoeff(&largest);
      const Complex phase = std::conj(column[largest]) / std::abs(column[largest]);
      column *= phase;
      column[largest] = column[largest].real();
    }
    std::copy_n(solver.eigenvalues().data(), n, result.values.mutable_data<Complex>() + index * n);
    Eigen::Map<ComplexMatrix>(result.vectors.mutable_data<Complex>() + index * n * n, n, n) = vectors;
  }
  return result;
}

// torch.eig, which is no longer part of torch: eigenvalues as pairs (real, imaginary), and real eigenvectors, where a
// conjugate pair has its real part in the first column and the imaginary part in the second.
struct Packed {
  Tensor values;   // (*batch, n, 2)
  Tensor vectors;  // (*batch, n, n)
};
Packed packed_eigenpairs(const General& pairs) {
  const std::int64_t n = pairs.vectors.size(-1);
  Packed result{pairs_of(pairs.values), Tensor(DType::float64, pairs.vectors.shape())};
  const auto* values = pairs.values.data<Complex>();
  const auto* vectors = pairs.vectors.data<Complex>();
  for (std::int64_t i = 0; i < pairs.vectors.numel(); ++i) {
    const bool imaginary = values[i / (n * n) * n + i % n].imag() < 0;  // the second of a pair
    result.vectors.mutable_data<double>()[i] = imaginary ? -vectors[i].imag() : vectors[i].real();
  }
  return result;
}

// The gradient g of the vectors brought to the basis of eigenvectors: (V^H g - V^H V diag(Re V^H g)) / conj(gaps),
// where gap (i, j) is values[j] - values[i]; 0 on the diagonal.
Tensor in_basis_of_vectors(const EvaluationContext& context, const General& pairs, const Tensor& g) {
  const Times times(context);
  const std::int64_t n = pairs.vectors.size(-1);
  const Tensor adjoint = conjugate(transposed(pairs.vectors));
  Tensor result = times(adjoint, g).contiguous();
  const Tensor overlaps = times(adjoint, pairs.vectors).contiguous();
  auto* inner = result.mutable_data<Complex>();
  const auto* overlap = overlaps.data<Complex>();
  const auto* values = pairs.values.data<Complex>();
  std::vector<double> lengths(static_cast<std::size_t>(n));
  for (std::int64_t first = 0; first < pairs.vectors.numel(); first += n * n, values += n) {
    for (std::int64_t j = 0; j < n; ++j) lengths[static_cast<std::size_t>(j)] = inner[first + j * (n + 1)].real();
    for (std::int64_t at = 0; at < n * n; ++at) {
      const std::int64_t i = at / n;
      const std::int64_t j = at % n;
      Complex& element = inner[first + at];
      element -= overlap[first + at] * lengths[static_cast<std::size_t>(j)];
      element = i == j ? Complex{} : element / std::conj(values[j] - values[i]);
    }
  }
  return result;
}

// V^-H G V^H, real part, where G is diag(gradient of the values) or the gradient of the vectors brought to the basis
// of eigenvectors. Throws SkipError where the vectors are dependent.
Tensor eig_gradient(const EvaluationContext& context, const General& pairs, const Tensor& of_values,
                    const Tensor& of_vectors) {
  const Tensor inner =
      of_vectors.defined() ? in_basis_of_vectors(context, pairs, of_vectors) : diag_embed(of_values, 0, -2, -1);
  const Tensor adjoint = conjugate(transposed(pairs.vectors));
  return real_part(solve(context, adjoint, Times(context)(inner, adjoint))).contiguous();
}

bool all_real(const General& pairs) {
  const auto* values = pairs.values.data<Complex>();
  return std::all_of(values, values + pairs.values.numel(), [](const Complex& value) { return value.imag() == 0; });
}

List packed_eig(const Var& input, bool with_vectors) {
  Raised raised;
  const Var a = raised(input);
  require_float(a, "eig");
  const General pairs = general_eigenpairs(a.context(), a.tensor(), "eig");
  const Packed packed = packed_eigenpairs(pairs);
  const Var values = a.tape().record(packed.values.to(a.dtype()),
                                     {{a, [pairs, &context = a.context()](const Tensor& g) {
                                         return eig_gradient(context, pairs, joined_pairs(wide(context, g)), {});
                                       }}});
  if (!with_vectors) return {raised.back(values), raised.back(a.tape().constant(Tensor(a.dtype(), {0})))};
  const Var vectors = a.tape().record(packed.vectors.to(a.dtype()),
                                      {{a, [pairs, &context = a.context()](const Tensor& g) {
                                          if (!all_real(pairs)) {
                                            throw SkipError("eig: complex eigenvectors have no gradient here.");
                                          }
                                          return eig_gradient(context, pairs, {}, g.to(DType::complex128).contiguous());
                                        }}});
  return {raised.back(values), raised.back(vectors)};
}

List complex_eig(const Bound& args) {
  Raised raised;
  const Var a = raised(args.var("A"));
  require_float(a, "eig");
  const General pairs = general_eigenpairs(a.context(), a.tensor(), "eig");
  const DType dtype = complex_dtype(a.dtype());
  return {args.tape().constant(pairs.values.to(dtype)), args.tape().constant(pairs.vectors.to(dtype))};
}

OP("linalg_eigh(Tensor A, str UPLO='L')", [](const Bound& args) -> Value {
  Raised raised;
  const SymmetricVars result = eigh(raised(args.var("A")), reads_upper(args.text("UPLO")));
  return List{raised.back(result.values), raised.back(result.vectors)};
});
NAMES("linalg_eigh", "Torch: linalg.eigh eigh");
TRAITS("linalg_eigh", .freedom = Freedom::symmetric);

OP("_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("A"));
  const SymmetricVars result = eigh(a, reads_upper(args.text("UPLO")));
  if (args.flag("compute_v")) return List{raised.back(result.values), raised.back(result.vectors)};
  return List{raised.back(result.values), raised.back(args.tape().constant(Tensor(a.dtype(), {0})))};
});
NAMES("_linalg_eigh", "Aten: _linalg_eigh");
TRAITS("_linalg_eigh", .freedom = Freedom::symmetric);

OP("linalg_eigvalsh(Tensor A, str UPLO='L')", [](const Bound& args) -> Value {
  Raised raised;
  return raised.back(eigh(raised(args.var("A")), reads_upper(args.text("UPLO"))).values);
});
NAMES("linalg_eigvalsh", "Torch: linalg.eigvalsh eigvalsh");

OP("symeig(Tensor input, bool eigenvectors=False, bool upper=True)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  const SymmetricVars result = eigh(a, args.flag("upper"));
  if (args.flag("eigenvectors")) return List{raised.back(result.values), raised.back(result.vectors)};
  return List{raised.back(result.values), raised.back(args.tape().constant(Tensor(a.dtype(), {0})))};
});
NAMES("symeig", "Torch: symeig; Tensor: symeig");
TRAITS("symeig", .freedom = Freedom::symmetric);

// The dumper calls linalg.eig by the same name; `eigenvectors` is torch.eig's alone.
OP("eig(Tensor A)", [](const Bound& args) -> Value { return complex_eig(args); });
OP("eig(Tensor input, bool eigenvectors=False, *, any e=None, any v=None)",
   [](const Bound& args) -> Value { return packed_eig(args.var("input"), args.flag("eigenvectors")); });
NAMES("eig", "Torch: eig linalg.eig; Aten: linalg_eig");
TRAITS("eig", .freedom = Freedom::general);

OP("tensor_eig(Tensor input, bool eigenvectors=False)",
   [](const Bound& args) -> Value { return packed_eig(args.var("input"), args.flag("eigenvectors")); });
NAMES("tensor_eig", "Tensor: eig");
TRAITS("tensor_eig", .freedom = Freedom::general);

OP("linalg_eigvals(Tensor A)", [](const Bound& args) -> Value { return complex_eig(args).front(); });
NAMES("linalg_eigvals", "Torch: linalg.eigvals eigvals");
TRAITS("linalg_eigvals", .freedom = Freedom::general);

}  // namespace
}  // namespace msrun
