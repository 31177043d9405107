// The QR decomposition, and products of elementary reflectors, LAPACK's packed form of an orthogonal matrix: H_i = I -
// tau_i v_i v_i^T, where v_i is column i of the packed matrix with a one on the diagonal and zeros above it.
#include <algorithm>

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

// One product of reflectors H_1 ... H_k with a matrix X; keeps what its gradient needs: X after the last reflector and
// the rows w_i = v_i^T X_i that each one was multiplied with.
class Application {
  Eigen::Index at(Eigen::Index step) const { return transposed_ ? step : vectors_.cols() - 1 - step; }
  Eigen::Index length(Eigen::Index i) const { return vectors_.rows() - i; }
  auto tail(Eigen::Index i) const { return vectors_.col(i).tail(length(i)); }

 public:
  // tau points to `count` factors. transposed: H_k ... H_1.
  Application(const Eigen::Map<const RowMatrix>& packed, const double* tau, Eigen::Index count, bool transposed)
      : vectors_(packed.leftCols(count)), tau_(Eigen::Map<const Eigen::VectorXd>(tau, count)), transposed_(transposed) {
    for (Eigen::Index i = 0; i < count; ++i) {
      vectors_.col(i).head(std::min(i, vectors_.rows())).setZero();
      if (i < vectors_.rows()) vectors_(i, i) = 1;
    }
  }

  void run(RowMatrix x) {
    x_ = std::move(x);
    rows_.resize(vectors_.cols(), x_.cols());
    for (Eigen::Index step = 0; step < vectors_.cols(); ++step) {
      const Eigen::Index i = at(step);
      rows_.row(i).noalias() = tail(i).transpose() * x_.bottomRows(length(i));
      x_.bottomRows(length(i)).noalias() -= tau_[i] * tail(i) * rows_.row(i);
    }
  }

  // Turns the gradient of the result into that of X in place; adds to those of the packed matrix and of tau.
  void back(RowMatrix& g, Eigen::Map<RowMatrix> of_packed, double* of_tau) {
    for (Eigen::Index step = vectors_.cols(); step-- > 0;) {
      const Eigen::Index i = at(step);
      const Eigen::Index n = length(i);
      const auto w = rows_.row(i);
      x_.bottomRows(n).noalias() += tau_[i] * tail(i) * w;  // as it was before this reflector
      const Eigen::VectorXd gw = g.bottomRows(n) * w.transpose();
      const Eigen::RowVectorXd of_w = -tau_[i] * (tail(i).transpose() * g.bottomRows(n));
      of_tau[i] -= tail(i).dot(gw);
      const Eigen::VectorXd of_vector = x_.bottomRows(n) * of_w.transpose() - tau_[i] * gw;
      of_packed.col(i).tail(n - 1) += of_vector.tail(n - 1);
      g.bottomRows(n).noalias() += tail(i) * of_w;
    }
  }

  const RowMatrix& result() const { return x_; }

 private:
  ColumnMatrix vectors_;
  Eigen::VectorXd tau_;
  bool transposed_;
  RowMatrix x_;
  RowMatrix rows_;
};

// Q X or Q^T X; X has as many rows as the packed matrix. All three have the same batch axes.
Var apply_reflectors(const Var& packed, const Var& factors, const Var& x, bool transposed) {
  require_float(packed, "householder_product");
  const Tensor a = wide(packed.context(), packed.tensor());
  const Tensor tau = wide(packed.context(), factors.tensor());
  const Tensor b = wide(packed.context(), x.tensor());
  const std::int64_t count = tau.size(-1);
  const auto each = [=](const auto& visit) {
    for (std::int64_t index = 0; index < matrix_count(b); ++index) {
      Application application(matrix(a, index), tau.data<double>() + index * count, count, transposed);
      application.run(matrix(b, index));
      visit(index, application);
    }
  };
  Tensor result = b.clone();
  if (b.numel() > 0) {
    each([&](std::int64_t index, const Application& application) { matrix(result, index) = application.result(); });
  }
  return packed.tape().record(
      result.to(packed.dtype()), {packed, factors, x}, [=, &context = packed.context()](const Tensor& gradient) {
        note_chain(context, a);
        Tensor of_x = gradient.to(DType::float64).clone();
        Tensor of_a = Tensor::zeros(DType::float64, a.shape());
        Tensor of_tau = Tensor::zeros(DType::float64, tau.shape());
        if (b.numel() > 0) {
          each([&](std::int64_t index, Application& application) {
            RowMatrix g = matrix(of_x, index);
            application.back(g, matrix(of_a, index), of_tau.mutable_data<double>() + index * count);
            matrix(of_x, index) = g;
          });
        }
        return std::vector<Tensor>{of_a, of_tau, of_x};
      });
}

void require_reflectors(const Var& packed, const Var& tau, const char* who) {
  const Dims batch = batch_axes(packed);
  const bool fits = tau.rank() >= 1 && Dims(tau.shape().begin(), tau.shape().end() - 1) == batch &&
                    tau.size(-1) <= std::min(packed.size(-2), packed.size(-1));
  if (fits) return;
  throw SkipError(std::string(who) + ": tau of shape " + tuple_text(tau.shape()) +
                  " does not fit reflectors of shape " + tuple_text(packed.shape()) + ".");
}

// The first columns of Q, as many as the packed matrix has.
Var householder_product(const Var& packed, const Var& tau) {
  require_reflectors(packed, tau, "householder_product");
  if (packed.size(-2) < packed.size(-1)) {
    throw SkipError("householder_product: the input must have at least as many rows as columns.");
  }
  Tensor identity = Tensor::zeros(DType::float64, packed.shape());
  if (identity.numel() > 0) {
    for (std::int64_t index = 0; index < matrix_count(identity); ++index) matrix(identity, index).setIdentity();
  }
  return apply_reflectors(packed, tau, packed.tape().constant(identity.to(packed.dtype())), false);
}

Var ormqr(const Var& packed, const Var& tau, const Var& other, bool left, bool transposed) {
  require_reflectors(packed, tau, "ormqr");
  if (!(batch_axes(other) == batch_axes(packed)) || other.size(left ? -2 : -1) != packed.size(-2)) {
    throw SkipError("ormqr: a matrix of shape " + tuple_text(other.shape()) + " does not fit reflectors of shape " +
                    tuple_text(packed.shape()) + ".");
  }
  if (left) return apply_reflectors(packed, tau, other, transposed);
  return transpose(apply_reflectors(packed, tau, transpose(other, -1, -2), !transposed), -1, -2);
}

}  // namespace

List packed_lstsq(const Var& right, const Var& left) {
  Raised raised;
  const Var b = raised(right);
  const Var a = raised(left);
  require_float(a, "lstsq");
  batch_axes(a);
  if (!(batch_axes(b) == batch_axes(a)) || b.size(-2) != a.size(-2)) {
    throw SkipError("lstsq: a right side of shape " + tuple_text(b.shape()) + " does not fit A of shape " +
                    tuple_text(a.shape()) + ".");
  }
  Tape& tape = a.tape();
  const bool tall = a.size(-2) >= a.size(-1);
  const std::int64_t n = std::min(a.size(-2), a.size(-1));
  // A wide matrix is factored as its transpose.
  const Reflectors factors = reflectors_of(a.context(), tall ? a.tensor() : transposed(a.tensor()));
  const Var packed = tape.constant(factors.packed);
  const Var tau = tape.constant(factors.tau);
  const Var r = slice(packed, -2, 0, n);
  const Var targets = tape.constant(b.tensor());
  if (tall) {
    const Var turned = ormqr(packed, tau, targets, true, true);
    const Var x = solve_triangular(r, slice(turned, -2, 0, n), true, false);
    const Var solution = cat({x, slice(turned, -2, n, a.size(-2) - n)}, a.rank() - 2);
    return {raised.back(solution), raised.back(packed)};
  }
  const Var y = solve_triangular(transpose(r, -1, -2), targets, false, false);
  Dims below = y.shape();
  below[below.size() - 2] = a.size(-1) - n;
  const Var padded = cat({y, tape.constant(Tensor::zeros(y.dtype(), below))}, a.rank() - 2);
  return {raised.back(ormqr(packed, tau, padded, true, false)), raised.back(transpose(packed, -1, -2))};
}

namespace {

Dims with_columns(const Tensor& t, std::int64_t columns) {
  Dims shape = t.shape();
  shape.back() = columns;
  return shape;
}

// Gradient for factors of a matrix with at least as many rows as columns, R square: (gQ + Q sym(M)) R^-T with
// M = R gR^T - gQ^T Q, where sym mirrors the strictly lower triangle. One of the two may be undefined.
Tensor tall_qr_gradient(const EvaluationContext& context, const Tensor& q, const Tensor& r, const Tensor& of_q,
                        const Tensor& of_r) {
  const Times times(context);
  Tensor m;
  if (of_r.defined()) m = times(r, transposed(of_r));
  if (of_q.defined()) {
    const Tensor turn = times(transposed(of_q), q);
    m = m.defined() ? subtracted(m, turn) : negative(turn);
  }
  const Tensor mirrored = added(triangle(m, 0, true), transposed(triangle(m, -1, true)));
  Tensor total = times(q, mirrored);
  if (of_q.defined()) total = added(total, of_q);
  return transposed(solve(context, r, transposed(total)));
}

// A wide matrix is [X Y] with X = Q U square and Y = Q V: what reaches V goes to Y, and through Q to X.
Tensor qr_gradient(const EvaluationContext& context, const Orthogonal& factors, const Tensor& of_q,
                   const Tensor& of_r) {
  const Times times(context);
  const Tensor& q = factors.q;
  const Tensor& r = factors.r;
  const std::int64_t rows = r.size(-2);
  const std::int64_t further = r.size(-1) - rows;
  if (further < 0) throw SkipError("The gradient of qr with complete factors needs as many columns as rows.");
  if (further == 0) return tall_qr_gradient(context, q, r, of_q, of_r);
  const auto left = [rows](const Tensor& t) { return t.slice(-1, 0, rows); };
  if (!of_r.defined()) {
    const Tensor of_x = tall_qr_gradient(context, q, left(r), of_q, {});
    return concatenate(of_x.dtype(), {of_x, Tensor::zeros(r.dtype(), with_columns(r, further))}, -1);
  }
  const Tensor y = times(q, r.slice(-1, rows, further));
  const Tensor of_v = of_r.slice(-1, rows, further);
  Tensor through_q = times(y, transposed(of_v));
  if (of_q.defined()) through_q = added(through_q, of_q);
  const Tensor of_x = tall_qr_gradient(context, q, left(r), through_q, left(of_r));
  return concatenate(of_x.dtype(), {of_x, times(q, of_v)}, -1);
}

List qr_operator(const Var& input, bool full) {
  Raised raised;
  const Var a = raised(input);
  require_float(a, "qr");
  const Orthogonal factors = qr(a.context(), a.tensor(), full);
  const Var q = a.tape().record(
      factors.q,
      {{a, [factors, &context = a.context()](const Tensor& g) { return qr_gradient(context, factors, g, {}); }}});
  const Var r = a.tape().record(
      factors.r,
      {{a, [factors, &context = a.context()](const Tensor& g) { return qr_gradient(context, factors, {}, g); }}});
  return {raised.back(q), raised.back(r)};
}

OP("geqrf(Tensor input)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  require_float(a, "geqrf");
  const Reflectors result = reflectors_of(a.context(), a.tensor());
  Tape& tape = args.tape();
  return List{raised.back(tape.constant(result.packed)), raised.back(tape.constant(result.tau))};
});
NAMES("geqrf", "Torch: geqrf; Tensor: geqrf; Aten: geqrf");

OP("orgqr(Tensor input, Tensor input2)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(householder_product(a, raised(args.var("input2"))));
});
OP("orgqr(Tensor input, Tensor tau)", [](const Bound& args) -> Value {
  Raised raised;
  const Var a = raised(args.var("input"));
  return raised.back(householder_product(a, raised(args.var("tau"))));
});
NAMES("orgqr",
      "Torch: linalg.householder_product householder_product orgqr; Tensor: orgqr; Aten: linalg_householder_product "
      "orgqr");

OP("ormqr(Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var a = raised(args.var("input"));
     const Var tau = raised(args.var("input2"));
     const Var other = raised(args.var("input3"));
     return raised.back(ormqr(a, tau, other, args.flag("left"), args.flag("transpose")));
   });
NAMES("ormqr", "Torch: ormqr; Tensor: ormqr; Aten: ormqr");

OP("qr(Tensor input, bool some=True)",
   [](const Bound& args) -> Value { return qr_operator(args.var("input"), !args.flag("some")); });
OP("qr(Tensor A, str mode='reduced')", [](const Bound& args) -> Value {
  const std::string& mode = args.text("mode");
  if (mode == "r") {
    // Q is an empty tensor.
    const List factors = qr_operator(args.var("A"), false);
    return List{args.tape().constant(Tensor(factors[0].get<Var>()->dtype(), {0})), factors[1]};
  }
  if (mode != "reduced" && mode != "complete") throw SkipError("qr: mode '" + mode + "' is not supported.");
  return qr_operator(args.var("A"), mode == "complete");
});
NAMES("qr", "Torch: qr linalg.qr; Tensor: qr; Aten: qr linalg_qr");
TRAITS("qr", .freedom = Freedom::orthogonal);

}  // namespace
}  // namespace msrun
