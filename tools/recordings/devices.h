// Names of devices among the arguments of calls.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/base/lower_case.h"

namespace msrun::recordings {

// Whether a text names a device, "cuda:0" or "npu". Recordings of two kinds of accelerators differ in every such
// argument, which says nothing of the values.
inline bool is_device(std::string_view text) {
  constexpr auto kinds =
      std::to_array<std::string_view>({"cpu", "cuda", "npu", "gpu", "ascend", "xpu", "mlu", "musa", "hpu", "mps"});
  constexpr std::size_t longest = std::string_view("ascend:9999").size();
  if (text.size() > longest) return false;
  const std::size_t colon = text.find(':');
  const std::string_view number = colon == std::string_view::npos ? "0" : text.substr(colon + 1);
  const bool digits = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && std::ranges::find(kinds, lower_case(text.substr(0, colon))) != kinds.end();
}

}  // namespace msrun::recordings
