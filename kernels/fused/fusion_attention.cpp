// npu_fusion_attention in all layouts and sparse modes, and its gradient operator (api_inventory.md 4.1).
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/fused/attention.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

constexpr std::int64_t compressed_side = 2048;
constexpr std::int64_t compressed_prefix_rows = 3072;

enum class Layout : std::uint8_t { bsh, sbh, bsnd, bnsd, tnd };

Layout parse_layout(const std::string& text) {
  if (text == "BSH") return Layout::bsh;
  if (text == "SBH") return Layout::sbh;
  if (text == "BSND") return Layout::bsnd;
  if (text == "BNSD") return Layout::bnsd;
  if (text == "TND") return Layout::tnd;
  throw SkipError("npu_fusion_attention: unknown input_layout '" + text + "'.");
}

// A contiguous tensor of the layout as (batch, heads, length, size). Packed sequences are one batch entry.
Tensor heads_view(const Tensor& x, Layout layout, std::int64_t heads) {
  switch (layout) {
    case Layout::bsh:
      return x.reshape(Dims{x.size(0), x.size(1), heads, x.size(2) / heads}).permute(Dims{0, 2, 1, 3});
    case Layout::sbh:
      return x.reshape(Dims{x.size(0), x.size(1), heads, x.size(2) / heads}).permute(Dims{1, 2, 0, 3});
    case Layout::bsnd:
      return x.permute(Dims{0, 2, 1, 3});
    case Layout::bnsd:
      return x;
    case Layout::tnd:
      break;
  }
  return x.permute(Dims{1, 0, 2}).unsqueeze(0);
}

struct Geometry {
  Layout layout = Layout::bsh;
  std::int64_t heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t batch = 1;
  std::int64_t rows = 0;  // per batch entry; all of them in the packed layout
  std::int64_t keys = 0;
  Dims output_shape;
};

Geometry geometry_of(const Var& query, const Var& key, const Var& value, std::int64_t head_num, Layout layout) {
  const std::int64_t rank = layout == Layout::bsnd || layout == Layout::bnsd ? 4 : 3;
  if (query.rank() != rank || key.rank() != rank || value.rank() != rank) {
    throw SkipError("npu_fusion_attention: query, key and value do not have the dimensions of the layout.");
  }
  Geometry g;
  g.layout = layout;
  g.output_shape = query.shape();
  if (layout == Layout::bsh || layout == Layout::sbh) {
    if (head_num < 1 || query.size(2) % head_num != 0 || query.size(2) == 0) {
      throw SkipError("npu_fusion_attention: the hidden size is not a multiple of head_num.");
    }
    const std::int64_t size = query.size(2) / head_num;
    g.heads = head_num;
    g.key_heads = key.size(2) / size;
    if (g.key_heads < 1 || key.size(2) % size != 0 || value.size(2) % g.key_heads != 0) {
      throw SkipError("npu_fusion_attention: key and value do not hold heads of the size of the query's.");
    }
    g.output_shape[2] = g.heads * (value.size(2) / g.key_heads);
  } else {
    const std::int64_t heads_axis = layout == Layout::bnsd ? 1 : rank - 2;
    g.heads = query.size(heads_axis);
    g.key_heads = key.size(heads_axis);
    g.output_shape.back() = value.size(-1);
  }
  const Tensor q = heads_view(query.tensor(), layout, g.heads);
  g.batch = q.size(0);
  g.rows = q.size(2);
  g.keys = heads_view(key.tensor(), layout, g.key_heads).size(2);
  return g;
}

// Cumulative lengths of packed sequences, from a list or an integer tensor.
std::vector<std::int64_t> cumulative_lengths(const Value& value, std::int64_t total, const char* name) {
  std::vector<std::int64_t> ends;
  if (const List* list = value.get<List>()) {
    for (const Value& item : *list) {
      const auto* end = item.get<std::int64_t>();
      if (end == nullptr) throw SkipError(std::string(name) + " must hold integers.");
      ends.push_back(*end);
    }
  } else if (const Var* var = value.get<Var>()) {
    for (std::int64_t i = 0; i < var->numel(); ++i) ends.push_back(var->tensor().int_item(i));
  } else {
    throw SkipError(std::string("npu_fusion_attention: layout TND needs ") + name + ".");
  }
  // Trailing zeros mean batches that do not exist.
  while (ends.size() > 1 && ends.back() == 0) ends.pop_back();
  std::int64_t previous = 0;
  for (const std::int64_t end : ends) {
    if (end < previous || end > total) {
      throw SkipError(std::string(name) + " must rise from sequence to sequence and stay within the tensor.");
    }
    previous = end;
  }
  return ends;
}

std::vector<AttentionSegment> segments_of(const Bound& args, const Geometry& g) {
  std::vector<AttentionSegment> segments;
  if (g.layout != Layout::tnd) {
    for (std::int64_t b = 0; b < g.batch; ++b) segments.push_back({b, 0, g.rows, 0, g.keys, {}});
    return segments;
  }
  const auto row_ends = cumulative_lengths(args.value("actual_seq_qlen"), g.rows, "actual_seq_qlen");
  const auto key_ends = cumulative_lengths(args.value("actual_seq_kvlen"), g.keys, "actual_seq_kvlen");
  if (row_ends.size() != key_ends.size()) {
    throw SkipError("actual_seq_qlen and actual_seq_kvlen have different numbers of sequences.");
  }
  AttentionSegment segment;
  for (std::size_t i = 0; i < row_ends.size(); ++i) {
    segment.rows = row_ends[i] - segment.first_row;
    segment.keys = key_ends[i] - segment.first_key;
    segments.push_back(segment);
    segment.first_row = row_ends[i];
    segment.first_key = key_ends[i];
  }
  return segments;
}

// Ones strictly above the diagonal, zeros elsewhere.
bool is_triangle(const Tensor& mask) {
  const Tensor dense = mask.to(DType::boolean).contiguous();
  const auto* bytes = dense.data<std::uint8_t>();
  const std::int64_t columns = mask.size(1);
  for (std::int64_t i = 0; i < mask.size(0); ++i) {
    const std::uint8_t* row = bytes + i * columns;
    const std::int64_t zeros = std::min(i + 1, columns);
    if (std::any_of(row, row + zeros, [](std::uint8_t x) { return x != 0; })) return false;
    if (std::any_of(row + zeros, row + columns, [](std::uint8_t x) { return x == 0; })) return false;
  }
  return true;
}

// Whether the mask means the band of the sparse mode. A mask of the compressed size that could not be an ordinary
// mask always does.
bool is_compressed(const Tensor& mask, std::int64_t mode, const Geometry& g) {
  if (mode == 6) return mask.shape() == Dims{compressed_prefix_rows, compressed_side};
  if (mode < 2 || mode == 5 || mask.shape() != Dims{compressed_side, compressed_side}) return false;
  const bool ordinary = g.rows == compressed_side && g.keys == compressed_side;
  return !ordinary || is_triangle(mask);
}

AttentionBand band_of(std::int64_t mode, const AttentionSegment& segment, std::int64_t before, std::int64_t after,
                      std::int64_t prefix) {
  AttentionBand band;
  band.after = 0;
  if (mode != 2) band.offset = segment.keys - segment.rows;
  if (mode == 4) {
    band.before = std::min(before, AttentionBand::unlimited);
    band.after = std::min(after, AttentionBand::unlimited);
  }
  if (mode == 6) band.prefix = prefix;
  return band;
}

void set_bands(const Bound& args, std::int64_t mode, std::vector<AttentionSegment>& segments) {
  const std::int64_t before =
      std::clamp(args.integer("pre_tockens"), -AttentionBand::unlimited, AttentionBand::unlimited);
  const std::int64_t after =
      std::clamp(args.integer("next_tockens"), -AttentionBand::unlimited, AttentionBand::unlimited);
  const Dims prefix = args.ints("prefix");
  if (mode == 6 && prefix.size() != segments.size()) {
    throw SkipError("npu_fusion_attention: sparse_mode 6 needs one prefix per batch entry.");
  }
  // The modes 7 and 8 cut a band out of one sequence and are causal in the others.
  std::size_t special = segments.size();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].rows == 0) continue;
    if (mode == 7 || (mode == 8 && special == segments.size())) special = i;
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    std::int64_t own_mode = mode;
    if (mode == 7) own_mode = i == special ? 4 : 3;
    if (mode == 8) own_mode = i == special ? 4 : 2;
    segments[i].band = band_of(own_mode, segments[i], before, after, mode == 6 ? prefix[i] : 0);
  }
}

// The mask as (batch, heads, rows, keys); in the packed layout it covers the longest sequences.
Tensor ordinary_mask(const Tensor& given, const Geometry& g, const std::vector<AttentionSegment>& segments) {
  Tensor mask = given.dtype() == DType::boolean || given.dtype() == DType::uint8 ? given : given.to(DType::boolean);
  std::int64_t rows = g.rows;
  std::int64_t keys = g.keys;
  if (g.layout == Layout::tnd) {
    rows = mask.rank() >= 2 ? mask.size(-2) : 0;
    keys = mask.rank() >= 2 ? mask.size(-1) : 0;
    for (const AttentionSegment& segment : segments) {
      if (segment.rows > rows || segment.keys > keys)
        throw SkipError("npu_fusion_attention: atten_mask is smaller than a sequence.");
    }
  }
  const Dims shape{g.batch, g.heads, rows, keys};
  if (mask.rank() > 4 || broadcast_shapes(mask.shape(), shape) != shape) {
    throw SkipError("npu_fusion_attention: an atten_mask of shape " + tuple_text(mask.shape()) +
                    " does not fit scores of shape " + tuple_text(shape) + ".");
  }
  return mask.expand(shape);
}

std::optional<Var> bias_of(const Bound& args, const Geometry& g) {
  const std::optional<Var> pse = args.optional_var("pse");
  if (!pse) return pse;
  if (pse->rank() == 4 && pse->size(2) == 1024 && g.rows > 1024) {
    throw SkipError("npu_fusion_attention: the compressed form of pse (its last 1024 rows) is not supported.");
  }
  const Dims shape{g.batch, g.heads, g.rows, g.keys};
  if (g.layout == Layout::tnd || broadcast_shapes(pse->shape(), shape) != shape) {
    throw SkipError("npu_fusion_attention: a pse of shape " + tuple_text(pse->shape()) +
                    " does not fit scores of shape " + tuple_text(shape) + ".");
  }
  return pse;
}

// (batch, heads, rows) as the device gives it: every value 8 times, packed sequences by row.
Tensor statistic(const Tensor& values, Layout layout) {
  Tensor result = layout == Layout::tnd ? values.select(0, 0).transpose(0, 1) : values;
  result = result.unsqueeze(-1);
  Dims shape = result.shape();
  shape.back() = 8;
  return result.expand(shape).contiguous();
}

struct Attention {
  AttentionOutputs outputs;
  Layout layout;
};

Attention fusion_attention(const Bound& args, const Var& query, const Var& key, const Var& value,
                           const std::optional<Var>& pse_leaf, const char* scale_name) {
  if (args.real("keep_prob") < 1) throw SkipError("Attention with keep_prob < 1 is random: it cannot be compared.");
  const Geometry g = geometry_of(query, key, value, args.integer("head_num"), parse_layout(args.text("input_layout")));
  AttentionInputs inputs;
  inputs.query = query;
  inputs.key = key;
  inputs.value = value;
  inputs.query_view = inputs.output_view = [g](const Tensor& x) { return heads_view(x, g.layout, g.heads); };
  inputs.key_view = inputs.value_view = [g](const Tensor& x) { return heads_view(x, g.layout, g.key_heads); };
  inputs.output_shape = g.output_shape;
  inputs.options.scale = inputs.options.bias_scale = args.real(scale_name);
  inputs.bias = bias_of(args, g);
  if (inputs.bias && pse_leaf) inputs.bias = pse_leaf;
  inputs.sink = args.optional_var("sink");
  inputs.segments = segments_of(args, g);
  if (const std::optional<Var> mask = args.optional_var("atten_mask")) {
    const std::int64_t mode = args.integer("sparse_mode");
    if (mode < 0 || mode > 8) throw SkipError("npu_fusion_attention: sparse_mode must be between 0 and 8.");
    if (is_compressed(mask->tensor(), mode, g)) {
      set_bands(args, mode, inputs.segments);
    } else {
      inputs.mask = ordinary_mask(mask->tensor(), g, inputs.segments);
    }
  }
  return {attention(inputs), g.layout};
}

// MindSpore's operator, by the formulas of its check (acc_check_mindspore.md 6.4). Other than that of the NPU it takes
// the band of sparse mode 4 from the upper left corner, and has one in mode 0 without a mask.
Var flash_attention_score(const Bound& args) {
  if (args.real("keep_prob") < 1) throw SkipError("Attention with keep_prob < 1 is random: it cannot be compared.");
  const Layout layout = parse_layout(args.text("input_layout"));
  if (layout == Layout::tnd) throw SkipError("flash_attention_score: input_layout TND is not supported.");
  if (args.given("real_shift")) throw SkipError("flash_attention_score: real_shift is not supported.");
  AttentionInputs inputs;
  inputs.query = args.var("query");
  inputs.key = args.var("key");
  inputs.value = args.var("value");
  const Geometry g = geometry_of(inputs.query, inputs.key, inputs.value, args.integer("head_num"), layout);
  inputs.query_view = inputs.output_view = [g](const Tensor& x) { return heads_view(x, g.layout, g.heads); };
  inputs.key_view = inputs.value_view = [g](const Tensor& x) { return heads_view(x, g.layout, g.key_heads); };
  inputs.output_shape = g.output_shape;
  const std::int64_t size = std::max<std::int64_t>(inputs.query_view(inputs.query.tensor()).size(3), 1);
  inputs.options.scale = args.optional_real("scalar_value").value_or(1 / std::sqrt(static_cast<double>(size)));
  inputs.segments = segments_of(args, g);
  const std::int64_t mode = args.integer("sparse_mode");
  if (mode < 0 || mode > 4) throw SkipError("flash_attention_score: sparse_mode must be between 0 and 4.");
  const std::optional<Var> mask = args.optional_var("attn_mask");
  if (mask && !is_compressed(mask->tensor(), mode, g)) {
    inputs.mask = ordinary_mask(mask->tensor(), g, inputs.segments);
    return attention(inputs).output;
  }
  const auto limit = [&](const char* name) {
    return std::clamp(args.integer(name), -AttentionBand::unlimited, AttentionBand::unlimited);
  };
  for (AttentionSegment& segment : inputs.segments) {
    if (mode == 1) break;
    segment.band.after = 0;
    if (mode == 3) segment.band.offset = g.keys - g.rows;
    if (mode == 2 || mode == 3) continue;
    segment.band.before = limit("pre_tockens");
    segment.band.after = limit("next_tockens");
  }
  return attention(inputs).output;
}

// In the sparse modes 2 to 4 the mask is compressed: always the same triangle, whatever data the recording describes.
// One that lies in a file is taken from there.
void adapt_compressed_mask(List& /*args*/, Dict& kwargs) {
  std::int64_t sparse_mode = 0;
  for (const auto& [key, value] : kwargs) {
    if (const auto* mode = value.get<std::int64_t>(); key == "sparse_mode" && mode != nullptr) sparse_mode = *mode;
  }
  if (sparse_mode < 2 || sparse_mode > 4) return;
  for (auto& [key, value] : kwargs) {
    const TensorSpec* mask = recorded_tensor(value);
    if (key != "atten_mask" || mask == nullptr || !mask->file().empty()) continue;
    Tensor triangle(DType::boolean, {compressed_side, compressed_side});
    bool* to = triangle.mutable_data<bool>();
    for (std::int64_t row = 0; row < compressed_side; ++row) {
      for (std::int64_t column = 0; column < compressed_side; ++column) *to++ = column > row;
    }
    value = triangle;
  }
}

OP("npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, "
   "Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1.0, float keep_prob=1.0, int "
   "pre_tockens=2147483647, "
   "int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, any actual_seq_qlen=None, any "
   "actual_seq_kvlen=None, "
   "int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout='', Tensor? sink=None, "
   "Tensor? dropout_mask=None, any seed=0, any offset=0)",
   [](const Bound& args) -> Value {
     const Attention result =
         fusion_attention(args, args.var("query"), args.var("key"), args.var("value"), std::nullopt, "scale");
     const AttentionOutputs& outputs = result.outputs;
     Tape& tape = args.tape();
     // Without dropout there is neither a random state nor a mask: seed, offset and mask length are 0.
     return List{outputs.output,
                 tape.constant(statistic(outputs.max, result.layout)),
                 tape.constant(statistic(outputs.sum, result.layout)),
                 tape.constant(Tensor(outputs.output.dtype(), {0})),
                 std::int64_t{0},
                 std::int64_t{0},
                 std::int64_t{0}};
   });
NAMES("npu_fusion_attention", "NPU: npu_fusion_attention");
TRAITS("npu_fusion_attention", .varies = Varies::gradients, .compared_output = 0, .differentiable_output = 0,
       .adapt = adapt_compressed_mask, .multiply_adds = attention_work);

OP("flash_attention_score(Tensor query, Tensor key, Tensor value, int head_num, str input_layout='BSH', *, Tensor? "
   "real_shift=None, Tensor? drop_mask=None, Tensor? padding_mask=None, Tensor? attn_mask=None, int[]? prefix=None, "
   "any "
   "actual_seq_qlen=None, any actual_seq_kvlen=None, float keep_prob=1.0, float? scalar_value=None, int "
   "pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int sparse_mode=0)",
   [](const Bound& args) -> Value { return flash_attention_score(args); });
NAMES("flash_attention_score", "Functional: flash_attention_score");
TRAITS("flash_attention_score", .multiply_adds = attention_work);

// The gradients of query, key, value and pse for the cotangent dy. The softmax statistics of the forward pass are
// computed again from the inputs.
OP("npu_fusion_attention_grad(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *, "
   "Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor? "
   "softmax_sum=None, "
   "Tensor? softmax_in=None, Tensor? attention_in=None, float scale_value=1.0, float keep_prob=1.0, "
   "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, any seed=0, any offset=0, any "
   "numels=0, "
   "int[]? prefix=None, any actual_seq_qlen=None, any actual_seq_kvlen=None, int sparse_mode=0, bool "
   "gen_mask_parallel=True, "
   "bool sync=False, str softmax_layout='', Tensor? sink=None)",
   [](const Bound& args) -> Value {
     Tape tape(args.tape().context());
     const auto leaf = [&](const char* name) { return tape.leaf(args.var(name).tensor()); };
     const Var query = leaf("query");
     const Var key = leaf("key");
     const Var value = leaf("value");
     std::optional<Var> pse;
     if (args.given("pse")) pse = leaf("pse");
     const Attention result = fusion_attention(args, query, key, value, pse, "scale_value");
     tape.backward(result.outputs.output, args.var("dy").tensor());
     List gradients;
     for (const Var& var : {query, key, value}) gradients.emplace_back(args.tape().constant(tape.gradient(var)));
     // Without pse some give a tensor without elements, and the gradient of sink is there in newer releases alone.
     gradients.emplace_back(pse ? Value(args.tape().constant(tape.gradient(*pse)))
                                : Value(Unsupported{"There is no pse, whose gradient this would be."}));
     gradients.emplace_back(Unsupported{"The gradient of sink is not compared."});
     return gradients;
   });
NAMES("npu_fusion_attention_grad", "NPU: npu_fusion_attention_grad");
TRAITS("npu_fusion_attention_grad", .varies = Varies::results, .multiply_adds = attention_work);

}  // namespace
}  // namespace msrun
