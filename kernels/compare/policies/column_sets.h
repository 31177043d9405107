// The columns that other checks than that for PyTorch have.
#pragma once

#include <cstdint>

#include "kernels/compare/metrics/columns.h"

namespace msrun {

// The columns of acc_check for MindSpore (acc_check_mindspore.md 7.1).
const ColumnSet& mindspore_columns();

// The set with this id, of any framework; nullptr if there is none.
const ColumnSet* find_columns(std::uint8_t id);

}  // namespace msrun
