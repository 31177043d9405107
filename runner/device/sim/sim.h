// The simulated NPU: msrun's operators in the device's arithmetic (storage in the API's dtype, float32 accumulation),
// with fault models to see that detection works.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/device/device.h"

namespace msrun {

// What goes wrong, for the APIs whose name ("Torch.matmul.3") matches the pattern.
struct SimFault {
  enum class Kind : std::uint8_t {
    fp16_accumulation,  // acc-fp16: sums are rounded to float16 after every addition
    hf32_inputs,        // hf32: float32 operands of matrix products and convolutions keep 11 fraction bits
    flush_subnormals,   // ftz: subnormal results become zero
    wrong_element,      // wrong-element: one element of the first output and of the first gradient is off
    wrong_block,        // wrong-block: one eighth of their elements, in one piece, is off
    hang,               // hang: the call never returns
    crash,              // crash: the process dies of SIGSEGV
    out_of_memory,      // oom: the process is killed from outside, as the kernel does when memory runs out
    wrong_once,         // wrong-once: as wrong-element, but only the first time that this process runs the call
  };
  std::string pattern;  // with * and ?
  Kind kind;
};

// "Torch.matmul.*=acc-fp16". Throws UserError for anything else.
SimFault parse_sim_fault(std::string_view text);

std::unique_ptr<Device> make_sim_device(std::vector<SimFault> faults);

}  // namespace msrun
