#include "kernels/autograd/tape.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/numeric/roughness.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {
namespace {

Tensor flush_subnormals(const Tensor& tensor) {
  double smallest_normal = 0;
  switch (tensor.dtype()) {
    case DType::float16:
      smallest_normal = 0x1p-14;
      break;
    case DType::bfloat16:
    case DType::float32:
      smallest_normal = 0x1p-126;
      break;
    case DType::float64:
      smallest_normal = 0x1p-1022;
      break;
    default:
      return tensor;
  }
  return map(tensor.dtype(), tensor, [smallest_normal](auto x) {
    using T = decltype(x);
    return std::abs(x) < static_cast<T>(smallest_normal) ? T{0} : x;
  });
}

// The magnitudes of a tensor's numbers, to be asked for one by one: a table of their bits, of which at most half is
// full.
class Magnitudes {
 public:
  explicit Magnitudes(const Tensor& tensor) {
    const auto count = static_cast<std::size_t>(tensor.numel());
    table_.resize(std::bit_ceil(2 * count + 1));
    for_each(tensor, [&](double magnitude) {
      table_[place_of(magnitude)] = std::bit_cast<std::uint64_t>(magnitude);
      return true;
    });
  }

  // Whether each of the tensor is one of these.
  bool have_all_of(const Tensor& tensor) const {
    return for_each(tensor, [&](double magnitude) { return table_[place_of(magnitude)] != empty; });
  }

 private:
  static constexpr std::uint64_t empty = 0;  // the bits of zero, which is none of them

  // Until take returns false, which is then the result. Zeros and NaN are passed over.
  template <class Take>
  static bool for_each(const Tensor& tensor, const Take& take) {
    const Tensor wide = tensor.to(DType::float64).contiguous();
    const double* const data = wide.data<double>();
    return std::all_of(data, data + wide.numel(), [&](double number) {
      const double magnitude = std::abs(number);
      return magnitude == 0 || std::isnan(magnitude) || take(magnitude);
    });
  }

  // Where the magnitude is, or would be.
  std::size_t place_of(double magnitude) const {
    const auto bits = std::bit_cast<std::uint64_t>(magnitude);
    const std::uint64_t spread = bits * 0x9E3779B97F4A7C15;
    std::size_t place = (spread ^ (spread >> 32)) & (table_.size() - 1);
    while (table_[place] != empty && table_[place] != bits) place = (place + 1) & (table_.size() - 1);
    return place;
  }

  std::vector<std::uint64_t> table_;
};

// Whether every number of `to` is one of `from`, but for its sign, or zero: a step that moves, masks or drops numbers
// rounds nothing.
bool only_moves(const Tensor& from, const Tensor& to) {
  if (is_complex(from.dtype()) || is_complex(to.dtype())) return false;
  return Magnitudes(from).have_all_of(to);
}

}  // namespace

Var Tape::make(Tensor tensor, std::int32_t node) {
  Var var;
  var.tensor_ = std::move(tensor);
  var.tape_ = this;
  var.node_ = node;
  return var;
}

Var Tape::constant(Tensor tensor) { return make(std::move(tensor), -1); }

Var Tape::number(double value) {
  Var var = make(Tensor::scalar(DType::float64, value), -1);
  var.is_number_ = true;
  return var;
}

Var Tape::number(std::int64_t value) {
  Var var = make(Tensor::scalar(value), -1);
  var.is_number_ = true;
  return var;
}

Var Tape::number(bool value) {
  Var var = make(Tensor::scalar(DType::boolean, value ? 1 : 0), -1);
  var.is_number_ = true;
  return var;
}

Var Tape::leaf(Tensor tensor) {
  nodes_.push_back({{}, {}, {}, tensor.dtype(), tensor.shape(), {}});
  return make(std::move(tensor), static_cast<std::int32_t>(nodes_.size() - 1));
}

Var Tape::widened(Var var, DType dtype) {
  if (var.node_ >= 0) nodes_[static_cast<std::size_t>(var.node_)].dtype = dtype;
  var.widened_ = std::make_shared<Widened>(var.tensor_, dtype);
  return var;
}

Var Tape::record(Tensor value, std::vector<std::int32_t> inputs, JointVjp joint, std::vector<Vjp> each) {
  if (context_.arithmetic.flush_subnormals) value = flush_subnormals(value);
  const bool differentiable = std::ranges::any_of(inputs, [](std::int32_t node) { return node >= 0; });
  if (!differentiable || !(is_floating(value.dtype()) || is_complex(value.dtype()))) return make(std::move(value), -1);
  nodes_.push_back({std::move(inputs), std::move(joint), std::move(each), value.dtype(), value.shape(), {}});
  return make(std::move(value), static_cast<std::int32_t>(nodes_.size() - 1));
}

Var Tape::record(Tensor value, const std::vector<Var>& inputs, JointVjp vjp) {
  std::vector<std::int32_t> nodes;
  nodes.reserve(inputs.size());
  for (const Var& input : inputs) nodes.push_back(input.node_);
  return record(std::move(value), std::move(nodes), std::move(vjp), {});
}

Var Tape::record(Tensor value, std::vector<Edge> edges) {
  std::vector<std::int32_t> nodes;
  std::vector<Vjp> vjps;
  nodes.reserve(edges.size());
  vjps.reserve(edges.size());
  for (Edge& edge : edges) {
    nodes.push_back(edge.input.node_);
    // One that is not asked for would keep its tensors alive.
    vjps.push_back(edge.input.requires_grad() ? std::move(edge.vjp) : Vjp());
  }
  return record(std::move(value), std::move(nodes), {}, std::move(vjps));
}

Var Tape::place_of(const Var& var) {
  Var place = var;
  place.tensor_ = {};
  place.widened_ = {};
  return place;
}

void Tape::accumulate(std::int32_t node, const Tensor& gradient) {
  Node& target = nodes_[static_cast<std::size_t>(node)];
  if (gradient.shape() != target.shape) throw std::logic_error("a VJP returned a gradient of the wrong shape");
  Tensor cast = gradient.to(target.dtype);
  const std::uint32_t seed = context_.jitter_seed;
  if (seed != 0 && target.gradient.defined()) cast = off_by_places(cast, seed + static_cast<std::uint32_t>(node));
  const auto add = complex_too([](auto a, auto b) { return a + b; });
  target.gradient = target.gradient.defined() ? map(target.dtype, target.gradient, cast, add) : cast;
}

// Every gradient joins those of its input before the next is computed.
void Tape::pass_on(Node& node, const Tensor& total, Afterwards afterwards) {
  if (node.joint) {
    const std::vector<Tensor> gradients = node.joint(total);
    if (afterwards == Afterwards::release) node.joint = {};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (node.inputs[i] >= 0 && gradients[i].defined()) accumulate(node.inputs[i], gradients[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < node.each.size(); ++i) {
    if (node.inputs[i] < 0) continue;
    const Tensor gradient = node.each[i](total);
    if (afterwards == Afterwards::release) node.each[i] = {};
    if (gradient.defined()) accumulate(node.inputs[i], gradient);
  }
}

void Tape::backward(const Var& output, const Tensor& gradient, Afterwards afterwards) {
  if (!output.requires_grad()) {
    throw SkipError("element 0 of tensors does not require grad and does not have a grad_fn");
  }
  if (gradient.shape() != output.shape()) {
    throw SkipError("Mismatch in shape: the gradient has shape " + tuple_text(gradient.shape()) +
                    " and the output has shape " + tuple_text(output.shape()) + ".");
  }
  accumulate(output.node_, gradient);
  // Gradients of intermediate results that a step has computed, in a rough computation.
  std::vector<bool> computed(nodes_.size());
  for (std::int32_t node = output.node_; node >= 0; --node) {
    Node& current = nodes_[static_cast<std::size_t>(node)];
    if (!current.joint && current.each.empty()) continue;
    // Taken out of the node, because the gradients of intermediate results are not needed once they are passed on.
    Tensor total = std::exchange(current.gradient, {});
    if (total.defined()) {
      if (context_.arithmetic.flush_subnormals) total = flush_subnormals(total);
      const std::uint32_t seed = context_.jitter_seed;
      if (seed != 0 && computed[static_cast<std::size_t>(node)])
        total = off_by_places(total, seed + static_cast<std::uint32_t>(node));
      pass_on(current, total, afterwards);
      for (const std::int32_t input : current.inputs) {
        if (seed == 0 || input < 0) continue;
        const Tensor& passed = nodes_[static_cast<std::size_t>(input)].gradient;
        computed[static_cast<std::size_t>(input)] = passed.defined() && !only_moves(total, passed);
      }
    }
    if (afterwards == Afterwards::release) {
      current.joint = {};
      current.each.clear();
    }
  }
}

Tensor Tape::gradient(const Var& var) const {
  return var.requires_grad() ? nodes_[static_cast<std::size_t>(var.node_)].gradient : Tensor{};
}

}  // namespace msrun
