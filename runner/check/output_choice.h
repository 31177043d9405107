// What the device was free to choose in the outputs of a call, where it chose otherwise than the benchmark: which of
// several values for one place stays, which of equal elements an index names, and on which side of an edge an element
// is counted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kernels/compare/choices/overwrites.h"
#include "kernels/evaluate/evaluate.h"

namespace msrun {

class OutputChoice {
 public:
  OutputChoice() = default;
  OutputChoice(const Operator& op, const MaterialisedCall& call, const Evaluation& bench, const Value& device);

  // The output of an evaluation, as the device chose.
  Value applied(const Evaluation& evaluation) const;

  // The row that the choice is of, and the sentences that say so; empty if there is no choice.
  std::size_t row() const { return indices_ ? 1 : 0; }
  std::string message() const;

 private:
  std::optional<OverwriteChoice> kept_;
  std::optional<Tensor> indices_;  // in place of the second output
  std::optional<Tensor> moved_;    // added to the counts
};

}  // namespace msrun
