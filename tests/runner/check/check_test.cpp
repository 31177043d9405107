// What becomes of one call: the verdicts of both directions, which reading of gradients counts, and what Messages add.
#include "runner/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

#include "kernels/base/error.h"
#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* came_and_went = "The device's result was another one when the call was run again.";

TEST(Check, SoundCallsPassInBothDirections) {
  const ApiResult result = check(call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8}), {});
  EXPECT_EQ(result.outcome, Outcome::checked);
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.backward, Status::pass);
  ASSERT_EQ(result.backward_rows.size(), 2U);
}

TEST(Check, EachDirectionFailsAlone) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  ApiResult result = check(call, [](DeviceResult& of, int) { scale(of.output, 2); });
  EXPECT_EQ(result.forward, Status::error);
  EXPECT_EQ(result.backward, Status::pass);
  EXPECT_THAT(result.forward_rows.at(0).message, Not(HasSubstr(came_and_went)));
  result = check(call, [](DeviceResult& of, int) { scale(of.gradients.at(1), 2); });
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.backward, Status::error);
  EXPECT_EQ(result.backward_rows.at(0).status, Status::pass);
  EXPECT_EQ(result.backward_rows.at(1).status, Status::error);
}

TEST(Check, WarningsAreNoPass) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8}, DType::float32, -20, 20);
  const ApiResult result = check(call, [](DeviceResult& of, int) {
    scale(of.output, 1.0009);
    scale(of.gradients.at(0), 1.0009);
  });
  EXPECT_EQ(result.forward, Status::warning);
  EXPECT_EQ(result.backward, Status::warning);
}

TEST(Check, FaultsThatComeAndGoAreNamed) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  ApiResult result = check(call, [](DeviceResult& of, int run) { scale(of.output, run == 0 ? 2 : 1); });
  EXPECT_EQ(result.forward, Status::error) << "the verdict stands";
  EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr(came_and_went));
  EXPECT_THAT(result.backward_rows.at(0).message, Not(HasSubstr(came_and_went)));
  result = check(call, [](DeviceResult& of, int run) { scale(of.gradients.at(0), run == 0 ? 2 : 1); });
  EXPECT_EQ(result.backward, Status::error);
  EXPECT_THAT(result.backward_rows.at(0).message, HasSubstr(came_and_went));
  EXPECT_THAT(result.backward_rows.at(1).message, Not(HasSubstr(came_and_went))) << "it is right";
}

// A Message may end without an end of line, as that of another shape does.
TEST(Check, WhatIsAddedToAMessageIsALineOfItsOwn) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  const ApiResult result = check(call, [](DeviceResult& of, int run) {
    if (run == 0) of.output = Tensor::zeros(DType::float32, Dims{8, 2});
  });
  EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr(std::string("not equal.\n") + came_and_went + "\n"));
}

// What the device says when it is asked again takes nothing back.
TEST(Check, AFaultStandsThatCouldNotBeLookedAtAgain) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  const auto refused = [&](const auto& refuse) {
    const ApiResult result = check(call, [&](DeviceResult& of, int run) {
      if (run > 0) refuse();
      scale(of.output, 2);
    });
    EXPECT_EQ(result.forward, Status::error);
    EXPECT_EQ(result.outcome, Outcome::checked);
    return result.forward_rows.empty() ? std::string() : result.forward_rows.front().message;
  };
  const std::string unknown = "Whether the result stays the same is not known, the call could not be run again: ";
  EXPECT_THAT(refused([] { throw DeviceError("The card is busy."); }), HasSubstr(unknown + "The card is busy."));
  EXPECT_THAT(refused([] { throw SkipError("No such kernel."); }), HasSubstr(unknown + "No such kernel."));
  EXPECT_THAT(refused([] { throw std::bad_alloc(); }), HasSubstr(unknown + "not enough memory."));
}

TEST(Check, OneReadingOfGradientsMustBeRight) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  const auto with_readings = [&](double first, double second) {
    return check(call, [=](DeviceResult& of, int) {
      for (const double factor : {first, second}) {
        of.other_gradients.push_back(of.gradients);
        for (Value& gradient : of.other_gradients.back()) scale(gradient, factor);
      }
      scale(of.gradients.at(0), 3);
    });
  };
  EXPECT_EQ(with_readings(2, 1).backward, Status::pass);
  EXPECT_EQ(with_readings(1, 2).backward, Status::pass);
  const ApiResult wrong = with_readings(2, 2);
  EXPECT_EQ(wrong.backward, Status::error);
  EXPECT_EQ(wrong.backward_rows.at(1).status, Status::pass) << "the first reading is told";
}

TEST(Check, GradientsThatMayNotBeThoseProveNothing) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  const auto doubted = [&](double factor) {
    return check(call, [=](DeviceResult& of, int) {
      scale(of.gradients.at(0), factor);
      of.gradient_doubt = "The order is not known.";
      of.recorded_gradients = of.gradients;
    });
  };
  EXPECT_EQ(doubted(1).backward, Status::pass);
  const ApiResult result = doubted(2);
  EXPECT_EQ(result.backward, Status::skip);
  EXPECT_EQ(result.backward_rows.at(0).message, "The order is not known.");
}

// The limits let a reading pass that is a little off; the one that is right counts.
TEST(Check, AReadingBeyondRoundingIsNotTheRightOne) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  const auto read_as = [&](double factor, bool right_too) {
    return check(call, [=](DeviceResult& of, int) {
      if (right_too) of.other_gradients = {of.gradients};
      scale(of.gradients.at(0), factor);
      of.recorded_gradients = of.gradients;
    });
  };
  EXPECT_FALSE(is_suspicious(read_as(1.00001, true)));
  const ApiResult wrong = read_as(1.00001, false);
  EXPECT_EQ(wrong.backward, Status::pass);
  EXPECT_TRUE(is_suspicious(wrong));
}

TEST(Check, LostGradientsAreNoPass) {
  const ApiResult result = check(call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8}), [](DeviceResult& of, int) {
    of.gradients.clear();
    of.backward_problem = "The backward failed.";
  });
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.backward, Status::skip);
  EXPECT_EQ(result.backward_rows.at(0).message, "The backward failed.");
}

// All elements are equal: which of them was picked, and got the gradient, is free where the value is right.
TEST(Check, GradientsOfTiesGoWithARightForward) {
  ApiCall call = call_of("Torch.max.0", {{2, 8}}, {2}, DType::float32, 1, 1);
  call.args.emplace_back(std::int64_t{1});
  const auto other_element = [](DeviceResult& of) {
    // The gradient of each row is that of one element: shift it to the next.
    Tensor gradient = of.gradients.at(0).get<Tensor>()->clone();
    const Tensor before = gradient.clone();
    for (std::int64_t i = 0; i < 16; ++i) {
      gradient.mutable_data<float>()[i / 8 * 8 + (i + 1) % 8] = before.data<float>()[i];
    }
    of.gradients.at(0) = gradient;
  };
  EXPECT_EQ(check(call, [&](DeviceResult& of, int) { other_element(of); }).backward, Status::pass);
  const ApiResult wrong = check(call, [&](DeviceResult& of, int) {
    other_element(of);
    List items = *of.output.get<List>();
    scale(items.at(0), 2);
    of.output = items;
  });
  EXPECT_EQ(wrong.forward, Status::error);
  EXPECT_EQ(wrong.backward, Status::error);
}

// Of a 0-d tensor some torches keep no axis and some one; a recorded gradient is of either.
TEST(Check, AnAxisMayBeAddedWhereTorchAddsIt) {
  const auto device = [](const Dims& shape, double factor) {
    return [=](DeviceResult& of, int) {
      List items = *of.output.get<List>();
      for (Value& item : items) item = item.get<Tensor>()->reshape(shape);
      scale(items.at(1), factor);
      of.output = items;
    };
  };
  for (const Dims& recorded : {Dims{}, Dims{1}}) {
    ApiCall call = call_of("Torch.aminmax.0", {{}}, recorded);
    call.kwargs = {{"dim", std::int64_t{0}}, {"keepdim", true}};
    for (const Dims& shape : {Dims{}, Dims{1}}) {
      const ApiResult sound = check(call, device(shape, 1));
      EXPECT_EQ(sound.forward, Status::pass) << sound.message;
      EXPECT_EQ(sound.backward, Status::pass) << sound.message;
      EXPECT_EQ(check(call, device(shape, 1.5)).forward, Status::error);
    }
    EXPECT_EQ(check(call, device({1, 1}, 1)).forward, Status::error);
  }
  const auto with_axis = [](DeviceResult& of, int) { of.output = of.output.get<Tensor>()->reshape(Dims{1}); };
  EXPECT_EQ(check(call_of("Torch.sum.0", {{4}}, {}), with_axis).forward, Status::error) << "torch never does";
}

TEST(Check, WhatCannotBeRunSaysWhoseFaultItIs) {
  const ApiCall call = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  ApiResult result = check(call, [](DeviceResult&, int) { throw SkipError("Not on this device."); });
  EXPECT_EQ(result.forward, Status::skip);
  EXPECT_EQ(result.outcome, Outcome::not_checkable);
  EXPECT_EQ(result.message, "Not on this device.");
  result = check(call, [](DeviceResult&, int) { throw std::runtime_error("broken"); });
  EXPECT_EQ(result.outcome, Outcome::failed_to_run);
  EXPECT_EQ(result.message, "Internal error: broken");
  result = check(call, [](DeviceResult&, int) { throw std::bad_alloc(); });
  EXPECT_EQ(result.outcome, Outcome::failed_to_run);
}

// What Python's assignment has written is compared where the device gives it; nothing is there to compare in a
// recording, and msProbe looks at nothing else.
TEST(Check, WhatAnAssignmentLeavesIsCompared) {
  ApiCall call = call_of("Tensor.__setitem__.0", {{4, 6}, {6}}, {4, 6});
  call.args.insert(call.args.begin() + 1, Value(std::int64_t{2}));
  call.has_backward = false;
  EXPECT_FALSE(is_suspicious(check(call, {})));
  const auto not_written = [](DeviceResult& result, int) {
    result.output = changed_elements(*result.output.get<Tensor>(),
                                     [](double value, std::int64_t i) { return i == 17 ? value + 0.25 : value; });
  };
  const ApiResult faulty = check(call, not_written);
  EXPECT_EQ(faulty.forward, Status::error);
  EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
  const auto nothing = [](DeviceResult& result, int) { result.output = None{}; };
  CheckOptions compat;
  compat.compare.compat_msprobe = true;
  for (const ApiResult& result : {check(call, nothing), check(call, not_written, {}, compat)}) {
    EXPECT_EQ(result.forward, Status::pass);
    ASSERT_EQ(result.forward_rows.size(), 1U);
    EXPECT_EQ(result.forward_rows.front().message, "Bench output is None, skip this test.");
  }
}

// To msProbe a backward that cannot be run is a failure of the whole call; here the forward keeps its verdict.
TEST(Check, ABackwardThatCannotBeRunTakesTheForwardAlongForMsProbeAlone) {
  const std::string without_graph = "element 0 of tensors does not require grad and does not have a grad_fn";
  const std::string without_input = "Backward input of Torch.mul.0 is empty.";
  ApiCall fixed = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  for (Value& argument : fixed.args) {
    auto spec = std::make_shared<TensorSpec>(**argument.get<std::shared_ptr<const TensorSpec>>());
    spec->requires_grad = false;
    argument = std::shared_ptr<const TensorSpec>(spec);
  }
  ApiCall empty = call_of("Torch.mul.0", {{2, 8}, {2, 8}}, {2, 8});
  ApiCall null = empty;
  empty.grad_inputs.clear();
  null.grad_inputs = {None{}};
  CheckOptions compat;
  compat.compare.compat_msprobe = true;
  for (const auto& [call, reason] : {std::pair{fixed, without_graph}, {empty, without_input}, {null, without_input}}) {
    const ApiResult ours = check(call, {});
    EXPECT_EQ(ours.forward, Status::pass) << reason;
    EXPECT_EQ(ours.backward, Status::skip) << reason;
    const ApiResult upstream = check(call, {}, {}, compat);
    EXPECT_EQ(upstream.forward, Status::skip) << reason;
    EXPECT_EQ(upstream.backward, Status::skip) << reason;
    EXPECT_EQ(upstream.message, reason);
  }
  ApiCall ruled_out = empty;
  ruled_out.kwargs.emplace_back("out", ruled_out.args.front());
  EXPECT_NE(check(ruled_out, {}, {}, compat).forward, Status::skip) << "a rule leaves that backward out";
}

}  // namespace
}  // namespace msrun::testing
