// What an operator writes into its result at places that an index names, for whoever compares the result: an index may
// name a place several times, and which of the values stays there is free.
#pragma once

#include <memory>
#include <optional>

#include "kernels/numeric/selection.h"

namespace msrun {

struct Writes {
  std::shared_ptr<const Selection> selection;  // positions in the result
  Tensor values;                               // broadcast to the selection
};

// Collects what is noted on the calling thread while it lives. An inner one collects in the outer one's stead until it
// ends.
class WriteRecorder {
 public:
  WriteRecorder();
  ~WriteRecorder();
  WriteRecorder(const WriteRecorder&) = delete;
  WriteRecorder& operator=(const WriteRecorder&) = delete;

  // The last that were noted.
  const std::optional<Writes>& seen() const { return seen_; }

 private:
  friend void note_writes(const std::shared_ptr<const Selection>& selection, const Tensor& values);

  std::optional<Writes> seen_;
  WriteRecorder* before_;
};

// Called by an operator that returns a tensor with values written to the selection. Costs nothing without a recorder.
void note_writes(const std::shared_ptr<const Selection>& selection, const Tensor& values);

}  // namespace msrun
