// As much of JSON Schema (2020-12) as the schemas in docs/ use.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace msrun::testing {

// Checks documents against a schema; members that an object of the schema does not name are against it, so that none is
// left undocumented.
class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  // What is wrong with the document, with the place; empty if nothing is.
  std::string problem(const nlohmann::json& document) const { return check(root_, document, "$"); }

 private:
  using Json = nlohmann::json;

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "array") return value.is_array();
    return type == "object" && value.is_object();
  }

  static bool has_one_type(const Json& value, const Json& types) {
    if (types.is_string()) return has_type(value, types.get<std::string>());
    return std::any_of(types.begin(), types.end(),
                       [&](const Json& type) { return has_type(value, type.get<std::string>()); });
  }

  std::string check(const Json& schema, const Json& value, const std::string& at) const {
    if (schema.contains("$ref")) {
      const std::string pointer = schema["$ref"].get<std::string>().substr(1);
      return check(root_.at(Json::json_pointer(pointer)), value, at);
    }
    if (schema.contains("type") && !has_one_type(value, schema["type"]))
      return at + " is of another type: " + value.dump();
    if (schema.contains("const") && value != schema["const"]) return at + " is not " + schema["const"].dump();
    if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
      return at + " is none of the words: " + value.dump();
    }
    for (const char* choice : {"oneOf", "anyOf"}) {
      if (!schema.contains(choice)) continue;
      std::string problems;
      int fits = 0;
      for (const Json& one : schema[choice]) {
        const std::string problem = check(one, value, at);
        if (problem.empty()) ++fits;
        problems += "\n  " + problem;
      }
      if (fits == 0 || (fits > 1 && choice == std::string("oneOf")))
        return at + " fits " + std::to_string(fits) + ":" + problems;
    }
    std::string problem = check_numbers(schema, value, at);
    if (problem.empty() && value.is_object()) problem = check_members(schema, value, at);
    if (problem.empty() && value.is_array()) problem = check_items(schema, value, at);
    return problem;
  }

  static std::string check_numbers(const Json& schema, const Json& value, const std::string& at) {
    const auto bound = [&](const char* name, double fallback) { return schema.value(name, fallback); };
    if (value.is_number()) {
      const double number = value.get<double>();
      if (number < bound("minimum", -1e300) || number > bound("maximum", 1e300))
        return at + " is out of range: " + value.dump();
    }
    if (value.is_string()) {
      const std::string text = value.get<std::string>();
      if (static_cast<double>(text.size()) > bound("maxLength", 1e300)) return at + " is too long";
      if (schema.contains("pattern") && !std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) {
        return at + " has another form: " + text;
      }
    }
    return {};
  }

  std::string check_members(const Json& schema, const Json& value, const std::string& at) const {
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) return at + " lacks " + name.get<std::string>();
    }
    const Json properties = schema.value("properties", Json::object());
    if (properties.empty() && !schema.contains("additionalProperties")) return {};
    for (const auto& [name, member] : value.items()) {
      const bool is_named = properties.contains(name);
      if (!is_named && !schema.contains("additionalProperties")) return at + "." + name + " is not documented";
      const Json& of_member = is_named ? properties[name] : schema["additionalProperties"];
      if (std::string problem = check(of_member, member, at + "." + name); !problem.empty()) return problem;
    }
    return {};
  }

  std::string check_items(const Json& schema, const Json& value, const std::string& at) const {
    const double size = static_cast<double>(value.size());
    if (size < schema.value("minItems", 0.0) || size > schema.value("maxItems", 1e300))
      return at + " has another length";
    if (!schema.contains("items")) return {};
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (std::string problem = check(schema["items"], value[i], at + "[" + std::to_string(i) + "]");
          !problem.empty()) {
        return problem;
      }
    }
    return {};
  }

  Json root_;
};

}  // namespace msrun::testing
