// Sums of half types on an accelerator: those that its kernels form in float32 are granted no rounding after every
// addition, whatever they are long for; those that threads add to one element, and running sums, are.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

struct Case {
  ApiCall call;
  std::function<double(double, std::int64_t)> fault;
};

ApiCall call_along(const char* name, std::int64_t rows, std::int64_t columns, Value argument) {
  ApiCall call = call_of(name, {{rows, columns}}, {rows, columns}, DType::bfloat16);
  call.args.emplace_back(std::move(argument));
  call.has_backward = false;
  return call;
}

// Rounded to bfloat16 after every addition such sums of tens of thousands of terms stand still, so that what they err
// by would explain anything.
TEST(HalfSums, OfNormsAndLossesAreFormedInFloat32) {
  constexpr std::int64_t columns = 32000;
  const auto in_last_tile = [](std::int64_t i) { return i % columns >= columns - 64; };
  const std::vector<Case> cases{
      {call_along("Functional.log_softmax.0", 4, columns, std::int64_t{-1}),
       [=](double value, std::int64_t i) { return in_last_tile(i) ? value * 1.1 : value; }},
      {call_along("Functional.layer_norm.0", 4, columns, Value(List{Value(columns)})),
       [=](double value, std::int64_t i) { return in_last_tile(i) ? value * 1.1 : value; }},
      {call_along("Torch.logsumexp.0", 4, columns, std::int64_t{-1}),
       [](double value, std::int64_t) { return value * 1.03; }},
  };
  for (const Case& c : cases) {
    const ApiResult sound = check_on(accelerator, c.call, {}, {});
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
    const ApiResult faulty = check_on(accelerator, c.call, {}, [&](const MaterialisedCall&, DeviceResult& result) {
      result.output = changed_elements(*result.output.get<Tensor>(), c.fault);
    });
    EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
  }
}

ApiCall means(std::int64_t rows, std::int64_t columns) {
  ApiCall call = call_of("Torch.mean.0", {{rows, columns}}, {rows}, DType::bfloat16);
  call.args.emplace_back(std::int64_t{1});
  return call;
}

// The mean of each row, of a sum that is stored in bfloat16 first or not.
Change means_of_sums(bool stored) {
  return [stored](const MaterialisedCall& call, DeviceResult& result) {
    const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
    const std::int64_t columns = x.size(1);
    result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t row) {
      float sum = 0;
      for (std::int64_t k = 0; k < columns; ++k) sum += static_cast<float>(x.data<double>()[row * columns + k]);
      const float held = stored ? static_cast<float>(rounded(static_cast<double>(sum))) : sum;
      return rounded(static_cast<double>(held * (1 / static_cast<float>(columns))));
    });
  };
}

// An accelerator's kernel of a mean adds up, divides and rounds once; that of a processor stores the sum before it is
// divided.
TEST(HalfSums, OfMeansAreRoundedOnce) {
  const ApiCall call = means(600, 77);
  const ApiResult sound = check_on(accelerator, call, {}, means_of_sums(false));
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  EXPECT_EQ(sound.forward_rows.at(0).trust.weak_evidence, WeakEvidence::none) << described(sound);
  EXPECT_TRUE(is_suspicious(check_on(accelerator, call, {}, means_of_sums(true))));
  const ApiResult processors = check_on(processor, call, {}, means_of_sums(true));
  EXPECT_FALSE(is_suspicious(processors)) << described(processors);
  EvaluationOptions narrow;
  narrow.arithmetic.summation.accumulator = Accumulator::bfloat16;
  EXPECT_TRUE(is_suspicious(check_on(accelerator, call, narrow, {})));
}

// One element in twenty is a place off, or all of the gradient by one per cent.
TEST(HalfSums, OfMeansHideNoFault) {
  const ApiCall call = means(600, 77);
  const ApiResult outputs = check_on(accelerator, call, {}, [](const MaterialisedCall&, DeviceResult& result) {
    result.output = changed_elements(*result.output.get<Tensor>(), [](double value, std::int64_t i) {
      return i % 20 == 3 ? value + std::scalbn(1.0, std::ilogb(value) - 7) : value;
    });
  });
  EXPECT_TRUE(is_suspicious(outputs)) << described(outputs);
  const ApiResult gradients = check_on(accelerator, call, {}, [](const MaterialisedCall&, DeviceResult& result) {
    scale(result.gradients.front(), 1.01);
  });
  EXPECT_TRUE(is_suspicious(gradients)) << described(gradients);
}

// Of a quarter of a million running sums few err far more than eight samples tell.
TEST(HalfSums, OfRunningSumsMayErrAsFewSamplesDoNotTell) {
  EvaluationOptions narrow;
  narrow.arithmetic.summation.accumulator = Accumulator::bfloat16;
  for (const std::int64_t seed : {0, 1, 2, 3}) {
    ApiCall call = call_of("Torch.cumsum." + std::to_string(seed), {{64, 4096}}, {64, 4096}, DType::bfloat16, -4, 4);
    call.args.emplace_back(std::int64_t{0});
    const ApiResult sound = check_on(accelerator, call, narrow, {});
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
    const ApiResult faulty = check_on(accelerator, call, narrow, [](const MaterialisedCall&, DeviceResult& result) {
      result.output = changed_elements(*result.output.get<Tensor>(),
                                       [](double value, std::int64_t i) { return i == 70'000 ? value + 8 : value; });
    });
    EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
  }
}

ApiCall along_last(const char* name, const Dims& shape, const Dims& output, std::vector<Value> arguments, double low) {
  ApiCall call = call_of(name, {shape}, output, DType::bfloat16, low, 2);
  call.args.insert(call.args.end(), arguments.begin(), arguments.end());
  call.has_backward = false;
  return call;
}

// Gradients of weight and bias of a norm are sums over its rows, which a processor may add up in bfloat16.
TEST(HalfSums, OfProcessorsMayBeGradientsOfParameters) {
  constexpr std::int64_t columns = 96;
  ApiCall call =
      call_of("Functional.layer_norm.0", {{512, columns}, {columns}, {columns}}, {512, columns}, DType::bfloat16);
  call.args.insert(call.args.begin() + 1, Value(List{Value(columns)}));
  EvaluationOptions in_bfloat16;
  in_bfloat16.arithmetic.summation.accumulator = Accumulator::bfloat16;
  const auto accuses = [&](double factor) {
    const ApiResult result = check_on(processor, call, in_bfloat16, [=](const MaterialisedCall&, DeviceResult& device) {
      for (Value& gradient : device.gradients) scale(gradient, factor);
    });
    return result.backward_rows.at(1).beyond_rounding || result.backward_rows.at(2).beyond_rounding;
  };
  EXPECT_FALSE(accuses(1));
  EXPECT_TRUE(accuses(1.5));
}

// Threads of a processor each add their part of the rows. Of a call that is too large for samples what such sums lose
// is computed once.
TEST(HalfSums, OfProcessorsMayBeGradientsOfParametersOfLargeCalls) {
  constexpr std::int64_t rows = 4096;
  constexpr std::int64_t columns = 2048;
  ApiCall call =
      call_of("Functional.layer_norm.0", {{rows, columns}, {columns}, {columns}}, {rows, columns}, DType::bfloat16);
  call.args.insert(call.args.begin() + 1, Value(List{Value(columns)}));
  const auto accuses = [&](HalfRounding device, std::int64_t threads, double factor) {
    const ApiResult result = check_on(device, call, {}, [=](const MaterialisedCall& inputs, DeviceResult& of_device) {
      const Tensor gradient = inputs.gradients.front().get<Tensor>()->to(DType::float32).contiguous();
      std::vector<float> sums(static_cast<std::size_t>(columns));
      for (std::int64_t thread = 0; thread < threads; ++thread) {
        std::vector<float> parts(static_cast<std::size_t>(columns));
        for (std::int64_t i = thread * rows / threads; i < (thread + 1) * rows / threads; ++i) {
          for (std::size_t j = 0; j < parts.size(); ++j)
            parts[j] = as_bfloat16(parts[j] + gradient.data<float>()[i * columns + static_cast<std::int64_t>(j)]);
        }
        for (std::size_t j = 0; j < parts.size(); ++j) sums[j] += parts[j];
      }
      of_device.gradients.back() = changed_elements(
          *of_device.gradients.back().get<Tensor>(),
          [&](double, std::int64_t j) { return factor * static_cast<double>(sums[static_cast<std::size_t>(j)]); });
    });
    return result.backward_rows.at(2).beyond_rounding;
  };
  EXPECT_FALSE(accuses(processor, 2, 1));
  EXPECT_FALSE(accuses(processor, 1, 1));
  EXPECT_TRUE(accuses(processor, 2, 1.05));
  EXPECT_TRUE(accuses(accelerator, 2, 1));
}

// That a processor may compute a call so, not a tenth beside it, and no accelerator.
void expect_of_processors_alone(const ApiCall& call, const Change& compute) {
  const ApiResult sound = check_on(processor, call, {}, compute);
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  const ApiResult elsewhere = check_on(accelerator, call, {}, compute);
  EXPECT_TRUE(is_suspicious(elsewhere)) << described(elsewhere);
  const ApiResult faulty = check_on(processor, call, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
    compute(inputs, result);
    scale(result.output, 1.1);
  });
  EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
}

// A convolution as kernels have it that add each product in bfloat16 to what the result holds, the bias at first.
void add_to_bias(const MaterialisedCall& call, DeviceResult& result) {
  const auto argument = [&](std::size_t i) { return call.args[i].get<Tensor>()->to(DType::float32).contiguous(); };
  const Tensor x = argument(0);
  const Tensor w = argument(1);
  const Tensor bias = argument(2);
  const std::int64_t channels = x.size(1);
  const std::int64_t taps = w.size(2);
  const Tensor& output = *result.output.get<Tensor>();
  const std::int64_t length = output.size(2);
  result.output = changed_elements(output, [&](double, std::int64_t i) {
    const std::int64_t row = i / length / w.size(0);
    const std::int64_t of_output = i / length % w.size(0);
    float sum = bias.data<float>()[of_output];
    for (std::int64_t k = 0; k < channels * taps; ++k) {
      const float factor = w.data<float>()[of_output * channels * taps + k];
      const std::int64_t at = (row * channels + k / taps) * x.size(2) + i % length + k % taps;
      sum = as_bfloat16(sum + factor * x.data<float>()[at]);
    }
    return static_cast<double>(sum);
  });
}

TEST(HalfSums, OfProcessorsMayBeginWithTheBias) {
  for (const std::int64_t taps : {1, 3}) {
    const std::int64_t length = 65 - taps;
    ApiCall call = call_of("Functional.conv1d.0", {{2, 64, 64}, {8, 64, taps}, {8}}, {2, 8, length}, DType::bfloat16);
    call.args.back() = call_of("", {{8}}, {}, DType::bfloat16, 100, 500).args.front();
    call.has_backward = false;
    expect_of_processors_alone(call, add_to_bias);
  }
}

// A product that is added to a summand, as kernels have it that add each product in bfloat16 to what the result holds,
// half of the summand at first. A vector is a matrix of one column; batches follow one another.
void add_to_summand(const MaterialisedCall& call, DeviceResult& result) {
  const auto argument = [&](std::size_t i) { return call.args[i].get<Tensor>()->to(DType::float32).contiguous(); };
  const Tensor c = argument(0);
  const Tensor a = argument(1);
  const Tensor b = argument(2);
  const bool is_vector = b.rank() == 1;
  const std::int64_t inner = a.size(-1);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = is_vector ? 1 : b.size(-1);
  const std::int64_t batches = a.rank() == 3 ? a.size(0) : 1;
  const std::int64_t batches_in_sum = c.rank() == a.rank() || is_vector ? 1 : batches;
  result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
    const std::int64_t first_batch = batches_in_sum == 1 ? i / (rows * columns) : 0;
    const std::int64_t row = i / columns % rows;
    float sum = as_bfloat16(c.data<float>()[i] / 2);
    for (std::int64_t k = 0; k < batches_in_sum * inner; ++k) {
      const std::int64_t batch = first_batch + k / inner;
      const float left = a.data<float>()[(batch * rows + row) * inner + k % inner];
      const float right = b.data<float>()[(batch * inner + k % inner) * columns + i % columns];
      sum = as_bfloat16(sum + left * right);
    }
    return static_cast<double>(sum);
  });
}

TEST(HalfSums, OfProcessorsMayBeginWithTheSummand) {
  struct AddedProduct {
    const char* name;
    Dims summand;
    std::vector<Dims> factors;
  };
  for (const auto& [name, summand, factors] : {AddedProduct{"Torch.addmm.0", {32, 24}, {{32, 64}, {64, 24}}},
                                               AddedProduct{"Torch.addmv.0", {128}, {{128, 64}, {64}}},
                                               AddedProduct{"Torch.baddbmm.0", {3, 16, 24}, {{3, 16, 64}, {3, 64, 24}}},
                                               AddedProduct{"Torch.addbmm.0", {16, 24}, {{3, 16, 64}, {3, 64, 24}}}}) {
    ApiCall call = call_of(name, {summand, factors[0], factors[1]}, summand, DType::bfloat16);
    call.args.front() = call_of("", {summand}, {}, DType::bfloat16, 100, 500).args.front();
    call.kwargs = {{"beta", Value(0.5)}};
    call.has_backward = false;
    expect_of_processors_alone(call, add_to_summand);
  }
}

// Vectors add a row of bfloat16 in many partial sums, which lose a few roundings where one that is added term by term
// stands still. Of a gradient of a parameter few samples leave some elements next to no spread.
TEST(HalfSums, OfProcessorsMayBeThoseOfLongRowsInVectors) {
  constexpr std::int64_t columns = 1024;
  for (const std::int64_t rows : {128, 512}) {
    ApiCall call =
        call_of("Functional.layer_norm.0", {{rows, columns}, {columns}, {columns}}, {rows, columns}, DType::bfloat16);
    call.args.insert(call.args.begin() + 1, Value(List{Value(columns)}));
    EvaluationOptions in_vectors;
    in_vectors.arithmetic.summation.accumulator = Accumulator::bfloat16;
    in_vectors.arithmetic.summation.lanes = 32;
    const ApiResult sound = check_on(processor, call, in_vectors, {});
    EXPECT_FALSE(is_suspicious(sound)) << rows << ' ' << described(sound);
    const ApiResult faulty = check_on(processor, call, in_vectors,
                                      [](const MaterialisedCall&, DeviceResult& device) { scale(device.output, 1.1); });
    EXPECT_TRUE(is_suspicious(faulty)) << rows << ' ' << described(faulty);
  }
}

// Sums of half types, added term by term, stand still where they are some hundred times as large as a term: what they
// lack then would explain any result. Where no device is known to add up so, a part of it is taken for rounding.
TEST(HalfSums, OfProcessorsExplainNoResultThatIsLost) {
  constexpr std::int64_t columns = 4096;
  const std::vector<ApiCall> calls{
      along_last("Torch.mean.0", {40, columns}, {40}, {std::int64_t{1}}, 0.5),
      along_last("Torch.sum.0", {40, columns}, {40}, {std::int64_t{1}}, 0.5),
      along_last("Functional.softmax.0", {40, columns}, {40, columns}, {std::int64_t{-1}}, -2),
      along_last("Functional.layer_norm.0", {40, columns}, {40, columns}, {Value(List{Value(columns)})}, -2),
      along_last("Functional.group_norm.0", {2, 8, columns}, {2, 8, columns}, {std::int64_t{2}}, -2),
      along_last("Functional.adaptive_avg_pool1d.0", {40, columns}, {40, 1}, {std::int64_t{1}}, 0.5),
      along_last("Torch.norm.0", {40, columns}, {40}, {2.0, std::int64_t{1}}, -2),
  };
  for (const ApiCall& call : calls) {
    const ApiResult sound = check_on(processor, call, {}, {});
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
    for (const double factor : {0.0, 0.5, 0.8}) {
      const ApiResult faulty = check_on(
          processor, call, {}, [&](const MaterialisedCall&, DeviceResult& result) { scale(result.output, factor); });
      EXPECT_TRUE(is_suspicious(faulty)) << factor << ' ' << described(faulty);
    }
    const ApiResult row = check_on(processor, call, {}, [&](const MaterialisedCall&, DeviceResult& result) {
      const std::int64_t size = result.output.get<Tensor>()->numel() / 8;
      result.output = changed_elements(*result.output.get<Tensor>(),
                                       [&](double value, std::int64_t i) { return i / size == 3 ? 0.0 : value; });
    });
    EXPECT_TRUE(is_suspicious(row)) << described(row);
  }
}

// Quotients by such sums are too large, all of them by one factor, which is no larger than a part of it explains.
TEST(HalfSums, OfProcessorsExplainNoFactorOfAllElements) {
  constexpr std::int64_t columns = 4096;
  const std::vector<ApiCall> calls{
      along_last("Functional.softmax.0", {40, columns}, {40, columns}, {std::int64_t{-1}}, -2),
      along_last("Functional.layer_norm.0", {40, columns}, {40, columns}, {Value(List{Value(columns)})}, -2),
      along_last("Functional.group_norm.0", {2, 8, columns}, {2, 8, columns}, {std::int64_t{2}}, -2),
  };
  for (const ApiCall& call : calls) {
    for (const double factor : {1.1, 0.9}) {
      const ApiResult faulty = check_on(
          processor, call, {}, [&](const MaterialisedCall&, DeviceResult& result) { scale(result.output, factor); });
      EXPECT_TRUE(is_suspicious(faulty)) << factor << ' ' << described(faulty);
    }
  }
}

// Threads that add to one element do lose terms, so that no more than that is explained of what they leave.
TEST(HalfSums, OfThreadsExplainWhatTheyLoseAndNoMore) {
  ApiCall call = call_of("Torch.scatter_add.0", {{1, 40}, {2000, 40}}, {1, 40}, DType::bfloat16, 0.5, 2);
  const Value first_row = call_of("", {{2000, 40}}, {}, DType::int64, 0, 0).args.front();
  call.args.insert(call.args.begin() + 1, {Value(std::int64_t{0}), first_row});
  call.has_backward = false;
  EvaluationOptions narrow;
  narrow.arithmetic.summation.accumulator = Accumulator::bfloat16;
  for (const HalfRounding device : {processor, accelerator}) {
    const ApiResult sound = check_on(device, call, narrow, {});
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
    for (const double factor : {-1.0, 0.0, 1.5}) {
      const ApiResult faulty = check_on(
          device, call, {}, [&](const MaterialisedCall&, DeviceResult& result) { scale(result.output, factor); });
      EXPECT_TRUE(is_suspicious(faulty)) << factor << ' ' << described(faulty);
    }
  }
}

}  // namespace
}  // namespace msrun::testing
