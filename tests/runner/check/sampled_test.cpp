// Products that are checked by a part of their benchmark: what comes out is what the whole benchmark says, and a small
// fault is missed as often as theory has it.
#include "runner/check/sampled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <span>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/numeric/random_projection.h"
#include "runner/judge/axis_samples.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckOptions sampled_options(std::uint64_t seed = 1234) {
  CheckOptions options;
  options.sampled_work = 0;
  options.materialise.seed = seed;
  return options;
}

std::vector<ApiCall> products(DType dtype) {
  const auto call = [dtype](const std::string& name, const std::vector<Dims>& shapes, const Dims& output) {
    return call_of(name, shapes, output, dtype);
  };
  std::vector<ApiCall> calls{
      call("Torch.matmul.0", {{128, 96}, {96, 160}}, {128, 160}),
      call("Torch.matmul.1", {{2, 128, 96}, {96, 160}}, {2, 128, 160}),
      call("Torch.matmul.2", {{3, 64, 96}, {3, 96, 80}}, {3, 64, 80}),
      call("Torch.mm.0", {{128, 96}, {96, 160}}, {128, 160}),
      call("Torch.bmm.0", {{2, 64, 96}, {2, 96, 80}}, {2, 64, 80}),
      call("Functional.linear.0", {{2, 128, 96}, {160, 96}, {160}}, {2, 128, 160}),
      call("Functional.linear.1", {{128, 96}, {160, 96}}, {128, 160}),
      call("Torch.addmm.0", {{160}, {128, 96}, {96, 160}}, {128, 160}),
      call("Torch.addmm.1", {{128, 160}, {128, 96}, {96, 160}}, {128, 160}),
      call("Torch.baddbmm.0", {{2, 64, 80}, {2, 64, 96}, {2, 96, 80}}, {2, 64, 80}),
      call("Functional.conv1d.0", {{2, 64, 40}, {96, 64, 3}, {96}}, {2, 96, 38}),
      call("Functional.conv2d.0", {{2, 64, 10, 10}, {96, 64, 3, 3}}, {2, 96, 8, 8}),
      call("Functional.conv3d.0", {{1, 64, 4, 4, 4}, {64, 64, 1, 1, 1}}, {1, 64, 4, 4, 4}),
      call("Functional.conv_transpose2d.0", {{2, 64, 8, 8}, {64, 80, 3, 3}, {80}}, {2, 80, 10, 10}),
  };
  for (ApiCall& of : calls) of.name += dtype == DType::float32 ? "" : "0";
  return calls;
}

void expect_same_verdicts(const std::vector<DetailsRow>& rows, const std::vector<DetailsRow>& of_all) {
  ASSERT_EQ(rows.size(), of_all.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].status, of_all[i].status) << rows[i].message << of_all[i].message;
    EXPECT_EQ(rows[i].shape, of_all[i].shape);
    EXPECT_EQ(rows[i].device_dtype, of_all[i].device_dtype);
    EXPECT_EQ(rows[i].rounding_only, of_all[i].rounding_only);
    EXPECT_FALSE(rows[i].beyond_rounding);
  }
}

TEST(Sampled, SoundProductsAreSettledByTheSampleWithTheVerdictsOfTheWhole) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const ApiCall& call : products(dtype)) {
      SCOPED_TRACE(call.name + " " + std::string(name(dtype)));
      const ApiResult whole = check(call, {});
      const ApiResult sampled = check(call, {}, {}, sampled_options());
      EXPECT_EQ(sampled.forward, whole.forward);
      EXPECT_EQ(sampled.backward, whole.backward);
      EXPECT_EQ(sampled.outcome, Outcome::checked);
      expect_same_verdicts(sampled.forward_rows, whole.forward_rows);
      expect_same_verdicts(sampled.backward_rows, whole.backward_rows);
      for (const auto* rows : {&sampled.forward_rows, &sampled.backward_rows}) {
        for (const DetailsRow& row : *rows)
          EXPECT_THAT(row.message, HasSubstr("Sampled: the benchmark was computed for"));
      }
    }
  }
}

TEST(Sampled, KeywordsAndTheirOrderChangeNothing) {
  ApiCall call = call_of("Functional.linear.0", {{128, 96}, {160, 96}, {160}}, {128, 160});
  call.kwargs = {{"bias", call.args[2]}, {"weight", call.args[1]}, {"input", call.args[0]}};
  call.args.clear();
  const ApiResult whole = check(call, {});
  const ApiResult sampled = check(call, {}, {}, sampled_options());
  // Its work is not known, so the whole benchmark is computed.
  EXPECT_EQ(sampled.forward, whole.forward);
  call = call_of("Functional.linear.0", {{128, 96}, {160, 96}, {160}}, {128, 160});
  call.kwargs = {{"bias", call.args[2]}};
  call.args.pop_back();
  const ApiResult with_bias = check(call, {}, {}, sampled_options());
  ASSERT_EQ(with_bias.backward_rows.size(), 3U);
  expect_same_verdicts(with_bias.backward_rows, check(call, {}).backward_rows);
  EXPECT_THAT(with_bias.backward_rows[2].message, HasSubstr("Gradient of a keyword argument"));
}

TEST(Sampled, DtypesAreThoseOfTheCall) {
  const ApiCall call = call_of("Torch.mm.0", {{128, 96}, {96, 160}}, {128, 160}, DType::bfloat16);
  const auto wide = [](Value& value) { value = value.get<Tensor>()->to(DType::float32); };
  const auto output = [&](DeviceResult& result, int) { wide(result.output); };
  const auto gradient = [&](DeviceResult& result, int) { wide(result.gradients.at(1)); };
  EXPECT_THAT(check(call, output, {}, sampled_options()).forward_rows.front().message,
              HasSubstr("the result has the dtype float32 in place of bfloat16"));
  EXPECT_THAT(check(call, gradient, {}, sampled_options()).backward_rows.at(1).message,
              HasSubstr("the gradient has the dtype float32 in place of bfloat16"));
}

TEST(Sampled, SmallOrOtherCallsAreComputedInFull) {
  CheckOptions options = sampled_options();
  options.sampled_work = 1e9;
  const ApiCall product = call_of("Torch.mm.0", {{128, 96}, {96, 160}}, {128, 160});
  EXPECT_THAT(check(product, {}, {}, options).forward_rows.front().message, Not(HasSubstr("Sampled")));
  for (const ApiCall& call : {call_of("Torch.mm.0", {{16, 16}, {16, 16}}, {16, 16}),
                              call_of("Torch.mm.0", {{128, 96}, {96, 160}}, {128, 160}, DType::float64),
                              call_of("Functional.softmax.0", {{256, 256}}, {256, 256}),
                              call_of("Torch.matmul.0", {{256}, {256, 256}}, {256})}) {
    for (const DetailsRow& row : check(call, {}, {}, sampled_options()).forward_rows) {
      EXPECT_THAT(row.message, Not(HasSubstr("Sampled"))) << call.name;
    }
  }
}

// The rows of a result that is judged in full are those of the whole benchmark, to the last letter.
void expect_equal(const std::vector<DetailsRow>& rows, const std::vector<DetailsRow>& of_all) {
  ASSERT_EQ(rows.size(), of_all.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].message, of_all[i].message);
    EXPECT_EQ(rows[i].cells, of_all[i].cells);
    EXPECT_EQ(rows[i].status, of_all[i].status);
  }
}

bool is_accused(const ApiResult& result) {
  const auto beyond = [](const DetailsRow& row) { return row.beyond_rounding || row.status == Status::error; };
  return std::ranges::any_of(result.forward_rows, beyond) || std::ranges::any_of(result.backward_rows, beyond);
}

TEST(Sampled, WhatIsAccusedIsJudgedInFull) {
  const auto one_element = [](Value& value) {
    value = changed_elements(*value.get<Tensor>(), [](double element, std::int64_t i) {
      return i == 77 ? element + 1 + std::abs(element) : element;
    });
  };
  const std::vector<std::pair<const char*, ComputingDevice::Change>> changes{
      {"element", [&](DeviceResult& result, int) { one_element(result.output); }},
      {"gradient", [&](DeviceResult& result, int) { one_element(result.gradients.back()); }},
      {"first gradient", [&](DeviceResult& result, int) { one_element(result.gradients.front()); }},
      {"scaled", [](DeviceResult& result, int) { scale(result.output, 1.02); }},
      {"gradient scaled", [](DeviceResult& result, int) { scale(result.gradients.front(), 1.02); }},
      {"sign", [](DeviceResult& result, int) { scale(result.gradients.back(), -1); }},
      {"no gradient", [](DeviceResult& result, int) { result.gradients.back() = None{}; }},
      {"swapped", [](DeviceResult& result, int) {
         const Tensor& tensor = *result.output.get<Tensor>();
         Tensor swapped = tensor.clone();
         const auto bytes = static_cast<std::size_t>(tensor.size(-1)) * size_of(tensor.dtype());
         auto* first = swapped.mutable_data<std::byte>() + 5 * bytes;
         std::swap_ranges(first, first + bytes, first + bytes);
         result.output = swapped;
       }}};
  std::size_t pair = 0;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const ApiCall& call : products(dtype)) {
      for (const auto& [name, change] : changes) {
        // Each takes as long as an accusation does: a fifth of them.
        if (pair++ % 5 != 0) continue;
        SCOPED_TRACE(call.name + " " + name);
        const ApiResult whole = check(call, change);
        ASSERT_TRUE(is_accused(whole));
        const ApiResult sampled = check(call, change, {}, sampled_options());
        expect_equal(sampled.forward_rows, whole.forward_rows);
        expect_equal(sampled.backward_rows, whole.backward_rows);
      }
    }
  }
}

// So few rows that none are drawn: what is 2 % of a typical element hides in each sum, but not in those of all rows.
TEST(Sampled, AWholeColumnThatIsALittleWrongIsFound) {
  for (const auto& [call, axis] :
       {std::pair(call_of("Functional.linear.0", {{48, 128}, {512, 128}}, {48, 512}, DType::bfloat16), 1),
        std::pair(call_of("Functional.conv2d.0", {{2, 64, 12, 12}, {128, 64, 3, 3}}, {2, 128, 10, 10}, DType::bfloat16),
                  1)}) {
    for (const double factor : {0.95, 1.05}) {
      int looked_at = 0;
      for (const std::int64_t wrong : {37, 61, 101}) {
        const ComputingDevice::Change change = [&, along = axis](DeviceResult& result, int) {
          const Tensor& output = *result.output.get<Tensor>();
          std::int64_t inner = 1;
          for (std::int64_t i = along + 1; i < output.rank(); ++i) inner *= output.size(i);
          result.output = changed_elements(output, [&](double element, std::int64_t i) {
            return i / inner % output.size(along) == wrong ? element * factor : element;
          });
        };
        const ApiResult whole = check(call, change);
        if (!is_accused(whole)) continue;
        ++looked_at;
        EXPECT_TRUE(is_accused(check(call, change, {}, sampled_options()))) << call.name << factor << " " << wrong;
      }
      EXPECT_GT(looked_at, 0) << call.name << factor;
    }
  }
}

TEST(Sampled, FaultyArithmeticIsFound) {
  const std::vector<std::pair<const char*, Arithmetic>> faults{
      {"float16 sums", {.summation = {.accumulator = Accumulator::float16}}},
      {"bfloat16 sums", {.summation = {.accumulator = Accumulator::bfloat16}}},
      {"dropped term", {.summation = {.drops_last = true}}},
      {"truncated", {.summation = {}, .rounds_to_zero = true}}};
  std::size_t pair = 0;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const ApiCall& call : products(dtype)) {
      for (const auto& [name, arithmetic] : faults) {
        if (pair++ % 5 != 0) continue;
        SCOPED_TRACE(call.name + " " + name);
        EvaluationOptions how;
        how.arithmetic = arithmetic;
        const ApiResult whole = check(call, {}, how);
        const ApiResult sampled = check(call, {}, how, sampled_options());
        if (!is_accused(whole)) continue;
        EXPECT_TRUE(is_accused(sampled));
        expect_equal(sampled.forward_rows, whole.forward_rows);
      }
    }
  }
}

TEST(Sampled, IsDrawnBySeedAndName) {
  const ApiCall call = call_of("Torch.mm.0", {{128, 96}, {96, 160}}, {128, 160});
  ApiCall other = call;
  other.name = "Torch.mm.1";
  const auto drawn = [](const ApiCall& of, std::uint64_t seed) {
    MaterialiseOptions options;
    options.seed = seed;
    const MaterialisedCall materialised = materialise(of, options);
    return draw_samples(*find_operator("Torch", "mm"), materialised, 2, seed).front();
  };
  const AxisSample sample = drawn(call, 1);
  EXPECT_EQ(sample.places, drawn(call, 1).places);
  EXPECT_EQ(sample.sums.signs, drawn(call, 1).sums.signs);
  EXPECT_NE(sample.sums.signs, drawn(other, 1).sums.signs);
  EXPECT_NE(sample.sums.signs, drawn(call, 2).sums.signs);
}

TEST(Sampled, SumsAreThoseOfTheDefinition) {
  Philox words(7);
  const ValueRange range{-3, 3, {}, {}};
  // The last is read in several pieces.
  for (const Dims& shape : {Dims{5, 37, 3}, Dims{2, 40, 700}, Dims{3, 1500}, Dims{9}, Dims{700, 300}}) {
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      const Tensor tensor = random_tensor(DType::bfloat16, shape, range, words);
      const std::int64_t size = tensor.size(axis);
      SignedSums sums{std::min<std::int64_t>(size, 4), {}};
      for (std::int64_t i = 0; i < size; ++i) sums.signs.push_back(i * i % 3 == 1 ? 1 : -1);
      const std::array along{AxisSums{axis, &sums}};
      const ResultSums all = result_sums(tensor, along).front();
      EXPECT_TRUE(bitwise_equal(all.sums, signed_sums(tensor, along).front()));
      std::vector<double> expected(static_cast<std::size_t>(all.sums.numel()));
      std::vector<double> squares = expected;
      std::vector<double> places = expected;
      std::int64_t inner = 1;
      for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        const std::int64_t at = i / inner % size;
        const auto to = static_cast<std::size_t>((i / inner / size * sums.count + at % sums.count) * inner + i % inner);
        const double unit = unit_in_last_place(DType::bfloat16, tensor.item(i));
        expected[to] += sums.signs[static_cast<std::size_t>(at)] * tensor.item(i);
        squares[to] += tensor.item(i) * tensor.item(i);
        places[to] += unit * unit;
      }
      for (std::int64_t i = 0; i < all.sums.numel(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_NEAR(all.sums.item(i), expected[at], 1e-9);
        EXPECT_NEAR(all.squares.item(i), squares[at], 1e-9 * squares[at]);
        EXPECT_NEAR(all.places.item(i), places[at], 1e-9 * places[at]);
      }
    }
  }
}

TEST(Sampled, SumsAlongSeveralAxesAreThoseAlongEach) {
  Philox words(8);
  const Tensor tensor = random_tensor(DType::float32, Dims{700, 30, 20}, {-3, 3, {}, {}}, words);
  std::vector<SignedSums> sums;
  for (const std::int64_t count : {9, 4, 5}) {
    SignedSums& along = sums.emplace_back(SignedSums{count, {}});
    for (std::int64_t i = 0; i < 700; ++i) along.signs.push_back(i % 7 < 3 ? 1 : -1);
  }
  const std::array axes{AxisSums{0, &sums[0]}, AxisSums{1, &sums[1]}, AxisSums{2, &sums[2]}};
  const std::vector<ResultSums> together = result_sums(tensor, axes);
  ASSERT_EQ(together.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ResultSums alone = result_sums(tensor, std::span(axes).subspan(i, 1)).front();
    EXPECT_TRUE(bitwise_equal(together[i].sums, alone.sums)) << i;
    EXPECT_TRUE(bitwise_equal(together[i].squares, alone.squares)) << i;
    EXPECT_TRUE(bitwise_equal(together[i].places, alone.places)) << i;
  }
}

// One element of a product, off by a part of the typical element: how often it is missed, and the chance of that by
// theory. The error of each random sum is normal; its variance is that of rounding each element to nearest, a twelfth
// of the square of its place.
struct Curve {
  double theory = 0;
  double variance = 0;  // of the number of those that are missed
  int missed = 0;
};

Curve detection(double share, int trials) {
  constexpr std::int64_t rows = 256;
  constexpr std::int64_t columns = 192;
  ApiCall call = call_of("Torch.mm.0", {{rows, 64}, {64, columns}}, {rows, columns}, DType::bfloat16);
  call.has_backward = false;
  call.grad_inputs.clear();
  Curve curve;
  for (int trial = 0; trial < trials; ++trial) {
    const CheckOptions options = sampled_options(static_cast<std::uint64_t>(1000 + trial));
    const MaterialisedCall materialised = materialise(call, options.materialise);
    const auto samples = draw_samples(*find_operator("Torch", "mm"), materialised, 2, options.materialise.seed);
    const std::int64_t row = trial * 37 % rows;
    const std::int64_t column = trial * 53 % columns;
    double chance = 1;
    const ApiResult result = check(
        call,
        [&](DeviceResult& device, int) {
          const Tensor sound = *device.output.get<Tensor>();
          double squares = 0;
          for (std::int64_t i = 0; i < sound.numel(); ++i) squares += sound.item(i) * sound.item(i);
          const double error = share * std::sqrt(squares / static_cast<double>(sound.numel()));
          const std::int64_t at = row * columns + column;
          const Tensor faulty = changed_elements(
              sound, [&](double element, std::int64_t i) { return i == at ? element + error : element; });
          const double stored = std::abs(faulty.item(at) - sound.item(at));
          device.output = faulty;
          for (const AxisSample& sample : samples) {
            if (!sample.axis.result) continue;
            const std::int64_t place = *sample.axis.result == 0 ? row : column;
            if (std::ranges::binary_search(sample.places, place)) chance = 0;
            const std::array along{AxisSums{*sample.axis.result, &sample.sums}};
            const ResultSums sums = result_sums(faulty, along).front();
            const std::int64_t sum = place % sample.sums.count;
            const std::int64_t of_element =
                *sample.axis.result == 0 ? sum * columns + column : row * sample.sums.count + sum;
            const double variance = sums.places.item(of_element) / 12;
            chance *= chance_to_miss(stored, 6 * std::sqrt(1.25 * variance), std::sqrt(variance));
          }
        },
        {}, options);
    curve.theory += chance;
    curve.variance += chance * (1 - chance);
    curve.missed += is_accused(result) ? 0 : 1;
  }
  return curve;
}

TEST(Sampled, SmallFaultsAreMissedAsOftenAsTheorySays) {
  const char* wanted = std::getenv("MSRUN_DETECTION_TRIALS");
  const int trials = wanted == nullptr ? 60 : std::atoi(wanted);
  if (wanted != nullptr) std::cout << "| error | missed | theory |\n|---|---|---|\n";
  for (const double share : {0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1}) {
    const Curve curve = detection(share, trials);
    EXPECT_NEAR(curve.missed, curve.theory, 5 * std::sqrt(curve.variance) + 1) << share;
    if (wanted == nullptr) continue;
    std::cout << "| " << share << " | " << 100.0 * curve.missed / trials << " % | " << 100 * curve.theory / trials
              << " % |\n";
  }
}

}  // namespace
}  // namespace msrun::testing
