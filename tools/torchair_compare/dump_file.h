// One file of a dump, opened: its tensors described but not read. Full dumps and what the converter leaves of them look
// the same here (torchair.md 5 and 10.2).
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/stored/stored_tensor.h"
#include "kernels/io/stored/tensor_statistics.h"
#include "tools/torchair_compare/token_files.h"

namespace msrun::torchair {

struct DumpTensor {
  const InputFile* file = nullptr;
  StoredTensor stored;
  bool statistics = false;  // two elements: the smallest and the largest of the tensor
  // What else a converter that was asked for more has kept.
  std::optional<TensorStatistics> more;
  // The type is one that holds the extremes of all inputs, or outputs, of the operator, not the tensor's own.
  bool shared_type = false;
};

struct GeOpenFile {
  std::unique_ptr<InputFile> file;
  std::vector<DumpTensor> inputs;
  std::vector<DumpTensor> outputs;
};

// Throws SkipError if the file, or one of its tensors, cannot be read.
GeOpenFile open_ge_file(const GeOpFile& file);

// An array of texts or Python objects.
class NotNumeric : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FxOpenFile {
  std::unique_ptr<InputFile> file;
  DumpTensor tensor;
};

// Throws NotNumeric, or SkipError if the file cannot be read.
FxOpenFile open_fx_file(const FxTensorFile& file);

}  // namespace msrun::torchair
