// The benchmark of a call of float32 tensors is computed in float64, all of it: results and gradients are those of the
// same numbers given as float64.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/complex.h"
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

constexpr int rounds_of_benchmark = 2;  // calls per entry

// The call with float32 numbers in tensors of this dtype.
MaterialisedCall call_in(DType dtype, const std::string& type, const std::string& api, const SweepCall& call) {
  MaterialisedCall result;
  result.name = type + "." + api + ".0";
  result.parts = {type, api, "0"};
  // The rule for convolutions of the tool in use, which msrun's check leaves out.
  result.hf32 = false;
  std::size_t place = 0;
  const auto convert = [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return leaf;
    const bool is_float = tensor->dtype() == DType::float64;
    const bool is_constant = is_float && std::ranges::find(call.constants, place) != call.constants.end();
    if (is_float) ++place;
    result.requires_grad.push_back(is_float && !is_constant);
    return is_float ? tensor->to(DType::float32).to(dtype) : *tensor;
  };
  for (const Value& value : call.args) result.args.push_back(transform_leaves(value, convert));
  for (const auto& [key, value] : call.kwargs) result.kwargs.emplace_back(key, transform_leaves(value, convert));
  return result;
}

EvaluationOptions as_benchmark() {
  EvaluationOptions options;
  options.benchmark = true;
  // Which dtype Python numbers are rounded to depends on the one that was recorded.
  options.forgets_dtypes = true;
  return options;
}

// A gradient for every floating output, of float32 numbers in this dtype.
List gradients_for(const Value& output, DType dtype) {
  const List outputs = output.is<List>() ? *output.get<List>() : List{output};
  List gradients;
  for (const Value& item : outputs) {
    const Tensor* tensor = item.get<Tensor>();
    if (tensor == nullptr || !is_floating(tensor->dtype())) {
      gradients.emplace_back(None{});
    } else {
      gradients.emplace_back(uniform(tensor->shape(), -1, 1, 3 + gradients.size()).to(DType::float32).to(dtype));
    }
  }
  return gradients;
}

std::vector<Value> all_leaves(const Value& tree) {
  std::vector<Value> result;
  for_each_leaf(tree, [&](const Value& leaf) { result.push_back(leaf); });
  return result;
}

void expect_equal(const Value& raised, const Value& exact, const std::string& what) {
  const std::vector<Value> ours = all_leaves(raised);
  const std::vector<Value> theirs = all_leaves(exact);
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Tensor* a = ours[i].get<Tensor>();
    const Tensor* b = theirs[i].get<Tensor>();
    ASSERT_EQ(a == nullptr, b == nullptr) << what;
    if (a == nullptr) continue;
    EXPECT_EQ(a->dtype(), b->dtype()) << what << ' ' << i;
    EXPECT_TRUE(bitwise_equal(*a, *b)) << what << ' ' << i << " is not that of float64";
  }
}

void expect_float64(const std::string& type, const std::string& api, const SweepCall& call) {
  const Operator* op = find_operator(type, api);
  ASSERT_NE(op, nullptr);
  MaterialisedCall narrow = call_in(DType::float32, type, api, call);
  MaterialisedCall wide = call_in(DType::float64, type, api, call);
  const Value output = evaluate(*op, wide, as_benchmark()).output;
  narrow.gradients = gradients_for(output, DType::float32);
  wide.gradients = gradients_for(output, DType::float64);
  narrow.backward.run = wide.backward.run = true;
  const Evaluation raised = evaluate(*op, narrow, as_benchmark());
  const Evaluation exact = evaluate(*op, wide, as_benchmark());
  expect_equal(raised.output, exact.output, "output");
  EXPECT_EQ(raised.backward_problem, exact.backward_problem);
  expect_equal(raised.gradients, exact.gradients, "gradient");
}

TEST(Float64Benchmark, OfEveryDifferentiableOperator) {
  for (const SweepEntry& entry : whole_sweep()) {
    // Its result has the dtype of another argument, which is float32 here, and is exact.
    if (entry.canonical == "type_as") continue;
    const auto [type, api] = name_of(entry);
    std::seed_seq mixed(api.begin(), api.end());
    std::vector<std::uint32_t> own(1);
    mixed.generate(own.begin(), own.end());
    Draw draw(own[0]);
    for (int round = 0; round < rounds_of_benchmark; ++round) {
      SCOPED_TRACE(type + "." + api + ", call " + std::to_string(round));
      try {
        expect_float64(type, api, entry.make(draw));
      } catch (const SkipError& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

// Tensors of many elements are taken as they are stored, and sums are formed in pieces.
TEST(Float64Benchmark, OfLargeCalls) {
  const auto random = [](const Dims& shape) { return uniform(shape, -1, 1, static_cast<std::uint64_t>(shape.back())); };
  const Tensor rows = random({300, 260});
  const Tensor images = random({4, 6, 60, 61});
  Tensor places(DType::int64, Dims{300});
  for (std::int64_t k = 0; k < 300; ++k) places.mutable_data<std::int64_t>()[k] = k * 7 % 11;
  const Tensor table = random({400, 260});
  struct Named {
    const char* type;
    const char* api;
    SweepCall call;
  };
  const std::vector<Named> calls{
      {"Functional", "linear", {{rows, random({90, 260}), random({90})}}},
      {"Torch", "addmm", {{random({90}), rows, random({260, 90})}}},
      {"Torch", "baddbmm", {{random({1, 1, 30}), random({4, 200, 100}), random({4, 100, 30})}}},
      {"Functional", "conv1d", {{random({3, 8, 4000}), random({6, 8, 3}), random({6})}}},
      {"Functional", "conv2d", {{images, random({8, 6, 3, 3}), random({8})}}},
      {"Functional", "conv3d", {{random({2, 3, 20, 30, 31}), random({4, 3, 2, 2, 2}), random({4})}}},
      {"Functional", "conv_transpose2d", {{images, random({6, 5, 2, 2}), random({5})}}},
      {"Functional",
       "batch_norm",
       {{images, random({6}), Tensor::full(DType::float64, Dims{6}, 2), random({6}), random({6}), true}, {}, {1, 2}}},
      {"Functional", "layer_norm", {{rows, ints({260}), random({260}), random({260})}}},
      {"Functional", "group_norm", {{images, i(3), random({6}), random({6})}}},
      {"Functional", "embedding", {{places, table}}},
      {"Functional", "softmax", {{rows, i(0)}}},
      {"Functional", "cross_entropy", {{rows, places}}},
      {"Functional", "interpolate", {{images}, {{"scale_factor", 1.7}, {"mode", text("bilinear")}}}},
      {"Functional",
       "scaled_dot_product_attention",
       {{random({2, 4, 150, 64}), random({2, 4, 150, 64}), random({2, 4, 150, 64})}}},
      {"Torch", "index_add", {{table, i(0), places, rows}}},
      {"Torch", "index_select", {{table, i(0), places}}},
      {"Tensor", "__getitem__", {{table, places}}},
      {"Torch", "add", {{rows, random({260})}}},
      {"Torch", "mul", {{rows, random({300, 1})}}},
      {"Torch", "sum", {{rows}}},
      {"Torch", "mean", {{images, ints({0, 2, 3})}}},
      {"Torch", "var", {{rows, i(0)}}},
      {"Torch", "cumsum", {{rows, i(0)}}},
      {"Torch", "logsumexp", {{rows, i(0)}}},
      {"Torch", "norm", {{rows}}},
      {"Torch", "cdist", {{rows, table}}},
  };
  for (const Named& named : calls) {
    SCOPED_TRACE(named.api);
    expect_float64(named.type, named.api, named.call);
  }
}

}  // namespace
}  // namespace msrun::testing
