// The plan as a runner reads it: an immutable blob in shared memory, one record per task and the bytes they point to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace msrun {

struct PlanRecord {
  std::uint64_t name_offset = 0;
  std::uint64_t call_offset = 0;  // encoded ApiCall without gradients (kernels/api/call_codec.h)
  std::uint64_t grad_offset = 0;  // encoded List of the backward entry's gradients
  std::uint64_t skip_offset = 0;  // text of the reason, where the call is not run
  // Encoded Lists of the recorded outputs and gradients; only in a plan that was asked for them.
  std::uint64_t output_offset = 0;
  std::uint64_t output_grad_offset = 0;
  std::uint64_t output_forms_offset = 0;   // encoded List, ApiCall::output_forms
  std::uint64_t recorded_name_offset = 0;  // the name in the recording, where it is another one
  std::uint64_t title_offset = 0;          // what results call it, where that is not its name
  std::uint32_t name_size = 0;
  std::uint32_t call_size = 0;
  std::uint32_t grad_size = 0;  // 0: the dump has no backward entry
  std::uint32_t skip_size = 0;
  std::uint32_t output_size = 0;
  std::uint32_t output_grad_size = 0;
  std::uint32_t output_forms_size = 0;
  std::uint32_t recorded_name_size = 0;
  std::uint32_t title_size = 0;
  std::uint32_t rank = 0;         // whose call it is, in a plan of several ranks
  std::uint64_t memory = 0;       // bytes, estimate of the peak
  std::uint64_t stream_word = 0;  // position in torch's random stream, for --seed-mode stream
  float cost = 0;                 // estimated nanoseconds of one core
  bool skip_by_rule = false;      // where there is a reason: it is a rule's, not a fault of the entry
  bool lone_backward = false;     // the recording has no forward of the call
};

struct PlanView {
  std::span<const PlanRecord> tasks;
  const char* bytes = nullptr;

  std::string_view name(std::uint32_t task) const { return text(tasks[task].name_offset, tasks[task].name_size); }
  // What results call it: its name, in a plan of several ranks that of its rank and a colon in front of it.
  std::string_view title(std::uint32_t task) const {
    const PlanRecord& record = tasks[task];
    return record.title_size == 0 ? name(task) : text(record.title_offset, record.title_size);
  }
  // The name as the recording has it.
  std::string_view recorded_name(std::uint32_t task) const {
    const PlanRecord& record = tasks[task];
    return record.recorded_name_size == 0 ? name(task) : text(record.recorded_name_offset, record.recorded_name_size);
  }
  std::string_view call(std::uint32_t task) const { return text(tasks[task].call_offset, tasks[task].call_size); }
  std::string_view gradients(std::uint32_t task) const { return text(tasks[task].grad_offset, tasks[task].grad_size); }
  std::string_view outputs(std::uint32_t task) const {
    return text(tasks[task].output_offset, tasks[task].output_size);
  }
  std::string_view output_gradients(std::uint32_t task) const {
    return text(tasks[task].output_grad_offset, tasks[task].output_grad_size);
  }
  std::string_view output_forms(std::uint32_t task) const {
    return text(tasks[task].output_forms_offset, tasks[task].output_forms_size);
  }
  std::string_view skip_reason(std::uint32_t task) const {
    return text(tasks[task].skip_offset, tasks[task].skip_size);
  }

 private:
  std::string_view text(std::uint64_t offset, std::uint32_t size) const { return {bytes + offset, size}; }
};

}  // namespace msrun
