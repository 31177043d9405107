// JSON of foreign origin as values of nlohmann's library, within a depth. That library reads any depth, but copies,
// compares, prints and destroys values level by level on the stack, which ends.
#pragma once

#include <cstddef>
#include <string_view>

namespace msrun {

// How many arrays and objects may stand in one another, wherever JSON is read.
inline constexpr std::size_t max_json_depth = 400;

// Whether arrays and objects of the text nest deeper, or would if it were JSON.
bool nests_too_deep(std::string_view text);

// The value of the text, discarded where that is no JSON or nests too deep. Json: nlohmann::json or its ordered form.
template <class Json>
Json parsed_json(std::string_view text) {
  return nests_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace msrun
