// Which file a recorded tensor lies in, and what is done with it before it is compared (dump_compare.md 8).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/dump_compare/tensor_source.h"
#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

// Matrices that tensors are multiplied with from the right, such as the inverse of a rotation before quantisation: file
// of the tensor, as the recording names it -> file of the matrix.
struct RightFactors {
  std::unordered_map<std::string, std::string> target;
  std::unordered_map<std::string, std::string> golden;
};

// A YAML file with target_tensor_map and golden_tensor_map, each an object of lists: matrix -> names of tensors. Paths
// of matrices are relative to the file. Throws UserError for a file of another form.
RightFactors parse_right_factors(const std::string& name, std::string_view text);
RightFactors read_right_factors(const std::string& path);

// Warns of tensors that are listed and not in the recording; side: "target" or "golden".
void warn_of_unknown_tensors(const std::unordered_map<std::string, std::string>& factors,
                             const recordings::Recording& side, const std::string& file,
                             const std::function<void(const std::string&)>& warn);

// Path of the file of a tensor; empty if the recording names none.
std::string tensor_path(const recordings::Recording& side, const recordings::Leaf& leaf);

// The file of a tensor of the target, with the rows that the call has computed where its arguments tell how many.
TensorFile target_file(const recordings::Recording& side, const recordings::Call& call, const recordings::Leaf& leaf,
                       const RightFactors& factors);
TensorFile golden_file(const recordings::Recording& side, const recordings::Leaf& leaf, const RightFactors& factors);

}  // namespace msrun::dump_compare
