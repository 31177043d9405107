// Rotary position embedding and the fused transposition (api_inventory.md 4.3, 4.8 and 5).
#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/numeric/rows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

// Quarter turns of pairs of elements of the last axis: (a, b) becomes (-b, a). The pairs are neighbours if interleaved,
// else the elements of the two halves. sign -1 turns the other way, which is the transposed map.
template <class T>
void rotate_rows(const Tensor& x, bool interleaved, T sign, Tensor& result) {
  const std::int64_t size = x.size(-1);
  const std::int64_t distance = interleaved ? 1 : size / 2;
  const std::int64_t step = interleaved ? 2 : 1;
  for (std::int64_t row = 0; row < x.numel(); row += size) {
    const T* from = x.data<T>() + row;
    T* to = result.mutable_data<T>() + row;
    for (std::int64_t i = 0; i < size / 2; ++i) {
      to[i * step] = -sign * from[i * step + distance];
      to[i * step + distance] = sign * from[i * step];
    }
  }
}

Tensor rotated(const Tensor& x, bool interleaved, bool backward) {
  const Tensor source = to_compute(x);
  Tensor result(source.dtype(), source.shape());
  visit_compute(x.dtype(), [&](auto element) {
    using T = decltype(element);
    rotate_rows<T>(source, interleaved, backward ? T{-1} : T{1}, result);
  });
  return result.to(x.dtype());
}

Var rotate(const Var& x, bool interleaved) {
  if (x.rank() == 0 || x.size(-1) % 2 != 0) throw SkipError("Rotary embedding needs a last axis of even size.");
  return x.tape().record(rotated(x.tensor(), interleaved, false),
                         {{x, [interleaved](const Tensor& g) { return rotated(g, interleaved, true); }}});
}

bool is_interleaved(const std::string& mode) {
  if (mode == "half") return false;
  if (mode == "interleave") return true;
  throw SkipError("rotary_mode must be 'half' or 'interleave', not '" + mode + "'.");
}

// x * r1 + rotated(x) * r2
Var rotary(const Var& x, const Var& turned, const Var& r1, const Var& r2) {
  const Var result = add(mul(x, r1), mul(turned, r2));
  if (result.shape() != x.shape()) {
    throw SkipError("Rotary embedding: factors of shapes " + tuple_text(r1.shape()) + " and " + tuple_text(r2.shape()) +
                    " do not fit an input of shape " + tuple_text(x.shape()) + ".");
  }
  return result;
}

OP("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None)",
   [](const Bound& args) -> Value {
     Raised raised;
     const Var x = raised(args.var("self"));
     const Var r1 = raised(args.var("r1"));
     const Var r2 = raised(args.var("r2"));
     const std::optional<Var> matrix = raised(args.optional_var("rotate"));
     const Var turned = matrix ? matmul(x, *matrix) : rotate(x, is_interleaved(args.text("rotary_mode")));
     return raised.back(rotary(x, turned, r1, r2));
   });
NAMES("npu_rotary_mul", "NPU: npu_rotary_mul");

OP("npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', str "
   "rotary_mode='half')",
   [](const Bound& args) -> Value {
     const bool interleaved = is_interleaved(args.text("rotary_mode"));
     List results;
     for (const char* name : {"query", "key"}) {
       Raised raised;
       const Var x = raised(args.var(name));
       const Var cos = raised(args.var("cos"));
       const Var sin = raised(args.var("sin"));
       results.emplace_back(raised.back(rotary(x, rotate(x, interleaved), cos, sin)));
     }
     return results;
   });
NAMES("npu_apply_rotary_pos_emb", "NPU: npu_apply_rotary_pos_emb");

OP("npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first)",
   [](const Bound& args) -> Value {
     const Var x = args.var("self");
     return args.flag("transpose_first") ? reshape(permute(x, args.ints("perm")), args.ints("shape"))
                                         : permute(reshape(x, args.ints("shape")), args.ints("perm"));
   });
NAMES("npu_confusion_transpose", "NPU: npu_confusion_transpose");
TRAITS("npu_confusion_transpose", .copies_only = true);

OP("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True)",
   [](const Bound& args) -> Value { return permute(args.var("self"), args.ints("perm")); });
NAMES("npu_transpose", "NPU: npu_transpose");
TRAITS("npu_transpose", .copies_only = true);

OP("npu_broadcast(Tensor self, int[] size)",
   [](const Bound& args) -> Value { return expand(args.var("self"), args.ints("size")); });
NAMES("npu_broadcast", "NPU: npu_broadcast");
TRAITS("npu_broadcast", .copies_only = true);

// A change of the storage format only.
OP("npu_format_cast(Tensor self, any acl_format)", [](const Bound& args) -> Value { return args.var("self"); });
NAMES("npu_format_cast", "NPU: npu_format_cast npu_format_cast_");
TRAITS("npu_format_cast", .copies_only = true);

}  // namespace
}  // namespace msrun
