#include "runner/device/sim/sim.h"

#include <fnmatch.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <mutex>
#include <set>

#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

struct KindName {
  std::string_view text;
  SimFault::Kind kind;
};

constexpr std::array kind_names{
    KindName{"acc-fp16", SimFault::Kind::fp16_accumulation},
    KindName{"hf32", SimFault::Kind::hf32_inputs},
    KindName{"ftz", SimFault::Kind::flush_subnormals},
    KindName{"wrong-element", SimFault::Kind::wrong_element},
    KindName{"wrong-block", SimFault::Kind::wrong_block},
    KindName{"hang", SimFault::Kind::hang},
    KindName{"crash", SimFault::Kind::crash},
    KindName{"oom", SimFault::Kind::out_of_memory},
    KindName{"wrong-once", SimFault::Kind::wrong_once},
};

// Elements [start, start + count) of a tensor, moved by more than any rounding explains.
Tensor corrupt(const Tensor& tensor, std::int64_t start, std::int64_t count) {
  if (is_complex(tensor.dtype())) {
    return complex_of(corrupt(real_part(tensor), start, count), imaginary_part(tensor));
  }
  Tensor wide = tensor.to(DType::float64).clone();
  double* values = wide.mutable_data<double>();
  for (std::int64_t i = start; i < start + count; ++i) {
    values[i] = tensor.dtype() == DType::boolean ? 1 - values[i] : values[i] + 1 + std::abs(values[i]);
  }
  return wide.to(tensor.dtype());
}

// The first tensor of a tree that has elements, corrupted; true if there was one.
bool corrupt_first(Value& tree, const std::string& name, bool whole_block) {
  bool done = false;
  tree = transform_leaves(tree, [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    if (done || tensor == nullptr || tensor->numel() == 0) return leaf;
    done = true;
    const std::int64_t count = whole_block ? (tensor->numel() + 7) / 8 : 1;
    const std::uint64_t places = static_cast<std::uint64_t>(tensor->numel() - count) + 1;
    return corrupt(*tensor, static_cast<std::int64_t>(random_key(0, name, "wrong") % places), count);
  });
  return done;
}

class SimDevice final : public Device {
 public:
  explicit SimDevice(std::vector<SimFault> faults) : faults_(std::move(faults)) {}

  DeviceResult run(const DeviceCall& device_call) override {
    const MaterialisedCall& call = device_call.materialised;
    const Operator* op = find_canonical(device_call.operator_name);
    if (op == nullptr) throw SkipError("The simulated device has no " + std::string(device_call.operator_name) + ".");
    EvaluationOptions options;
    options.only_output = device_call.only_output;
    bool wrong_element = false;
    bool wrong_block = false;
    for (const SimFault& fault : faults_) {
      if (fnmatch(fault.pattern.c_str(), call.name.c_str(), 0) != 0) continue;
      switch (fault.kind) {
        case SimFault::Kind::fp16_accumulation:
          options.arithmetic.fp16_accumulation = true;
          break;
        case SimFault::Kind::hf32_inputs:
          options.arithmetic.hf32_inputs = true;
          break;
        case SimFault::Kind::flush_subnormals:
          options.arithmetic.flush_subnormals = true;
          break;
        case SimFault::Kind::wrong_element:
          wrong_element = true;
          break;
        case SimFault::Kind::wrong_block:
          wrong_block = true;
          break;
        case SimFault::Kind::hang:
          while (true) pause();
        case SimFault::Kind::crash:
          std::raise(SIGSEGV);
          break;
        case SimFault::Kind::out_of_memory:
          kill(getpid(), SIGKILL);
          while (true) pause();
        case SimFault::Kind::wrong_once:
          wrong_element = wrong_element || is_first_run(call.name);
          break;
      }
    }
    Evaluation evaluation = evaluate(*op, call, options);
    DeviceResult result;
    result.output = std::move(evaluation.output);
    result.gradients = std::move(evaluation.gradients);
    result.backward_problem = std::move(evaluation.backward_problem);
    if (wrong_element || wrong_block) {
      corrupt_first(result.output, call.name, wrong_block);
      for (Value& gradient : result.gradients) {
        if (corrupt_first(gradient, call.name, wrong_block)) break;
      }
    }
    return result;
  }

 private:
  bool is_first_run(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return run_before_.insert(name).second;
  }

  std::vector<SimFault> faults_;
  std::mutex mutex_;
  std::set<std::string> run_before_;  // calls with wrong-once
};

}  // namespace

SimFault parse_sim_fault(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string_view::npos && equals > 0) {
    for (const KindName& entry : kind_names) {
      if (entry.text == text.substr(equals + 1)) return {std::string(text.substr(0, equals)), entry.kind};
    }
  }
  std::string known;
  for (const KindName& entry : kind_names) known += (known.empty() ? "" : ", ") + std::string(entry.text);
  throw UserError("--sim-fault " + std::string(text) +
                  ": expected PATTERN=FAULT, for example 'Torch.matmul.*=acc-fp16'; faults are " + known + ".");
}

std::unique_ptr<Device> make_sim_device(std::vector<SimFault> faults) {
  return std::make_unique<SimDevice>(std::move(faults));
}

}  // namespace msrun
