// Calls and results as plugins see them (msrun_plugin.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runner/device/plugin/msrun_plugin.h"
#include "runner/device/reply.h"

namespace msrun {

// A call in the form of the interface. Refers to the tensors and texts of the DeviceCall, which outlives it.
class PluginCall {
 public:
  // Throws SkipError for values that cannot be rebuilt.
  explicit PluginCall(const DeviceCall& call);
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  const msrun_call& call() const { return call_; }
  // Tensors among the arguments: so many gradients a result has.
  std::size_t tensors() const { return tensor_count_; }
  // Which tensor the plugin has written to: "input 0", by its place among the tensors of the arguments, or "output
  // gradient 0". Plugins get the memory that the benchmark reads as well, so that a change would make it agree with a
  // wrong result.
  std::optional<std::string> changed_tensor() const;

 private:
  msrun_value value(const Value& value);
  msrun_value tensor(const Tensor& tensor);
  msrun_list list(const List& values);
  msrun_dict dict(const Dict& values);

  const DeviceCall& device_call_;
  std::string operator_name_;
  bool in_arguments_ = true;
  std::size_t tensor_count_ = 0;
  // What the structures point to stays where it is.
  std::deque<Tensor> tensors_;
  std::vector<std::uint64_t> hashes_;  // of the tensors' bytes, as they were passed in
  std::deque<std::vector<msrun_value>> lists_;
  std::deque<std::vector<msrun_entry>> dicts_;
  msrun_call call_{};
};

// What a plugin has returned of a call with so many tensors among its arguments; all is copied. Throws DeviceError
// where it is nothing that the interface allows, SkipError and NoTensorMemory where a tensor cannot be had.
DeviceResult read_result(const msrun_result& result, std::size_t tensors);

}  // namespace msrun
