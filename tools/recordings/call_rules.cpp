#include "tools/recordings/call_rules.h"

#include <algorithm>
#include <array>

namespace msrun::recordings {
namespace {

constexpr auto uninitialised =
    std::to_array<std::string_view>({"empty", "empty_like", "empty_with_format", "empty_strided", "empty_permuted",
                                     "empty_quantized", "new_empty", "new_empty_strided", "new_empty_with_format"});
constexpr auto unjudged = std::to_array<std::string_view>({"numpy", "to", "__setitem__"});
constexpr auto buffered = std::to_array<std::string_view>(
    {"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"});
constexpr auto between_ranks = std::to_array<std::string_view>(
    {"send", "recv", "broadcast", "all_reduce", "reduce", "all_gather", "gather", "isend", "irecv", "scatter",
     "reduce_scatter", "_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "all_to_all",
     "all_gather_into_tensor", "reduce_scatter_tensor", "send_object_list", "recv_object_list"});

bool is_among(std::string_view api, const auto& apis) { return std::ranges::find(apis, api) != apis.end(); }

}  // namespace

bool is_uninitialised(std::string_view api) { return is_among(api, uninitialised); }

bool is_without_rules(std::string_view api) { return is_uninitialised(api) || is_among(api, unjudged); }

bool has_buffers(std::string_view api) { return is_among(api, buffered); }

bool is_between_ranks(std::string_view api) { return is_among(api, between_ranks); }

bool holds_communication(std::string_view name) {
  return std::ranges::any_of(between_ranks,
                             [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

}  // namespace msrun::recordings
