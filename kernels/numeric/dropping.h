// What dropout decides, for whoever judges it: which elements are kept is random, but what becomes of a kept and of a
// dropped one is not.
#pragma once

#include <optional>

#include "kernels/base/replaced.h"
#include "kernels/tensor/dims.h"

namespace msrun {

// The decisions of one call.
struct Dropping {
  double probability = 0;  // of being dropped
  Dims shape;              // one decision for each element; axes of length 1 share theirs
};

// While it lives, dropout on the calling thread keeps everything, or drops everything, in place of what it draws. An
// inner one decides in the outer one's stead until it ends.
class DroppingScope {
 public:
  explicit DroppingScope(bool keeps);

  // The last decisions that were asked for; nothing if nothing was to be drawn.
  const std::optional<Dropping>& seen() const { return seen_; }

 private:
  friend std::optional<bool> decided_dropping(double probability, const Dims& shape);

  bool keeps_;
  std::optional<Dropping> seen_;
  Replaced<DroppingScope*> innermost_;
};

// Called by dropout before it draws: whether it keeps everything or nothing. Nothing: it draws.
std::optional<bool> decided_dropping(double probability, const Dims& shape);

}  // namespace msrun
