// Reverse-mode differentiation over tensors: a Tape records what was computed from what, and walks it backwards.
//
// A Var is a tensor on a tape. Operators compute new Vars and, where an input requires a gradient, record a
// vector-Jacobian product (VJP). The gradient of a Var has its dtype and shape. VJPs work on plain tensors: second
// derivatives do not exist. The gradient of a complex Var holds the derivatives with respect to its real and imaginary
// parts; a VJP may return a complex gradient for a real input, whose real part counts.
//
// In this folder: the tape alone. What is recorded on it is computed in kernels/ops and kernels/fused.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

class Tape;

// A tensor that is meant in a wider dtype, and its copy in that once it has been asked for.
class Widened {
 public:
  Widened(Tensor stored, DType dtype) : stored_(std::move(stored)), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  const Tensor& tensor() const {
    std::call_once(once_, [this] { tensor_ = stored_.to(dtype_); });
    return tensor_;
  }

 private:
  Tensor stored_;
  DType dtype_;
  mutable std::once_flag once_;
  mutable Tensor tensor_;
};

class Var {
 public:
  Var() = default;

  const Tensor& tensor() const { return widened_ ? widened_->tensor() : tensor_; }
  // The numbers of tensor() in the dtype in which they lie in memory, for operators that can do without a copy in
  // dtype(), which may be wider.
  const Tensor& stored() const { return tensor_; }
  DType dtype() const { return widened_ ? widened_->dtype() : tensor_.dtype(); }
  const Dims& shape() const { return tensor_.shape(); }
  std::int64_t rank() const { return tensor_.rank(); }
  std::int64_t size(std::int64_t axis) const { return tensor_.size(axis); }
  std::int64_t numel() const { return tensor_.numel(); }
  bool defined() const { return tensor_.defined(); }

  bool requires_grad() const { return node_ >= 0; }
  // A Python number in the place of a tensor: a 0-d float64, int64 or bool that yields to the dtype of real tensors.
  bool is_number() const { return is_number_; }
  Tape& tape() const { return *tape_; }
  const EvaluationContext& context() const;
  const Arithmetic& arithmetic() const { return context().arithmetic; }

 private:
  friend class Tape;
  Tensor tensor_;
  std::shared_ptr<const Widened> widened_;  // null if tensor_ has the dtype that is meant
  Tape* tape_ = nullptr;
  std::int32_t node_ = -1;
  bool is_number_ = false;
};

// Gradient of one input from the gradient of the output.
using Vjp = std::function<Tensor(const Tensor& gradient)>;
// Gradients of all inputs at once, in their order; entries of inputs that need none may be undefined.
using JointVjp = std::function<std::vector<Tensor>(const Tensor& gradient)>;

struct Edge {
  Var input;
  Vjp vjp;
};

// What becomes of the recorded computation when it has been walked backwards.
enum class Afterwards : std::uint8_t {
  keep,    // it may be walked again
  release  // every step is forgotten once it is done, with the tensors that only its derivative needs
};

// Owns the recorded computation; must outlive its Vars. One thread.
class Tape {
 public:
  Tape() = default;
  explicit Tape(const EvaluationContext& context) : context_(context) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // How the operators on it compute; as long as the tape lives.
  const EvaluationContext& context() const { return context_; }
  const Arithmetic& arithmetic() const { return context_.arithmetic; }

  Var constant(Tensor tensor);
  Var number(double value);
  Var number(std::int64_t value);
  Var number(bool value);
  // A tensor whose gradient will be asked for. dtype must be floating or complex.
  Var leaf(Tensor tensor);
  // var in a wider floating dtype, as an input of operators that are computed in it. Behind leaf() alone: the gradient
  // has that dtype, too.
  Var widened(Var var, DType dtype);

  // The result of an operator. It requires a gradient if an input of the edges does; subnormals are flushed here where
  // the arithmetic says so.
  Var record(Tensor value, std::vector<Edge> edges);
  Var record(Tensor value, const std::vector<Var>& inputs, JointVjp vjp);

  // Propagates gradient, given for output, to every Var that output was computed from. gradient is cast to the dtype of
  // output; its shape must be that of output (SkipError). Throws SkipError if output requires no gradient.
  void backward(const Var& output, const Tensor& gradient, Afterwards afterwards = Afterwards::keep);

  // The place of var on its tape without its tensor, which is all that gradient() asks for.
  static Var place_of(const Var& var);

  // The gradient that reached var; undefined if none did.
  Tensor gradient(const Var& var) const;

 private:
  struct Node {
    std::vector<std::int32_t> inputs;  // -1 where an input needs no gradient
    // One of the two; neither for leaves.
    JointVjp joint;
    std::vector<Vjp> each;
    DType dtype;
    Dims shape;
    Tensor gradient;
  };
  Var make(Tensor tensor, std::int32_t node);
  Var record(Tensor value, std::vector<std::int32_t> inputs, JointVjp joint, std::vector<Vjp> each);
  void pass_on(Node& node, const Tensor& total, Afterwards afterwards);
  void accumulate(std::int32_t node, const Tensor& gradient);

  EvaluationContext context_;
  std::vector<Node> nodes_;
};

inline const EvaluationContext& Var::context() const { return tape_->context(); }

}  // namespace msrun
