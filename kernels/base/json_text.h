// JSON of foreign origin as values of nlohmann's library, within limits. That library reads any depth, but copies,
// compares, prints and destroys values level by level on the stack, which ends. Its ordered objects are lists, which it
// searches for each member that it adds: 300,000 members take minutes.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <nlohmann/json_fwd.hpp>

namespace msrun {

// How many arrays and objects may stand in one another, wherever JSON is read.
inline constexpr std::size_t max_json_depth = 400;

// How many members an object may have that keeps them in order.
inline constexpr std::size_t max_ordered_members = 20'000;

// Whether arrays and objects of the text nest deeper, or would if it were JSON.
bool nests_too_deep(std::string_view text);

// Whether an object of the text has more members than may be kept in order, or would if it were JSON.
bool has_too_many_members(std::string_view text);

// The value of the text, discarded where that is no JSON or beyond these limits. Json: nlohmann::json or its ordered
// form.
template <class Json>
Json parsed_json(std::string_view text) {
  const bool is_ordered = std::is_same_v<Json, nlohmann::ordered_json>;
  if (nests_too_deep(text) || (is_ordered && has_too_many_members(text))) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace msrun
