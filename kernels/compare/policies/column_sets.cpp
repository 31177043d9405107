#include "kernels/compare/policies/column_sets.h"

#include <algorithm>
#include <array>

#include "kernels/compare/metrics/cell.h"
#include "kernels/compare/policies/att_measures.h"

namespace msrun {
namespace {

constexpr std::array<Column, 3> mindspore{{
    {Metric::cosine, "Cosine", "Cosine"},
    {Metric::max_abs_error, "MaxAbsErr", "MaxAbsErr"},
    {Metric::max_relative_error, "MaxRelativeErr", "MaxRelativeErr"},
}};

constexpr ColumnSet mindspore_set{2, {"Bench Dtype", "Tested Dtype", "Shape"}, mindspore, append_python_cell};

}  // namespace

const ColumnSet& mindspore_columns() { return mindspore_set; }

const ColumnSet* find_columns(std::uint8_t id) {
  static const std::array sets{&pytorch_columns(), &mindspore_set, &att_columns()};
  const auto* found = std::ranges::find(sets, id, &ColumnSet::id);
  return found == sets.end() ? nullptr : *found;
}

}  // namespace msrun
