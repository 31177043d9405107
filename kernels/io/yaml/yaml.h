// YAML as JSON, for files of the user that may be either.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace msrun {

// The document that text holds, null if it holds none: plain scalars are null, booleans and decimal numbers as in YAML
// 1.2's core schema and else text, quoted ones are text. If an object has a key more than once, its last value counts,
// and the key is appended to repeated_keys. Throws UserError, with the line, for what is no YAML, for more than one
// document, and for one that is nested deeper than 64 levels, has more than a hundred thousand values or grows to many
// times its size through aliases; name stands in messages.
nlohmann::json parse_yaml(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys);

struct YamlMember;

// A value with its place, for whoever needs the order of the text or names lines in messages.
struct YamlNode {                   // NOLINT(bugprone-exception-escape): moving JSON asserts, and throws nothing
  nlohmann::json value;             // of an object or a list: an empty one
  std::size_t line = 0;             // of a member its key's; from 1, 0 if nothing is there
  std::vector<YamlMember> members;  // of an object, in the order of the text
  std::vector<YamlNode> items;      // of a list

  bool is_object() const { return value.is_object(); }
  bool is_list() const { return value.is_array(); }
};

struct YamlMember {
  std::string key;
  YamlNode value;
};

// As parse_yaml(), but for the order, the lines, and that a document may have some millions of values. A repeated key
// keeps its first place and has its last value.
YamlNode parse_yaml_in_order(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys);

}  // namespace msrun
