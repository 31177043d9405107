#include "runner/device/sim/sim.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "kernels/api/rank_pattern.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/random.h"
#include "runner/device/device_wait.h"
#include "runner/device/sim/other_inputs.h"

namespace msrun {
namespace {

using Kind = SimFault::Kind;
using Faults = std::vector<const SimFault*>;

bool has(const Faults& faults, Kind kind) {
  return std::ranges::any_of(faults, [kind](const SimFault* fault) { return fault->kind == kind; });
}

bool is_float(const Tensor& tensor) { return is_floating(tensor.dtype()) || is_complex(tensor.dtype()); }

// Replaces the first tensor of a tree that has elements, floats alone if asked; true if there was one. change gets the
// tensor and its number among all leaves.
bool change_first(Value& tree, bool floats, const std::function<Tensor(const Tensor&, std::size_t)>& change) {
  bool done = false;
  std::size_t number = 0;
  tree = transform_leaves(tree, [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    const std::size_t at = number++;
    if (done || tensor == nullptr || tensor->numel() == 0 || (floats && !is_float(*tensor))) return leaf;
    done = true;
    return change(*tensor, at);
  });
  return done;
}

void apply_damage(DeviceResult& result, const SimFault& fault, const std::string& call) {
  const SimFaultKind& kind = kind_of(fault);
  const bool floats = kind.reach != FaultReach::first_tensors;
  const auto change = [&](const Tensor& tensor, std::size_t) { return kind.damage(tensor, fault, call); };
  if (kind.reach != FaultReach::first_float_gradient) change_first(result.output, floats, change);
  for (Value& gradient : result.gradients) {
    if (change_first(gradient, floats, change)) break;
  }
}

// The tensor of the same place in another result, if it could take this one's.
Tensor in_place_of(const Tensor& tensor, const Value& other, std::size_t place) {
  Tensor found = tensor;
  std::size_t number = 0;
  for_each_leaf(other, [&](const Value& leaf) {
    const Tensor* candidate = leaf.get<Tensor>();
    if (number++ != place || candidate == nullptr) return;
    if (candidate->dtype() == tensor.dtype() && candidate->shape() == tensor.shape()) found = *candidate;
  });
  return found;
}

void take_from_earlier_call(DeviceResult& result, const Evaluation& earlier) {
  const auto from = [](const Value& other) {
    return [&other](const Tensor& tensor, std::size_t place) { return in_place_of(tensor, other, place); };
  };
  change_first(result.output, true, from(earlier.output));
  for (std::size_t i = 0; i < result.gradients.size() && i < earlier.gradients.size(); ++i) {
    if (change_first(result.gradients[i], true, from(earlier.gradients[i]))) break;
  }
}

// Faults that are no result: those that end or stop the process.
void stop_process(Kind kind) {
  if (kind == Kind::hang) {
    while (true) pause();
  } else if (kind == Kind::crash) {
    std::raise(SIGSEGV);
  } else if (kind == Kind::out_of_memory) {
    kill(getpid(), SIGKILL);
    while (true) pause();
  }
}

class SimDevice final : public Device {
 public:
  SimDevice(std::vector<SimFault> faults, std::int32_t device_id, std::uint64_t seed)
      : faults_(std::move(faults)), device_id_(device_id), seed_(seed) {
    for (const SimFault& fault : faults_) patterns_.push_back(ranked_pattern(fault.pattern));
  }

  DeviceResult run(const DeviceCall& device_call) override {
    const MaterialisedCall& call = device_call.materialised;
    const Operator* op = find_canonical(device_call.operator_name);
    if (op == nullptr) throw SkipError("The simulated device has no " + std::string(device_call.operator_name) + ".");
    EvaluationOptions options;
    options.only_output = device_call.only_output;
    const Faults faults = faults_of(device_call);
    for (const SimFault* fault : faults) {
      stop_process(fault->kind);
      if (fault->kind == Kind::slow) keep_busy(fault->seconds);
      if (const auto change = kind_of(*fault).arithmetic) change(options.arithmetic);
    }
    Evaluation evaluation = evaluate(*op, call, options);
    DeviceResult result;
    result.output = std::move(evaluation.output);
    result.gradients = std::move(evaluation.gradients);
    result.backward_problem = std::move(evaluation.backward_problem);
    if (has(faults, Kind::stale)) {
      if (const auto earlier = evaluate_earlier_call(*op, call, options)) take_from_earlier_call(result, *earlier);
    }
    if (has(faults, Kind::missing_gradient_term)) leave_out_a_term(result, *op, call, options);
    for (const SimFault* fault : faults) {
      if (kind_of(*fault).damage == nullptr) continue;
      // What comes by chance comes at another place each time.
      apply_damage(result, *fault, fault->chance > 0 ? run_name(call.name, device_call.run) : call.name);
    }
    return result;
  }

 private:
  static std::string run_name(const std::string& call, std::uint32_t run) {
    return call + " run " + std::to_string(run);
  }

  // Those that concern this run of the call, each kind once: of two the first counts.
  Faults faults_of(const DeviceCall& call) const {
    const std::string& name = call.materialised.name;
    Faults faults;
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const SimFault& fault = faults_[i];
      if (!is_meant(i, call) || has(faults, fault.kind)) continue;
      if (fault.kind == Kind::wrong_once && !comes_in(fault, name, call.run)) continue;
      if (fault.kind == Kind::wrong_on_device && fault.device != device_id_) continue;
      faults.push_back(&fault);
    }
    // One wrong element or a block of them.
    const bool block = has(faults, Kind::wrong_block);
    const bool element = has(faults, Kind::wrong_element);
    std::erase_if(faults, [&](const SimFault* fault) {
      const bool sometimes = fault->kind == Kind::wrong_once || fault->kind == Kind::wrong_on_device;
      return (fault->kind == Kind::wrong_element && block) || (sometimes && (block || element));
    });
    return faults;
  }

  bool is_meant(std::size_t fault, const DeviceCall& call) const {
    const std::string& name = call.materialised.name;
    if (call.rank.empty()) return fnmatch(faults_[fault].pattern.c_str(), name.c_str(), 0) == 0;
    return matches_call_of_rank(patterns_[fault], std::string(call.rank), name);
  }

  // As a device that has one queue; its host may do other things meanwhile.
  void keep_busy(double seconds) {
    const DeviceWait wait;
    const std::lock_guard lock(busy_);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  static void leave_out_a_term(DeviceResult& result, const Operator& op, const MaterialisedCall& call,
                               const EvaluationOptions& options) {
    const std::optional<Evaluation> lacking = evaluate_without_last_index(op, call, options);
    if (!lacking) return;
    if (const auto at = gradient_that_lacks_a_term(result.gradients, lacking->gradients))
      result.gradients[*at] = lacking->gradients[*at];
  }

  bool comes_in(const SimFault& fault, const std::string& name, std::uint32_t run) const {
    if (fault.chance == 0) return run == 0;
    constexpr double keys = 0x1p64;
    return static_cast<double>(random_key(seed_, run_name(name, run), "wrong-once")) < fault.chance * keys;
  }

  std::vector<SimFault> faults_;
  std::vector<RankedPattern> patterns_;  // of each
  std::mutex busy_;
  std::int32_t device_id_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Device> make_sim_device(std::vector<SimFault> faults, std::int32_t device_id, std::uint64_t seed) {
  return std::make_unique<SimDevice>(std::move(faults), device_id, seed);
}

}  // namespace msrun
