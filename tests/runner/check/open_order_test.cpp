// topk and unique with sorted=False promise no order: a device may take any, and is right or wrong in that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Fault = std::function<void(std::vector<Tensor>& outputs)>;

constexpr std::int64_t rows = 4;
constexpr std::int64_t columns = 32;
constexpr std::int64_t k = 5;

// Every row turned by its own number of places.
Tensor turned(const Tensor& tensor) {
  Tensor result = tensor.contiguous().clone();
  const std::size_t row = static_cast<std::size_t>(result.size(-1)) * size_of(result.dtype());
  for (std::int64_t i = 0; i < result.size(0); ++i) {
    std::byte* first = result.mutable_data<std::byte>() + static_cast<std::size_t>(i) * row;
    std::rotate(first, first + static_cast<std::size_t>(i + 1) * size_of(result.dtype()), first + row);
  }
  return result;
}

// A device that has the gradient of every output where it has put that.
class TurningDevice final : public Device {
 public:
  explicit TurningDevice(Fault fault) : fault_(std::move(fault)) {}

  DeviceResult run(const DeviceCall& call) override {
    MaterialisedCall inputs = call.materialised;
    const Evaluation evaluation = evaluate(*find_operator("Torch", "topk"), inputs, {});
    DeviceResult result;
    std::vector<Tensor> outputs;
    for (const Value& item : *evaluation.output.get<List>()) outputs.push_back(turned(*item.get<Tensor>()));
    const Tensor given = inputs.gradients.front().get<Tensor>()->contiguous();
    const Tensor index = outputs[1].clone();
    if (fault_) fault_(outputs);
    Tensor gradient = Tensor::zeros(DType::float32, Dims{rows, columns});
    for (std::int64_t i = 0; i < rows * k; ++i)
      gradient.mutable_data<float>()[i / k * columns + index.data<std::int64_t>()[i]] = given.data<float>()[i];
    result.output = List{outputs[0], outputs[1]};
    result.gradients = {gradient};
    return result;
  }
  DeviceArithmetic arithmetic() const override { return {}; }

 private:
  Fault fault_;
};

ApiResult check_topk(bool sorted, const Fault& fault = {}) {
  ApiCall call = call_of("Torch.topk.0", {{rows, columns}}, {rows, k});
  call.args.emplace_back(k);
  call.kwargs = {{"sorted", sorted}};
  TurningDevice device(fault);
  return check_api(call, 0, device, 0, {});
}

TEST(OpenOrder, RowsMayStandInAnyOrder) {
  const ApiResult result = check_topk(false);
  EXPECT_FALSE(is_suspicious(result)) << result.message;
  EXPECT_EQ(result.forward, Status::pass);
  EXPECT_EQ(result.backward, Status::pass);
  EXPECT_THAT(result.forward_rows.front().message, HasSubstr("Their order is open"));
  EXPECT_TRUE(is_suspicious(check_topk(true))) << "an order was asked for";
}

TEST(OpenOrder, RowsHaveFaultsAllTheSame) {
  const Fault wrong_value = [](auto& outputs) { outputs[0].template mutable_data<float>()[3] *= 0.75F; };
  const Fault wrong_index = [](auto& outputs) {
    auto* index = outputs[1].template mutable_data<std::int64_t>();
    std::swap(index[0], index[1]);
  };
  const Fault twice = [](auto& outputs) {
    for (Tensor& output : outputs) {
      const std::size_t bytes = size_of(output.dtype());
      auto* first = output.template mutable_data<std::byte>();
      std::copy(first, first + bytes, first + bytes);
    }
  };
  for (const Fault& fault : {wrong_value, wrong_index, twice}) EXPECT_TRUE(is_suspicious(check_topk(false, fault)));
}

ApiResult check_unique(bool sorted, bool beside, const std::vector<std::vector<double>>& found) {
  ApiCall call;
  call.name = "Torch.unique.0";
  call.args = {int64({6}, {7, 3, 7, 9, 3, 7})};
  call.kwargs = {{"sorted", sorted}, {"return_inverse", beside}, {"return_counts", beside}};
  return check(call, [&](DeviceResult& result, int) {
    List outputs;
    for (const auto& values : found) outputs.push_back(float64({std::ssize(values)}, values).to(DType::int64));
    result.output = beside ? Value(outputs) : outputs.front();
  });
}

TEST(OpenOrder, GroupsMayStandInAnyOrder) {
  EXPECT_FALSE(is_suspicious(check_unique(false, false, {{9, 3, 7}})));
  EXPECT_FALSE(is_suspicious(check_unique(false, false, {{3, 7, 9}})));
  EXPECT_TRUE(is_suspicious(check_unique(true, false, {{9, 3, 7}})));
  EXPECT_FALSE(is_suspicious(check_unique(false, true, {{9, 3, 7}, {2, 1, 2, 0, 1, 2}, {1, 2, 3}})));
}

TEST(OpenOrder, GroupsHaveFaultsAllTheSame) {
  EXPECT_TRUE(is_suspicious(check_unique(false, false, {{9, 3, 8}})));
  EXPECT_TRUE(is_suspicious(check_unique(false, false, {{9, 3, 7, 7}})));
  EXPECT_TRUE(is_suspicious(check_unique(false, true, {{9, 3, 7}, {2, 1, 2, 0, 1, 2}, {2, 1, 3}})));
  EXPECT_TRUE(is_suspicious(check_unique(false, true, {{9, 3, 7}, {2, 1, 2, 0, 1, 1}, {1, 2, 3}})));
  EXPECT_TRUE(is_suspicious(check_unique(false, true, {{9, 3, 7}, {2, 1, 2, 5, 1, 2}, {1, 2, 3}})));
  EXPECT_TRUE(is_suspicious(check_unique(false, true, {{9, 3, 7}, {1, 0, 1, 2, 0, 1}, {1, 2, 3}})));
}

}  // namespace
}  // namespace msrun::testing
