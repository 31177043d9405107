// Results whose terms cancel to zero whatever the arguments are: no change of these shows how large the terms are, but
// a sound device's rounding does, and is judged by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kernels/evaluate/evaluate.h"
#include "kernels/evaluate/materialise.h"
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
  ApiCall groups = call_of("Functional.group_norm.0", {{5, 6, 1}}, {5, 6, 1}, DType::float32, 1, 2);
  groups.args.emplace_back(std::int64_t{6});
  return {
      {"normalised single elements",
       with(call_of("Functional.normalize.0", {{6, 1}}, {6, 1}, DType::float32, 1, 2), rows), false, 0, 3e-8, 1e-3},
      {"similarities of single elements",
       with(call_of("Functional.cosine_similarity.0", {{6, 1}, {6, 1}}, {6}, DType::float32, 1, 2), rows), false, 1,
       3e-8, 1e-3},
      {"the correlation of one row", call_of("Torch.corrcoef.0", {{7}}, {}, DType::float32, 1, 2), false, 0, 3e-8,
       1e-3},
      {"rows of one element", norm, true, 0, 1e-5, 1e-2},
      {"gradients of rows of one element", norm, false, 0, 316.2 * 0x1p-24, 1e-2},
      {"gradients of groups of one element", groups, false, 0, 316.2 * 0x1p-24, 1e-2},
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

// Where all factors are next to 1, what is below half a place of the product is lost from nearly every multiplication.
// Frameworks divide that product by each factor.
TEST(CancellingTerms, GradientsOfAProductMayBeThoseOfItsFloat32) {
  ApiCall call = call_of("Torch.prod.0", {{100'000}}, {}, DType::float32, 0.9999, 1.0001);
  const MaterialisedCall inputs = materialise(call, {});
  const Tensor x = inputs.args.front().get<Tensor>()->contiguous();
  std::array<float, 8> products;
  products.fill(1);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    products[static_cast<std::size_t>(i) % products.size()] *= x.data<float>()[i];
  float product = inputs.gradients.front().get<Tensor>()->to(DType::float32).data<float>()[0];
  for (const float part : products) product *= part;
  const auto accuses = [&](float factor) {
    const auto divided = [&](DeviceResult& device, int) {
      Tensor gradient = device.gradients.front().get<Tensor>()->clone();
      for (std::int64_t i = 0; i < x.numel(); ++i)
        gradient.mutable_data<float>()[i] = factor * product / x.data<float>()[i];
      device.gradients.front() = gradient;
    };
    return check(call, divided).backward_rows.at(0).beyond_rounding;
  };
  EXPECT_FALSE(accuses(1));
  EXPECT_TRUE(accuses(1.05F));
}

// One head of attention, its gradients by the textbook: of the scores p (dp - sum of p dp), where dp is off by a share
// of itself, up and down by turns, while the sum is not.
class TextbookAttention final : public Device {
 public:
  // rounding: the share that dp is off by. keys: of so many the softmax is formed. error: of the first gradient's
  // element 16. In half types `narrow` has weights, output and gradients of the scores rounded to them before they are
  // multiplied, as kernels for accelerators do. of_norms: products of rows that gradients are formed of are off by this
  // share of the product of the norms.
  struct How {
    double rounding = 0;
    double of_norms = 0;
    double error = 0;
    bool narrow = false;
    std::int64_t keys = 1000;
  };
  explicit TextbookAttention(const How& how) : how_(how) {}
  DeviceArithmetic arithmetic() const override { return {.half_rounding = HalfRounding::between_kernels}; }

  DeviceResult run(const DeviceCall& asked) override {
    const auto given = [&](const Value& value) { return value.get<Tensor>()->to(DType::float64).contiguous(); };
    const MaterialisedCall& call = asked.materialised;
    const DType dtype = call.args[0].get<Tensor>()->dtype();
    const auto factor = [&](double value) {
      if (!how_.narrow) return value;
      return Tensor::from<double>(DType::float64, Dims{1}, std::span<const double>(&value, 1)).to(dtype).item(0);
    };
    const Tensor q = given(call.args[0]);
    const Tensor k = given(call.args[1]);
    const Tensor v = given(call.args[2]);
    const Tensor g = given(call.gradients[0]);
    const std::int64_t length = q.size(0);
    const std::int64_t size = q.size(1);
    const double scale = 1 / std::sqrt(static_cast<double>(size));
    const auto zeros = [&] { return Tensor::zeros(DType::float64, q.shape()); };
    std::array<Tensor, 4> results{zeros(), zeros(), zeros(), zeros()};  // output, gradients of q, k and v
    const auto add = [&](Tensor& to, std::int64_t row, const Tensor& from, std::int64_t other, double times) {
      for (std::int64_t d = 0; d < size; ++d)
        to.mutable_data<double>()[row * size + d] += times * from.item(other * size + d);
    };
    const auto product = [&](const Tensor& x, std::int64_t i, const Tensor& y, std::int64_t j) {
      double sum = 0;
      for (std::int64_t d = 0; d < size; ++d) sum += x.item(i * size + d) * y.item(j * size + d);
      return sum;
    };
    for (std::int64_t i = 0; i < length; ++i) {
      std::vector<double> p;
      const std::int64_t keys = std::min(i + 1, how_.keys);
      for (std::int64_t j = 0; j < keys; ++j) p.push_back(scale * product(q, i, k, j));
      const double largest = std::ranges::max(p);
      for (double& x : p) x = std::exp(x - largest);
      const double total = std::accumulate(p.begin(), p.end(), 0.0);
      for (std::int64_t j = 0; j < keys; ++j) {
        double& weight = p[static_cast<std::size_t>(j)];
        weight /= total;
        add(results[0], i, v, j, factor(weight));
      }
      const auto off = [&](const Tensor& x, const Tensor& y, std::int64_t j) {
        const double share = how_.of_norms * std::sqrt(product(x, i, x, i) * product(y, j, y, j));
        return (i + j) % 2 == 0 ? share : -share;
      };
      double mean = 0;
      for (std::int64_t d = 0; d < size; ++d) mean += factor(results[0].item(i * size + d)) * g.item(i * size + d);
      for (std::int64_t j = 0; j < keys; ++j) {
        const double weight = p[static_cast<std::size_t>(j)] * (1 + scale * off(q, k, j));
        add(results[3], j, g, i, factor(weight));
        const double dp =
            product(g, i, v, j) * ((i + j) % 2 == 0 ? 1 + how_.rounding : 1 - how_.rounding) + off(g, v, j);
        const double ds = factor(scale * weight * (dp - mean));
        add(results[1], i, k, j, ds);
        add(results[2], j, q, i, ds);
      }
    }
    results[1].mutable_data<double>()[16] += how_.error;
    DeviceResult result;
    result.output = results[0].to(dtype);
    for (std::size_t i = 1; i < results.size(); ++i) result.gradients.emplace_back(results[i].to(dtype));
    return result;
  }

 private:
  How how_;
};

ApiResult check_attention(int number, DType dtype, double range, const TextbookAttention::How& how) {
  const Dims shape{40, 16};
  ApiCall call = call_of("Functional.scaled_dot_product_attention." + std::to_string(number), {shape, shape, shape},
                         shape, dtype, -range, range);
  call.kwargs = {{"is_causal", Value(true)}};
  TextbookAttention device(how);
  return check_api(call, 0, device, 0, {});
}

void expect_sound(const ApiResult& result) {
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (const DetailsRow& row : *rows) EXPECT_FALSE(row.beyond_rounding) << result.name << row.message;
  }
  EXPECT_EQ(result.backward_rows.size(), 3U) << result.message;
}

// Where nearly all weight is on one key, the products of the scores' gradient with the keys cancel far below what a
// place of the output's typical element is, and the float32 of the benchmark has lost their digits.
TEST(CancellingTerms, OfSaturatedAttentionInHalfTypesMayBeLostInFloat32) {
  for (int number = 280; number < 400; ++number) {
    const DType dtype = number % 2 == 0 ? DType::bfloat16 : DType::float16;
    const double range = 2 + (number % 5 * number) % 9;
    const ApiResult sound = check_attention(number, dtype, range, {});
    expect_sound(sound);
    // That is no rounding on the way to a half type, which would prove little.
    for (const DetailsRow& row : sound.backward_rows)
      EXPECT_NE(row.trust.weak_evidence, WeakEvidence::half_steps) << number;
    if (number % 10 > 0) continue;
    EXPECT_TRUE(check_attention(number, dtype, range, {.error = 0.3}).backward_rows.at(0).beyond_rounding) << number;
  }
}

// Where one key has all weight, the gradient of its score is rounding alone, of products that are as large as ever.
TEST(CancellingTerms, OfDecidedAttentionAreRounding) {
  for (int number = 0; number < 16; ++number) {
    for (const double range : {10.0, 100.0}) {
      expect_sound(check_attention(number, DType::float32, range, {.rounding = 0x1p-24}));
      const ApiResult wrong = check_attention(number, DType::float32, range, {.error = 1e-3 * range * range});
      EXPECT_TRUE(wrong.backward_rows.at(0).beyond_rounding) << number;
    }
  }
}

// The products of a kernel err by what their terms are, in the order of its own in which it adds them or in the parts
// that it splits operands into, and it forms weights once more from scores and the logarithm of their sum.
TEST(CancellingTerms, OfDecidedAttentionAreThoseOfLongProducts) {
  for (int number = 0; number < 16; ++number) {
    for (const double range : {5.0, 20.0}) {
      const TextbookAttention::How sound{.of_norms = 0x1p-23};
      expect_sound(check_attention(number, DType::float32, range, sound));
      const ApiResult wrong = check_attention(number, DType::float32, range, {.error = 3e-3 * range});
      EXPECT_TRUE(wrong.backward_rows.at(0).beyond_rounding) << number;
      const DType half = number % 2 == 0 ? DType::bfloat16 : DType::float16;
      expect_sound(check_attention(number, half, range, {.of_norms = 0x1p-24, .narrow = true}));
    }
  }
}

// Kernels that never store the weights of attention round them to the dtype of the call all the same, because the units
// that multiply take no other.
TEST(HalfFactors, OfAttentionAreAClassOfTheirOwnOnAnAccelerator) {
  for (int number = 0; number < 24; ++number) {
    const DType dtype = number % 2 == 0 ? DType::bfloat16 : DType::float16;
    const double range = 1 + number % 3;
    const ApiResult sound = check_attention(number, dtype, range, {.narrow = true});
    expect_sound(sound);
    EXPECT_EQ(sound.forward_rows.at(0).trust.weak_evidence, WeakEvidence::half_steps) << sound.name;
    const ApiResult one = check_attention(number, dtype, range, {.error = 0.3, .narrow = true});
    EXPECT_TRUE(one.backward_rows.at(0).beyond_rounding) << number;
    const ApiResult all = check_attention(number, dtype, range, {.narrow = true, .keys = 30});
    EXPECT_TRUE(all.forward_rows.at(0).beyond_rounding) << number;
  }
}

// float16 has no small numbers, so that small weights and gradients of scores lose their digits or all they are.
TEST(HalfFactors, OfAttentionMayUnderflow) {
  for (int number = 0; number < 60; ++number) {
    const double range = 3 + number % 4;
    expect_sound(check_attention(number, DType::float16, range, {.narrow = true}));
    if (number % 10 > 0) continue;
    const ApiResult one = check_attention(number, DType::float16, range, {.error = 0.3, .narrow = true});
    EXPECT_TRUE(one.backward_rows.at(0).beyond_rounding) << number;
  }
}

// Numbers that underflow where they are formed are 0 on one side and not on the other.
TEST(CancellingTerms, OfZerosMayBeThoseOfNumbersThatUnderflow) {
  const ApiCall call = call_of("Torch.matmul.0", {{6, 8}, {8, 6}}, {6, 6}, DType::float32, 0, 0);
  const auto accuses = [&](double value) {
    const auto in_place_of_zero = [=](DeviceResult& device, int) {
      device.output = changed_elements(*device.output.get<Tensor>(),
                                       [=](double element, std::int64_t i) { return i == 7 ? value : element; });
    };
    return check(call, in_place_of_zero).forward_rows.at(0).beyond_rounding;
  };
  EXPECT_FALSE(accuses(0));
  EXPECT_FALSE(accuses(1e-36));
  EXPECT_TRUE(accuses(1e-18));
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
