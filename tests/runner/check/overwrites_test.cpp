// Calls that write several values to one place: any of them may stay, and nothing else.
#include <gtest/gtest.h>

#include <functional>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using Values = std::vector<double>;
using Indices = std::vector<std::int64_t>;

Value integer(std::int64_t value) { return value; }

// Calls on tensors that lie in files, as in a recording.
class Recorded {
 public:
  Value floats(const Dims& shape, const Values& data, DType dtype = DType::float32) {
    return files_.file(float64(shape, data).to(dtype));
  }
  Value indices(const Dims& shape, const Indices& data) { return files_.file(int64(shape, data), false); }

  ApiResult check(const ApiCall& call, const ComputingDevice::Change& change, bool compat = false) const {
    CheckOptions options = files_.options();
    options.compare.compat_msprobe = compat;
    return testing::check(call, change, {}, options);
  }

 private:
  TensorFiles files_;
};

// A call that writes 7, 8 and 9 to element `twice` of its result, in this order, and 4 to element `once`.
struct Writing {
  ApiCall call;
  std::int64_t twice;
  std::int64_t once;
};

ApiCall named(const char* name, const List& args, const Dict& kwargs, const Value& gradient) {
  ApiCall call;
  call.name = name;
  call.args = args;
  call.kwargs = kwargs;
  call.has_backward = true;
  call.grad_inputs = {gradient};
  return call;
}

std::vector<Writing> writing_calls(Recorded& in) {
  const Values old{0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  const auto x = [&](const Dims& shape) { return in.floats(shape, old); };
  const auto g = [&](const Dims& shape) { return in.floats(shape, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}); };
  const Values sources{7, 8, 9, 4};
  const Indices columns{1, 1, 1, 2};
  const Value rows = in.indices({4}, {0, 0, 0, 1});
  const Value pooled = in.indices({1, 2, 2}, {1, 1, 1, 4});
  return {
      {named("Torch.index_put.0", {x({2, 3}), List{rows, in.indices({4}, columns)}, in.floats({4}, sources)}, {},
             g({2, 3})),
       1, 5},
      {named("Tensor.index_put_.0", {x({6}), List{in.indices({4}, columns)}, in.floats({4}, sources)},
             {{"accumulate", false}}, g({6})),
       1, 2},
      {named("Torch.scatter.0", {x({6}), integer(0), in.indices({4}, columns), in.floats({4}, sources)}, {}, g({6})), 1,
       2},
      {named("Tensor.scatter_.0", {x({1, 6}), integer(1), in.indices({1, 4}, columns), in.floats({1, 4}, sources)}, {},
             g({1, 6})),
       1, 2},
      {named("Torch.index_copy.0", {x({6}), integer(0), in.indices({4}, columns), in.floats({4}, sources)}, {}, g({6})),
       1, 2},
      {named("Tensor.put_.0", {x({2, 3}), in.indices({4}, columns), in.floats({4}, sources)}, {}, g({2, 3})), 1, 2},
      {named("Tensor.__setitem__.0", {x({6}), in.indices({4}, columns), in.floats({4}, sources)}, {}, g({6})), 1, 2},
      {named("Functional.max_unpool2d.0", {in.floats({1, 2, 2}, sources), pooled, integer(1)},
             {{"output_size", List{integer(2), integer(3)}}}, g({1, 2, 3})),
       1, 4},
  };
}

ComputingDevice::Change result_with(std::int64_t place, double value) {
  return [place, value](DeviceResult& result, int) {
    const Tensor& output = *result.output.get<Tensor>();
    Values elements = values(output);
    elements.at(static_cast<std::size_t>(place)) = value;
    result.output = float64(output.shape(), elements).to(output.dtype());
  };
}

TEST(Overwrites, AnyOfTheWrittenValuesMayStay) {
  Recorded recorded;
  for (const Writing& writing : writing_calls(recorded)) {
    for (const double value : {7., 8., 9.}) {
      SCOPED_TRACE(writing.call.name + " keeps " + std::to_string(value));
      const ApiResult result = recorded.check(writing.call, result_with(writing.twice, value));
      EXPECT_EQ(result.forward, Status::pass) << result.message;
      EXPECT_EQ(result.backward, Status::pass);
      EXPECT_FALSE(is_suspicious(result));
      ASSERT_FALSE(result.forward_rows.empty());
      const bool says = result.forward_rows[0].message.find("At 1 of 6 elements several values are written to one") !=
                        std::string::npos;
      EXPECT_EQ(says, value != 9) << result.forward_rows[0].message;
    }
  }
}

// What the place held before, what was written elsewhere, a sum, and a value that is only near one of those written.
TEST(Overwrites, NothingElseMayStay) {
  Recorded recorded;
  for (const Writing& writing : writing_calls(recorded)) {
    for (const double value : {1.5, 4., 24., 7.0001, 0.}) {
      SCOPED_TRACE(writing.call.name + " has " + std::to_string(value));
      EXPECT_TRUE(is_suspicious(recorded.check(writing.call, result_with(writing.twice, value))));
    }
    SCOPED_TRACE(writing.call.name);
    EXPECT_TRUE(is_suspicious(recorded.check(writing.call, result_with(writing.once, 7))));
    EXPECT_TRUE(is_suspicious(recorded.check(writing.call, result_with(0, 7)))) << "nothing is written there";
  }
}

// Another fault beside a choice is found as it is without one.
TEST(Overwrites, AChoiceExcusesNoOtherElement) {
  Recorded recorded;
  for (const Writing& writing : writing_calls(recorded)) {
    const auto both = [&](DeviceResult& result, int run) {
      result_with(writing.twice, 7)(result, run);
      result_with(writing.once, 4.001)(result, run);
    };
    const ApiResult result = recorded.check(writing.call, both);
    EXPECT_TRUE(is_suspicious(result)) << writing.call.name;
    ASSERT_FALSE(result.forward_rows.empty());
    const std::string& message = result.forward_rows[0].message;
    EXPECT_NE(message.find("rounding: 1 of 6 elements differ"), std::string::npos) << message;
  }
}

// torch reads the gradient of every value at its place, whether or not the value stayed.
TEST(Overwrites, ValuesThatDidNotStayHaveAGradient) {
  Recorded recorded;
  for (const Writing& writing : writing_calls(recorded)) {
    SCOPED_TRACE(writing.call.name);
    const auto without_loser = [&](DeviceResult& result, int run) {
      result_with(writing.twice, 9)(result, run);
      for (auto gradient = result.gradients.rbegin(); gradient != result.gradients.rend(); ++gradient) {
        const Tensor* tensor = gradient->get<Tensor>();
        if (tensor == nullptr || tensor->numel() != 4) continue;
        Values elements = values(*tensor);
        EXPECT_NEAR(elements[0], 0.2, 1e-6);
        EXPECT_NEAR(elements[2], 0.2, 1e-6);
        elements[0] = 0;
        *gradient = float64(tensor->shape(), elements).to(tensor->dtype());
        return;
      }
      FAIL() << "no gradient of the values";
    };
    EXPECT_TRUE(is_suspicious(recorded.check(writing.call, without_loser)));
  }
}

// Of sums every term counts.
TEST(Overwrites, SumsLeaveNoChoice) {
  Recorded recorded;
  const Value x = recorded.floats({6}, {0.5, 1.5, 2.5, 3.5, 4.5, 5.5});
  const Value index = recorded.indices({4}, {1, 1, 1, 2});
  const Value source = recorded.floats({4}, {7, 8, 9, 4});
  const Value gradient = recorded.floats({6}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
  for (const ApiCall& call :
       {named("Torch.index_put.0", {x, List{index}, source}, {{"accumulate", true}}, gradient),
        named("Torch.scatter.0", {x, integer(0), index, source}, {{"reduce", std::string("add")}}, gradient),
        named("Torch.scatter_add.0", {x, integer(0), index, source}, {}, gradient)}) {
    for (const double value : {7., 8., 9.})
      EXPECT_TRUE(is_suspicious(recorded.check(call, result_with(1, value)))) << call.name << value;
    EXPECT_FALSE(is_suspicious(recorded.check(call, result_with(1, 25.5)))) << call.name;
  }
}

TEST(Overwrites, MsprobeKnowsNoChoice) {
  Recorded recorded;
  const std::vector<Writing> calls = writing_calls(recorded);
  EXPECT_EQ(recorded.check(calls[0].call, result_with(1, 8), true).forward, Status::error);
}

}  // namespace
}  // namespace msrun::testing
