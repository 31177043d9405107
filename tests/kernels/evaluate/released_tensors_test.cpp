// What an evaluation holds at a time: tensors that no derivative needs any more are freed before gradients are made.
#include <gtest/gtest.h>

#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

constexpr std::int64_t rows = 4000;
constexpr std::int64_t width = 128;
constexpr std::uint64_t raised_weight = rows * width * sizeof(float);

MaterialisedCall call_of(const char* name, List args, const Dims& result) {
  MaterialisedCall call;
  call.name = name;
  call.parts = *ApiName::parse(name);
  call.args = std::move(args);
  call.requires_grad = {true, true};
  call.backward.run = true;
  call.gradients = {Tensor::full(DType::bfloat16, result, 1)};
  return call;
}

std::uint64_t peak_of_benchmark(const MaterialisedCall& call) {
  const Operator* op = find_operator(call.parts.type, call.parts.api);
  EvaluationOptions options;
  options.benchmark = true;
  const TensorMemoryScope scope(std::uint64_t{1} << 30);
  const Evaluation evaluation = evaluate(*op, call, options);
  EXPECT_EQ(evaluation.backward_problem, "");
  EXPECT_EQ(evaluation.gradients.size(), 2U);
  EXPECT_EQ(evaluation.gradients[1].get<Tensor>()->shape(), (Dims{rows, width}));
  return scope.peak();
}

TEST(ReleasedTensors, AreTheRaisedTableOfAnEmbedding) {
  const Tensor indices = Tensor::full(DType::int64, Dims{8}, 5);
  const Tensor table = Tensor::full(DType::bfloat16, Dims{rows, width}, 2);
  MaterialisedCall call = call_of("Functional.embedding.0", {indices, table}, Dims{8, width});
  EXPECT_LE(peak_of_benchmark(call), raised_weight * 5 / 4);
}

TEST(ReleasedTensors, AreTheRaisedWeightOfALinearLayer) {
  const Tensor input = Tensor::full(DType::bfloat16, Dims{30, width}, 0.5);
  const Tensor weight = Tensor::full(DType::bfloat16, Dims{rows, width}, 2);
  MaterialisedCall call = call_of("Functional.linear.0", {input, weight}, Dims{30, rows});
  const std::uint64_t results = 3 * 30 * rows * sizeof(float);
  EXPECT_LE(peak_of_benchmark(call), raised_weight * 5 / 4 + results);
}

// Several outputs are differentiated one after the other over the same steps.
TEST(ReleasedTensors, AreNotThoseThatAFurtherOutputNeeds) {
  Tape tape;
  const Var x = tape.leaf(Tensor::full(DType::float32, Dims{4}, 3));
  const auto times = [](const Tensor& factor) {
    return [factor](const Tensor& g) { return map(g.dtype(), g, factor, [](auto a, auto b) { return a * b; }); };
  };
  const Var y = tape.record(x.tensor(), {{x, times(x.tensor())}});
  const Tensor one = Tensor::full(DType::float32, Dims{4}, 1);
  tape.backward(y, one);
  tape.backward(y, one, Afterwards::release);
  EXPECT_EQ(tape.gradient(x).item(2), 6);
  EXPECT_EQ(tape.gradient(Tape::place_of(x)).item(2), 6);
  EXPECT_FALSE(Tape::place_of(x).tensor().defined());
}

}  // namespace
}  // namespace msrun
