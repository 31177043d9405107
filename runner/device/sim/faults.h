// The faults that the simulated device can have, as one table: what --sim-fault calls them, what --list-faults says
// about them, and the function that makes each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// What goes wrong, for the APIs whose name ("Torch.matmul.3") matches the pattern.
struct SimFault {
  enum class Kind : std::uint8_t {
    fp16_accumulation,
    bf16_accumulation,
    dropped_term,
    hf32_inputs,
    flush_subnormals,
    rounding_to_zero,
    wrong_element,
    wrong_block,
    wrong_once,
    wrong_on_device,
    wrong_tail,
    wrong_core,
    scaled,
    transposed,
    swapped_rows,
    nan_tail,
    uninitialised,
    stale,
    gradient_sign,
    missing_gradient_term,
    // From here on no result is changed.
    slow,
    hang,
    crash,
    out_of_memory,
  };
  // With * and ?; where the call is of one of several ranks, with theirs in front (kernels/api/rank_pattern.h).
  std::string pattern = {};
  Kind kind = Kind::hang;
  double factor = 1;        // of scaled: finite
  std::int64_t every = 1;   // of wrong_core: the blocks every - 1, 2 every - 1, ... of so many are wrong
  std::int64_t blocks = 1;  // at least every
  double chance = 0;        // of wrong_once: that a run is wrong, each on its own; 0: the first run of the call is
  std::int32_t device = 0;  // of wrong_on_device: the id of that device
  double seconds = 0;       // of slow
};

// Which stored tensors a fault changes: one of the output and one of the gradients, or of the gradients alone. Those
// without elements do not count.
enum class FaultReach : std::uint8_t { first_tensors, first_floats, first_float_gradient };

struct SimFaultKind {
  SimFault::Kind kind;
  std::string_view name;            // "wrong-core"
  std::string_view parameter = {};  // as a reader is told to write it: "K/N"; empty: none
  bool is_optional = false;         // the parameter may be left out
  std::string_view effect;          // a clause without a full stop
  // Takes the parameter; false if the text is not one.
  bool (*read)(std::string_view text, SimFault& fault) = nullptr;
  // Exactly one of the next two for faults of the arithmetic and of stored tensors, neither for the others.
  void (*arithmetic)(Arithmetic& arithmetic) = nullptr;
  // A tensor of the dtype and shape of this one, which has elements. call names the call.
  Tensor (*damage)(const Tensor& tensor, const SimFault& fault, std::string_view call) = nullptr;
  FaultReach reach = FaultReach::first_floats;
};

// In the order in which they are listed.
std::span<const SimFaultKind> sim_fault_kinds();
const SimFaultKind& kind_of(const SimFault& fault);
// As it is written: "wrong-core=K/N", "wrong-once[=P]".
std::string spelled(const SimFaultKind& kind);

// "Torch.matmul.*=acc-fp16", "*=scale=1.001". Throws UserError for anything else, with what there is.
SimFault parse_sim_fault(std::string_view text);

}  // namespace msrun
