// tensor_compare: the metrics and the verdict for two tensor files, or for all pairs of a file of cases.
#pragma once

#include <string>

#include "kernels/tensor/tensor.h"
#include "tools/tensor_compare/options.h"

namespace msrun::tensor_compare {

// A tensor file as one side of the comparison.
struct Side {
  Tensor tensor;
  std::string note;  // how the file was understood, where that is not plain from the file; empty otherwise
};

// wanted decides what bits that numpy has no dtype for mean; without it uint16 is bfloat16. Throws UserError.
Side read_side(const std::string& path, std::optional<DType> wanted);

// "linear" of "dump/Functional.linear.0.forward.output.0.pt"; empty for a file that is not named like a dump's.
std::string api_of_file(const std::string& path);

// Prints to stdout, notes to stderr; returns the exit code. Throws UserError for input that cannot be used.
int run(const Options& options, bool on_terminal);

}  // namespace msrun::tensor_compare
