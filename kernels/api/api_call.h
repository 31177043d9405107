// ApiCall: one recorded call, forward or backward, and the parts of its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/api/value.h"

namespace msrun {

enum class Direction : std::uint8_t { forward, backward };

// "Functional.conv2d.3": type, bare API name (which may contain a dot: "linalg.norm"), call index. The overload in a
// name of type Aten ("Aten.add.Tensor.3") is left out: arguments tell it.
struct ApiName {
  std::string type;
  std::string api;
  std::string index;

  // Splits a full name without direction into its parts; nothing if it has not three or four segments.
  static std::optional<ApiName> parse(std::string_view full);

  // Whether the call changes its first argument, which keeps its dtype, and returns it: "add_", "__iadd__".
  bool in_place() const;
};

// The direction is the last dot-separated segment of an entry name; nothing if that is neither "forward" nor
// "backward". base receives the name without it.
std::optional<Direction> split_direction(std::string_view entry, std::string_view& base);

// What the device returned when the call was recorded: TensorSpecs, or Tensors once materialised.
struct RecordedResult {
  List outputs;
  List gradients;  // as the dumper found them, in an order of its own; empty if there are none
  // Why the gradients are of no use; empty otherwise.
  std::string gradient_problem;
};

struct ApiCall {
  std::string name;          // "Functional.conv2d.3"
  List args;                 // input_args
  Dict kwargs;               // input_kwargs
  std::string output_dtype;  // dtype text of output[0] in the dump; empty if there is none
  // The leaves of output in the dump: of tensors dtype and shape alone, None for whatever else there is. Empty where
  // the recording holds none.
  List output_forms;
  bool has_backward = false;
  List grad_inputs;  // input of the backward entry: gradients of the outputs
  // Only where the recorded results are asked for.
  std::optional<RecordedResult> recorded;
};

}  // namespace msrun
