// The names that MindSpore has for dtypes, in dumps and in the files of their check.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/tensor/dtype.h"

namespace msrun {

// "Float32", "Bool", "BFloat16".
std::string_view mindspore_name(DType dtype);

// Nothing for a name that stands for no dtype of msrun, known to the check or not.
std::optional<DType> parse_mindspore_dtype(std::string_view name);

// Whether the check takes tensors of this dtype: those of msrun, and some of which no tensor can be had on the CPU
// (acc_check_mindspore.md 2.3).
bool is_checked_mindspore_dtype(std::string_view name);

// The names of these dtypes as Python prints the keys of a dict, "['Int8', 'UInt8', ...]".
const std::string& checked_mindspore_dtypes();

}  // namespace msrun
