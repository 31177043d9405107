// Choices and products of the elements of vectors.
#include <limits>
#include <string>
#include <vector>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

// The rows of positions with which r of n elements can be chosen, in order, in lexicographic order.
Tensor choices(std::int64_t n, std::int64_t r, bool repeat) {
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> row(static_cast<std::size_t>(r));
  for (std::int64_t i = 0; i < r; ++i) row[static_cast<std::size_t>(i)] = repeat ? 0 : i;
  std::int64_t count = 0;
  std::size_t next_check = 0;
  bool more = r > 0 && (repeat ? n > 0 : r <= n);
  while (more) {
    positions.insert(positions.end(), row.begin(), row.end());
    ++count;
    if (positions.size() >= next_check) {
      check_tensor_memory(3 * positions.size() * sizeof(std::int64_t));
      next_check += std::size_t{1} << 20;
    }
    // The last position that can still grow; those behind it follow.
    std::int64_t at = r - 1;
    while (at >= 0 && row[static_cast<std::size_t>(at)] == (repeat ? n - 1 : n - r + at)) --at;
    more = at >= 0;
    if (!more) break;
    const std::int64_t value = ++row[static_cast<std::size_t>(at)];
    for (std::int64_t i = at + 1; i < r; ++i) row[static_cast<std::size_t>(i)] = repeat ? value : value + i - at;
  }
  return Tensor::from<std::int64_t>(DType::int64, Dims{count, r}, std::span<const std::int64_t>(positions));
}

Var combinations(const Var& x, std::int64_t r, bool repeat) {
  if (x.rank() != 1) throw SkipError("combinations expects a vector.");
  if (r < 0) throw SkipError("combinations expects a number of elements that is not negative.");
  constexpr std::int64_t limit = 1 << 20;
  if (r > limit) throw SkipError("combinations of more than 2^20 elements are not supported.");
  if (r == 0) return slice(x, 0, 0, 0);
  const Tensor positions = choices(x.size(0), r, repeat);
  const Dims shape = positions.shape();
  return reshape(gather(x, 0, positions.reshape(Dims{positions.numel()})), shape);
}

// Every choice of one element of each vector, the last changing fastest.
Var cartesian_prod(const std::vector<Var>& vectors) {
  if (vectors.empty()) throw SkipError("cartesian_prod expects at least one tensor.");
  Dims sizes;
  for (const Var& vector : vectors) {
    if (vector.rank() != 1) throw SkipError("cartesian_prod expects vectors.");
    sizes.push_back(vector.size(0));
  }
  if (vectors.size() == 1) return vectors[0];
  element_count(sizes);
  std::vector<Var> columns;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Dims shape(sizes.size(), 1);
    shape[i] = sizes[i];
    columns.push_back(reshape(expand(reshape(vectors[i], shape), sizes), {element_count(sizes)}));
  }
  return stack(columns, 1);
}

}  // namespace

OP("combinations(Tensor input, int r=2, bool with_replacement=False)", [](const Bound& args) -> Value {
  return combinations(args.var("input"), args.integer("r"), args.flag("with_replacement"));
});
NAMES("combinations", "Torch: combinations");
TRY_FIRST("combinations", Trial::of_sizes);
TRAITS("combinations", .copies_only = true);

OP("cartesian_prod(Tensor[]... tensors)",
   [](const Bound& args) -> Value { return cartesian_prod(args.vars("tensors")); });
NAMES("cartesian_prod", "Torch: cartesian_prod");
TRY_FIRST("cartesian_prod", Trial::of_sizes);
TRAITS("cartesian_prod", .copies_only = true);

}  // namespace msrun
