// Faults that are known by their values: each is named in every dtype whatever the rounding beside it, and nothing else
// is.
#include "kernels/compare/diagnosis/findings.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "kernels/compare/diagnosis/difference.h"

namespace msrun {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Output {
 public:
  Output(const Dims& shape, DType dtype, unsigned seed = 1) : shape_(shape), dtype_(dtype), random_(seed) {
    bench_ = drawn();
    device_ = bench_;
    budget_.longest = 64;
  }

  std::vector<double> drawn() {
    std::normal_distribution<double> normal(0.2, 1);
    std::vector<double> values;
    for (std::int64_t i = 0; i < element_count(shape_); ++i) values.push_back(normal(random_));
    return values;
  }
  std::vector<double>& bench() { return bench_; }
  std::vector<double>& device() { return device_; }
  std::mt19937_64& random() { return random_; }
  ErrorBudget& budget() { return budget_; }

  Tensor device_tensor() {
    // Errors of sums beside whatever is wrong.
    std::normal_distribution<double> normal;
    std::vector<double> values = device_;
    for (double& value : values) value *= 1 + 2 * accumulator_roundoff(dtype_) * normal(random_);
    return tensor(values).to(dtype_);
  }
  std::string pattern() { return pattern_of(device_tensor()); }
  std::string pattern_of(const Tensor& device) {
    const Tensor bench = tensor(bench_);
    const RoundingFit fit = fit_rounding(bench, device, budget_);
    return difference_pattern(bench, device, fit, budget_, difference_of(bench, device, fit).map);
  }

 private:
  Tensor tensor(const std::vector<double>& values) const {
    return Tensor::from<double>(DType::float64, shape_, std::span<const double>(values));
  }

  Dims shape_;
  DType dtype_;
  std::mt19937_64 random_;
  std::vector<double> bench_;
  std::vector<double> device_;
  ErrorBudget budget_;
};

class Findings : public ::testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DTypes, Findings,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16, DType::float64),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(Findings, NothingInRightData) {
  for (unsigned seed = 0; seed < 20; ++seed) EXPECT_EQ(Output({17, 40}, GetParam(), seed).pattern(), "");
}

TEST_P(Findings, Transposed) {
  Output square({24, 24}, GetParam());
  for (std::size_t i = 0; i < 24 * 24; ++i) square.device()[i] = square.bench()[i % 24 * 24 + i / 24];
  EXPECT_EQ(square.pattern(), "The benchmark's values transposed: axes 0 and 1.");
  // The memory of the transposed matrix read as (6, 40), and that of a (40, 6) matrix transposed.
  Output matrix({6, 40}, GetParam());
  for (std::size_t i = 0; i < 240; ++i) matrix.device()[i] = matrix.bench()[i % 6 * 40 + i / 6];
  EXPECT_EQ(matrix.pattern(), "The benchmark's values transposed: axes 0 and 1.");
  for (std::size_t i = 0; i < 240; ++i) matrix.device()[i % 6 * 40 + i / 6] = matrix.bench()[i];
  EXPECT_EQ(matrix.pattern(), "The benchmark's values transposed: axes 0 and 1.");
  // (2, 5, 4, 3) with the axes 1 and 2 exchanged: batch, position, head, element.
  Output heads({2, 5, 4, 3}, GetParam());
  std::size_t at = 0;
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t s = 0; s < 5; ++s) {
        for (std::size_t e = 0; e < 3; ++e) heads.device()[at++] = heads.bench()[((b * 5 + s) * 4 + h) * 3 + e];
      }
    }
  }
  EXPECT_EQ(heads.pattern(), "The benchmark's values transposed: axes 1 and 2.");
  Output folded({3, 4, 10}, GetParam());
  for (std::size_t i = 0; i < 120; ++i) folded.device()[i] = folded.bench()[i % 12 * 10 + i / 12];
  EXPECT_EQ(folded.pattern(), "The benchmark's values transposed, as a matrix of (12, 10).");
}

// Channels last taken for channels first, and the halves of a row taken for its pairs.
TEST_P(Findings, TransposedGroupsOfAxes) {
  Output images({2, 3, 4, 5}, GetParam());
  for (std::size_t i = 0; i < 120; ++i) images.device()[i] = images.bench()[i / 60 * 60 + i % 60 % 3 * 20 + i % 60 / 3];
  EXPECT_EQ(images.pattern(), "The benchmark's values transposed, as 2 matrices of (3, 20).");
  Output halves({6, 20}, GetParam());
  for (std::size_t i = 0; i < 120; ++i) halves.device()[i] = halves.bench()[i / 20 * 20 + i % 2 * 10 + i % 20 / 2];
  EXPECT_EQ(halves.pattern(), "The halves of the last axis are interleaved.");
  Output pairs({6, 20}, GetParam());
  for (std::size_t i = 0; i < 120; ++i) pairs.device()[i / 20 * 20 + i % 2 * 10 + i % 20 / 2] = pairs.bench()[i];
  EXPECT_EQ(pairs.pattern(), "The even and the odd elements of the last axis are parted.");
}

// In every other row terms a hundred thousand times as large cancel, so that its errors are as much larger.
TEST_P(Findings, TransposedTogetherWithTheirErrors) {
  Output output({24, 24}, GetParam());
  std::vector<double> spread(24 * 24);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = i / 24 % 2 == 0 ? 1 : 1e5;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const std::size_t from = i % 24 * 24 + i / 24;
    output.device()[i] =
        output.bench()[from] + spread[from] * accumulator_roundoff(GetParam()) * normal(output.random());
  }
  output.budget().spread = Tensor::from<double>(DType::float64, Dims{24, 24}, std::span<const double>(spread));
  EXPECT_EQ(output.pattern(), "The benchmark's values transposed: axes 0 and 1.");
}

TEST_P(Findings, NoTranspositionOfAFewElements) {
  Output output({2, 3}, GetParam());
  for (std::size_t i = 0; i < 6; ++i) output.device()[i] = output.bench()[i % 2 * 3 + i / 2];
  EXPECT_THAT(output.pattern(), Not(HasSubstr("transposed")));
}

// A few that have changed places leave the sorted row as it was.
TEST_P(Findings, NoOtherOrderOfAFewElements) {
  Output output({10, 10}, GetParam());
  for (const std::size_t i : {3, 47, 82}) output.device()[i] = output.bench()[i == 3 ? 47 : i == 47 ? 82 : 3];
  EXPECT_THAT(output.pattern(), Not(HasSubstr("another order")));
}

// Two samples of few values are nearly the same when sorted.
TEST(FindingsOfOneDType, NoOtherOrderOfAnotherSample) {
  Output output({16, 16}, DType::bfloat16);
  for (std::size_t i = 0; i < 256; ++i) {
    output.bench()[i] = 1 + static_cast<double>(i / 3) / 128;
    const std::size_t other = i * 101 % 256;
    output.device()[i] = 1 + static_cast<double>(other / 3 + (other % 10 == 0 ? 1 : 0)) / 128;
  }
  EXPECT_THAT(output.pattern(), Not(HasSubstr("another order")));
  for (std::size_t i = 0; i < 256; ++i) output.device()[i] = output.bench()[i * 101 % 256];
  EXPECT_EQ(output.pattern(), "The benchmark's values in another order.");
}

TEST_P(Findings, Swapped) {
  const auto swapped = [&](const Dims& shape, std::vector<std::pair<std::size_t, std::size_t>> pairs) {
    Output output(shape, GetParam());
    for (const auto& [i, j] : pairs) std::swap(output.device()[i], output.device()[j]);
    return output.pattern();
  };
  const auto pairs = [](std::size_t i, std::size_t j, std::size_t step, std::size_t count) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t k = 0; k < count; ++k) all.emplace_back(i + k * step, j + k * step);
    return all;
  };
  EXPECT_EQ(swapped({12, 30}, pairs(90, 150, 1, 30)), "Rows are swapped: 3 and 5 of (12, 30).");
  EXPECT_EQ(swapped({12, 30}, pairs(3, 5, 30, 12)), "Columns are swapped: 3 and 5 of (12, 30).");
  // The last row of one matrix and the first of the next.
  EXPECT_EQ(swapped({3, 4, 10}, pairs(30, 40, 1, 10)), "Rows are swapped: 3 and 4 of (12, 10).");
  EXPECT_EQ(swapped({5, 4, 10}, pairs(40, 120, 1, 40)), "Indices of axis 0 are swapped: 1 and 3 of (5, 4, 10).");
  EXPECT_EQ(swapped({50}, {{7, 8}}), "Elements are swapped: 7 and 8.");
}

// Flags and counts are in each other's places by chance.
TEST(FindingsOfOneDType, TwoWrongFlagsAreNotSwapped) {
  Output flags({8, 8}, DType::float32);
  for (std::size_t i = 0; i < 64; ++i) flags.bench()[i] = static_cast<double>(i / 3 % 2);
  flags.device() = flags.bench();
  std::swap(flags.device()[7], flags.device()[16]);
  EXPECT_THAT(flags.pattern_of(flags.device_tensor()), Not(HasSubstr("swapped")));
  // Both in one axis.
  Output row({64}, DType::float32);
  row.bench() = flags.bench();
  row.device() = flags.device();
  EXPECT_THAT(row.pattern_of(row.device_tensor()), Not(HasSubstr("swapped")));
}

TEST_P(Findings, OneFactor) {
  for (const double factor : {2.0, 0.5, 1.01, -3.0}) {
    Output output({30, 20}, GetParam());
    for (double& value : output.device()) value *= factor;
    EXPECT_THAT(output.pattern(), StartsWith("Every element is " + std::string(factor == 2     ? "2 "
                                                                               : factor == 0.5 ? "0.5 "
                                                                               : factor == -3  ? "-3 "
                                                                                               : "1.01")));
  }
  Output part({30, 20}, GetParam());
  for (std::size_t i = 100; i < 120; ++i) part.device()[i] *= 2;
  EXPECT_THAT(part.pattern(), AllOf(StartsWith("Every wrong element is 2 times the benchmark's. One contiguous block"),
                                    HasSubstr("row [5, :]")));
}

// A factor so near 1 that most elements of a narrow dtype are no further off than rounding may lead.
TEST(FindingsOfOneDType, OneFactorNearOne) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Output output({100, 40}, DType::float16, seed);
    const Tensor right = output.device_tensor().to(DType::float64);
    for (std::size_t i = 0; i < 4000; ++i) output.device()[i] = right.data<double>()[i] * 1.001;
    EXPECT_EQ(output.pattern(), "Every element is 1.001 times the benchmark's.");
  }
}

// In bfloat16 no element need be further off than the next number, but too many are.
TEST(FindingsOfOneDType, OneFactorThatShowsInMisroundedElements) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Output output({100, 40}, DType::bfloat16, seed);
    output.budget().nearest = true;
    for (double& value : output.device()) value *= 1.001;
    EXPECT_EQ(output.pattern(), "Every element is 1.001 times the benchmark's.");
  }
}

// Results that are cut off are no multiple.
TEST(FindingsOfOneDType, TruncationIsNoFactor) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Output output({100, 40}, DType::float16, seed);
    for (double& value : output.device()) {
      const double unit = unit_in_last_place(DType::float16, value);
      value = std::trunc(value / unit) * unit;
      // One place more, so that some are beyond rounding.
      value -= std::copysign(unit, value);
    }
    EXPECT_THAT(output.pattern(), Not(HasSubstr("times")));
  }
}

TEST_P(Findings, Signs) {
  Output whole({30, 20}, GetParam());
  for (double& value : whole.device()) value = -value;
  EXPECT_EQ(whole.pattern(), "Right magnitudes with the opposite sign: every element.");
  Output part({30, 20}, GetParam());
  for (std::size_t i = 100; i < 120; ++i) part.device()[i] *= -1;
  EXPECT_THAT(part.pattern(), AllOf(StartsWith("Right magnitudes with the opposite sign: 20 elements. One contiguous"),
                                    HasSubstr("row [5, :]")));
}

// Errors of half types within a computation are far larger than places of small elements.
TEST_P(Findings, FactorsBesideOtherErrors) {
  std::normal_distribution<double> normal;
  for (const auto& [scale, text] :
       {std::pair(8.0, "All elements together are about 8 times the benchmark's."),
        std::pair(-1.0, "Right magnitudes with the opposite sign, but for small errors.")}) {
    Output output({40, 30}, GetParam());
    for (double& value : output.device()) value = scale * (value + 0.02 * normal(output.random()));
    EXPECT_EQ(output.pattern(), text);
  }
}

TEST_P(Findings, NaNInTheTail) {
  Output output({5, 100}, GetParam());
  for (std::size_t i = 384; i < 500; ++i) output.device()[i] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(output.pattern(),
            "116 elements NaN where the benchmark is a number. Wrong are elements 384 to 499: the last partial tile of "
            "128.");
}

TEST_P(Findings, ZerosInPlace) {
  Output output({5, 100}, GetParam());
  for (std::size_t i = 384; i < 500; ++i) output.device()[i] = 0;
  EXPECT_THAT(output.pattern(), StartsWith("116 elements are zero where the benchmark is not. Wrong are elements 384"));
}

TEST_P(Findings, MemoryThatWasNotWritten) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Output output({40, 50}, GetParam(), seed);
    const Tensor device = output.device_tensor().clone();
    auto* bytes = const_cast<std::byte*>(device.raw());
    const std::size_t width = size_of(GetParam());
    for (std::size_t i = 300 * width; i < 550 * width; ++i) bytes[i] = static_cast<std::byte>(output.random()());
    EXPECT_THAT(output.pattern_of(device), AllOf(StartsWith("Memory that was not written: "), HasSubstr("block")));
  }
}

TEST_P(Findings, ValuesOfAnotherCall) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Output output({20, 30}, GetParam(), seed);
    output.device() = output.drawn();
    const std::string pattern = output.pattern();
    EXPECT_THAT(pattern, StartsWith("Values of like size that have nothing to do with the benchmark's"));
    EXPECT_THAT(pattern, Not(HasSubstr("perhaps")));
  }
  // Half of them zeros, as behind a relu.
  Output positive({40, 50}, GetParam());
  positive.device() = positive.drawn();
  for (auto* values : {&positive.bench(), &positive.device()}) {
    for (double& value : *values) value = std::max(value, 0.0);
  }
  EXPECT_THAT(positive.pattern(), StartsWith("Values of like size"));
}

// Errors that are large, yet leave much of the right values, and values of another size say nothing.
TEST_P(Findings, ErrorsWithoutAPattern) {
  std::normal_distribution<double> normal;
  for (const double size : {0.3, 1.0, 30.0}) {
    Output output({20, 30}, GetParam());
    for (double& value : output.device()) value += size * normal(output.random());
    EXPECT_EQ(output.pattern(), "") << size;
  }
}

}  // namespace
}  // namespace msrun
