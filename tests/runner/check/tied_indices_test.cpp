// Indices of equal elements and their gradients, in calls that name their input and in those that ask for an order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

constexpr std::int64_t rows = 4;
constexpr std::int64_t length = 6;

// Each row has three values, every one of them twice: at k and at k + 3.
Tensor tied() {
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows * length; ++i) values.push_back(static_cast<double>(i % 3 * 2 + i / length));
  return Tensor::from<double>(DType::float64, Dims{rows, length}, values).to(DType::float32);
}

using Index = std::function<std::int64_t(std::int64_t)>;

// The index of the element that equals that of an index.
std::int64_t twin(std::int64_t index) { return (index + 3) % length; }

ComputingDevice::Change with_indices(const Index& change) {
  return [change](DeviceResult& result, int) {
    List outputs = result.output.is<Tensor>() ? List{result.output} : *result.output.get<List>();
    Tensor indices = outputs.back().get<Tensor>()->clone();
    auto* const at = indices.mutable_data<std::int64_t>();
    std::transform(at, at + indices.numel(), at, change);
    outputs.back() = indices;
    result.output = result.output.is<Tensor>() ? outputs.back() : Value(outputs);
  };
}

class TiedIndices : public ::testing::Test {
 protected:
  // The input by its place and by its name.
  std::vector<ApiCall> calls(const std::string& name, const Dict& options) {
    ApiCall by_place;
    by_place.name = name;
    by_place.args = {files_.file(tied())};
    by_place.kwargs = options;
    ApiCall by_name = by_place;
    by_name.kwargs.insert(by_name.kwargs.begin() + (by_name.kwargs.empty() ? 0 : 1), {"input", by_place.args.front()});
    by_name.args.clear();
    return {by_place, by_name};
  }

  bool accused(const ApiCall& call, const ComputingDevice::Change& change) {
    ComputingDevice device(change);
    const ApiResult result = check_api(call, 0, device, 0, files_.options());
    EXPECT_EQ(result.outcome, Outcome::checked) << result.message;
    for (const DetailsRow& row : result.forward_rows) {
      EXPECT_EQ(row.message.find(".Elements"), std::string::npos) << row.message;
    }
    return is_suspicious(result) || result.forward == Status::error;
  }

  TensorFiles files_;
};

TEST_F(TiedIndices, AreJudgedByWhatTheySelect) {
  const Value last = std::int64_t{1};
  const std::vector<std::pair<std::string, Dict>> apis{{"Torch.max.0", {{"dim", last}}},
                                                       {"Torch.sort.0", {{"dim", last}}},
                                                       {"Torch.topk.0", {{"k", Value(std::int64_t{4})}}},
                                                       {"Torch.argsort.0", {{"dim", last}}},
                                                       {"Torch.argmin.0", {{"dim", last}}}};
  for (const auto& [name, options] : apis) {
    for (const ApiCall& call : calls(name, options)) {
      EXPECT_FALSE(accused(call, {})) << name;
      EXPECT_FALSE(accused(call, with_indices(twin))) << name << (call.args.empty() ? " by name" : "");
      EXPECT_TRUE(accused(call, with_indices([](std::int64_t) { return 1; }))) << name;
      EXPECT_TRUE(accused(call, with_indices([](std::int64_t index) { return (index + 1) % length; }))) << name;
    }
  }
}

// stable=True: equal elements stay in their order.
TEST_F(TiedIndices, AreThoseOfTheInputsOrderWhereACallAsksForIt) {
  for (const char* name : {"Torch.sort.0", "Torch.argsort.0"}) {
    for (const bool stable : {false, true}) {
      for (const ApiCall& call : calls(name, {{"stable", Value(stable)}})) {
        EXPECT_FALSE(accused(call, {}));
        EXPECT_EQ(accused(call, with_indices(twin)), stable) << name;
      }
    }
  }
}

// The gradient of a value is that of the element that was picked.
TEST_F(TiedIndices, TakeTheirGradientsWithThem) {
  const Tensor given = Tensor::from<double>(DType::float64, Dims{rows}, std::vector<double>{1, 2, 3, 4});
  for (ApiCall call : calls("Torch.amin.0", {})) {
    call.name = "Torch.min.0";
    call.kwargs.push_back({"dim", Value(std::int64_t{1})});
    call.has_backward = true;
    call.grad_inputs = {files_.file(given.to(DType::float32))};
    const auto picked = [](std::int64_t element, double factor) {
      return [=](DeviceResult& result, int) {
        with_indices([=](std::int64_t) { return element; })(result, 0);
        Tensor gradient = Tensor::zeros(DType::float32, Dims{rows, length});
        for (std::int64_t row = 0; row < rows; ++row)
          gradient.mutable_data<float>()[row * length + element] =
              static_cast<float>(factor * static_cast<double>(row + 1));
        result.gradients.front() = gradient;
      };
    };
    EXPECT_FALSE(accused(call, picked(0, 1)));
    EXPECT_FALSE(accused(call, picked(3, 1))) << (call.args.empty() ? "by name" : "");
    EXPECT_TRUE(accused(call, picked(3, 1.01)));
    EXPECT_TRUE(accused(call, picked(1, 1)));
  }
}

}  // namespace
}  // namespace msrun::testing
