// Sums of very many terms: a tile that is missing or counted twice is far more than any order of the additions makes,
// and every sound order is excused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

using Terms = std::vector<float>;
using Order = std::function<float(const Terms&)>;

float one_after_the_other(const Terms& terms) {
  float sum = 0;
  for (const float term : terms) sum += term;
  return sum;
}

float from_the_last_on(const Terms& terms) { return one_after_the_other(Terms(terms.rbegin(), terms.rend())); }

float in_vectors(const Terms& terms) {
  std::vector<float> sums(8);
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i % sums.size()] += terms[i];
  return one_after_the_other(sums);
}

float in_a_tree(Terms terms) {
  while (terms.size() > 1) {
    Terms pairs;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2) pairs.push_back(terms[i] + terms[i + 1]);
    if (terms.size() % 2 == 1) pairs.push_back(terms.back());
    terms = std::move(pairs);
  }
  return terms.front();
}

float in_blocks(const Terms& terms) {
  constexpr std::size_t block = 1024;
  Terms sums;
  for (std::size_t first = 0; first < terms.size(); first += block) {
    float sum = 0;
    for (std::size_t i = first; i < std::min(first + block, terms.size()); ++i) sum += terms[i];
    sums.push_back(sum);
  }
  return one_after_the_other(sums);
}

// A reduction to one number of the terms f(x - shift) of its first argument, where the shift is 0 or, of logarithms,
// its largest element, as all kernels have it. The second argument, if there is one, has equal elements.
struct Reduction {
  const char* name;
  std::optional<double> second;
  std::function<float(float)> term;
  std::function<double(double sum, double count)> result;
  Dict kwargs = {};
  bool of_logarithm = false;
};

std::vector<Reduction> reductions() {
  const auto itself = [](float x) { return x; };
  return {
      {"Torch.sum.0", {}, itself, [](double sum, double) { return sum; }},
      {"Torch.mean.0", {}, itself, [](double sum, double count) { return sum / count; }},
      {"Torch.norm.0", {}, [](float x) { return x * x; }, [](double sum, double) { return std::sqrt(sum); }},
      {"Functional.l1_loss.0", 0, [](float x) { return std::abs(x); },
       [](double sum, double count) { return sum / count; }},
      {"Torch.dot.0", 1, itself, [](double sum, double) { return sum; }},
      {"Torch.logsumexp.0",
       {},
       [](float x) { return std::exp(x); },
       [](double sum, double) { return std::log(sum); },
       {{"dim", Value(std::int64_t{0})}},
       true},
  };
}

// Checks a reduction of so many random numbers of which a device makes `device` of the terms.
ApiResult check_reduction(const Reduction& reduction, std::int64_t count, DType dtype,
                          const std::function<float(Terms)>& device) {
  TensorFiles files;
  ApiCall call = call_of(reduction.name, {{count}}, {}, dtype, 0, 1);
  call.has_backward = false;
  call.kwargs = reduction.kwargs;
  if (reduction.second) call.args.push_back(files.file(Tensor::full(dtype, Dims{count}, *reduction.second)));
  rounding_device::RoundingDevice computing(
      HalfRounding::nothing, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
        const Tensor x = inputs.args.front().get<Tensor>()->to(DType::float32).contiguous();
        const std::span elements(x.data<float>(), static_cast<std::size_t>(x.numel()));
        const float shift = reduction.of_logarithm ? std::ranges::max(elements) : 0;
        Terms terms;
        for (const float element : elements) terms.push_back(reduction.term(element - shift));
        const double sum = static_cast<double>(device(terms));
        const double value = reduction.result(sum, static_cast<double>(count)) + static_cast<double>(shift);
        result.output = Tensor::scalar(dtype, value);
      });
  return check_api(call, 0, computing, 0, files.options());
}

bool is_accused(const ApiResult& result) { return result.forward_rows.at(0).beyond_rounding; }

TEST(LongSums, MayBeAddedInAnyOrder) {
  for (const Reduction& reduction : reductions()) {
    for (const std::int64_t count : {10'000, 100'000, 1'000'000}) {
      for (const Order& order : {Order(one_after_the_other), Order(from_the_last_on), Order(in_vectors),
                                 Order(in_a_tree), Order(in_blocks)}) {
        const ApiResult result = check_reduction(reduction, count, DType::float32, order);
        EXPECT_FALSE(is_accused(result)) << count << " " << described(result);
      }
    }
  }
}

// A tile that is left out, or added twice, of a sum that is otherwise added as devices do.
TEST(LongSums, HaveAllTheirTermsOnce) {
  for (const Reduction& reduction : reductions()) {
    for (const std::int64_t count : {100'000, 1'000'000}) {
      for (const std::size_t tile : {64, 576, 1024}) {
        const std::size_t last = static_cast<std::size_t>(count) - tile;
        const auto without_last = [&](Terms terms) {
          terms.resize(last);
          return in_blocks(terms);
        };
        const auto twice = [&](Terms terms) {
          for (std::size_t i = 0; i < tile; ++i) terms.push_back(terms[last / 2 + i]);
          return in_a_tree(terms);
        };
        for (const std::function<float(Terms)>& fault :
             {std::function<float(Terms)>(without_last), std::function<float(Terms)>(twice)}) {
          const ApiResult result = check_reduction(reduction, count, DType::float32, fault);
          EXPECT_TRUE(is_accused(result)) << count << " " << tile << " " << described(result);
        }
      }
    }
  }
}

// The loss of one row of so many classes is the logarithm of a sum over them.
TEST(LongSums, OfManyClassesHaveAllOfThem) {
  constexpr std::int64_t classes = 100'000;
  TensorFiles files;
  ApiCall call = call_of("Functional.cross_entropy.0", {{1, classes}}, {}, DType::float32, 0, 1);
  call.has_backward = false;
  call.args.push_back(files.file(Tensor::zeros(DType::int64, Dims{1}), false));
  for (const std::size_t tile : {0, 64, 576}) {
    rounding_device::RoundingDevice computing(
        HalfRounding::nothing, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
          const Tensor x = inputs.args.front().get<Tensor>()->contiguous();
          Terms terms;
          for (std::int64_t i = 0; i < classes; ++i) terms.push_back(std::exp(x.data<float>()[i]));
          terms.resize(terms.size() - tile);
          result.output = Tensor::scalar(DType::float32, std::log(in_blocks(terms)) - x.data<float>()[0]);
        });
    const ApiResult result = check_api(call, 0, computing, 0, files.options());
    EXPECT_EQ(is_accused(result), tile > 0) << tile << " " << described(result);
  }
}

// What is off by a thousandth: a logarithm of a sum, and a product, which has no sum behind it.
TEST(LongSums, AndProductsAreFoundOffByAThousandth) {
  ApiCall logarithm = call_of("Torch.logsumexp.0", {{100'000}}, {}, DType::float32, 0, 1);
  logarithm.kwargs = {{"dim", Value(std::int64_t{0})}};
  const ApiCall product = call_of("Torch.prod.0", {{1000}}, {}, DType::float32, 0.99, 1.01);
  for (ApiCall call : {logarithm, product}) {
    call.has_backward = false;
    const auto is_found = [&](double factor) {
      return is_accused(check(call, [factor](DeviceResult& result, int) { scale(result.output, factor); }));
    };
    EXPECT_FALSE(is_found(1)) << call.name;
    EXPECT_TRUE(is_found(1.001)) << call.name;
    EXPECT_TRUE(is_found(1 + 1e-3 / 12)) << call.name;
  }
}

// The squares of a million numbers lose a two-thousandth where they are added one after the other: the small ones have
// no effect beside a large sum. No tree loses that, and no other error of that size is excused.
TEST(LongSums, OneAfterTheOtherErrAsThatGives) {
  constexpr std::int64_t count = 1'000'000;
  const Reduction norm = reductions().at(2);
  const ApiResult serial = check_reduction(norm, count, DType::float32, one_after_the_other);
  EXPECT_FALSE(is_accused(serial)) << described(serial);
  EXPECT_THAT(serial.forward_rows.at(0).message, HasSubstr("added one after the other"));
  const ApiResult other = check_reduction(norm, count, DType::float32, [](const Terms& terms) {
    const float exact = in_a_tree(terms);
    return exact + (exact - one_after_the_other(terms));
  });
  EXPECT_TRUE(is_accused(other)) << described(other);
}

}  // namespace
}  // namespace msrun::testing
