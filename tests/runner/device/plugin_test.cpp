// Calls and results in the form of the plugin interface, without a plugin, and what devices outside of msrun answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
#include "runner/device/device_wait.h"
#include "runner/device/plugin/values.h"
#include "tests/support/error_of.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

MaterialisedCall call_of(List args, Dict kwargs = {}) {
  MaterialisedCall call;
  call.name = "Torch.linalg.norm.3";
  call.parts = *ApiName::parse(call.name);
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  return call;
}

DeviceCall asked(const MaterialisedCall& call, const OperatorTraits& traits = ordinary_traits) {
  return {call, "linalg_norm", traits, std::nullopt};
}

TEST(PluginCall, HasNamesAndValues) {
  const MaterialisedCall materialised =
      call_of({None{}, true, std::int64_t{-3}, 0.5, std::string("sum"), DType::bfloat16, Slice{1, std::nullopt, 2},
               Ellipsis{}, DeviceName{"npu:0"}, List{std::int64_t{1}, List{}}},
              {{"out", Dict{{"a", std::int64_t{7}}}}});
  const PluginCall request(asked(materialised));
  const msrun_call& call = request.call();
  EXPECT_EQ(call.size, sizeof(msrun_call));
  EXPECT_STREQ(call.name, "Torch.linalg.norm.3");
  EXPECT_STREQ(call.type, "Torch");
  EXPECT_STREQ(call.api, "linalg.norm");
  EXPECT_STREQ(call.canonical, "linalg_norm");
  ASSERT_EQ(call.args.count, 10U);
  const msrun_value* args = call.args.items;
  std::vector<msrun_kind> kinds;
  for (std::size_t i = 0; i < 10; ++i) kinds.push_back(args[i].kind);
  EXPECT_THAT(kinds, ElementsAre(MSRUN_NONE, MSRUN_FLAG, MSRUN_INTEGER, MSRUN_REAL, MSRUN_TEXT, MSRUN_DTYPE,
                                 MSRUN_SLICE, MSRUN_ELLIPSIS, MSRUN_DEVICE, MSRUN_LIST));
  EXPECT_EQ(args[1].as.integer, 1);
  EXPECT_EQ(args[2].as.integer, -3);
  EXPECT_EQ(args[3].as.real, 0.5);
  EXPECT_STREQ(args[4].as.text, "sum");
  EXPECT_EQ(args[5].as.integer, MSRUN_BFLOAT16);
  EXPECT_EQ(args[6].as.slice.start, 1);
  EXPECT_EQ(args[6].as.slice.has_start, 1);
  EXPECT_EQ(args[6].as.slice.has_stop, 0);
  EXPECT_EQ(args[6].as.slice.step, 2);
  EXPECT_STREQ(args[8].as.text, "npu:0");
  ASSERT_EQ(args[9].as.list.count, 2U);
  EXPECT_EQ(args[9].as.list.items[1].as.list.count, 0U);
  ASSERT_EQ(call.kwargs.count, 1U);
  EXPECT_STREQ(call.kwargs.entries[0].key, "out");
  EXPECT_EQ(call.kwargs.entries[0].value.as.dict.entries[0].value.as.integer, 7);
  EXPECT_EQ(call.autocast, -1);
  EXPECT_EQ(call.backward, 0);
  EXPECT_EQ(call.only_output, -1);
  EXPECT_EQ(call.has_seed, 0);
}

TEST(PluginCall, HasContiguousTensorsAndWhoseGradientIsAskedFor) {
  MaterialisedCall materialised =
      call_of({Tensor::from<float>(DType::float32, Dims{2, 2}, std::array<float, 4>{1, 2, 3, 4}).transpose(0, 1),
               Tensor::full(DType::int64, Dims{}, 5)},
              {{"weight", Tensor::full(DType::bfloat16, Dims{3}, 2)}});
  materialised.requires_grad = {true, true, false};
  materialised.backward.run = true;
  materialised.gradients = {Tensor::full(DType::float32, Dims{2, 2}, 1), None{}};
  materialised.output_dtype = "torch.bfloat16";
  DeviceCall device_call = asked(materialised);
  device_call.only_output = 1;
  const PluginCall request(device_call);
  const msrun_call& call = request.call();
  EXPECT_EQ(request.tensors(), 3U);
  const msrun_tensor& first = call.args.items[0].as.tensor;
  EXPECT_EQ(first.rank, 2);
  EXPECT_EQ(first.sizes[1], 2);
  EXPECT_EQ(first.bytes, 16U);
  EXPECT_EQ(first.dtype, MSRUN_FLOAT32);
  EXPECT_EQ(first.requires_grad, 1);
  float second = 0;
  std::memcpy(&second, static_cast<const char*>(first.data) + 4, 4);
  EXPECT_EQ(second, 3);
  // Integers have none, whatever was recorded.
  EXPECT_EQ(call.args.items[1].as.tensor.requires_grad, 0);
  EXPECT_EQ(call.args.items[1].as.tensor.rank, 0);
  EXPECT_EQ(call.kwargs.entries[0].value.as.tensor.requires_grad, 0);
  EXPECT_EQ(call.backward, 1);
  ASSERT_EQ(call.output_gradients.count, 2U);
  EXPECT_EQ(call.output_gradients.items[0].kind, MSRUN_TENSOR);
  EXPECT_EQ(call.output_gradients.items[0].as.tensor.requires_grad, 0);
  EXPECT_EQ(call.output_gradients.items[1].kind, MSRUN_NONE);
  EXPECT_EQ(call.only_output, 1);
}

TEST(PluginCall, SeedsWhatIsDrawnAndRefusesWhatCannotBeBuilt) {
  OperatorTraits dropout;
  dropout.random_zeros = true;
  const MaterialisedCall materialised = call_of({});
  const PluginCall request(asked(materialised, dropout));
  EXPECT_EQ(request.call().has_seed, 1);
  EXPECT_EQ(request.call().seed, PluginCall(asked(materialised, dropout)).call().seed);
  const MaterialisedCall refused = call_of({Unsupported{"a generator"}});
  EXPECT_EQ(error_of<SkipError>([&] { PluginCall(asked(refused)); }), "a generator");
}

msrun_value tensor_value(const void* data, std::uint64_t bytes, const std::int64_t* sizes, std::int32_t rank,
                         msrun_dtype dtype) {
  msrun_value value{};
  value.kind = MSRUN_TENSOR;
  value.as.tensor = {data, bytes, sizes, rank, dtype, 0, 0};
  return value;
}

TEST(PluginResult, IsCopied) {
  std::array<float, 2> values{1.5F, -2};
  const std::array<std::int64_t, 1> sizes{2};
  std::array<msrun_value, 3> outputs{};
  outputs[0] = tensor_value(values.data(), 8, sizes.data(), 1, MSRUN_FLOAT32);
  outputs[1].kind = MSRUN_INTEGER;
  outputs[1].as.integer = 7;
  std::array<msrun_value, 2> gradients{};
  gradients[1] = tensor_value(nullptr, 4, nullptr, 0, MSRUN_FLOAT32);
  msrun_result result{};
  result.output.kind = MSRUN_LIST;
  result.output.as.list = {outputs.data(), outputs.size()};
  result.gradients = {gradients.data(), gradients.size()};
  EXPECT_THAT(error_of<DeviceError>([&] { read_result(result, 2); }), HasSubstr("the elements of a tensor are null"));
  gradients[1].as.tensor.data = values.data();
  EXPECT_EQ(error_of<DeviceError>([&] { read_result(result, 3); }), "there are 2 gradients of 3 tensors");
  result.backward_problem = "one line\nand another";
  const DeviceResult read = read_result(result, 2);
  values.fill(0);
  const List& items = *read.output.get<List>();
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].get<Tensor>()->data<float>()[1], -2);
  EXPECT_EQ(*items[1].get<std::int64_t>(), 7);
  EXPECT_TRUE(items[2].is_none());
  EXPECT_TRUE(read.gradients[0].is_none());
  EXPECT_EQ(read.gradients[1].get<Tensor>()->data<float>()[0], 1.5F);
  EXPECT_THAT(read.backward_problem, HasSubstr("and another"));
}

// Memory that a kernel left as it was may hold any byte, and a bool of another is no bool.
TEST(DeviceReply, BytesOfBoolsAreFalseOrTrue) {
  const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{1}, std::byte{0xfe}};
  const Tensor tensor = tensor_of(DType::boolean, Dims{3}, bytes);
  EXPECT_EQ(tensor.data<std::byte>()[0], std::byte{0});
  EXPECT_EQ(tensor.data<std::byte>()[2], std::byte{1});
}

TEST(DeviceReply, SaysWhatBecameOfTheCall) {
  MaterialisedCall materialised = call_of({});
  const auto refused = [&](ReplyStatus status) {
    return error_of<SkipError>([&] { result_of({status, "its\nreason", {}}, asked(materialised), "plugin:x"); });
  };
  EXPECT_THAT(refused(ReplyStatus::unsupported), HasSubstr("plugin:x does not have this call: its"));
  EXPECT_THAT(refused(ReplyStatus::arguments), HasSubstr("does not take these arguments"));
  EXPECT_THAT(refused(ReplyStatus::failed), HasSubstr("could not run the call"));
  EXPECT_THROW(result_of({ReplyStatus::out_of_memory, "", {}}, asked(materialised), "plugin:x"), NoTensorMemory);
  materialised.backward.run = true;
  Reply reply;
  reply.result.output = Tensor::full(DType::float32, Dims{}, 1);
  EXPECT_EQ(result_of(reply, asked(materialised), "plugin:x").backward_problem, "The device returned no gradients.");
}

TEST(DeviceReply, AsksASecondTimeAfterMemoryWasGivenBack) {
  CallTurns turns;
  std::string steps;
  const auto ask = [&] {
    steps += "a";
    Reply reply;
    if (steps == "a") reply.status = ReplyStatus::out_of_memory;
    return reply;
  };
  EXPECT_EQ(turns.run(ask, [&] { steps += "g"; }).status, ReplyStatus::done);
  EXPECT_EQ(steps, "aga");
}

// A call that is asked, answers what it is told to, and says what it does.
class AskedCall {
 public:
  using Steps = std::function<void(const std::string&)>;
  // Each time it is asked it waits for release, if there is one.
  AskedCall(CallTurns& turns, std::string name, Steps steps, std::vector<ReplyStatus> answers,
            std::latch* release = nullptr)
      : thread_([=, &turns, answers = std::move(answers)] {
          std::size_t times = 0;
          const WaitTerms terms{{}, {}, [&](bool waits) { steps(name + (waits ? " waits" : " goes on")); }};
          wait_terms() = &terms;
          const auto ask = [&] {
            steps(name + " is asked");
            if (release != nullptr) release->wait();
            Reply reply;
            reply.status = answers[std::min(times++, answers.size() - 1)];
            return reply;
          };
          turns.run(ask, [] {});
          wait_terms() = nullptr;
        }) {}

 private:
  std::jthread thread_;
};

// What happened, in order, of several threads.
class Happenings {
 public:
  void add(const std::string& what) {
    const std::lock_guard guard(mutex_);
    all_.push_back(what);
    changed_.notify_all();
  }
  // False if it does not happen within ten seconds.
  bool wait_for(const std::string& what) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, std::chrono::seconds(10), [&] { return std::ranges::count(all_, what) > 0; });
  }
  std::vector<std::string> all() {
    const std::lock_guard guard(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

// What a call waits for is no time of its own, and it is its own time while it is asked. A call that needs the memory
// of all others waits for those that came before it, and those that come later wait for it.
TEST(DeviceReply, WaitsForOtherCallsOutsideOfItsTime) {
  CallTurns turns;
  Happenings happenings;
  std::latch release(1);
  const auto add = [&](const std::string& what) { happenings.add(what); };
  {
    const AskedCall first(turns, "first", add, {ReplyStatus::done}, &release);
    ASSERT_TRUE(happenings.wait_for("first is asked"));
    const AskedCall large(turns, "large", add, {ReplyStatus::out_of_memory, ReplyStatus::done});
    EXPECT_TRUE(happenings.wait_for("large waits"));
    const AskedCall later(turns, "later", add, {ReplyStatus::done});
    EXPECT_TRUE(happenings.wait_for("later waits"));
    release.count_down();
  }
  EXPECT_THAT(happenings.all(), ElementsAre("first is asked", "large is asked", "large waits", "later waits",
                                            "large goes on", "large is asked", "later goes on", "later is asked"));
}

}  // namespace
}  // namespace msrun
