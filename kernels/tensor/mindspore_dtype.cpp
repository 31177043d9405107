#include "kernels/tensor/mindspore_dtype.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

struct Name {
  DType dtype;
  std::string_view text;
};

constexpr std::array names{
    Name{DType::boolean, "Bool"},
    Name{DType::uint8, "UInt8"},
    Name{DType::int8, "Int8"},
    Name{DType::int16, "Int16"},
    Name{DType::int32, "Int32"},
    Name{DType::int64, "Int64"},
    Name{DType::float16, "Float16"},
    Name{DType::bfloat16, "BFloat16"},
    Name{DType::float32, "Float32"},
    Name{DType::float64, "Float64"},
    Name{DType::float8_e4m3fn, "Float8E4M3FN"},
    Name{DType::float8_e5m2, "Float8E5M2"},
    Name{DType::complex64, "Complex64"},
    Name{DType::complex128, "Complex128"},
};
static_assert(names.size() == dtype_count);

// In upstream's order, which its messages show.
constexpr std::array<std::string_view, 14> checked{"Int8",    "UInt8", "Int16",    "UInt16",  "Int32",
                                                   "UInt32",  "Int64", "UInt64",   "Float16", "Float32",
                                                   "Float64", "Bool",  "BFloat16", "Int4"};

}  // namespace

std::string_view mindspore_name(DType dtype) { return std::ranges::find(names, dtype, &Name::dtype)->text; }

std::optional<DType> parse_mindspore_dtype(std::string_view name) {
  const auto* found = std::ranges::find(names, name, &Name::text);
  if (found == names.end()) return std::nullopt;
  return found->dtype;
}

bool is_checked_mindspore_dtype(std::string_view name) { return std::ranges::find(checked, name) != checked.end(); }

const std::string& checked_mindspore_dtypes() {
  static const std::string text = [] {
    std::string list;
    for (const std::string_view name : checked) list += (list.empty() ? "['" : ", '") + std::string(name) + "'";
    return list + "]";
  }();
  return text;
}

}  // namespace msrun
