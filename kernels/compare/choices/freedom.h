// Decompositions are determined only up to a freedom: singular vectors, eigenvectors and the columns of Q up to their
// sign (complex ones up to a phase), the vectors of equal values up to a rotation, eigenvalues of a general matrix up
// to their order. Two sound implementations may choose differently.
//
// Before outputs are compared, the device's choice is turned into the benchmark's, what belongs together in the same
// way: U with V, the columns of Q with the rows of R. Nothing else about the device's numbers changes, so that a wrong
// vector stays wrong.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/api/value.h"

namespace msrun {

class Alignment {
 public:
  // The turn from the device's outputs to the benchmark's. first_input, where given, is the decomposed matrix. Nothing
  // if the operator leaves no freedom, the outputs do not fit each other, or nothing has to be turned.
  static std::optional<Alignment> find(Freedom freedom, const Value& bench, const Value& device,
                                       const Value* first_input);

  // The outputs of the device after the turn. Applied to the gradients that the device was given for its outputs, it
  // makes those that ask the benchmark for the same derivative. Items that are not tensors of the expected shape stay.
  Value turned(const Value& outputs) const;

  // Whether output `item` was changed, and the sentence that says so.
  bool changes(std::size_t item) const;
  const std::string& message() const { return message_; }

  Alignment(Alignment&&) noexcept;
  Alignment& operator=(Alignment&&) noexcept;
  ~Alignment();

 private:
  struct Turns;
  explicit Alignment(std::unique_ptr<Turns> turns);

  std::unique_ptr<Turns> turns_;
  std::string message_;
};

}  // namespace msrun
