// The vectorised metrics against their element-by-element specification (metrics_reference.h), for every pair of
// dtypes, every standard, both arithmetics, sizes around the borders of blocks and packs, and data of every kind.
#include "kernels/compare/metrics/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/compare/metrics/metrics_reference.h"
#include "tests/kernels/compare/support.h"

namespace msrun::testing {
namespace {

constexpr std::array device_dtypes{DType::float16, DType::bfloat16,      DType::float32,
                                   DType::float64, DType::float8_e4m3fn, DType::float8_e5m2};
constexpr std::array bench_dtypes{DType::float16, DType::bfloat16, DType::float32, DType::float64};

enum class Kind : std::uint8_t { near, wide, special, mostly_finite, equal_nonfinite, zero, below_powers };
constexpr std::array kinds{Kind::near, Kind::wide,        Kind::special, Kind::mostly_finite, Kind::equal_nonfinite,
                           Kind::zero, Kind::below_powers};

// Values of both sides before they are rounded to their dtypes.
class Source {
 public:
  explicit Source(unsigned seed) : random_(seed) {}

  void fill(Kind kind, std::vector<double>& bench, std::vector<double>& device) {
    for (std::size_t i = 0; i < bench.size(); ++i) {
      switch (kind) {
        case Kind::near:
          bench[i] = near();
          device[i] = bench[i] * (1 + error());
          break;
        case Kind::wide:  // subnormal and overflowing numbers of every dtype among them
          bench[i] = wide();
          device[i] = pick(4) == 0 ? wide() : bench[i] * (1 + error());
          break;
        case Kind::special:
          bench[i] = pick(3) == 0 ? near() : special();
          device[i] = pick(2) == 0 ? bench[i] : special();
          break;
        case Kind::mostly_finite:
          bench[i] = near();
          device[i] = bench[i] * (1 + error());
          if (pick(900) == 0) (pick(2) == 0 ? bench : device)[i] = special();
          break;
        case Kind::equal_nonfinite:
          bench[i] = pick(5) == 0 ? (pick(2) == 0 ? nan : -inf) : near();
          device[i] = bench[i];
          break;
        case Kind::zero:
          bench[i] = 0;
          device[i] = pick(2) == 0 ? 0.0 : -0.0;
          break;
        case Kind::below_powers:  // a block of them in hundreds, as one alone decides how its block is computed
          bench[i] = i / 1500 % 2 == 0 || pick(200) == 0 ? below_power() : near();
          device[i] = bench[i] * (1 + error());
          break;
      }
    }
  }

  std::size_t pick(std::size_t count) { return random_() % count; }

 private:
  double near() { return std::uniform_real_distribution(-4.0, 4.0)(random_); }
  double wide() {
    return std::ldexp(near(), std::uniform_int_distribution(-160, 130)(random_) / (pick(2) == 0 ? 1 : 8));
  }
  // The logarithm to base 2 is rounded up to a whole number in some precision.
  double below_power() {
    const double power = std::ldexp(1.0, std::uniform_int_distribution(-126, 127)(random_));
    return power * (1 - std::ldexp(1.0, -std::uniform_int_distribution(8, 53)(random_)));
  }
  // From none to gross, often just around a limit.
  double error() {
    static constexpr std::array sizes{0.0, 1e-8, 1e-4, 1e-3, 0.01, 0x1p-10, 0x1p-8, 0.5};
    return sizes[pick(sizes.size())] * std::uniform_real_distribution(-1.5, 1.5)(random_);
  }
  double special() {
    static constexpr std::array values{0.0,     -0.0,     nan,     inf,     -inf,       65504.0, 65519.0,
                                       65520.0, -70000.0, 1e-8,    3.4e38,  0x1.FFp127, 6e-39,   1.0,
                                       -1.0,    448.0,    57344.0, 61440.0, 0x1p-10,    0x1p-20};
    return values[pick(values.size())];
  }

  std::mt19937 random_;
};

Tensor tensor_of(DType dtype, const std::vector<double>& values, bool zero_dimensional = false) {
  std::vector<std::int64_t> shape;
  if (!zero_dimensional) shape.push_back(static_cast<std::int64_t>(values.size()));
  return Tensor::from<double>(DType::float64, shape, values).to(dtype);
}

// Sums are formed in another order, so that they differ in the last places, and so may what is rounded from them.
bool same(const Cell& a, const Cell& b, double tolerance) {
  if (a.kind != b.kind) return false;
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
  if (a.value == b.value) return true;
  if (a.kind == Cell::Kind::fp32) tolerance *= 0x1p30;
  if (a.kind == Cell::Kind::fp16) tolerance *= 0x1p43;
  return std::abs(a.value - b.value) <= tolerance * std::max(std::abs(a.value), std::abs(b.value));
}

std::string cell(const Cell& c) { return std::to_string(static_cast<int>(c.kind)) + ":" + std::to_string(c.value); }

std::string differences(const FloatMetrics& fast, const FloatMetrics& slow) {
  std::string text;
  const auto note = [&](const std::string& what, const auto& a, const auto& b) {
    if (a != b) text += what + " " + std::to_string(a) + " instead of " + std::to_string(b) + "\n";
  };
  for (int i = 0; i < metric_count; ++i) {
    const auto metric = static_cast<Metric>(i);
    const bool sum = metric == Metric::rmse || metric == Metric::mean_relative_error || metric == Metric::ulp_mean;
    const Cell& a = fast.cells[static_cast<std::size_t>(i)];
    const Cell& b = slow.cells[static_cast<std::size_t>(i)];
    if (!same(a, b, sum ? 0x1p-43 : 0))
      text += std::string(metric_title(metric, true)) + " " + cell(a) + " instead of " + cell(b) + "\n";
  }
  const bool cosines =
      fast.cosine.kind == slow.cosine.kind && (std::abs(fast.cosine.value - slow.cosine.value) <= 1e-12 ||
                                               (std::isnan(fast.cosine.value) && std::isnan(slow.cosine.value)));
  if (!cosines) text += "cosine " + cell(fast.cosine) + " instead of " + cell(slow.cosine) + "\n";
  note("cosine note", static_cast<int>(fast.cosine_note), static_cast<int>(slow.cosine_note));
  note("cosine passes", fast.cosine_passes, slow.cosine_passes);
  if (!same(fast.max_abs_error, slow.max_abs_error, 0)) {
    text += "max abs error " + cell(fast.max_abs_error) + " instead of " + cell(slow.max_abs_error) + "\n";
  }
  note("within 0.01", fast.within_100, slow.within_100);
  note("within 0.001", fast.within_1000, slow.within_1000);
  note("within 0.0001", fast.within_10000, slow.within_10000);
  note("equal", fast.nonfinite_equal, slow.nonfinite_equal);
  note("unequal", fast.nonfinite_unequal, slow.nonfinite_unequal);
  return text;
}

std::string pair_text(const Tensor& bench, const Tensor& device) {
  return std::string(name(device.dtype())) + " against " + std::string(name(bench.dtype()));
}

class Metrics : public ::testing::TestWithParam<DType> {
 protected:
  void check(const Tensor& bench, const Tensor& device, StandardSet standards, const std::string& where) {
    for (const bool compat : {false, true}) {
      const std::string difference = differences(float_metrics(bench, device, standards, compat),
                                                 float_metrics_reference(bench, device, standards, compat));
      EXPECT_EQ(difference, "") << pair_text(bench, device) << where << (compat ? ", compat" : "");
    }
  }
};

TEST_P(Metrics, AreThoseOfTheReference) {
  Source source(static_cast<unsigned>(GetParam()));
  for (const DType bench_dtype : bench_dtypes) {
    for (const Kind kind : kinds) {
      for (const std::size_t size : {1U, 2U, 15U, 16U, 17U, 1023U, 1024U, 1025U, 3000U}) {
        std::vector<double> bench(size);
        std::vector<double> device(size);
        source.fill(kind, bench, device);
        const Tensor b = tensor_of(bench_dtype, bench);
        const Tensor d = tensor_of(GetParam(), device);
        const std::string where =
            ", kind " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(size) + " elements";
        check(b, d, all_standards, where);
        check(b, d, Standard::accumulative_error, where + ", accumulative error");
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Metrics, FillTheColumnsOfEachStandardAlone) {
  Source source(99);
  std::vector<double> bench(1500);
  std::vector<double> device(1500);
  source.fill(Kind::mostly_finite, bench, device);
  for (const DType bench_dtype : bench_dtypes) {
    const Tensor b = tensor_of(bench_dtype, bench);
    const Tensor d = tensor_of(GetParam(), device);
    for (const Standard standard : {Standard::absolute_threshold, Standard::binary_consistency, Standard::ulp,
                                    Standard::dual_1000, Standard::accumulative_error, Standard::benchmark}) {
      check(b, d, standard, std::string(", ") + standard_text(standard));
      const FloatMetrics metrics = float_metrics(b, d, standard, false);
      const auto columns = GetParam() == DType::float64 ? std::span<const Metric>() : standard_columns(standard);
      for (int i = 0; i < metric_count; ++i) {
        const bool filled = metrics.cells[static_cast<std::size_t>(i)].kind != Cell::Kind::blank;
        EXPECT_EQ(filled, std::ranges::find(columns, static_cast<Metric>(i)) != columns.end())
            << metric_title(static_cast<Metric>(i), true) << " by " << standard_text(standard);
      }
    }
  }
}

TEST_P(Metrics, DoNotDependOnHowTensorsLieInMemory) {
  Source source(5);
  std::vector<double> bench(64 * 70);
  std::vector<double> device(bench.size());
  source.fill(Kind::near, bench, device);
  const std::vector<std::int64_t> shape{64, 70};
  for (const DType bench_dtype : bench_dtypes) {
    const Tensor b = tensor_of(bench_dtype, bench).reshape(shape).transpose(0, 1);
    const Tensor d = tensor_of(GetParam(), device).reshape(shape).transpose(0, 1);
    check(b, d, all_standards, ", transposed");
    check(b.contiguous(), d, all_standards, ", device transposed");
    check(b.slice(0, 3, 33, 2), d.slice(0, 3, 33, 2), all_standards, ", every second row");
    const FloatMetrics strided = float_metrics(b, d, all_standards, false);
    const FloatMetrics copied = float_metrics(b.contiguous(), d.contiguous(), all_standards, false);
    EXPECT_EQ(strided.cosine, copied.cosine);
    EXPECT_EQ(strided.cells, copied.cells);
  }
}

TEST_P(Metrics, OfASingleNumber) {
  for (const double b : {1.5, 0.0, -1e-8, 70000.0, 1e39, inf, nan}) {
    for (const double d : {1.5, 2.25, 0.0, -1e-8, 65504.0, inf, nan}) {
      for (const DType bench_dtype : bench_dtypes) {
        check(tensor_of(bench_dtype, {b}, true), tensor_of(GetParam(), {d}, true), all_standards,
              ", " + std::to_string(b) + " and " + std::to_string(d));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Device, Metrics, ::testing::ValuesIn(device_dtypes),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

// Sums of squares beyond float64 need a second pass with scaled values.
TEST(CosineOfHugeValues, IsThatOfTheReference) {
  Source source(3);
  std::vector<double> bench(2000);
  std::vector<double> device(bench.size());
  source.fill(Kind::near, bench, device);
  for (double& value : bench) value *= 1e300;
  for (double& value : device) value *= 1e299;
  bench[7] = device[7] = nan;
  const Tensor b = tensor_of(DType::float64, bench);
  const Tensor d = tensor_of(DType::float64, device);
  const FloatMetrics metrics = float_metrics(b, d, all_standards, false);
  EXPECT_EQ(differences(metrics, float_metrics_reference(b, d, all_standards, false)), "");
  EXPECT_GT(metrics.cosine.value, 0.9);
}

// Halfway between two float16 values, and just beside it by less than float32 can tell.
TEST(ErrorBalance, RoundsTheBenchmarkOnce) {
  const Tensor bench = tensor_of(DType::float64, {1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40});
  const Tensor device = tensor_of(DType::float16, {1, 1 + 0x1p-10, 1 + 0x1p-10});
  for (const bool compat : {false, true}) {
    const FloatMetrics metrics = float_metrics(bench, device, Standard::benchmark, compat);
    EXPECT_EQ(metrics.cells[static_cast<std::size_t>(Metric::error_balance)].value, 0);
    EXPECT_EQ(differences(metrics, float_metrics_reference(bench, device, Standard::benchmark, compat)), "");
  }
}

TEST(IntegerMetrics, CountAndMeasureDifferences) {
  std::mt19937_64 random(1);
  const std::array dtypes{DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::boolean};
  for (const DType bench_dtype : dtypes) {
    for (const DType device_dtype : dtypes) {
      for (const std::int64_t size : {1, 1023, 1024, 2500}) {
        const std::vector<std::int64_t> shape{size};
        std::vector<std::int64_t> words(static_cast<std::size_t>(size));
        for (std::int64_t& word : words) word = static_cast<std::int64_t>(random()) >> (random() % 64);
        const Tensor bench = Tensor::from<std::int64_t>(DType::int64, shape, words).to(bench_dtype);
        for (std::int64_t& word : words) word += random() % 3 == 0 ? 1 : 0;
        const Tensor device = Tensor::from<std::int64_t>(DType::int64, shape, words).to(device_dtype);
        std::int64_t unequal = 0;
        double widest = 0;
        for (std::int64_t i = 0; i < size; ++i) {
          const std::int64_t b = bench.int_item(i);
          const std::int64_t d = device.int_item(i);
          unequal += b != d ? 1 : 0;
          const std::uint64_t distance = d > b ? static_cast<std::uint64_t>(d) - static_cast<std::uint64_t>(b)
                                               : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(d);
          widest = std::max(widest, static_cast<double>(distance));
        }
        const IntegerMetrics metrics = integer_metrics(bench, device, false);
        EXPECT_EQ(metrics.unequal, unequal) << pair_text(bench, device);
        EXPECT_EQ(metrics.max_abs_difference, widest) << pair_text(bench, device);
      }
    }
  }
}

TEST(Metrics, DocumentedLimitsDecideWhatIsSmall) {
  struct Case {
    DType dtype;
    double small;   // small by the documented limits alone
    double within;  // an absolute error that they allow there
  };
  for (const Case& c : {Case{DType::bfloat16, 0x1p-9, 0x1p-16}, {DType::float32, 0x1p-15, 0x1p-30}}) {
    const Tensor bench = tensor_of(DType::float64, std::vector<double>(4, c.small));
    const Tensor device = tensor_of(DType::float64, std::vector<double>(4, c.small + c.within)).to(c.dtype);
    for (const Standard standard : {Standard::benchmark, Standard::absolute_threshold}) {
      for (const Limits limits : {Limits::current, Limits::documented}) {
        const FloatMetrics metrics = float_metrics(bench, device, standard, false, limits);
        EXPECT_EQ(differences(metrics, float_metrics_reference(bench, device, standard, false, limits)), "");
        const bool is_small = limits == Limits::documented;
        if (standard == Standard::benchmark) {
          EXPECT_EQ(metrics[Metric::max_relative_error].value > 0, !is_small) << static_cast<int>(c.dtype);
          EXPECT_EQ(metrics[Metric::small_value_error_ratio].value, 0);
        } else {
          EXPECT_EQ(metrics[Metric::absolute_error_rate].value, 0);
        }
      }
    }
  }
  // float16 has the smaller limit by the documentation, and the larger error.
  const Tensor bench = tensor_of(DType::float64, std::vector<double>(4, 0x1p-12));
  const Tensor device = tensor_of(DType::float64, std::vector<double>(4, 0x1p-12 + 0x1p-17)).to(DType::float16);
  EXPECT_EQ(float_metrics(bench, device, Standard::benchmark, false)[Metric::small_value_error_ratio].value, 1);
  EXPECT_EQ(
      float_metrics(bench, device, Standard::benchmark, false, Limits::documented)[Metric::small_value_error_ratio]
          .value,
      0);
}

// Long tensors: several blocks, a tail that does not fill the lanes, and values whose squares exceed float64.
TEST(Metrics, ManyBlocks) {
  const std::int64_t count = 3 * 512 + 77;
  std::vector<double> bench(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) bench[static_cast<std::size_t>(i)] = static_cast<double>(i % 13 + 1);
  std::vector<double> device = bench;
  device.back() += 0.5;
  device[600] -= 0.25;
  const FloatMetrics metrics =
      float_metrics(vector(DType::float64, bench), vector(DType::float32, device), Standard::benchmark, false);
  const auto cell = [&](Metric metric) { return metrics.cells[static_cast<std::size_t>(metric)].value; };
  const auto n = static_cast<double>(count);
  EXPECT_EQ(metrics.max_abs_error.value, 0.5);
  EXPECT_EQ(cell(Metric::error_balance), 0);
  EXPECT_NEAR(cell(Metric::rmse), std::sqrt((0.25 + 0.0625) / n * (n / (n + 0.0001) + 0.0001)), 1e-15);
  const double relative = 0.5 / (bench.back() + 0x1p-52) + 0.25 / (bench[600] + 0x1p-52);
  EXPECT_NEAR(cell(Metric::mean_relative_error), relative / n, 1e-16);
  EXPECT_EQ(metrics.within_1000, (n - 2) / n);
}

TEST(Metrics, CosineOfHugeValuesIsRescaled) {
  const Tensor bench = vector(DType::float64, {3e200, 4e200, nan});
  const Tensor device = vector(DType::float64, {3e200, -4e200, nan});
  EXPECT_NEAR(float_metrics(bench, device, Standard::benchmark, false).cosine.value, -7.0 / 25, 1e-15);
}

TEST(Metrics, ExactlyOneHalfUlpCasesOfFloat16Rounding) {
  // 2049 lies between two float16 values and rounds to the even one, 2048: equal to the device, so no imbalance.
  const FloatMetrics metrics =
      float_metrics(vector(DType::float32, {2049, 1}), vector(DType::float16, {2048, 1}), Standard::benchmark, false);
  EXPECT_EQ(metrics.cells[static_cast<std::size_t>(Metric::error_balance)].value, 0);
}

}  // namespace
}  // namespace msrun::testing
