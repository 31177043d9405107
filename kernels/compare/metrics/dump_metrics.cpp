#include "kernels/compare/metrics/dump_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/compare/metrics/beyond_float.h"
#include "kernels/compare/metrics/float_vectors.h"

namespace msrun {
namespace {

// Every sum is kept in this many partial sums; element i belongs to number i % lanes. That is two of the widest vectors
// of doubles there are: with fewer, additions would wait for one another.
constexpr std::size_t lanes = 16;
// Elements that are worked on at a time: what is known of them fits into the first-level cache.
constexpr std::size_t block = 1024;
constexpr float least_golden = 1.1920929e-07F;  // of float32; below it golden counts as zero (torchair.md 8)
constexpr float not_finite = std::numeric_limits<float>::infinity();

// Partial sums of a quantity, in registers while a block is added.
struct Sum {
  std::array<double, lanes> parts{};

  double total() const {
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
  void scale(double factor) {
    for (double& part : parts) part *= factor;
  }
};

constexpr std::size_t doubles_per_row = lanes / narrow;

struct SumRegisters {
  std::array<Doubles, doubles_per_row> parts;

  [[gnu::always_inline]] explicit SumRegisters(const Sum& sum) {
    std::memcpy(parts.data(), sum.parts.data(), sizeof sum.parts);
  }
  [[gnu::always_inline]] void save(Sum& sum) const { std::memcpy(sum.parts.data(), parts.data(), sizeof sum.parts); }
};

struct Extremes {
  std::array<float, lanes> max;
  std::array<float, lanes> min;
  std::array<std::int32_t, lanes> nan{};  // not zero once there was one
  std::array<std::int32_t, lanes> not_finite_{};

  Extremes() {
    max.fill(-not_finite);
    min.fill(not_finite);
  }

  float largest() const { return *std::max_element(max.begin(), max.end()); }
  float smallest() const { return *std::min_element(min.begin(), min.end()); }
  static bool any(const std::array<std::int32_t, lanes>& flags) {
    return std::any_of(flags.begin(), flags.end(), [](std::int32_t flag) { return flag != 0; });
  }

  bool any_not_finite() const { return any(not_finite_); }

  void merge(const Extremes& other) {
    for (std::size_t i = 0; i < lanes; ++i) {
      max[i] = other.max[i] > max[i] ? other.max[i] : max[i];
      min[i] = other.min[i] < min[i] ? other.min[i] : min[i];
      nan[i] |= other.nan[i];
      not_finite_[i] |= other.not_finite_[i];
    }
  }

  void add(const float* values, std::size_t count) {
    const std::size_t whole = count / lanes * lanes;
    for (std::size_t column = 0; column < lanes; column += wide) {
      Floats high = load(&max[column]);
      Floats low = load(&min[column]);
      Ints bad{};
      Ints odd{};
      for (std::size_t i = column; i < whole; i += lanes) {
        const Floats value = load(values + i);
        high = larger(value, high);
        low = smaller(value, low);
        odd |= (bits(value) & 0x7F800000) == 0x7F800000;
        bad |= (bits(value) & 0x7FFFFFFF) > 0x7F800000;
      }
      store(&max[column], high);
      store(&min[column], low);
      for (std::size_t k = 0; k < wide; ++k) {
        nan[column + k] |= bad[k];
        not_finite_[column + k] |= odd[k];
      }
    }
    for (std::size_t i = whole; i < count; ++i) {
      const std::size_t lane = i - whole;
      if (values[i] > max[lane]) max[lane] = values[i];
      if (values[i] < min[lane]) min[lane] = values[i];
      if (std::isnan(values[i])) nan[lane] = 1;
      if (!std::isfinite(values[i])) not_finite_[lane] = 1;
    }
  }
};

// Half-even on the decimal representation, as Python's round does it.
double rounded_to_ten_decimals(double value) {
  if (!std::isfinite(value)) return value;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.10f", value);
  return std::strtod(text.data(), nullptr);
}

}  // namespace

struct DumpPairAccumulator::State {
  // What the caller wrote, and where the block begins that is being added.
  alignas(64) std::array<float, capacity> golden_space{};
  alignas(64) std::array<float, capacity> my_space{};
  float* golden = nullptr;
  float* mine = nullptr;
  // The elements of both sides in float64, if the caller has them so; else empty.
  std::vector<double> wide_golden_space;
  std::vector<double> wide_my_space;
  const double* wide_golden = nullptr;
  const double* wide_mine = nullptr;
  // Quantities of the block that is being added.
  alignas(64) std::array<float, block> relative{};
  alignas(64) std::array<float, block> absolute{};
  alignas(64) std::array<float, block> golden_weight{};
  alignas(64) std::array<float, block> my_weight{};

  struct Sums {
    std::int64_t count = 0;
    Extremes golden_extremes;
    Extremes my_extremes;
    std::int64_t finite_pairs = 0;  // which is what the metrics are made of
    BeyondFloat beyond;             // all other pairs
    Sum golden;
    Sum mine;
    Sum golden_squares;
    Sum my_squares;
    Sum products;
    Sum difference_squares;
    Sum relative;
    Sum absolute;
    std::array<double, lanes> max_difference{};
    std::array<float, lanes> max_relative{};
    std::array<float, lanes> max_absolute{};
    std::int64_t within_thousandth = 0;
    std::int64_t within_five_thousandths = 0;
    std::int64_t only_golden_zero = 0;
    // Softmax of both sides, relative to the largest element so far: sums of e^(g - max), e^(m - max) and of
    // e^(g - max) * (g - m).
    float golden_max = -not_finite;
    float my_max = -not_finite;
    Sum golden_weights;
    Sum my_weights;
    Sum weighted_differences;
  } sums;

  void add_blocks(std::size_t count);
  void add(std::size_t count);
  std::size_t take_finite_pairs(std::size_t count);
  void compare_elements(std::size_t padded);
  void weigh(std::size_t count, std::size_t padded, float block_golden_max, float block_my_max);
  void add_up(std::size_t padded);
};

// Relative and absolute error of every element, their maxima and the counts below limits.
void DumpPairAccumulator::State::compare_elements(std::size_t padded) {
  std::int64_t thousandth = 0;
  std::int64_t five_thousandths = 0;
  std::int64_t zeros = 0;
  for (std::size_t column = 0; column < lanes; column += wide) {
    Floats top_relative = load(&sums.max_relative[column]);
    Floats top_absolute = load(&sums.max_absolute[column]);
    Ints below_thousandth{};
    Ints below_five_thousandths{};
    Ints zero{};
    for (std::size_t i = column; i < padded; i += lanes) {
      const Floats g = load(&golden[i]);
      const Floats m = load(&mine[i]);
      const Ints counts = magnitude(g) > least_golden;
      const Floats error = magnitude(m / g - 1.0F);
      const Floats unmasked = counts ? error : (m == g ? Floats{} : broadcast(not_finite));
      const Floats relative_error = counts ? error : Floats{};
      const Floats absolute_error = counts ? magnitude(m - g) : Floats{};
      store(&relative[i], relative_error);
      store(&absolute[i], absolute_error);
      top_relative = larger(relative_error, top_relative);
      top_absolute = larger(absolute_error, top_absolute);
      below_thousandth -= unmasked < 0.001F;
      below_five_thousandths -= unmasked < 0.005F;
      zero -= ~counts & (magnitude(m) > least_golden);
    }
    store(&sums.max_relative[column], top_relative);
    store(&sums.max_absolute[column], top_absolute);
    for (std::size_t k = 0; k < wide; ++k) {
      thousandth += below_thousandth[k];
      five_thousandths += below_five_thousandths[k];
      zeros += zero[k];
    }
  }
  sums.within_thousandth += thousandth;
  sums.within_five_thousandths += five_thousandths;
  sums.only_golden_zero += zeros;
}

// Weights of the softmax; what was added before shrinks when a larger element turns up.
void DumpPairAccumulator::State::weigh(std::size_t count, std::size_t padded, float block_golden_max,
                                       float block_my_max) {
  if (block_golden_max > sums.golden_max) {
    const double factor = std::exp(static_cast<double>(sums.golden_max) - block_golden_max);
    sums.golden_weights.scale(factor);
    sums.weighted_differences.scale(factor);
    sums.golden_max = block_golden_max;
  }
  if (block_my_max > sums.my_max) {
    sums.my_weights.scale(std::exp(static_cast<double>(sums.my_max) - block_my_max));
    sums.my_max = block_my_max;
  }
  const Floats golden_top = broadcast(sums.golden_max);
  const Floats my_top = broadcast(sums.my_max);
  for (std::size_t i = 0; i < padded; i += wide) {
    store(&golden_weight[i], exponential(load(&golden[i]) - golden_top));
    store(&my_weight[i], exponential(load(&mine[i]) - my_top));
  }
  std::fill(golden_weight.begin() + static_cast<std::ptrdiff_t>(count),
            golden_weight.begin() + static_cast<std::ptrdiff_t>(padded), 0.0F);
  std::fill(my_weight.begin() + static_cast<std::ptrdiff_t>(count),
            my_weight.begin() + static_cast<std::ptrdiff_t>(padded), 0.0F);
}

void DumpPairAccumulator::State::add_up(std::size_t padded) {
  {
    SumRegisters g_sum(sums.golden);
    SumRegisters m_sum(sums.mine);
    SumRegisters gg(sums.golden_squares);
    SumRegisters mm(sums.my_squares);
    SumRegisters gm(sums.products);
    for (std::size_t i = 0; i < padded; i += lanes) {
      for (std::size_t k = 0; k < doubles_per_row; ++k) {
        const Doubles g = load_as_double(&golden[i + k * narrow]);
        const Doubles m = load_as_double(&mine[i + k * narrow]);
        g_sum.parts[k] += g;
        m_sum.parts[k] += m;
        gg.parts[k] += g * g;
        mm.parts[k] += m * m;
        gm.parts[k] += g * m;
      }
    }
    g_sum.save(sums.golden);
    m_sum.save(sums.mine);
    gg.save(sums.golden_squares);
    mm.save(sums.my_squares);
    gm.save(sums.products);
  }
  SumRegisters dd(sums.difference_squares);
  SumRegisters weighted(sums.weighted_differences);
  SumRegisters golden_weights(sums.golden_weights);
  SumRegisters my_weights(sums.my_weights);
  SumRegisters relatives(sums.relative);
  SumRegisters absolutes(sums.absolute);
  std::array<Doubles, doubles_per_row> top;
  std::memcpy(top.data(), sums.max_difference.data(), sizeof top);
  for (std::size_t i = 0; i < padded; i += lanes) {
    for (std::size_t k = 0; k < doubles_per_row; ++k) {
      const std::size_t at = i + k * narrow;
      const Doubles difference = load_as_double(&golden[at]) - load_as_double(&mine[at]);
      const Doubles weight = load_as_double(&golden_weight[at]);
      dd.parts[k] += difference * difference;
      weighted.parts[k] += weight * difference;
      golden_weights.parts[k] += weight;
      my_weights.parts[k] += load_as_double(&my_weight[at]);
      relatives.parts[k] += load_as_double(&relative[at]);
      absolutes.parts[k] += load_as_double(&absolute[at]);
      const Doubles size = difference < 0 ? -difference : difference;
      top[k] = size > top[k] ? size : top[k];
    }
  }
  std::memcpy(sums.max_difference.data(), top.data(), sizeof top);
  dd.save(sums.difference_squares);
  weighted.save(sums.weighted_differences);
  golden_weights.save(sums.golden_weights);
  my_weights.save(sums.my_weights);
  relatives.save(sums.relative);
  absolutes.save(sums.absolute);
}

DumpPairAccumulator::DumpPairAccumulator() : state_(std::make_unique<State>()) {}
DumpPairAccumulator::~DumpPairAccumulator() = default;

void DumpPairAccumulator::reset() { state_->sums = {}; }
std::span<float> DumpPairAccumulator::golden_space() { return state_->golden_space; }
std::span<float> DumpPairAccumulator::my_space() { return state_->my_space; }
std::span<double> DumpPairAccumulator::wide_golden_space() {
  state_->wide_golden_space.resize(capacity);
  return state_->wide_golden_space;
}
std::span<double> DumpPairAccumulator::wide_my_space() {
  state_->wide_my_space.resize(capacity);
  return state_->wide_my_space;
}

// Moves the pairs of finite elements to the front of the block and returns their number.
std::size_t DumpPairAccumulator::State::take_finite_pairs(std::size_t count) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float g = golden[i];
    const float m = mine[i];
    if (std::isfinite(g) && std::isfinite(m)) {
      golden[kept] = g;
      mine[kept++] = m;
    } else if (wide_golden != nullptr) {
      sums.beyond.take(wide_golden[i], wide_mine[i], least_golden);
    } else {
      sums.beyond.take(g, m, least_golden);
    }
  }
  return kept;
}

void DumpPairAccumulator::State::add(std::size_t count) {
  sums.count += static_cast<std::int64_t>(count);
  Extremes of_golden;
  Extremes of_mine;
  of_golden.add(golden, count);
  of_mine.add(mine, count);
  sums.golden_extremes.merge(of_golden);
  sums.my_extremes.merge(of_mine);
  if (of_golden.any_not_finite() || of_mine.any_not_finite()) {
    count = take_finite_pairs(count);
    of_golden = {};
    of_mine = {};
    of_golden.add(golden, count);
    of_mine.add(mine, count);
  }
  sums.finite_pairs += static_cast<std::int64_t>(count);
  // Zeros on both sides change no sum; the counts of equal elements are put right.
  const std::size_t padded = (count + lanes - 1) / lanes * lanes;
  std::fill(golden + count, golden + padded, 0.0F);
  std::fill(mine + count, mine + padded, 0.0F);
  compare_elements(padded);
  sums.within_thousandth -= static_cast<std::int64_t>(padded - count);
  sums.within_five_thousandths -= static_cast<std::int64_t>(padded - count);
  weigh(count, padded, of_golden.largest(), of_mine.largest());
  add_up(padded);
}

void DumpPairAccumulator::add(std::size_t count) {
  state_->wide_golden = state_->wide_mine = nullptr;
  state_->add_blocks(count);
}

void DumpPairAccumulator::add_wide(std::size_t count) {
  const auto narrow_all = [count](const std::vector<double>& from, std::span<float> to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
  };
  narrow_all(state_->wide_golden_space, state_->golden_space);
  narrow_all(state_->wide_my_space, state_->my_space);
  state_->wide_golden = state_->wide_golden_space.data();
  state_->wide_mine = state_->wide_my_space.data();
  state_->add_blocks(count);
}

void DumpPairAccumulator::State::add_blocks(std::size_t count) {
  for (std::size_t first = 0; first < count; first += block) {
    golden = golden_space.data() + first;
    mine = my_space.data() + first;
    const std::size_t size = std::min(block, count - first);
    add(size);
    if (wide_golden == nullptr) continue;
    wide_golden += size;
    wide_mine += size;
  }
}

namespace {

// sum and squares are of the pairs that float32 holds.
DumpSummary summary_of(std::int64_t count, const Extremes& extremes, double sum, double squares,
                       const BeyondFloat::Side& beyond) {
  DumpSummary summary;
  summary.count = count;
  if (count == 0) return summary;
  summary.finite = !extremes.any_not_finite();
  summary.max = std::isinf(extremes.largest()) ? beyond.largest : extremes.largest();
  summary.min = std::isinf(extremes.smallest()) ? beyond.smallest : extremes.smallest();
  if (Extremes::any(extremes.nan)) summary.max = summary.min = std::numeric_limits<double>::quiet_NaN();
  const double mean = (sum + beyond.rest) / static_cast<double>(count);
  summary.mean = beyond.squares == 0
                     ? static_cast<double>(static_cast<float>(mean))
                     : static_cast<double>((sum + beyond.rest + beyond.sum) / static_cast<long double>(count));
  summary.l2_norm = beyond.squares == 0
                        ? std::sqrt(squares + beyond.rest_squares)
                        : static_cast<double>(std::sqrt(squares + beyond.rest_squares + beyond.squares));
  return summary;
}

double cosine_of(double golden_squares, double my_squares, double products) {
  if (golden_squares == 0 && my_squares == 0) return 1;
  return rounded_to_ten_decimals(products /
                                 (std::max(std::sqrt(golden_squares), 1e-8) * std::max(std::sqrt(my_squares), 1e-8)));
}

double cosine_beyond_double(long double golden_squares, long double my_squares, long double products) {
  return rounded_to_ten_decimals(static_cast<double>(
      products / (std::max(std::sqrt(golden_squares), 1e-8L) * std::max(std::sqrt(my_squares), 1e-8L))));
}

}  // namespace

DumpMetrics DumpPairAccumulator::finish() const {
  const State::Sums& sums = state_->sums;
  DumpMetrics result;
  const BeyondFloat& beyond = sums.beyond;
  const BeyondFloat::Finite& huge = beyond.finite();
  const double golden_squares = sums.golden_squares.total();
  const double my_squares = sums.my_squares.total();
  result.golden = summary_of(sums.count, sums.golden_extremes, sums.golden.total(), golden_squares, beyond.golden());
  result.mine = summary_of(sums.count, sums.my_extremes, sums.mine.total(), my_squares, beyond.mine());
  result.equal_not_finite = beyond.equal_not_finite();
  result.beyond_float = huge.count;
  result.unequal_not_finite = sums.count - sums.finite_pairs - huge.count - result.equal_not_finite;
  if (sums.count == 0 || result.unequal_not_finite > 0) return result;

  const auto count = static_cast<double>(sums.count);
  result.cosine = huge.count == 0
                      ? cosine_of(golden_squares, my_squares, sums.products.total())
                      : cosine_beyond_double(golden_squares + beyond.golden().squares,
                                             my_squares + beyond.mine().squares, sums.products.total() + huge.products);
  result.max_relative_error = std::max<double>(*std::ranges::max_element(sums.max_relative), huge.max_relative);
  result.max_absolute_error = *std::max_element(sums.max_absolute.begin(), sums.max_absolute.end());
  result.mean_relative_error = static_cast<float>(sums.relative.total() / count);
  result.mean_absolute_error = static_cast<float>(sums.absolute.total() / count);

  // Sum of p * (log p - log q) with p = e^(g - max_g) / sum_g: the logarithms of the sums and the maxima come out of
  // the sum because the p add up to 1.
  if (sums.finite_pairs > 0) {
    const double golden_weights = sums.golden_weights.total();
    const double my_weights = sums.my_weights.total();
    const double divergence = (sums.weighted_differences.total() / golden_weights -
                               (static_cast<double>(sums.golden_max) - static_cast<double>(sums.my_max))) -
                              (std::log(golden_weights) - std::log(my_weights));
    result.kl_divergence = static_cast<float>(std::max(divergence, 0.0));
  }

  // The specification computes these squares in float32: beyond its range they are infinite.
  const double difference_squares = sums.difference_squares.total();
  const auto narrow_differences = static_cast<float>(difference_squares);
  const auto narrow_golden = static_cast<float>(golden_squares);
  if (std::sqrt(narrow_golden) > least_golden) {
    const double ratio = std::isfinite(narrow_differences) && std::isfinite(narrow_golden)
                             ? difference_squares / golden_squares
                             : static_cast<double>(narrow_differences / narrow_golden);
    result.relative_euclidean_distance = static_cast<float>(std::sqrt(ratio));
  }
  result.euclidean_distance = huge.count == 0
                                  ? std::sqrt(difference_squares)
                                  : static_cast<double>(std::sqrt(difference_squares + huge.difference_squares));
  result.max_difference = std::max(*std::ranges::max_element(sums.max_difference), huge.max_difference);
  const auto share = [&](std::int64_t within) { return static_cast<double>(within + result.equal_not_finite) / count; };
  result.within_thousandth = share(sums.within_thousandth + huge.within_thousandth);
  result.within_five_thousandths = share(sums.within_five_thousandths + huge.within_five_thousandths);
  result.only_golden_zero = sums.only_golden_zero + huge.only_golden_zero;
  return result;
}

}  // namespace msrun
