// YAML as JSON, for configuration files that may be either.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// The document that text holds, null if it holds none: plain scalars are null, booleans and decimal numbers as in YAML
// 1.2's core schema and else text, quoted ones are text. If an object has a key more than once, its last value counts,
// and the key is appended to repeated_keys. Throws UserError, with the line, for what is no YAML, for more than one
// document, and for one that is nested deeper than 64 levels or grows beyond a hundred thousand values through aliases;
// name stands in messages.
nlohmann::json parse_yaml(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys);

}  // namespace msrun
