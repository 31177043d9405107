// One recorded call with its data: what is made smaller, step by step, and written as a recording of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "kernels/io/dump/recording_origin.h"

namespace msrun::shrink {

struct Recording {
  // Tensors in args, kwargs and grad_inputs are TensorSpecs that name their file in data and have its dtype and shape.
  // So do those of the recorded results, if the results are part of the recording.
  ApiCall call;
  std::map<std::string, Tensor> data;
  // Dtypes and shapes of the outputs, for readers of the written recording: TensorSpecs without files.
  List described_outputs;
  // Of the recording that the call is from: recorded results are judged by it.
  RecordingOrigin origin;
};

// The call with the tensors that a run of it is given: read from its files, or made of its statistics. Values are not
// changed for the device (HF32); that is done anew by every run. with_results takes the recorded results along. Throws
// SkipError where a value cannot be built.
Recording record(const ApiCall& call, const MaterialiseOptions& options, bool with_results);

// Writes dump.json and its tensors, as .pt files in dump_tensor_data, into the folder, which is made. Throws UserError.
void write(const Recording& recording, const std::string& folder);

// dump.json's text.
std::string dump_text(const Recording& recording);

// The call with tensors in place of their descriptions, and without backward and recorded results: what can be
// evaluated forward.
ApiCall forward_call(const Recording& recording);

// Changes one tensor of the recording, wherever it is named.
void replace(Recording& recording, const std::string& file, Tensor tensor);

// Files of the tensors in args and kwargs, in order, and of the gradients of the outputs.
std::vector<std::string> argument_files(const Recording& recording);
std::vector<std::string> gradient_files(const Recording& recording);

// Elements of arguments and gradients, and how many of them are not zero.
struct Size {
  std::int64_t elements = 0;
  std::int64_t not_zero = 0;
};
Size size_of(const Recording& recording);

// "args.0 float32 (1, 3), args.1 float32 (3, 1)", the arguments and "grad.0 ..." the gradients.
std::string shapes_text(const Recording& recording);

}  // namespace msrun::shrink
