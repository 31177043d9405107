// Sums of half types on an accelerator: those that its kernels form in float32 are granted no rounding after every
// addition, whatever they are long for; those that threads add to one element, and running sums, are.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace msrun::testing
