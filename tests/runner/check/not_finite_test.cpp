// Infinite extrema without tensors: most elements have one value whatever the order of operations, and any other is a
// fault; where sums of numbers at the end of the range are formed, several are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/runner/check/other_arithmetic.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;
using ::testing::HasSubstr;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

struct Extrema {
  double least;
  double most;
};

struct Case {
  std::string name;
  std::vector<Dims> shapes;  // the first has the extrema
  List more = {};
  Dict keywords = {};
};

ApiCall call_within(const Case& of, const Extrema& extrema, DType dtype) {
  ApiCall call = call_of(of.name, of.shapes, {}, dtype, -2, 2);
  call.has_backward = false;
  call.grad_inputs.clear();
  call.args[0] = call_of("", {of.shapes[0]}, {}, dtype, extrema.least, extrema.most).args[0];
  for (const Value& value : of.more) call.args.push_back(value);
  call.kwargs = of.keywords;
  return call;
}

Value& first_tensor(DeviceResult& result) {
  List* const list = result.output.get<List>();
  return list == nullptr ? result.output : list->front();
}

// The element at this share of the output becomes another one, which no order of operations gives.
Change with_another(double share, bool not_a_number) {
  return [=](DeviceResult& result, int) {
    Value& output = first_tensor(result);
    const std::int64_t count = output.get<Tensor>()->numel();
    const auto place = static_cast<std::int64_t>(share * static_cast<double>(count - 1));
    set_elements(output, [=](double value, std::int64_t i) {
      if (i != place) return value;
      if (not_a_number && !std::isnan(value)) return no_number;
      return std::isfinite(value) ? value + 1 + std::abs(value) : 1;
    });
  };
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"Torch.add.0", {{6, 20}, {6, 20}}},
      {"Torch.mul.0", {{6, 20}, {6, 20}}},
      {"Torch.sub.0", {{6, 20}, {6, 20}}},
      {"Torch.div.0", {{6, 20}, {6, 20}}},
      {"Torch.sum.0", {{6, 20}}, {std::int64_t{1}}},
      {"Torch.mean.0", {{6, 20}}, {std::int64_t{1}}},
      {"Torch.matmul.0", {{6, 20}, {20, 5}}},
      {"Functional.linear.0", {{6, 20}, {5, 20}}},
      {"Torch.max.0", {{6, 20}}, {std::int64_t{1}}},
      {"Torch.amin.0", {{6, 20}}, {std::int64_t{1}}},
      {"Torch.maximum.0", {{6, 20}, {6, 20}}},
      {"Torch.clone.0", {{6, 20}}},
      {"Torch.exp.0", {{6, 20}}},
      {"Torch.sigmoid.0", {{6, 20}}},
      {"Functional.relu.0", {{6, 20}}},
      {"Torch.cumsum.0", {{6, 20}}, {std::int64_t{1}}},
      {"Functional.softmax.0", {{6, 20}}, {}, {{"dim", std::int64_t{-1}}}},
  };
  return all;
}

TEST(NotFinite, HasOneValueInAnyOrderAndRange) {
  for (const Case& of : cases()) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      for (const Extrema& extrema :
           {Extrema{-infinite, -infinite}, Extrema{infinite, infinite}, Extrema{-infinite, 1}, Extrema{-1, infinite}}) {
        SCOPED_TRACE(of.name + " " + std::string(name(dtype)) + " from " + std::to_string(extrema.least) + " to " +
                     std::to_string(extrema.most));
        const ApiCall call = call_within(of, extrema, dtype);
        expect_sound(call, {});
        for (const double share : {0.0, 0.4, 1.0}) {
          for (const bool not_a_number : {true, false}) expect_fault(call, with_another(share, not_a_number));
        }
      }
    }
  }
}

// (x - mean) / deviation may be formed as x / deviation - mean / deviation.
TEST(NotFinite, DependsOnTheFormOfAFormula) {
  const Case of{"Functional.layer_norm.0", {{6, 20}}, {List{std::int64_t{20}}}};
  const ApiCall call = call_within(of, {-infinite, 1}, DType::float32);
  const auto lost = [](double instead) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double value, std::int64_t) { return std::isfinite(value) ? value : instead; });
    };
  };
  expect_sound(call, lost(no_number));
  expect_fault(call, lost(1));
}

// Sums of numbers at both ends of the range: a term is infinite, or they exceed the range before they cancel.
TEST(NotFinite, DependsOnTheOrderWhereSumsExceedTheRange) {
  const Case of{"Torch.sum.0", {{6, 20}}, {std::int64_t{1}}};
  const ApiCall call = call_within(of, {-infinite, 1e38}, DType::float32);
  const auto first = [](double value) {
    return [=](DeviceResult& result, int) {
      set_elements(result.output, [=](double sound, std::int64_t i) { return i == 0 ? value : sound; });
    };
  };
  expect_sound(call, first(-infinite));
  expect_sound(call, first(no_number));
  expect_fault(call, first(infinite));
  expect_fault(call, first(1));
  EXPECT_THAT(described(check(call, first(no_number))), HasSubstr("; 1 element not finite because"));
}

}  // namespace
}  // namespace msrun::testing
