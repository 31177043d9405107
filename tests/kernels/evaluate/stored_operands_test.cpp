// Large inputs of the benchmark: products and lookups take them as they are stored, with the bits that copies in the
// wider dtype would have given.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

Tensor random_values(DType dtype, const Dims& shape, std::uint32_t seed) {
  Tensor values(DType::float32, shape);
  std::mt19937 words(seed);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.mutable_data<float>()[i] = static_cast<float>(words() % 2001) / 1000 - 1;
  }
  return values.to(dtype);
}

MaterialisedCall call_of(const std::string& name, List args, const Tensor& gradient) {
  MaterialisedCall call;
  call.name = name;
  call.parts = *ApiName::parse(name);
  for (const Value& arg : args) call.requires_grad.push_back(is_floating(arg.get<Tensor>()->dtype()));
  call.args = std::move(args);
  call.backward.run = true;
  call.gradients = {gradient};
  return call;
}

// What the benchmark computes in.
DType raised(DType dtype) { return dtype == DType::float32 ? DType::float64 : DType::float32; }

MaterialisedCall with_copies(MaterialisedCall call) {
  const auto raise = [](List& values) {
    for (Value& value : values) {
      const Tensor& tensor = *value.get<Tensor>();
      if (is_floating(tensor.dtype())) value = tensor.to(raised(tensor.dtype()));
    }
  };
  raise(call.args);
  raise(call.gradients);
  return call;
}

Evaluation evaluated(const MaterialisedCall& call, bool benchmark) {
  EvaluationOptions options;
  options.benchmark = benchmark;
  return evaluate(*find_operator(call.parts.type, call.parts.api), call, options);
}

void expect_same_bits(const MaterialisedCall& call) {
  const DType wide = raised(call.gradients.front().get<Tensor>()->dtype());
  const Evaluation benchmark = evaluated(call, true);
  const Evaluation copied = evaluated(with_copies(call), false);
  ASSERT_EQ(benchmark.backward_problem, "");
  EXPECT_EQ(benchmark.output.get<Tensor>()->dtype(), wide);
  EXPECT_TRUE(bitwise_equal(*benchmark.output.get<Tensor>(), *copied.output.get<Tensor>()));
  ASSERT_EQ(benchmark.gradients.size(), copied.gradients.size());
  for (std::size_t i = 0; i < copied.gradients.size(); ++i) {
    const Tensor* gradient = copied.gradients[i].get<Tensor>();
    if (gradient == nullptr) continue;
    ASSERT_NE(benchmark.gradients[i].get<Tensor>(), nullptr) << i;
    EXPECT_EQ(benchmark.gradients[i].get<Tensor>()->dtype(), wide);
    EXPECT_TRUE(bitwise_equal(*benchmark.gradients[i].get<Tensor>(), *gradient)) << i;
  }
}

// The first of two is large enough to be taken as it is stored in each, and is so or not for the other's sake: few rows
// are multiplied as dot products.
TEST(StoredOperands, GiveTheBitsOfCopies) {
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::float32}) {
    const Tensor weight = random_values(dtype, Dims{300, 260}, 1);
    for (const std::int64_t rows : {3, 40, 500}) {
      const Tensor input = random_values(dtype, Dims{2, rows, 260}, 2);
      const Tensor upstream = random_values(dtype, Dims{2, rows, 300}, 3);
      expect_same_bits(call_of("Functional.linear.0", {input, weight}, upstream));
      expect_same_bits(call_of("Functional.linear.0", {input, weight, random_values(dtype, Dims{300}, 4)}, upstream));
      const Tensor wide = random_values(dtype, Dims{260, 300}, 5);
      expect_same_bits(call_of("Torch.matmul.0", {input, wide}, upstream));
      expect_same_bits(call_of("Torch.mm.0", {input.select(0, 0), wide}, upstream.select(0, 0)));
      const Tensor both = random_values(dtype, Dims{2, 260, 300}, 6);
      expect_same_bits(call_of("Torch.bmm.0", {input, both}, upstream));
      expect_same_bits(call_of("Torch.mul.0", {wide, wide}, wide));
    }
    // Few columns of many rows.
    for (const std::int64_t columns : {8, 24, 48}) {
      const Tensor upstream = random_values(dtype, Dims{500, columns}, 8);
      const Tensor rows = random_values(dtype, Dims{500, 260}, 9);
      const Tensor narrow = random_values(dtype, Dims{260, columns}, 10);
      expect_same_bits(call_of("Torch.mm.0", {rows, narrow}, upstream));
    }
    const Tensor indices = Tensor::from<std::int64_t>(DType::int64, Dims{4}, std::vector<std::int64_t>{7, 0, 299, 7});
    expect_same_bits(call_of("Functional.embedding.0", {indices, weight}, random_values(dtype, Dims{4, 260}, 7)));
  }
}

// Forward alone: the gradient is as large as the copy would be.
TEST(StoredOperands, AreNotCopied) {
  for (const DType dtype : {DType::bfloat16, DType::float32}) {
    const Tensor weight = random_values(dtype, Dims{4000, 128}, 1);
    const std::uint64_t element = size_of(raised(dtype));
    const std::uint64_t copy = std::uint64_t{4000} * 128 * element;
    const auto peak_of = [](MaterialisedCall call) {
      call.backward.run = false;
      const TensorMemoryScope scope(std::uint64_t{1} << 30);
      evaluated(call, true);
      return scope.peak();
    };
    const Tensor indices = Tensor::full(DType::int64, Dims{8}, 5);
    EXPECT_LE(peak_of(call_of("Functional.embedding.0", {indices, weight}, {})), copy / 8);
    for (const std::int64_t rows : {8, 30}) {
      const Tensor input = random_values(dtype, Dims{rows, 128}, 2);
      EXPECT_LE(peak_of(call_of("Functional.linear.0", {input, weight}, {})), std::uint64_t(2 * rows * 4000) * element);
    }
  }
}

}  // namespace
}  // namespace msrun
