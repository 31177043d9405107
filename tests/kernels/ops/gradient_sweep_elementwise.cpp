// Functions of single elements, activations and masks. Functions that fill the table are as long as it has
// entries: each entry is data that concerns no other.
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

using Make = std::function<SweepCall(Draw&)>;

void add_all(SweepTable& table, const std::vector<std::string>& canonicals, const Make& make) {
  for (const std::string& canonical : canonicals) table.push_back({canonical, "", make});
}

// One tensor with elements between low and high.
Make between(double low, double high) {
  return [=](Draw& draw) { return SweepCall{{draw.uniform(draw.shape(0, 3), low, high)}}; };
}

SweepCall smooth(Draw& draw) { return {{draw.uniform(draw.shape(0, 3))}}; }
SweepCall piecewise(Draw& draw) { return {{draw.off_grid(draw.shape(0, 3))}}; }

// Two tensors of which either may be broadcast.
Make pair(double low, double high) {
  return [=](Draw& draw) {
    const Dims shape = draw.shape(0, 3);
    Tensor a = draw.uniform(shape, low, high);
    Tensor b = draw.uniform(draw.broadcastable(shape), low, high);
    if (draw.flag()) std::swap(a, b);
    return SweepCall{{a, b}};
  };
}

// Two tensors whose elements are never equal: the second is shifted by an eighth of the grid.
SweepCall apart(Draw& draw) {
  const Dims shape = draw.shape(0, 3);
  const auto grid = [&](const Dims& of, double offset) {
    std::vector<double> data(static_cast<std::size_t>(element_count(of)));
    for (double& value : data) value = 0.5 * static_cast<double>(draw.integer(-6, 6)) + offset + draw.real(-0.05, 0.05);
    return float64(of, data);
  };
  return {{grid(shape, 0.1), grid(draw.broadcastable(shape), 0.3)}};
}

// Numerators anywhere, denominators away from 0.
SweepCall quotient(Draw& draw) {
  const Dims shape = draw.shape(0, 3);
  const double sign = draw.flag() ? 1 : -1;
  const Tensor denominator = draw.flag() ? draw.uniform(shape, 0.5, 2) : draw.uniform(shape, -2, -0.5);
  return {{draw.uniform(draw.broadcastable(shape)), denominator}, {}, {}, sign > 0 ? 1e-6 : 2e-6};
}

// Three operands that broadcast.
SweepCall triple(Draw& draw) {
  const Dims shape = draw.shape(0, 3);
  return {{draw.uniform(shape), draw.uniform(draw.broadcastable(shape), 0.5, 2),
           draw.uniform(draw.broadcastable(shape), 0.5, 2)},
          {{"value", draw.real(-2, 2)}}};
}

// Remainders jump where the quotient is an integer: it stays between the integers.
SweepCall remainder(Draw& draw) {
  const Dims shape = draw.shape(0, 3);
  std::vector<double> divisor;
  std::vector<double> dividend;
  for (std::int64_t k = 0; k < element_count(shape); ++k) {
    divisor.push_back((draw.flag() ? 1 : -1) * draw.real(0.5, 2));
    dividend.push_back(divisor.back() * (static_cast<double>(draw.integer(-3, 2)) + draw.real(0.1, 0.9)));
  }
  return {{float64(shape, dividend), float64(shape, divisor)}};
}

}  // namespace

SweepTable elementwise_sweep() {
  SweepTable table;
  add_all(table, {"exp",         "exp2",       "expm1",      "sin",   "cos",           "sinh",
                  "cosh",        "tanh",       "asinh",      "atan",  "erf",           "erfc",
                  "sigmoid",     "silu",       "gelu",       "mish",  "npu_mish",      "softplus",
                  "square",      "tanhshrink", "sinc",       "i0",    "neg",           "deg2rad",
                  "rad2deg",     "real",       "conj",       "clone", "conj_physical", "_conj_physical",
                  "resolve_neg", "contiguous", "logsigmoid", "zero_"},
          smooth);
  add_all(table, {"abs",  "ceil",  "floor",    "frac",        "round",     "trunc",      "sign",       "sgn",
                  "relu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "softshrink", "leaky_relu",
                  "elu",  "celu",  "selu",     "softsign",    "rrelu",     "nan_to_num", "angle",      "npu_fast_gelu"},
          piecewise);
  add_all(table, {"log", "log10", "log2", "sqrt", "rsqrt", "lgamma", "digamma", "reciprocal"}, between(0.5, 3));
  add_all(table, {"log1p"}, between(-0.5, 3));
  add_all(table, {"acosh"}, between(1.3, 3));
  add_all(table, {"acos", "asin", "atanh", "erfinv"}, between(-0.8, 0.8));
  add_all(table, {"tan"}, between(-1, 1));
  add_all(table, {"logit"}, between(0.1, 0.9));
  add_all(table, {"frexp"}, between(1.1, 1.9));
  add_all(table, {"mul", "logaddexp", "logaddexp2"}, pair(-2, 2));
  add_all(table, {"atan2", "hypot"}, pair(0.3, 2));
  add_all(table, {"xlogy", "float_power", "pow"}, pair(0.4, 2));
  add_all(table, {"maximum", "minimum", "fmax", "fmin"}, apart);
  table.push_back({"max", "Torch.max", apart});
  table.push_back({"min", "Torch.min", apart});
  table.push_back({"div", "Torch.div", quotient});
  table.push_back({"div", "Tensor.__rdiv__", [](Draw& draw) -> SweepCall {
                     const SweepCall call = quotient(draw);
                     return {{call.args[1], call.args[0]}};
                   }});
  add_all(table, {"fmod", "remainder"}, remainder);
  add_all(table, {"addcmul", "addcdiv"}, triple);
  for (const char* name : {"add", "sub", "rsub"}) {
    table.push_back({name, std::string("Torch.") + name, [](Draw& draw) -> SweepCall {
                       SweepCall call = pair(-2, 2)(draw);
                       call.kwargs = {{"alpha", draw.real(-2, 2)}};
                       return call;
                     }});
  }
  table.push_back({"_add_relu", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     // Grids of one half, shifted by 0.1 and 0.2: the sum is never near 0.
                     std::vector<double> a;
                     std::vector<double> b;
                     for (std::int64_t k = 0; k < element_count(shape); ++k) {
                       a.push_back(0.5 * static_cast<double>(draw.integer(-4, 4)) + 0.1 + draw.real(-0.02, 0.02));
                       b.push_back(0.5 * static_cast<double>(draw.integer(-4, 4)) + 0.1 + draw.real(-0.02, 0.02));
                     }
                     return {{float64(shape, a), float64(shape, b)}};
                   }});
  table.push_back({"copysign", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.off_grid(shape), draw.off_grid(draw.broadcastable(shape))}};
                   }});
  table.push_back({"igammac", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape, 0.5, 3).to(DType::float32), draw.uniform(shape, 0.5, 3)}};
                   }});
  table.push_back({"ldexp", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.integers(draw.broadcastable(shape), -3, 3)}};
                   }});
  table.push_back({"lerp", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     const Tensor weight = draw.flag() ? draw.uniform(shape, 0.05, 0.45) : draw.uniform(shape, 0.55, 2);
                     return {{draw.uniform(shape), draw.uniform(shape), weight}};
                   }});
  table.push_back({"lerp", "Torch.lerp", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.uniform(draw.broadcastable(shape)), draw.real(-1, 2)}};
                   }});
  table.push_back({"clamp", "Torch.clamp", [](Draw& draw) -> SweepCall {
                     return {{draw.off_grid(draw.shape(0, 3)), -1.0, draw.flag() ? Value(1.5) : Value(None{})}};
                   }});
  table.push_back({"clamp", "Tensor.clamp_min", [](Draw& draw) { return apart(draw); }});
  table.push_back({"clamp", "Tensor.clamp_max", [](Draw& draw) { return apart(draw); }});
  table.push_back({"threshold", "", [](Draw& draw) -> SweepCall {
                     return {{draw.off_grid(draw.shape(0, 3)), 0.5, 2.0}};
                   }});
  table.push_back({"prelu", "", [](Draw& draw) -> SweepCall {
                     Dims shape = draw.shape(2, 3);
                     return {{draw.off_grid(shape), draw.uniform({draw.flag() ? shape[1] : 1})}};
                   }});
  for (const char* name : {"glu", "npu_swiglu"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       Dims shape = draw.shape(1, 3);
                       const std::int64_t axis = draw.integer(0, static_cast<std::int64_t>(shape.size()) - 1);
                       shape[static_cast<std::size_t>(axis)] *= 2;
                       return {{draw.uniform(shape), i(axis)}};
                     }});
  }
  table.push_back({"where", "Torch.where", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.mask(shape), draw.uniform(draw.broadcastable(shape)), draw.uniform(shape)}};
                   }});
  table.push_back({"where", "Tensor.where", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(draw.broadcastable(shape)), draw.mask(shape), draw.uniform(shape)}};
                   }});
  table.push_back({"masked_fill", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.mask(draw.broadcastable(shape)), draw.uniform({})}};
                   }});
  table.push_back({"masked_select", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.mask(draw.broadcastable(shape))}};
                   }});
  table.push_back({"masked_scatter", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.mask(shape), draw.uniform({element_count(shape)})}};
                   }});
  table.push_back({"fill_", "", [](Draw& draw) -> SweepCall {
                     return {{draw.uniform(draw.shape(0, 3)), draw.uniform({})}};
                   }});
  table.push_back({"copy_", "", [](Draw& draw) -> SweepCall {
                     const Dims shape = draw.shape(0, 3);
                     return {{draw.uniform(shape), draw.uniform(draw.broadcastable(shape))}};
                   }});
  for (const char* name :
       {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}) {
    table.push_back({name, "", [](Draw& draw) -> SweepCall {
                       return {{draw.uniform(draw.shape(3, 3)), draw.real(0, 0.9), draw.flag()}};
                     }});
  }
  return table;
}

}  // namespace msrun::testing
