// Fused activations, gates and masked softmax (api_inventory.md 4.4, 4.5, 4.9, 4.13 and 5).
#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// 1 / (1 + e^-x) as the fused kernels evaluate it: where e^-x overflows the result is 0.
template <class T>
[[gnu::always_inline]] inline T unguarded_logistic(T x) {
  return 1 / (1 + exponential(-x));
}

struct Halves {
  Tensor first;
  Tensor second;
};

Halves halves_of(const Tensor& x, std::int64_t axis) {
  const std::int64_t size = x.size(axis);
  if (x.rank() == 0 || size % 2 != 0) throw SkipError("The axis that is cut in halves must have an even size.");
  return {x.slice(axis, 0, size / 2), x.slice(axis, size / 2, size / 2)};
}

// silu(a) * b, where a and b are the halves of x along axis.
Var swiglu(const Var& x, std::int64_t axis) {
  const Halves parts = halves_of(x.tensor(), axis);
  Tensor y = map(x.dtype(), parts.first, parts.second, [](auto a, auto b) { return a * unguarded_logistic(a) * b; });
  return x.tape().record(
      y, {{x, [parts, axis](const Tensor& g) {
             const DType dtype = parts.first.dtype();
             const Tensor first = map(dtype, parts.first, parts.second, g, [](auto a, auto b, auto dy) {
               const auto s = unguarded_logistic(a);
               return dy * b * (s + a * s * (1 - s));
             });
             const Tensor second =
                 map(dtype, parts.first, g, [](auto a, auto dy) { return dy * a * unguarded_logistic(a); });
             return concatenate(dtype, {first, second}, axis);
           }}});
}

OP("npu_swiglu(Tensor self, int dim=-1)",
   [](const Bound& args) -> Value { return swiglu(args.var("self"), args.integer("dim")); });
NAMES("npu_swiglu", "NPU: npu_swiglu");

// x sigmoid(1.702 x)
OP("npu_fast_gelu(Tensor self)", [](const Bound& args) -> Value {
  return unary(
      args.var("self"), [](auto x) { return x * unguarded_logistic(static_cast<decltype(x)>(1.702) * x); },
      [](auto x, auto, auto g) {
        constexpr auto slope = static_cast<decltype(x)>(1.702);
        const auto s = unguarded_logistic(slope * x);
        return g * (s + slope * x * s * (1 - s));
      });
});
NAMES("npu_fast_gelu", "NPU: npu_fast_gelu fast_gelu");

NAMES("mish", "NPU: npu_mish");
NAMES("silu", "NPU: npu_silu npu_silu_");
NAMES("gelu", "NPU: npu_gelu");

// The product of one half with gelu of the other; also returns the latter.
OP("npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False)", [](const Bound& args) -> Value {
  Raised raised;
  const Var x = raised(args.var("self"));
  const std::int64_t axis = args.integer("dim");
  halves_of(x.tensor(), axis);
  const std::int64_t half = x.size(axis) / 2;
  const Var left = slice(x, axis, 0, half);
  const Var right = slice(x, axis, half, half);
  const bool activate_left = args.flag("activate_left");
  const std::string approximate = args.integer("approximate") == 1 ? "tanh" : "none";
  const Value result =
      find_canonical("gelu")->call({activate_left ? left : right}, {{"approximate", approximate}}, args.tape());
  const Var gelu = *result.get<Var>();
  return List{raised.back(mul(activate_left ? right : left, gelu)), raised.back(gelu)};
});
NAMES("npu_geglu", "NPU: npu_geglu");

// softmax of scale * x over the last axis, where masked elements count as -10000.
Var scaled_masked_softmax(const Var& input, Tensor mask, double scale, bool triangular) {
  if (input.rank() == 0) throw SkipError("npu_scaled_masked_softmax needs an input of at least 1 dimension.");
  Raised raised;
  const Var x = raised(input);
  if (triangular) {
    if (x.rank() < 2) throw SkipError("fixed_triu_mask needs an input of at least 2 dimensions.");
    mask = triangle(Tensor::full(DType::uint8, Dims{x.size(-2), x.size(-1)}, 1), 1, false);
  }
  if (broadcast_shapes(mask.shape(), x.shape()) != x.shape()) {
    throw SkipError("A mask of shape " + tuple_text(mask.shape()) + " does not broadcast to " + tuple_text(x.shape()) +
                    ".");
  }
  Tensor scores = map(x.dtype(), x.tensor(), mask, [scale](auto value, auto masked) {
    using T = decltype(value);
    return masked != 0 ? T{-10000} : static_cast<T>(scale) * value;
  });
  const Var z = x.tape().record(scores, {{x, [mask, scale](const Tensor& g) {
                                            return map(g.dtype(), g, mask, [scale](auto dz, auto masked) {
                                              using T = decltype(dz);
                                              return masked != 0 ? T{0} : static_cast<T>(scale) * dz;
                                            });
                                          }}});
  return raised.back(softmax(z, -1));
}

OP("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False)",
   [](const Bound& args) -> Value {
     return scaled_masked_softmax(args.var("x"), args.var("mask").tensor(), args.real("scale"),
                                  args.flag("fixed_triu_mask"));
   });
NAMES("npu_scaled_masked_softmax", "NPU: npu_scaled_masked_softmax");

}  // namespace
}  // namespace msrun
