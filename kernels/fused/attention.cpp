#include "kernels/fused/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "kernels/base/parallel.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/gemm.h"
#include "kernels/numeric/rows.h"
#include "kernels/numeric/sums.h"
#include "kernels/ops/common/elementwise.h"

namespace msrun {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{4} << 20;

// The heads of one segment: views in the compute dtype with unit stride on the last axis.
struct Heads {
  Tensor query;  // (heads, rows, size)
  Tensor key;    // (key heads, keys, size)
  Tensor value;  // (key heads, keys, value size)
  Tensor bias;   // undefined, or (heads, rows, keys) with any strides
  Tensor mask;   // undefined, or bytes (heads, rows, keys) with any strides
  Tensor sink;   // undefined, or (heads)
  Band band;
  AttentionOptions options;
  Arithmetic arithmetic;
};

// Views of the results of the same heads, under construction.
struct Results {
  Tensor output;  // (heads, rows, value size)
  Tensor max;     // (heads, rows)
  Tensor sum;     // (heads, rows)
};

struct Gradients {
  Tensor query;
  Tensor key;  // key and value are added to
  Tensor value;
  Tensor bias;  // undefined, or added to: strides are 0 along broadcast axes
  Tensor sink;  // undefined, or added to
};

template <class T>
MatrixView<T> rows_of(const Tensor& tensor, std::int64_t head, std::int64_t first, std::int64_t count) {
  const Dims& strides = tensor.strides();
  return {tensor.data<T>() + head * strides[0] + first * strides[1], count, tensor.size(2), strides[1], 1};
}

template <class T>
T* mutable_rows(Tensor& tensor, std::int64_t head, std::int64_t first) {
  return tensor.mutable_data<T>() + head * tensor.strides()[0] + first * tensor.strides()[1];
}

// values[j] = exp(values[j] - shift), exactly 0 where that is below the normal numbers.
template <class T>
void exponentials(T* values, std::int64_t count, T shift) {
  const T lowest = std::log(std::numeric_limits<T>::min());
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = values[i] - shift;
    const T power = exponential(x);
    values[i] = x < lowest ? T{0} : power;
  }
}

// The keys that some row of a block may see: [begin, end).
struct KeyRange {
  std::int64_t begin;
  std::int64_t end;
};

KeyRange keys_of_row(const Band& band, std::int64_t row, std::int64_t keys) {
  const std::int64_t begin = std::clamp<std::int64_t>(row + band.offset - band.before, 0, keys);
  const std::int64_t end =
      std::clamp<std::int64_t>(std::max(row + band.offset + band.after + 1, band.prefix), begin, keys);
  return {begin, end};
}

// The scores of one head for `rows` rows from `first` on against the keys of a range, as a row-major matrix.
template <class T>
class Scores {
 public:
  explicit Scores(const Heads& heads) : heads_(heads) {
    const std::int64_t keys = std::max<std::int64_t>(heads.key.size(1), 1);
    rows_per_block_ = std::clamp<std::int64_t>(block_bytes / (keys * static_cast<std::int64_t>(sizeof(T))), 16,
                                               std::max<std::int64_t>(heads.query.size(1), 16));
  }

  std::int64_t rows_per_block() const { return rows_per_block_; }
  KeyRange range() const { return range_; }
  std::int64_t width() const { return range_.end - range_.begin; }
  T* row(std::int64_t r) { return storage_.data() + r * width(); }
  MatrixView<T> matrix(std::int64_t rows) const { return {storage_.data(), rows, width(), width(), 1}; }

  // Removed keys have the score -inf.
  void compute(std::int64_t head, std::int64_t key_head, std::int64_t first, std::int64_t rows) {
    const std::int64_t keys = heads_.key.size(1);
    range_ = {keys, 0};
    for (std::int64_t r = first; r < first + rows; ++r) {
      const KeyRange row_range = keys_of_row(heads_.band, r, keys);
      if (row_range.begin == row_range.end) continue;
      range_ = {std::min(range_.begin, row_range.begin), std::max(range_.end, row_range.end)};
    }
    if (range_.begin >= range_.end) range_ = {0, 0};
    storage_.resize(static_cast<std::size_t>(rows * width()));
    if (width() == 0) return;
    gemm(rows_of<T>(heads_.query, head, first, rows),
         rows_of<T>(heads_.key, key_head, range_.begin, width()).transposed(), storage_.data(), width(), false,
         heads_.arithmetic);
    for (std::int64_t r = 0; r < rows; ++r) finish_row(head, first + r, row(r));
  }

 private:
  void finish_row(std::int64_t head, std::int64_t i, T* scores) const {
    const auto scale = static_cast<T>(heads_.options.scale);
    for (std::int64_t j = 0; j < width(); ++j) scores[j] *= scale;
    if (heads_.bias.defined()) {
      const Dims& strides = heads_.bias.strides();
      const T* bias = heads_.bias.data<T>() + head * strides[0] + i * strides[1] + range_.begin * strides[2];
      const auto bias_scale = static_cast<T>(heads_.options.bias_scale);
      for (std::int64_t j = 0; j < width(); ++j) scores[j] += bias_scale * bias[j * strides[2]];
    }
    constexpr T removed = -std::numeric_limits<T>::infinity();
    if (heads_.mask.defined()) {
      const Dims& strides = heads_.mask.strides();
      const std::uint8_t* mask =
          heads_.mask.data<std::uint8_t>() + head * strides[0] + i * strides[1] + range_.begin * strides[2];
      for (std::int64_t j = 0; j < width(); ++j) {
        scores[j] = (mask[j * strides[2]] != 0) == heads_.options.mask_removes ? removed : scores[j];
      }
    }
    const KeyRange allowed = keys_of_row(heads_.band, i, heads_.key.size(1));
    std::fill(scores, scores + std::clamp<std::int64_t>(allowed.begin - range_.begin, 0, width()), removed);
    std::fill(scores + std::clamp<std::int64_t>(allowed.end - range_.begin, 0, width()), scores + width(), removed);
  }

  const Heads& heads_;
  std::int64_t rows_per_block_;
  KeyRange range_{0, 0};
  std::vector<T> storage_;
};

template <class T>
T& element(Tensor& tensor, std::int64_t head, std::int64_t row) {
  return tensor.mutable_data<T>()[head * tensor.strides()[0] + row * tensor.strides()[1]];
}
template <class T>
T element(const Tensor& tensor, std::int64_t head, std::int64_t row) {
  return tensor.data<T>()[head * tensor.strides()[0] + row * tensor.strides()[1]];
}

template <class T>
T sink_of(const Heads& heads, std::int64_t head) {
  return heads.sink.defined() ? heads.sink.data<T>()[head * heads.sink.strides()[0]]
                              : -std::numeric_limits<T>::infinity();
}

template <class T>
void forward(const Heads& heads, Results& result) {
  const std::int64_t group = heads.query.size(0) / std::max<std::int64_t>(heads.key.size(0), 1);
  const std::int64_t rows = heads.query.size(1);
  const bool half_sums = heads.arithmetic.fp16_accumulation;
  note_sums(std::max(heads.query.size(2), heads.key.size(1)), 2 * heads.query.size(0) * rows * heads.query.size(2));
  run_pieces(heads.query.size(0), [&](std::int64_t head) {
    Scores<T> scores(heads);
    const T sink = sink_of<T>(heads, head);
    for (std::int64_t first = 0; first < rows; first += scores.rows_per_block()) {
      const std::int64_t count = std::min(scores.rows_per_block(), rows - first);
      scores.compute(head, head / group, first, count);
      for (std::int64_t r = 0; r < count; ++r) {
        T* p = scores.row(r);
        const T largest = std::max(row_max(p, scores.width()), sink);
        const bool nothing = largest == -std::numeric_limits<T>::infinity() &&
                             std::none_of(p, p + scores.width(), [](T x) { return std::isnan(x); });
        T total = 0;
        if (!nothing) {
          exponentials(p, scores.width(), largest);
          total = row_sum<T>(scores.width(), half_sums, [p](std::int64_t j) { return p[j]; });
          if (heads.sink.defined()) total += exponential(sink - largest);
        }
        const T factor = nothing ? T{0} : 1 / total;
        if (nothing) {
          std::fill_n(p, scores.width(), T{0});
        } else {
          for (std::int64_t j = 0; j < scores.width(); ++j) p[j] *= factor;
        }
        element<T>(result.max, head, first + r) = nothing ? T{0} : largest;
        element<T>(result.sum, head, first + r) = total;
      }
      gemm(scores.matrix(count), rows_of<T>(heads.value, head / group, scores.range().begin, scores.width()),
           mutable_rows<T>(result.output, head, first), result.output.strides()[1], false, heads.arithmetic);
    }
  });
}

template <class T>
void backward(const Heads& heads, const Results& result, const Tensor& gradient, Gradients& gradients) {
  const Arithmetic& arithmetic = heads.arithmetic;
  const std::int64_t group = heads.query.size(0) / std::max<std::int64_t>(heads.key.size(0), 1);
  const std::int64_t rows = heads.query.size(1);
  const std::int64_t value_size = heads.value.size(2);
  const auto scale = static_cast<T>(heads.options.scale);
  note_sums(std::max({heads.query.size(2), heads.key.size(1), rows * group}),
            5 * heads.query.size(0) * rows * heads.query.size(2));
  const auto run_head = [&](std::int64_t head, Scores<T>& probabilities, std::vector<T>& storage) {
    const std::int64_t key_head = head / group;
    for (std::int64_t first = 0; first < rows; first += probabilities.rows_per_block()) {
      const std::int64_t count = std::min(probabilities.rows_per_block(), rows - first);
      probabilities.compute(head, key_head, first, count);
      const std::int64_t width = probabilities.width();
      const KeyRange range = probabilities.range();
      for (std::int64_t r = 0; r < count; ++r) {
        T* p = probabilities.row(r);
        const T total = element<T>(result.sum, head, first + r);
        if (total == 0) {
          std::fill_n(p, width, T{0});
          continue;
        }
        exponentials(p, width, element<T>(result.max, head, first + r));
        const T factor = 1 / total;
        for (std::int64_t j = 0; j < width; ++j) p[j] *= factor;
      }
      const MatrixView<T> g = rows_of<T>(gradient, head, first, count);
      gemm(probabilities.matrix(count).transposed(), g, mutable_rows<T>(gradients.value, key_head, range.begin),
           gradients.value.strides()[1], true, arithmetic);
      storage.resize(static_cast<std::size_t>(count * width));
      gemm(g, rows_of<T>(heads.value, key_head, range.begin, width).transposed(), storage.data(), width, false,
           arithmetic);
      for (std::int64_t r = 0; r < count; ++r) {
        const T* p = probabilities.row(r);
        T* ds = storage.data() + r * width;
        // sum_j dp_j p_j is the product of the output row with its gradient.
        const T* y =
            result.output.data<T>() + head * result.output.strides()[0] + (first + r) * result.output.strides()[1];
        const T* dy = g.data + r * g.row_stride;
        const T mean =
            row_sum<T>(value_size, arithmetic.fp16_accumulation, [&](std::int64_t d) { return y[d] * dy[d]; });
        for (std::int64_t j = 0; j < width; ++j) ds[j] = p[j] * (ds[j] - mean);
        const T total = element<T>(result.sum, head, first + r);
        if (gradients.sink.defined() && total != 0) {
          const T share = exponential(sink_of<T>(heads, head) - element<T>(result.max, head, first + r)) / total;
          gradients.sink.mutable_data<T>()[head * gradients.sink.strides()[0]] -= share * mean;
        }
        if (gradients.bias.defined()) {
          const Dims& strides = gradients.bias.strides();
          T* bias = gradients.bias.mutable_data<T>() + head * strides[0] + (first + r) * strides[1] +
                    range.begin * strides[2];
          const auto bias_scale = static_cast<T>(heads.options.bias_scale);
          for (std::int64_t j = 0; j < width; ++j) bias[j * strides[2]] += bias_scale * ds[j];
        }
        for (std::int64_t j = 0; j < width; ++j) ds[j] *= scale;
      }
      const MatrixView<T> ds{storage.data(), count, width, width, 1};
      gemm(ds, rows_of<T>(heads.key, key_head, range.begin, width), mutable_rows<T>(gradients.query, head, first),
           gradients.query.strides()[1], false, arithmetic);
      gemm(ds.transposed(), rows_of<T>(heads.query, head, first, count),
           mutable_rows<T>(gradients.key, key_head, range.begin), gradients.key.strides()[1], true, arithmetic);
    }
  };
  // The query heads of one key head add to the same gradients; all heads may add to those of a bias.
  const std::int64_t pieces = gradients.bias.defined() ? 1 : std::max<std::int64_t>(heads.key.size(0), 1);
  const std::int64_t heads_per_piece = heads.query.size(0) / pieces;
  run_pieces(pieces, [&](std::int64_t piece) {
    Scores<T> probabilities(heads);
    std::vector<T> storage;
    for (std::int64_t i = 0; i < heads_per_piece; ++i) run_head(piece * heads_per_piece + i, probabilities, storage);
  });
}

Tensor cut(const Tensor& tensor, const AttentionSegment& segment, std::int64_t first, std::int64_t count) {
  return tensor.select(0, segment.batch).slice(1, first, count);
}

// (batch, heads, rows, keys) for one segment; undefined stays so.
Tensor cut_scores(const Tensor& tensor, const AttentionSegment& segment) {
  if (!tensor.defined()) return {};
  return tensor.select(0, segment.batch).slice(1, 0, segment.rows).slice(2, 0, segment.keys);
}

// Everything of one call in the compute dtype, as (batch, heads, length, size).
struct Call {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor bias;  // before broadcasting
  Tensor mask;
  Tensor sink;
  Dims score_shape;  // (batch, heads, most rows, most keys)
  Arithmetic arithmetic;

  Tensor broadcast(const Tensor& scores) const { return scores.defined() ? scores.expand(score_shape) : scores; }

  Heads heads(const AttentionSegment& segment, const AttentionOptions& options) const {
    return {cut(query, segment, segment.first_row, segment.rows),
            cut(key, segment, segment.first_key, segment.keys),
            cut(value, segment, segment.first_key, segment.keys),
            cut_scores(broadcast(bias), segment),
            cut_scores(mask, segment),
            sink,
            segment.band,
            options,
            arithmetic};
  }
};

Results cut(const Results& all, const AttentionSegment& segment) {
  return {cut(all.output, segment, segment.first_row, segment.rows),
          cut(all.max, segment, segment.first_row, segment.rows),
          cut(all.sum, segment, segment.first_row, segment.rows)};
}

void check_shapes(const Call& call, const Tensor& output) {
  const bool ranks = call.query.rank() == 4 && call.key.rank() == 4 && call.value.rank() == 4;
  const auto same = [&](std::int64_t axis) { return call.key.size(axis) == call.value.size(axis); };
  if (!ranks || !same(0) || !same(1) || !same(2) || call.key.size(0) != call.query.size(0) ||
      call.key.size(3) != call.query.size(3) || call.key.size(1) == 0 || call.query.size(1) % call.key.size(1) != 0 ||
      output.size(3) != call.value.size(3)) {
    throw SkipError("Attention: query, key and value do not fit each other.");
  }
  if (call.sink.defined() && call.sink.shape() != Dims{call.query.size(1)}) {
    throw SkipError("Attention: sink needs one value per head.");
  }
}

}  // namespace

AttentionOutputs attention(const AttentionInputs& inputs) {
  std::vector<Var> vars{inputs.query, inputs.key, inputs.value};
  const DType dtype = result_dtype({&inputs.query, &inputs.key, &inputs.value});
  if (!is_floating(dtype)) throw SkipError("Attention needs floating-point tensors.");
  const DType compute = compute_dtype(dtype);
  Call call;
  call.arithmetic = inputs.query.arithmetic();
  const auto operand = [&](const Var& x) { return as_operand(x.tensor(), compute, call.arithmetic).contiguous(); };
  call.query = inputs.query_view(operand(inputs.query));
  call.key = inputs.key_view(operand(inputs.key));
  call.value = inputs.value_view(operand(inputs.value));
  call.mask = inputs.mask;
  call.score_shape = {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)};
  if (inputs.bias) {
    call.bias = inputs.bias->tensor().to(compute).contiguous();
    vars.push_back(*inputs.bias);
  }
  if (inputs.sink) {
    call.sink = inputs.sink->tensor().to(compute).contiguous();
    vars.push_back(*inputs.sink);
  }
  // Rows of no segment stay zero.
  const Tensor output = Tensor::zeros(compute, inputs.output_shape);
  const Dims rows{call.query.size(0), call.query.size(1), call.query.size(2)};
  const Results results{inputs.output_view(output), Tensor::zeros(compute, rows), Tensor::zeros(compute, rows)};
  check_shapes(call, results.output);
  for (const AttentionSegment& segment : inputs.segments) {
    Results part = cut(results, segment);
    const Heads heads = call.heads(segment, inputs.options);
    visit_compute(compute, [&](auto element) { forward<decltype(element)>(heads, part); });
  }
  const auto vjp = [call, results, compute, vars, segments = inputs.segments, options = inputs.options,
                    has_bias = inputs.bias.has_value(), query_view = inputs.query_view, key_view = inputs.key_view,
                    value_view = inputs.value_view, output_view = inputs.output_view](const Tensor& g) {
    const Tensor gradient = output_view(g.to(compute).contiguous());
    std::vector<Tensor> gradients;
    for (const Var& var : vars) gradients.push_back(Tensor::zeros(compute, var.shape()));
    const Tensor query = query_view(gradients[0]);
    const Tensor key = key_view(gradients[1]);
    const Tensor value = value_view(gradients[2]);
    const Tensor bias = has_bias ? call.broadcast(gradients[3]) : Tensor{};
    const Tensor sink = call.sink.defined() ? gradients.back() : Tensor{};
    for (const AttentionSegment& segment : segments) {
      Gradients part{cut(query, segment, segment.first_row, segment.rows),
                     cut(key, segment, segment.first_key, segment.keys),
                     cut(value, segment, segment.first_key, segment.keys), cut_scores(bias, segment), sink};
      const Heads heads = call.heads(segment, options);
      visit_compute(compute, [&](auto element) {
        backward<decltype(element)>(heads, cut(results, segment),
                                    cut(gradient, segment, segment.first_row, segment.rows), part);
      });
    }
    return gradients;
  };
  return {inputs.query.tape().record(output.to(dtype), vars, vjp), results.max, results.sum};
}

double attention_work(const List& args) {
  const TensorSpec* query = recorded_tensor(args, 0);
  const TensorSpec* key = recorded_tensor(args, 1);
  if (query == nullptr || key == nullptr || query->shape.size() < 2 || key->shape.size() < 2) return 0;
  const std::int64_t keys = key->shape[key->shape.size() - 2];
  return 2 * recorded_elements(*query) * static_cast<double>(std::max<std::int64_t>(keys, 0));
}

}  // namespace msrun
