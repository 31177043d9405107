// Results that are the exponential of logarithms which cancel: these are off by a place, however large they are.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/numeric/special_functions.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

// Of the last steps the last label has nearly all alignments. Their share is the exponential of sums of 50 logarithms,
// which are the same sums only where they are added in the same order.
TEST(Logarithms, OfAlignmentsMayBeAPlaceOff) {
  constexpr std::int64_t time = 50;
  constexpr std::int64_t classes = 8;
  constexpr std::int64_t length = 12;  // of the target
  constexpr std::int64_t last = 1 + (length - 1) % (classes - 1);
  std::vector<double> log_probs;
  for (std::int64_t i = 0; i < time * classes; ++i) {
    const double any = -1.5 - 3 * std::abs(std::sin(static_cast<double>(7 * i + 3)));
    const double decided = i % classes == last ? -2.5 : -60;
    log_probs.push_back(i / classes < time - 3 ? any : decided);
  }
  std::vector<double> labels;
  for (std::int64_t i = 0; i < length; ++i) labels.push_back(static_cast<double>(1 + i % (classes - 1)));
  TensorFiles files;
  const Dims one{1};
  ApiCall call = call_with("Functional.ctc_loss.0",
                           {files.file(of(DType::float64, {time, 1, classes}, log_probs)),
                            files.file(of(DType::int64, {1, length}, labels), false),
                            files.file(of(DType::int64, one, {static_cast<double>(time)}), false),
                            files.file(of(DType::int64, one, {static_cast<double>(length)}), false)},
                           {{"reduction", std::string("none")}});
  call.has_backward = true;
  call.grad_inputs = {files.file(of(DType::float64, one, {0.75}), false)};
  const auto accuses = [&](double error) {
    const Change change = [&](DeviceResult& result, int) {
      set_elements(result.gradients.front(), [&](double value, std::int64_t i) {
        const double probability = 0.75 * std::exp(log_probs[static_cast<std::size_t>(i)]);
        return probability - (probability - value) * (i % 2 == 0 ? 1 + error : 1 - error);
      });
    };
    const ApiResult result = check(call, change, {}, files.options());
    EXPECT_FALSE(result.backward_rows.empty()) << described(result);
    return is_suspicious(result);
  };
  EXPECT_FALSE(accuses(0));
  EXPECT_FALSE(accuses(1.5e-13));
  EXPECT_TRUE(accuses(1e-11));
}

// The factor x^a e^-x / gamma(a) of an incomplete gamma function, whose logarithms are larger than the function.
TEST(Logarithms, OfAnIncompleteGammaFunctionMayBeAPlaceOff) {
  std::vector<double> orders;
  std::vector<double> places;
  for (int i = 0; i < 32; ++i) {
    orders.push_back(1.4 + 0.05 * i);
    places.push_back(1.57 + 0.06 * i);
  }
  TensorFiles files;
  const Dims shape{32};
  const ApiCall call = call_with("Torch.igammac.0", {files.file(of(DType::float64, shape, orders), false),
                                                     files.file(of(DType::float64, shape, places), false)});
  const auto accuses = [&](double error) {
    return is_suspicious(check(
        call,
        [&](DeviceResult& result, int) {
          set_elements(result.output, [&](double, std::int64_t i) {
            const auto at = static_cast<std::size_t>(i);
            return gamma_q(orders[at], places[at]) * (i % 2 == 0 ? 1 + error : 1 - error);
          });
        },
        {}, files.options()));
  };
  EXPECT_FALSE(accuses(0));
  EXPECT_FALSE(accuses(4e-15));
  EXPECT_TRUE(accuses(1e-13));
}

}  // namespace
}  // namespace msrun::testing
