// Results in half types that are rounded on the way, as CPU kernels do: a class of its own where a CPU may have
// computed them, and a fault where a device did. Faults in such results are found all the same.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

using Change = std::function<void(const MaterialisedCall&, DeviceResult&)>;

class PerhapsCpu final : public Device {
 public:
  PerhapsCpu(bool is_cpu, EvaluationOptions options, Change change)
      : is_cpu_(is_cpu), computing_({}, std::move(options)), change_(std::move(change)) {}

  DeviceResult run(const DeviceCall& call) override {
    DeviceResult result = computing_.run(call);
    if (change_) change_(call.materialised, result);
    return result;
  }
  DeviceArithmetic arithmetic() const override { return {.may_be_cpu = is_cpu_}; }

 private:
  bool is_cpu_;
  ComputingDevice computing_;
  Change change_;
};

ApiResult check_on(bool is_cpu, const ApiCall& call, const EvaluationOptions& options, const Change& change) {
  PerhapsCpu device(is_cpu, options, change);
  return check_api(call, 0, device, 0, {});
}

std::string described(const ApiResult& result) {
  std::string text = result.name + ": " + result.message;
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (const DetailsRow& row : *rows) text += "\n" + row.message;
  }
  return text;
}

double rounded(double value) { return static_cast<double>(to_float(to_bfloat16(static_cast<float>(value)))); }

// The gradient of silu, g s (1 + x (1 - s)), with every step rounded.
void take_steps_of_silu(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  Value& gradient = result.gradients.front();
  gradient = changed_elements(*gradient.get<Tensor>(), [&](double, std::int64_t i) {
    const double s = rounded(1 / rounded(1 + rounded(std::exp(-x.data<double>()[i]))));
    const double slope = rounded(1 + rounded(x.data<double>()[i] * rounded(1 - s)));
    return rounded(rounded(g.data<double>()[i] * s) * slope);
  });
}

struct Sample {
  ApiCall call;
  EvaluationOptions options;
  Change steps;
  bool is_gradient = false;
  std::string named;
};

std::vector<Sample> samples() {
  EvaluationOptions narrow_sums;
  narrow_sums.arithmetic.summation.accumulator = Accumulator::bfloat16;
  ApiCall product = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16);
  product.has_backward = false;
  return {{std::move(product), narrow_sums, {}, false, "Rounds its partial sums to bfloat16"},
          {call_of("Functional.silu.0", {{16, 64}}, {16, 64}, DType::bfloat16, -6, 6),
           {},
           take_steps_of_silu,
           true,
           "Rounds its intermediate results to bfloat16"}};
}

const DetailsRow& row_of(const Sample& sample, const ApiResult& result) {
  return (sample.is_gradient ? result.backward_rows : result.forward_rows).at(0);
}

TEST(HalfSteps, AreAClassOfTheirOwnOnACpu) {
  for (const Sample& sample : samples()) {
    const ApiResult result = check_on(true, sample.call, sample.options, sample.steps);
    EXPECT_FALSE(is_suspicious(result)) << described(result);
    EXPECT_TRUE(is_mistrusted(result)) << described(result);
    const DetailsRow& row = row_of(sample, result);
    EXPECT_EQ(row.trust.mistrust, Mistrust::half_steps) << described(result);
    EXPECT_THAT(row.message, HasSubstr(sample.named));
  }
}

TEST(HalfSteps, AreAFaultOnADevice) {
  for (const Sample& sample : samples()) {
    const ApiResult result = check_on(false, sample.call, sample.options, sample.steps);
    EXPECT_TRUE(is_suspicious(result)) << described(result);
    EXPECT_NE(row_of(sample, result).trust.mistrust, Mistrust::half_steps);
  }
}

TEST(HalfSteps, HideNoFault) {
  const std::vector<std::pair<const char*, std::function<double(double, std::int64_t)>>> faults{
      {"one element", [](double value, std::int64_t i) { return i == 37 ? value + 1.5 : value; }},
      {"scaled", [](double value, std::int64_t) { return 1.2 * value; }},
      {"negated", [](double value, std::int64_t) { return -value; }},
      {"zero", [](double, std::int64_t) { return 0.0; }}};
  for (const Sample& sample : samples()) {
    for (const auto& [name, fault] : faults) {
      const ApiResult result =
          check_on(true, sample.call, sample.options, [&](const MaterialisedCall& call, DeviceResult& computed) {
            if (sample.steps) sample.steps(call, computed);
            Value& value = sample.is_gradient ? computed.gradients.front() : computed.output;
            value = changed_elements(*value.get<Tensor>(), fault);
          });
      EXPECT_TRUE(is_suspicious(result)) << name << " in " << described(result);
      EXPECT_NE(row_of(sample, result).trust.mistrust, Mistrust::half_steps) << name << " in " << described(result);
    }
  }
}

// Each element errs by no more than the worst may, all together by more than chance allows. Equal terms, so that the
// noise of all elements is of one size.
TEST(HalfSteps, AreNoneWhereAllElementsErrAsTheWorstMay) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16, 1.1, 1.1);
  call.has_backward = false;
  const auto off_by = [&](double size) {
    return check_on(true, call, {}, [&](const MaterialisedCall&, DeviceResult& computed) {
      computed.output = changed_elements(*computed.output.get<Tensor>(), [&](double value, std::int64_t i) {
        return value + (i % 2 == 0 ? size : -size);
      });
    });
  };
  EXPECT_EQ(off_by(15).forward_rows.at(0).trust.mistrust, Mistrust::half_steps) << described(off_by(15));
  EXPECT_TRUE(is_suspicious(off_by(33))) << described(off_by(33));
}

// Arithmetic that no CPU has, which errs by less than such steps do.
TEST(HalfSteps, AreNoneWhereADeviceErredOtherwise) {
  ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20}, DType::bfloat16);
  call.has_backward = false;
  EvaluationOptions options;
  options.arithmetic.summation.accumulator = Accumulator::float16;
  EXPECT_TRUE(is_suspicious(check_on(true, call, options, {})));
  options.arithmetic = {};
  options.arithmetic.rounds_to_zero = true;
  EXPECT_TRUE(is_suspicious(check_on(true, call, options, {})));
}

// float32 has no such kernels.
TEST(HalfSteps, AreOfHalfTypesOnly) {
  const ApiCall call = call_of("Torch.matmul.0", {{24, 96}, {96, 20}}, {24, 20});
  for (const Accumulator accumulator : {Accumulator::float16, Accumulator::bfloat16}) {
    EvaluationOptions narrow_sums;
    narrow_sums.arithmetic.summation.accumulator = accumulator;
    EXPECT_TRUE(is_suspicious(check_on(true, call, narrow_sums, {})));
  }
}

}  // namespace
}  // namespace msrun::testing
