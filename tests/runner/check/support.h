// A call as it is recorded, and a device that computes it as msrun does and then errs as a test wants it to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/torch/pt_file.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/check/check.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {

// A call of float tensors of these shapes, of random elements between min and max, with a backward for a random
// gradient of its first output, which has the shape `output`.
inline ApiCall call_of(const std::string& name, const std::vector<Dims>& shapes, const Dims& output,
                       DType dtype = DType::float32, double min = -2, double max = 2) {
  const auto spec = [&](const Dims& shape, double least, double most) {
    auto result = std::make_shared<TensorSpec>();
    result->dtype = torch_name(dtype);
    result->shape.assign(shape.begin(), shape.end());
    result->min = least;
    result->max = most;
    result->requires_grad = true;
    return std::shared_ptr<const TensorSpec>(std::move(result));
  };
  ApiCall call;
  call.name = name;
  for (const Dims& shape : shapes) call.args.emplace_back(spec(shape, min, max));
  call.has_backward = true;
  call.grad_inputs = {spec(output, -1, 1)};
  return call;
}

// Every element of a tensor times a factor.
inline void scale(Value& value, double factor) {
  value = changed_elements(*value.get<Tensor>(), [&](double element, std::int64_t) { return element * factor; });
}

class ComputingDevice final : public Device {
 public:
  // Changes a result; run counts from 0.
  using Change = std::function<void(DeviceResult&, int run)>;
  // options is how it computes: sound arithmetic in the dtypes of the call by default.
  explicit ComputingDevice(Change change, EvaluationOptions options = {})
      : change_(std::move(change)), options_(std::move(options)) {}

  DeviceArithmetic arithmetic() const override { return says; }

  DeviceResult run(const DeviceCall& call) override {
    const MaterialisedCall& inputs = call.materialised;
    const Evaluation evaluation = evaluate(*find_operator(inputs.parts.type, inputs.parts.api), inputs, options_);
    DeviceResult result;
    result.output = evaluation.output;
    result.gradients = evaluation.gradients;
    result.backward_problem = evaluation.backward_problem;
    if (change_) change_(result, runs_++);
    return result;
  }

  DeviceArithmetic says;  // of itself

 private:
  Change change_;
  EvaluationOptions options_;
  int runs_ = 0;
};

inline ApiResult check(const ApiCall& call, const ComputingDevice::Change& change, const EvaluationOptions& how = {},
                       const CheckOptions& options = {}) {
  ComputingDevice device(change, how);
  return check_api(call, 0, device, 0, options);
}

// All Messages of a result, for a test that fails.
inline std::string described(const ApiResult& result) {
  std::string text = result.name + ": " + result.message;
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (const DetailsRow& row : *rows) text += "\n" + row.message;
  }
  return text;
}

// Tensors that lie in files, as a recording with data has them.
class TensorFiles {
 public:
  // The tensor as an argument, or as the gradient of an output, that is taken from its file.
  Value file(const Tensor& tensor, bool requires_grad = true) {
    TensorSpec spec;
    spec.dtype = torch_name(tensor.dtype());
    spec.shape.assign(tensor.shape().begin(), tensor.shape().end());
    spec.requires_grad = requires_grad;
    spec.data_name = std::to_string(files_++) + ".pt";
    write_pt(folder_.file(spec.data_name), tensor);
    return std::make_shared<const TensorSpec>(spec);
  }

  // What a check needs to find the files.
  CheckOptions options() const {
    CheckOptions options;
    options.materialise.data_root = folder_.path();
    return options;
  }

 private:
  TemporaryDirectory folder_;
  int files_ = 0;
};

}  // namespace msrun::testing
