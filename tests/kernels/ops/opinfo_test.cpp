// The benchmark of every call of the operator sample dumps against the results that PyTorch computed in float64.
//
// tests/data/opinfo_sample holds one tensor-mode dump per category; expected_fp64 has outputs and gradients with every
// floating input in float64. MSRUN_OPINFO names another folder of that layout.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/dump/dump_json.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/tensor/complex.h"
#include "tests/support/gradient_check.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

fs::path sample_root() {
  const char* other = std::getenv("MSRUN_OPINFO");
  return other != nullptr ? fs::path(other) : fs::path(testing::test_data()) / "opinfo_sample";
}

std::vector<std::string> categories() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(sample_root())) {
    if (fs::exists(entry.path() / "dump.json")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Recorded {
  ApiCall call;
  List outputs;    // of the forward entry
  List gradients;  // of the backward entry
};

std::vector<Recorded> read_calls(const fs::path& dump) {
  std::vector<Recorded> calls;
  std::map<std::string, std::size_t> index;
  DumpReader reader(dump.string());
  reader.keep_outputs();
  reader.read([&](std::string_view entry, DumpEntry&& content) {
    std::string_view base;
    const auto direction = split_direction(entry, base);
    if (direction == Direction::forward) {
      Recorded recorded;
      recorded.call.name = base;
      recorded.call.args = std::move(content.args);
      recorded.call.kwargs = std::move(content.kwargs);
      recorded.call.output_dtype = std::move(content.output_dtype);
      recorded.outputs = std::move(content.outputs);
      index[recorded.call.name] = calls.size();
      calls.push_back(std::move(recorded));
    } else if (direction == Direction::backward) {
      Recorded& recorded = calls.at(index.at(std::string(base)));
      recorded.call.has_backward = true;
      recorded.call.grad_inputs = std::move(content.grad_inputs);
      recorded.gradients = std::move(content.outputs);
    }
  });
  return calls;
}

// File names of the recorded tensors, in depth-first order; empty for a place without tensor or file.
std::vector<std::string> data_names(const List& recorded) {
  std::vector<std::string> names;
  for (const Value& value : recorded) {
    for_each_leaf(value, [&](const Value& leaf) {
      const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
      names.push_back(spec == nullptr ? "" : (*spec)->data_name);
    });
  }
  return names;
}

std::vector<Value> leaves_of(const Value& tree) {
  std::vector<Value> leaves;
  for_each_leaf(tree, [&](const Value& leaf) { leaves.push_back(leaf); });
  return leaves;
}

// What the benchmark of a call can be exact to: it is computed in float64 for float32 inputs, in float32 for narrower
// ones, and a dtype that the call asks for is used as it is.
double tolerance_of(const MaterialisedCall& call) {
  const RaisePlan plan = plan_raise(call, traits_of(call.parts));
  const DType narrowest_input = plan.raised.value_or(DType::float64);
  DType narrowest = plan.keeps_float32 ? DType::float32 : narrowest_input;
  for (const auto& [key, value] : call.kwargs) {
    const DType* dtype = value.get<DType>();
    if (dtype != nullptr && is_floating(*dtype) && size_of(*dtype) < size_of(narrowest)) narrowest = *dtype;
  }
  if (is_half(narrowest)) return narrowest == DType::bfloat16 ? 0x1p-7 : 0x1p-10;
  return narrowest == DType::float32 ? 1e-5 : 1e-9;
}

class OpinfoSample : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path folder() const { return sample_root() / GetParam(); }

  // In proportion to the larger of the value and a hundredth of the largest value of the tensor.
  void expect_close(const Value& actual, const std::string& data_name, double tolerance, const std::string& what) {
    if (data_name.empty()) return;
    const fs::path file = folder() / "expected_fp64" / fs::path(data_name).replace_extension(".npy");
    if (!fs::exists(file)) return;  // floating results only
    const Tensor* tensor = actual.get<Tensor>();
    ASSERT_NE(tensor, nullptr) << what << " is no tensor";
    // Integer inputs are computed in float32, and complex64 stays what it is.
    if (tensor->dtype() == DType::float32 || tensor->dtype() == DType::complex64) tolerance = std::max(tolerance, 1e-5);
    const Tensor expected = read_tensor_file(file.string());
    ASSERT_EQ(tensor->shape(), expected.shape()) << what;
    ASSERT_EQ(is_complex(tensor->dtype()), is_complex(expected.dtype())) << what;
    const auto parts = [](const Tensor& t) { return testing::values(is_complex(t.dtype()) ? pairs_of(t) : t); };
    const std::vector<double> left = parts(*tensor);
    const std::vector<double> right = parts(expected);
    double largest = 0;
    for (const double value : right) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) continue;
      const double scale = std::max(std::abs(right[i]), largest / 100);
      EXPECT_LE(std::abs(left[i] - right[i]), tolerance * scale + 1e-15)
          << what << ", element " << i << ": " << left[i] << " in place of " << right[i];
      if (HasFailure()) return;
    }
    ++compared_;
  }

  std::size_t compared_ = 0;
};

TEST_P(OpinfoSample, BenchmarkAgreesWithFloat64) {
  MaterialiseOptions options;
  options.data_root = folder() / "dump_tensor_data";
  for (const Recorded& recorded : read_calls(folder() / "dump.json")) {
    const std::string& name = recorded.call.name;
    SCOPED_TRACE(name);
    try {
      const MaterialisedCall call = materialise(recorded.call, options);
      const Operator* op = find_operator(call.parts.type, call.parts.api);
      if (op == nullptr) throw SkipError("not in the table");
      EvaluationOptions benchmark;
      benchmark.benchmark = true;
      const Evaluation result = evaluate(*op, call, benchmark);
      EXPECT_EQ(result.backward_problem, "");
      const double tolerance = tolerance_of(call);
      const std::vector<Value> outputs = leaves_of(result.output);
      const std::vector<std::string> output_names = data_names(recorded.outputs);
      EXPECT_EQ(outputs.size(), output_names.size()) << "outputs";
      for (std::size_t i = 0; i < std::min(outputs.size(), output_names.size()); ++i)
        expect_close(outputs[i], output_names[i], tolerance, "output " + std::to_string(i));
      const std::vector<std::string> gradient_names = data_names(recorded.gradients);
      for (std::size_t i = 0; i < gradient_names.size() && call.backward.run; ++i) {
        ASSERT_LT(i, result.gradients.size());
        expect_close(result.gradients[i], gradient_names[i], tolerance, "gradient " + std::to_string(i));
      }
    } catch (const SkipError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(compared_, 0U);
}

INSTANTIATE_TEST_SUITE_P(Categories, OpinfoSample, ::testing::ValuesIn(categories()),
                         [](const auto& category) { return category.param; });

}  // namespace
}  // namespace msrun
