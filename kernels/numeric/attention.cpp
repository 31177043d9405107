#include "kernels/numeric/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/parallel.h"
#include "kernels/numeric/exponential.h"
#include "kernels/numeric/gemm.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{4} << 20;

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

// Values as they are stored between operators.
template <class T>
void store_between(T* values, std::int64_t count, const AttentionHeads& heads) {
  if (!heads.stored) return;
  constexpr std::int64_t block = 512;
  alignas(64) std::array<std::byte, block * sizeof(T)> bytes;
  for (std::int64_t done = 0; done < count; done += block) {
    const std::int64_t run = std::min(block, count - done);
    store_run<T>(heads.stored->dtype, values + done, run, bytes.data());
    load_run<T>(heads.stored->dtype, bytes.data(), 1, run, values + done);
  }
}

// Values as they are multiplied.
template <class T>
void round_factors(T* values, std::int64_t count, const AttentionHeads& heads) {
  store_between(values, count, heads);
  if (!heads.smallest_factor) return;
  const auto step = static_cast<T>(*heads.smallest_factor);
  std::transform(values, values + count, values, [step](T x) {
    const T rounded = static_cast<T>(static_cast<float>(x));
    return step == 0 ? rounded : std::nearbyint(rounded / step) * step;
  });
}

// Whether the query, or query and key, were scaled before they were stored.
bool scales_factors(const AttentionHeads& heads) {
  return heads.stored &&
         (heads.stored->steps == ScoreSteps::scaled_query || heads.stored->steps == ScoreSteps::scaled_factors);
}

// The keys that some row of a block may see: [begin, end).
struct KeyRange {
  std::int64_t begin;
  std::int64_t end;
};

KeyRange keys_of_row(const AttentionBand& band, std::int64_t row, std::int64_t keys) {
  const std::int64_t begin = std::clamp<std::int64_t>(row + band.offset - band.before, 0, keys);
  const std::int64_t end =
      std::clamp<std::int64_t>(std::max(row + band.offset + band.after + 1, band.prefix), begin, keys);
  return {begin, end};
}

// The scores of one head for `rows` rows from `first` on against the keys of a range, as a row-major matrix.
template <class T>
class Scores {
 public:
  explicit Scores(const AttentionHeads& heads) : heads_(heads) {
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
    const Tensor& query = heads_.stored ? heads_.stored->query : heads_.query;
    const Tensor& key = heads_.stored ? heads_.stored->key : heads_.key;
    gemm(rows_of<T>(query, head, first, rows), rows_of<T>(key, key_head, range_.begin, width()).transposed(),
         storage_.data(), width(), false, heads_.context.arithmetic);
    for (std::int64_t r = 0; r < rows; ++r) finish_row(head, first + r, row(r));
  }

 private:
  // What scores are to be multiplied with, if their factors are not.
  T scale() const { return scales_factors(heads_) ? T{1} : static_cast<T>(heads_.options.scale); }

  void finish_row(std::int64_t head, std::int64_t i, T* scores) const {
    if (heads_.stored && heads_.stored->steps == ScoreSteps::product_then_scaled)
      store_between(scores, width(), heads_);
    const T factor = scale();
    for (std::int64_t j = 0; j < width(); ++j) scores[j] *= factor;
    store_between(scores, width(), heads_);
    if (heads_.bias.defined()) {
      const Dims& strides = heads_.bias.strides();
      const T* bias = heads_.bias.data<T>() + head * strides[0] + i * strides[1] + range_.begin * strides[2];
      const auto bias_scale = static_cast<T>(heads_.options.bias_scale);
      for (std::int64_t j = 0; j < width(); ++j) scores[j] += bias_scale * bias[j * strides[2]];
      store_between(scores, width(), heads_);
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

  const AttentionHeads& heads_;
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
T sink_of(const AttentionHeads& heads, std::int64_t head) {
  return heads.sink.defined() ? heads.sink.data<T>()[head * heads.sink.strides()[0]]
                              : -std::numeric_limits<T>::infinity();
}

// Whether a mask or a bias takes all keys of a row that its band leaves some. Of `sum`, 0 says that none is left.
template <class T>
bool is_masked(const AttentionHeads& heads, const AttentionResults& result, std::int64_t head, std::int64_t row) {
  const KeyRange allowed = keys_of_row(heads.band, row, heads.key.size(1));
  return allowed.begin < allowed.end && element<T>(result.sum, head, row) == 0;
}

// Frameworks give such rows as zeros or as no numbers (torch up to release 2.4), by the kernel that they choose: the
// softmax of nothing is 0 / 0.
template <class T>
void choose_masked_rows(const AttentionHeads& heads, AttentionResults& result) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  bool is_asked = false;
  for (std::int64_t head = 0; head < heads.query.size(0); ++head) {
    for (std::int64_t row = 0; row < heads.query.size(1); ++row) {
      if (!is_masked<T>(heads, result, head, row)) continue;
      if (!is_asked && !heads.context.gives_alternative()) return;
      is_asked = true;
      element<T>(result.sum, head, row) = nan;
      std::fill_n(mutable_rows<T>(result.output, head, row), heads.value.size(2), nan);
    }
  }
}

template <class T>
void forward(const AttentionHeads& heads, AttentionResults& result) {
  const std::int64_t group = heads.query.size(0) / std::max<std::int64_t>(heads.key.size(0), 1);
  const std::int64_t rows = heads.query.size(1);
  const Summation summation = heads.context.arithmetic.summation;
  heads.context.note_sums(std::max(heads.query.size(2), heads.key.size(1)),
                          2 * heads.query.size(0) * rows * heads.query.size(2));
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
          total = row_sum<T>(scores.width(), summation, [p](std::int64_t j) { return p[j]; });
          if (heads.sink.defined()) total += exponential(sink - largest);
        }
        const T factor = nothing ? T{0} : 1 / total;
        if (nothing) {
          std::fill_n(p, scores.width(), T{0});
        } else {
          for (std::int64_t j = 0; j < scores.width(); ++j) p[j] *= factor;
          round_factors(p, scores.width(), heads);
        }
        element<T>(result.max, head, first + r) = nothing ? T{0} : largest;
        element<T>(result.sum, head, first + r) = total;
      }
      gemm(scores.matrix(count), rows_of<T>(heads.value, head / group, scores.range().begin, scores.width()),
           mutable_rows<T>(result.output, head, first), result.output.strides()[1], false, heads.context.arithmetic);
    }
  });
  choose_masked_rows<T>(heads, result);
}

// Makes of the scores of some rows the weights that forward() made of them, but for the rounding of factors.
template <class T>
void weigh_again(Scores<T>& scores, const AttentionResults& result, std::int64_t head, std::int64_t first,
                 std::int64_t count) {
  const std::int64_t width = scores.width();
  for (std::int64_t r = 0; r < count; ++r) {
    T* p = scores.row(r);
    const T total = element<T>(result.sum, head, first + r);
    if (total == 0) {
      std::fill_n(p, width, T{0});
      continue;
    }
    exponentials(p, width, element<T>(result.max, head, first + r));
    const T factor = 1 / total;
    for (std::int64_t j = 0; j < width; ++j) p[j] *= factor;
  }
}

template <class T>
T norm_of(const T* x, std::int64_t count) {
  return std::sqrt(row_sum<T>(count, {}, [x](std::int64_t i) { return x[i] * x[i]; }));
}

template <class T>
std::vector<T> norms_of(const MatrixView<T>& rows) {
  std::vector<T> norms;
  for (std::int64_t r = 0; r < rows.rows; ++r) norms.push_back(norm_of(rows.data + r * rows.row_stride, rows.columns));
  return norms;
}

// What a device's products of rows may leave where terms cancel, or where all that follows is their difference: each is
// off by half a unit of roundoff of the product of the norms. Rows that are stored in a half type, and factors that are
// rounded to it, have larger errors, which are computed; there each product is a place beside.
template <class T>
class RoughProducts {
 public:
  // The products of rows with these; seed 0: nothing is off.
  RoughProducts(std::uint32_t seed, const AttentionHeads& heads, const MatrixView<T>& others)
      : seed_(seed), by_places_(heads.smallest_factor), norms_(seed != 0 ? norms_of(others) : std::vector<T>()) {}

  // The weights of keys whose scores, times a scale, are off: they are computed once more from these and from the
  // logarithm of their sum, and so is a weight that is next to 1.
  void weights(const MatrixView<T>& rows, T scale, T* p) const {
    if (seed_ == 0 || by_places_) return;
    // Weights of 1, of which there may be many, are off apart from each other.
    std::uint32_t seed = seed_;
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const T norm = scale * norm_of(rows.data + r * rows.row_stride, rows.columns);
      for (const T other : norms_) {
        seed = after(seed);
        *p *= 1 + off(*p, norm, other, seed);
        ++p;
      }
    }
  }

  // The products of a row with the others, and `mean`, that with a further row y.
  void row(const T* x, const T* y, std::int64_t count, T* products, T& mean) const {
    if (seed_ == 0) return;
    const T norm = norm_of(x, count);
    for (std::size_t j = 0; j < norms_.size(); ++j) {
      T& product = products[j];
      product = by_places_ ? a_place_beside(product, seed_) : product + off(product, norm, norms_[j]);
    }
    // Of another seed than the product that it equals where that key has all the weight.
    if (!by_places_) mean += off(mean, norm, norm_of(y, count), after(seed_));
  }

 private:
  // The next number of a generator, that of Numerical Recipes (section 7.1, "quick and dirty").
  static std::uint32_t after(std::uint32_t seed) { return 1664525 * seed + 1013904223; }

  T off(T of, T norm, T other) const { return off(of, norm, other, seed_); }
  static T off(T of, T norm, T other, std::uint32_t seed) {
    const T size = std::numeric_limits<T>::epsilon() / 2 * norm * other;
    if (!std::isfinite(size)) return 0;
    return word_of(of, seed) % 2 == 0 ? size : -size;
  }

  std::uint32_t seed_;
  bool by_places_;
  std::vector<T> norms_;
};

// Of the gradients of some rows' scores, for the keys of a range, those of the query and the key that these are the
// product of: the former of all these rows, the latter added to others.
template <class T>
void multiply_scores(const AttentionHeads& heads, std::int64_t head, std::int64_t first, const KeyRange& range,
                     std::vector<T>& scores, const Arithmetic& of_rows, AttentionGradients& gradients) {
  const std::int64_t width = range.end - range.begin;
  const std::int64_t count = static_cast<std::int64_t>(scores.size()) / std::max<std::int64_t>(width, 1);
  const std::int64_t key_head = head / (heads.query.size(0) / std::max<std::int64_t>(heads.key.size(0), 1));
  const bool stored = scales_factors(heads);
  const Tensor& query = stored ? heads.stored->query : heads.query;
  const Tensor& key = stored ? heads.stored->key : heads.key;
  const auto scale = static_cast<T>(heads.options.scale);
  if (!stored) std::transform(scores.begin(), scores.end(), scores.begin(), [scale](T x) { return x * scale; });
  round_factors(scores.data(), count * width, heads);
  const MatrixView<T> ds{scores.data(), count, width, width, 1};
  T* const of_query = mutable_rows<T>(gradients.query, head, first);
  const std::int64_t stride = gradients.query.strides()[1];
  gemm(ds, rows_of<T>(key, key_head, range.begin, width), of_query, stride, false, heads.context.arithmetic);
  if (stored) {
    // What was scaled, and how far, is scaled again, behind a product that was stored.
    const bool both = heads.stored->steps == ScoreSteps::scaled_factors;
    const T factor = both ? std::sqrt(scale) : scale;
    for (std::int64_t r = 0; r < count; ++r) {
      T* const row = of_query + r * stride;
      store_between(row, query.size(2), heads);
      std::transform(row, row + query.size(2), row, [factor](T x) { return x * factor; });
    }
    if (both) std::transform(scores.begin(), scores.end(), scores.begin(), [factor](T x) { return x * factor; });
  }
  gemm(ds.transposed(), rows_of<T>(query, head, first, count), mutable_rows<T>(gradients.key, key_head, range.begin),
       gradients.key.strides()[1], true, of_rows);
}

template <class T>
void backward(const AttentionHeads& heads, const AttentionResults& result, const Tensor& gradient,
              AttentionGradients& gradients) {
  const Arithmetic& arithmetic = heads.context.arithmetic;
  Arithmetic of_parts = arithmetic;
  of_parts.summation = arithmetic.summation.whole();
  const std::int64_t group = heads.query.size(0) / std::max<std::int64_t>(heads.key.size(0), 1);
  const std::int64_t rows = heads.query.size(1);
  const std::int64_t value_size = heads.value.size(2);
  const auto scale = static_cast<T>(heads.options.scale);
  heads.context.note_sums(std::max({heads.query.size(2), heads.key.size(1), rows * group}),
                          5 * heads.query.size(0) * rows * heads.query.size(2));
  const std::uint32_t seed = heads.context.jitter_seed;
  const auto run_head = [&](std::int64_t head, Scores<T>& probabilities, std::vector<T>& storage) {
    const std::int64_t key_head = head / group;
    for (std::int64_t first = 0; first < rows; first += probabilities.rows_per_block()) {
      const std::int64_t count = std::min(probabilities.rows_per_block(), rows - first);
      probabilities.compute(head, key_head, first, count);
      const std::int64_t width = probabilities.width();
      const KeyRange range = probabilities.range();
      weigh_again(probabilities, result, head, first, count);
      RoughProducts<T>(seed, heads, rows_of<T>(heads.key, key_head, range.begin, width))
          .weights(rows_of<T>(heads.query, head, first, count), scale, probabilities.row(0));
      const MatrixView<T> g = rows_of<T>(gradient, head, first, count);
      round_factors(probabilities.row(0), count * width, heads);
      // The products of all blocks of rows and of all query heads of a key head are one sum.
      const bool is_last = first + count == rows && head % group == group - 1;
      const Arithmetic& of_rows = is_last ? arithmetic : of_parts;
      gemm(probabilities.matrix(count).transposed(), g, mutable_rows<T>(gradients.value, key_head, range.begin),
           gradients.value.strides()[1], true, of_rows);
      storage.resize(static_cast<std::size_t>(count * width));
      const MatrixView<T> values = rows_of<T>(heads.value, key_head, range.begin, width);
      gemm(g, values.transposed(), storage.data(), width, false, arithmetic);
      store_between(storage.data(), count * width, heads);
      const RoughProducts<T> rough(seed, heads, values);
      for (std::int64_t r = 0; r < count; ++r) {
        const T* p = probabilities.row(r);
        T* ds = storage.data() + r * width;
        // sum_j dp_j p_j is the product of the output row with its gradient.
        const T* y =
            result.output.data<T>() + head * result.output.strides()[0] + (first + r) * result.output.strides()[1];
        const T* dy = g.data + r * g.row_stride;
        // Weights that are stored do not add up to 1, and a softmax of them takes their own sum.
        T mean = heads.stored
                     ? row_sum<T>(width, arithmetic.summation, [&](std::int64_t j) { return p[j] * ds[j]; })
                     : row_sum<T>(value_size, arithmetic.summation, [&](std::int64_t d) { return y[d] * dy[d]; });
        // Where one key has all the weight the difference is rounding alone.
        rough.row(dy, y, value_size, ds, mean);
        for (std::int64_t j = 0; j < width; ++j) ds[j] = p[j] * (ds[j] - mean);
        store_between(ds, width, heads);
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
      }
      multiply_scores(heads, head, first, range, storage, of_rows, gradients);
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

}  // namespace

void attend(const AttentionHeads& heads, AttentionResults& results) {
  visit_compute(heads.query.dtype(), [&](auto element) { forward<decltype(element)>(heads, results); });
}

void attend_backward(const AttentionHeads& heads, const AttentionResults& results, const Tensor& gradient,
                     AttentionGradients& gradients) {
  visit_compute(heads.query.dtype(),
                [&](auto element) { backward<decltype(element)>(heads, results, gradient, gradients); });
}

}  // namespace msrun
