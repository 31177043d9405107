// The simulated device with faults: which tensors of a result they concern, and that threads and repetition change
// nothing.
#include "runner/device/sim/sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/api/operators.h"
#include "kernels/tensor/random.h"
#include "runner/device/device_wait.h"
#include "tests/support/tensor_values.h"

namespace msrun {
namespace {

using ::testing::Each;
using ::testing::Ne;
using testing::values;

Tensor data(DType dtype, std::initializer_list<std::int64_t> shape, int seed) {
  Philox words(random_key(static_cast<std::uint64_t>(seed), "data", "of a test"));
  ValueRange range;
  range.min = -1;
  range.max = 1;
  return random_tensor(dtype, Tensor(dtype, shape).shape(), range, words);
}

struct Call {
  MaterialisedCall materialised;
  const Operator* op;

  Call(const char* type, const char* api, List args, List gradients = {}) : op(find_operator(type, api)) {
    materialised.name = std::string(type) + "." + api + ".0";
    materialised.parts = *ApiName::parse(materialised.name);
    materialised.backward.run = !gradients.empty();
    for (const Value& arg : args) {
      const Tensor* tensor = arg.get<Tensor>();
      if (tensor != nullptr) materialised.requires_grad.push_back(is_floating(tensor->dtype()));
    }
    materialised.args = std::move(args);
    materialised.gradients = std::move(gradients);
  }

  DeviceResult run(Device& device, std::uint32_t number = 0, const char* rank = "") const {
    return device.run({materialised, op->name, op->traits(), std::nullopt, number, rank});
  }
  DeviceResult run(const std::vector<const char*>& faults) const {
    std::vector<SimFault> parsed;
    for (const char* fault : faults) parsed.push_back(parse_sim_fault(fault));
    return run(*make_sim_device(parsed));
  }
};

Call product() {
  return {"Torch",
          "matmul",
          {data(DType::float32, {4, 6, 5}, 1), data(DType::float32, {5, 7}, 2)},
          {data(DType::float32, {4, 6, 7}, 3)}};
}

bool same(const Value& a, const Value& b) {
  const Tensor* x = a.get<Tensor>();
  const Tensor* y = b.get<Tensor>();
  return x != nullptr && y != nullptr && bitwise_equal(*x, *y);
}

class StoredFault : public ::testing::TestWithParam<const char*> {};

TEST_P(StoredFault, ConcernsTheOutputAndTheFirstGradient) {
  const DeviceResult sound = product().run(std::vector<const char*>{});
  const DeviceResult faulty = product().run({GetParam()});
  EXPECT_FALSE(same(sound.output, faulty.output));
  EXPECT_FALSE(same(sound.gradients[0], faulty.gradients[0]));
  EXPECT_TRUE(same(sound.gradients[1], faulty.gradients[1]));
  const DeviceResult other = product().run({"Torch.mul.*=hf32"});
  EXPECT_TRUE(same(sound.output, other.output));
}

INSTANTIATE_TEST_SUITE_P(SimDevice, StoredFault,
                         ::testing::Values("*=wrong-element", "*=wrong-block", "*=wrong-once", "*=wrong-tail",
                                           "*=wrong-core=4/16", "*=scale=1.001", "*=transposed", "*=swapped-rows",
                                           "*=nan-tail", "*=uninitialised", "*=stale"));

class EveryFault : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFault, GivesTheSameBitsOnEveryThread) {
  const Call call = product();
  const Call other("Torch", "exp", {data(DType::float16, {300}, 1)}, {data(DType::float16, {300}, 2)});
  const auto device = make_sim_device({parse_sim_fault(GetParam())});
  const DeviceResult expected = call.run({GetParam()});
  constexpr int threads = 4;
  std::vector<DeviceResult> results(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      if (t % 2 == 0) other.run(*device);
      results[static_cast<std::size_t>(t)] = call.run(*device);
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const DeviceResult& result : results) {
    EXPECT_TRUE(same(result.output, expected.output));
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same(result.gradients[i], expected.gradients[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(SimDevice, EveryFault,
                         ::testing::Values("*=acc-fp16", "*=acc-bf16", "*=dropped-term", "*=hf32", "*=ftz",
                                           "*=round-to-zero", "*=wrong-tail", "*=wrong-core=1/3", "*=scale=2",
                                           "*=swapped-rows", "*=uninitialised", "*=stale", "*=gradient-sign",
                                           "*=missing-gradient-term"));

TEST(SimDevice, FaultsOfFloatsPassOverOtherDtypes) {
  // Values and indices: the first float tensor is that of the values.
  const Call call("Torch", "sort", {data(DType::float32, {50}, 1)});
  const DeviceResult sound = call.run(std::vector<const char*>{});
  const DeviceResult faulty = call.run({"*=scale=3"});
  const List* values_and_indices = faulty.output.get<List>();
  ASSERT_NE(values_and_indices, nullptr);
  EXPECT_FALSE(same((*values_and_indices)[0], (*sound.output.get<List>())[0]));
  EXPECT_TRUE(same((*values_and_indices)[1], (*sound.output.get<List>())[1]));
  const Call indices("Torch", "argsort", {data(DType::float32, {50}, 1)});
  const Value clean = indices.run(std::vector<const char*>{}).output;
  EXPECT_TRUE(same(indices.run({"*=nan-tail"}).output, clean));
  EXPECT_FALSE(same(indices.run({"*=wrong-element"}).output, clean));
}

TEST(SimDevice, AnEarlierCallHasOtherDataOfTheKind) {
  // Whatever the order, a sum of the same elements would be the same.
  const Call total("Torch", "sum", {data(DType::float32, {64}, 1)});
  EXPECT_FALSE(same(total.run({"*=stale"}).output, total.run(std::vector<const char*>{}).output));
  // Only values that the input has.
  const Tensor x = data(DType::bfloat16, {64}, 1);
  const Call negated("Torch", "neg", {x});
  const auto before = values(x);
  for (const double y : values(*negated.run({"*=stale"}).output.get<Tensor>()))
    EXPECT_NE(std::find(before.begin(), before.end(), -y), before.end());
  // Elements drawn anew make no positive definite matrix; half of it is one.
  const Tensor definite = Tensor::from<float>(DType::float32, Dims{2, 2}, std::vector<float>{4, 3, 3, 4});
  const Call factor("Torch", "cholesky", {definite});
  EXPECT_FALSE(same(factor.run({"*=stale"}).output, factor.run(std::vector<const char*>{}).output));
}

TEST(SimDevice, TheSignIsThatOfTheGradientAlone) {
  const DeviceResult sound = product().run(std::vector<const char*>{});
  const DeviceResult faulty = product().run({"*=gradient-sign"});
  EXPECT_TRUE(same(sound.output, faulty.output));
  EXPECT_TRUE(same(sound.gradients[1], faulty.gradients[1]));
  const auto right = values(*sound.gradients[0].get<Tensor>());
  const auto wrong = values(*faulty.gradients[0].get<Tensor>());
  for (std::size_t i = 0; i < right.size(); ++i) EXPECT_EQ(wrong[i], -right[i]);
}

TEST(SimDevice, ASumOverTheBatchLacksATerm) {
  const DeviceResult sound = product().run(std::vector<const char*>{});
  const DeviceResult faulty = product().run({"*=missing-gradient-term"});
  EXPECT_TRUE(same(sound.output, faulty.output));
  EXPECT_TRUE(same(sound.gradients[0], faulty.gradients[0])) << "it has an index for every one of the batch";
  // The product of three of four.
  Call three = product();
  const auto first_three = [](Value& value) { value = value.get<Tensor>()->slice(0, 0, 3); };
  first_three(three.materialised.args[0]);
  first_three(three.materialised.gradients[0]);
  const auto want = values(*three.run(std::vector<const char*>{}).gradients[1].get<Tensor>());
  const auto have = values(*faulty.gradients[1].get<Tensor>());
  ASSERT_EQ(have.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-5) << i;
}

TEST(SimDevice, WithoutASumThePartOfTheLastIndexIsZero) {
  const Call call("Torch", "exp", {data(DType::float32, {1, 3, 2}, 1)}, {data(DType::float32, {1, 3, 2}, 2)});
  const auto right = values(*call.run(std::vector<const char*>{}).gradients[0].get<Tensor>());
  const auto wrong = values(*call.run({"*=missing-gradient-term"}).gradients[0].get<Tensor>());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(wrong[i], right[i]);
  EXPECT_THAT(std::vector<double>(wrong.begin() + 4, wrong.end()), Each(0));
  EXPECT_THAT(std::vector<double>(right.begin() + 4, right.end()), Each(Ne(0)));
}

TEST(SimDevice, OneElementGivesWayToABlock) {
  const DeviceResult block = product().run({"*=wrong-block"});
  EXPECT_TRUE(same(product().run({"*=wrong-element", "*=wrong-block", "*=wrong-block"}).output, block.output));
  const auto device = make_sim_device({parse_sim_fault("*=wrong-once")});
  const Value first = product().run(*device).output;
  EXPECT_TRUE(same(first, product().run({"*=wrong-element"}).output));
  EXPECT_TRUE(same(product().run(*device, 1).output, product().run(std::vector<const char*>{}).output));
}

TEST(SimDevice, IsWrongByChanceAsOftenAsAsked) {
  const Call call = product();
  const Value right = call.run(std::vector<const char*>{}).output;
  const auto device = make_sim_device({parse_sim_fault("*=wrong-once=0.25")}, 0, 7);
  int wrong = 0;
  constexpr int runs = 2000;
  for (std::uint32_t number = 0; number < runs; ++number) {
    const Value output = call.run(*device, number).output;
    wrong += same(output, right) ? 0 : 1;
    EXPECT_TRUE(number >= 10 || same(output, call.run(*device, number).output));
  }
  // Four standard deviations.
  EXPECT_NEAR(wrong, runs / 4, 78);
}

TEST(SimDevice, IsWrongOnTheRankThatIsNamed) {
  const Call call = product();
  const Value right = call.run(std::vector<const char*>{}).output;
  const auto device = make_sim_device({parse_sim_fault("rank3:Torch.*=wrong-element")});
  EXPECT_TRUE(same(call.run(*device).output, right));
  EXPECT_TRUE(same(call.run(*device, 0, "step0/rank2").output, right));
  EXPECT_FALSE(same(call.run(*device, 0, "step0/rank3").output, right));
  EXPECT_FALSE(same(call.run(*make_sim_device({parse_sim_fault("*=wrong-element")}), 0, "step0/rank2").output, right));
}

// While it is busy, its host may do other things; and it does one thing at a time.
TEST(SimDevice, IsBusyWithOneCallAtATime) {
  const auto device = make_sim_device({parse_sim_fault("*=slow=0.05")});
  std::atomic<int> waiting = 0;
  std::atomic<int> most = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const WaitTerms terms{[&] { most = std::max<int>(most, ++waiting); }, [&] { --waiting; }};
      wait_terms() = &terms;
      product().run(*device);
      wait_terms() = nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(150));
  EXPECT_GE(most, 1);
  EXPECT_EQ(waiting, 0);
}

TEST(SimDevice, IsWrongOnTheDeviceThatIsNamed) {
  const Value right = product().run(std::vector<const char*>{}).output;
  for (const std::int32_t id : {0, 2, 3}) {
    const auto device = make_sim_device({parse_sim_fault("*=wrong-on-device=2")}, id);
    EXPECT_EQ(same(product().run(*device).output, right), id != 2) << id;
  }
}

}  // namespace
}  // namespace msrun
