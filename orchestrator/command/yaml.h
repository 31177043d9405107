// YAML as JSON, for configuration files that may be either.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace msrun {

// The first document of text: plain scalars are null, booleans and decimal numbers as in YAML 1.2's core schema and
// else text, quoted ones are text. Of a key that comes again the last value counts. Throws UserError, with the line,
// for what is no YAML, and for documents that are nested deeper than 64 levels or grow beyond a hundred thousand values
// through aliases; name stands in messages.
nlohmann::json parse_yaml(const std::string& name, std::string_view text);

}  // namespace msrun
