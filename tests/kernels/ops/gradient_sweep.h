// Random calls of every differentiable operator, for the gradient check in gradient_sweep_test.cpp: one table per
// family of operators, in the gradient_sweep_*.cpp files. Arguments stay away from kinks, poles and ties, where central
// differences mean nothing.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/inventory/inventory.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {

// One call. float64 tensors are differentiated, all others are constants.
struct SweepCall {
  List args;
  Dict kwargs = {};
  std::vector<std::size_t> constants = {};  // float64 tensors, counted depth first, that no gradient reaches
  double tolerance = 1e-6;
  bool symmetric = false;  // GradientCheck::symmetric
  bool lower = false;      // GradientCheck::lower
};

// The source of everything random in a call.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high);  // both included
  double real(double low, double high);
  bool flag() { return integer(0, 1) == 1; }
  // A rank between the two, sizes of 1 to 4.
  Dims shape(std::int64_t min_rank, std::int64_t max_rank);
  // An axis of a tensor of that rank, counted from either end.
  std::int64_t axis(std::int64_t rank) {
    return integer(-std::max<std::int64_t>(rank, 1), std::max<std::int64_t>(rank, 1) - 1);
  }
  // A shape that broadcasts to shape.
  Dims broadcastable(const Dims& shape);

  // float64 tensors in a random layout: row-major, permuted, with gaps, or repeated along an axis.
  Tensor uniform(const Dims& shape, double low = -2, double high = 2);
  // Between -4 and 4, at least 0.05 away from all multiples of one half.
  Tensor off_grid(const Dims& shape);
  // No two elements closer than 0.1, none closer to 0 than 0.05; not repeated.
  Tensor distinct(const Dims& shape);
  // Square matrices: well conditioned, and the same made symmetric and positive definite.
  Tensor matrix(const Dims& batch, std::int64_t size);
  Tensor positive_definite(const Dims& batch, std::int64_t size);

  Tensor integers(const Dims& shape, std::int64_t low, std::int64_t high);  // int64, both included
  Tensor mask(const Dims& shape);                                           // bool
  Dims permutation(std::int64_t count);

 private:
  Tensor laid_out(const Tensor& tensor, bool may_repeat);
  std::mt19937_64 generator_;
};

struct SweepEntry {
  std::string canonical;  // as in the inventory
  std::string api;        // "Torch.where"; empty: the first name in the inventory
  std::function<SweepCall(Draw&)> make;
};
using SweepTable = std::vector<SweepEntry>;

SweepTable elementwise_sweep();
SweepTable shape_sweep();
SweepTable reduction_sweep();
SweepTable matrix_sweep();
SweepTable network_sweep();
SweepTable loss_sweep();
// All of them.
SweepTable whole_sweep();

// What the inventory says of the operators that torch differentiates, by their canonical names.
const std::map<std::string, const InventoryOperator*>& differentiable_operators();
// The namespace and the name of an operator's first API in the inventory: Functional and relu.
std::pair<std::string, std::string> first_name(const InventoryOperator& entry);
// Those of a row of the tables.
std::pair<std::string, std::string> name_of(const SweepEntry& entry);

inline Value i(std::int64_t value) { return value; }
inline Value text(const char* value) { return std::string(value); }
inline Value ints(const Dims& values) {
  List list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return list;
}

}  // namespace msrun::testing
