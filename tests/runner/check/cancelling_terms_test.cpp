// Results whose terms cancel to zero whatever the arguments are: no change of these shows how large the terms are, but
// a sound device's rounding does, and is judged by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/evaluate/evaluate.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

struct Cancelling {
  const char* what;
  ApiCall call;
  bool of_output;
  std::size_t gradient;
  double noise;  // what another order of the operations leaves
  double fault;
};

ApiCall with(ApiCall call, Dict kwargs) {
  call.kwargs = std::move(kwargs);
  return call;
}

std::vector<Cancelling> cancelling() {
  const Dict rows{{"dim", Value(std::int64_t{1})}};
  ApiCall norm = call_of("Functional.layer_norm.0", {{6, 1}}, {6, 1}, DType::float32, 1, 2);
  norm.args.emplace_back(List{std::int64_t{1}});
  return {
      {"normalised single elements",
       with(call_of("Functional.normalize.0", {{6, 1}}, {6, 1}, DType::float32, 1, 2), rows), false, 0, 3e-8, 1e-3},
      {"similarities of single elements",
       with(call_of("Functional.cosine_similarity.0", {{6, 1}, {6, 1}}, {6}, DType::float32, 1, 2), rows), false, 1,
       3e-8, 1e-3},
      {"the correlation of one row", call_of("Torch.corrcoef.0", {{7}}, {}, DType::float32, 1, 2), false, 0, 3e-8,
       1e-3},
      {"rows of one element", norm, true, 0, 1e-5, 1e-2},
  };
}

bool accused(const Cancelling& known, double error) {
  const ApiResult result = check(known.call, [&](DeviceResult& device, int) {
    Value& value = known.of_output ? device.output : device.gradients.at(known.gradient);
    value = changed_elements(*value.get<Tensor>(), [&](double element, std::int64_t i) {
      return element + (i % 2 == 0 ? error : -error / 2);
    });
  });
  const auto& rows = known.of_output ? result.forward_rows : result.backward_rows;
  EXPECT_GT(rows.size(), known.of_output ? 0 : known.gradient) << result.message;
  return std::ranges::any_of(rows, [](const DetailsRow& row) { return row.beyond_rounding; });
}

TEST(CancellingTerms, AreJudgedByTheirRounding) {
  for (const Cancelling& known : cancelling()) {
    SCOPED_TRACE(known.what);
    EXPECT_FALSE(accused(known, 0));
    EXPECT_FALSE(accused(known, known.noise));
    EXPECT_TRUE(accused(known, known.fault));
  }
}

// A product below the normal numbers has lost its digits, and so has what is divided by it.
TEST(CancellingTerms, GradientsOfASubnormalProductMayBeThoseOfTheStoredOne) {
  ApiCall call = call_of("Torch.prod.0", {{129}}, {}, DType::float32, 0.4999, 0.5001);
  const auto scaled_by = [](double factor) {
    return [=](DeviceResult& device, int) { scale(device.gradients.front(), factor); };
  };
  const auto accuses = [&](double factor) {
    return check(call, scaled_by(factor)).backward_rows.at(0).beyond_rounding;
  };
  EXPECT_FALSE(accuses(1));
  EXPECT_FALSE(accuses(1 + 0x1p-21));
  EXPECT_TRUE(accuses(1.5));
}

// Attention in bfloat16 whose gradients are computed without an error and rounded once; the first query's is then off
// by error, times the largest of its elements.
ApiResult check_attention(int number, double error) {
  const Dims heads{2, 2, 24, 16};
  ApiCall call = call_of("Functional.scaled_dot_product_attention." + std::to_string(number), {heads, heads, heads},
                         heads, DType::bfloat16, -3, 3);
  call.kwargs = {{"is_causal", Value(true)}};
  class Exact final : public Device {
   public:
    explicit Exact(double error) : error_(error) {}
    DeviceArithmetic arithmetic() const override { return {.half_rounding = HalfRounding::between_kernels}; }
    DeviceResult run(const DeviceCall& asked) override {
      const MaterialisedCall& inputs = asked.materialised;
      const MaterialisedCall raised =
          with_inputs(inputs, [](const Tensor& tensor) { return tensor.to(DType::float64); });
      const Evaluation exact = evaluate(*find_operator(inputs.parts.type, inputs.parts.api), raised, {});
      DeviceResult result;
      result.output = exact.output.get<Tensor>()->to(DType::bfloat16);
      for (const Value& gradient : exact.gradients)
        result.gradients.emplace_back(gradient.get<Tensor>()->to(DType::bfloat16));
      const Tensor& of_query = *result.gradients.front().get<Tensor>();
      double largest = 0;
      for (std::int64_t i = 0; i < of_query.numel(); ++i) largest = std::max(largest, std::abs(of_query.item(i)));
      result.gradients.front() = changed_elements(
          of_query, [&](double value, std::int64_t i) { return i == 16 ? value + error_ * largest : value; });
      return result;
    }

   private:
    double error_;
  };
  Exact device(error);
  return check_api(call, 0, device, 0, {});
}

// Where nearly all weight is on one key, the products of the scores' gradient with the keys cancel far below what a
// place of the output's typical element is, and the float32 of the benchmark has lost their digits.
TEST(CancellingTerms, OfSaturatedAttentionInHalfTypesMayBeLostInFloat32) {
  for (int number = 0; number < 12; ++number) {
    const ApiResult sound = check_attention(number, 0);
    for (const DetailsRow& row : sound.backward_rows) EXPECT_FALSE(row.beyond_rounding) << sound.name << row.message;
    EXPECT_TRUE(check_attention(number, 0.01).backward_rows.at(0).beyond_rounding) << sound.name;
  }
}

// torch copies the base of number ** tensor in versions in which it gets no gradient then.
TEST(CopiedArguments, MayHaveNoGradient) {
  const auto status = [](const char* name, std::size_t without) {
    const ApiResult result = check(call_of(name, {{5}, {5}}, {5}, DType::float32, 1, 2),
                                   [&](DeviceResult& device, int) { device.gradients.at(without) = None{}; });
    return result.backward;
  };
  EXPECT_EQ(status("Tensor.__rpow__.0", 1), Status::pass);
  EXPECT_EQ(status("Tensor.__rpow__.0", 0), Status::error);
  EXPECT_EQ(status("Tensor.__pow__.0", 1), Status::error);
}

}  // namespace
}  // namespace msrun::testing
