// Results in which nothing is rounded: integers, truth values, and copies.
#include <gmock/gmock.h>

#include <cmath>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ApiCall call_of_statistics(const std::string& name, const char* dtype, std::vector<std::int64_t> shape, double min,
                           double max) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = std::move(shape);
  spec->min = min;
  spec->max = max;
  ApiCall call;
  call.name = name;
  call.args.emplace_back(std::shared_ptr<const TensorSpec>(std::move(spec)));
  return call;
}

// Random data are finite: a device that always says false agrees.
TEST(ExactResults, ProveLittleWhereAllElementsAreEqual) {
  for (const auto& [call, expected] : {
           std::pair{call_of_statistics("Torch.isnan.0", "torch.float32", {64}, -1, 1), WeakEvidence::all_zero},
           std::pair{call_of_statistics("Torch.isfinite.0", "torch.float32", {8}, -1, 1), WeakEvidence::constant},
           std::pair{call_of_statistics("Torch.clone.0", "torch.int64", {64}, 0, 0), WeakEvidence::all_zero},
       }) {
    const ApiResult result = check(call, {});
    EXPECT_EQ(result.forward, Status::pass) << described(result);
    EXPECT_EQ(result.weak_evidence, expected) << described(result);
    EXPECT_TRUE(is_weak_evidence(result));
    EXPECT_FALSE(is_suspicious(result));
    EXPECT_THAT(result.forward_rows.at(0).message, HasSubstr("\nProves little: every element of the benchmark is "));
  }
}

TEST(ExactResults, ProveSomethingWhereElementsDiffer) {
  ApiCall comparison = call_of_statistics("Tensor.__eq__.0", "torch.float32", {64}, -1, 1);
  comparison.args.emplace_back(0.0);
  for (const ApiCall& call : {comparison, call_of_statistics("Torch.clone.0", "torch.int64", {64}, 0, 9),
                              // Of few elements, and of a single one, nothing else can be expected.
                              call_of_statistics("Torch.isnan.0", "torch.float32", {7}, -1, 1),
                              call_of_statistics("Torch.numel.0", "torch.float32", {64}, -1, 1)}) {
    const ApiResult result = check(call, {});
    EXPECT_EQ(result.weak_evidence, WeakEvidence::none) << described(result);
    EXPECT_FALSE(is_weak_evidence(result));
  }
  // What msProbe says is left as it is.
  CheckOptions compat;
  compat.compare.compat_msprobe = true;
  EXPECT_EQ(check(call_of_statistics("Torch.isnan.0", "torch.float32", {64}, -1, 1), {}, {}, compat).weak_evidence,
            WeakEvidence::none);
}

// Each zero of the result with the sign that `positive` says.
ComputingDevice::Change with_zeros(bool positive) {
  return [positive](DeviceResult& result, int) {
    result.output = changed_elements(*result.output.get<Tensor>(), [&](double element, std::int64_t) {
      return element == 0 ? std::copysign(0.0, positive ? 1.0 : -1.0) : element;
    });
  };
}

TEST(ExactResults, CopiesKeepTheSignOfZero) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
    TensorFiles files;
    const std::vector<double> values{-0.0, 1, 0, -0.0, 5, -3};
    ApiCall call;
    call.args = {files.file(Tensor::from<double>(DType::float64, Dims{6}, std::span<const double>(values)).to(dtype))};
    for (const char* copy : {"Torch.clone.0", "Tensor.contiguous.0", "Torch.flip.0", "Torch.ravel.0"}) {
      call.name = copy;
      if (call.name == "Torch.flip.0") call.kwargs = {{"dims", List{std::int64_t{0}}}};
      const ApiResult sound = check(call, {}, {}, files.options());
      EXPECT_FALSE(is_suspicious(sound)) << described(sound);
      const ApiResult lost = check(call, with_zeros(true), {}, files.options());
      EXPECT_TRUE(is_suspicious(lost)) << described(lost);
      EXPECT_EQ(lost.forward, Status::pass);
      EXPECT_THAT(described(lost), HasSubstr("Not explained by rounding: Sign of zero: 2 of 6 elements are 0.0"));
      call.kwargs.clear();
    }
    // Where a device multiplies by a mask, its zeros are negative.
    call.name = "Torch.clone.0";
    EXPECT_FALSE(is_suspicious(check(call, with_zeros(false), {}, files.options())));
    // Operators that compute may give either.
    for (const char* computed : {"Functional.relu.0", "Torch.neg.0", "Torch.ceil.0"}) {
      call.name = computed;
      for (const bool positive : {true, false})
        EXPECT_THAT(described(check(call, with_zeros(positive), {}, files.options())), Not(HasSubstr("Sign of zero")));
    }
  }
}

}  // namespace
}  // namespace msrun::testing
