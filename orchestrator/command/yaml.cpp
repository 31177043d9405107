#include "orchestrator/command/yaml.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

using nlohmann::json;

constexpr int most_levels = 64;
constexpr std::size_t most_values = 100000;

std::string place(const YAML::Mark& mark) { return mark.is_null() ? "" : " at line " + std::to_string(mark.line + 1); }

class Converter {
 public:
  Converter(const std::string& name, std::vector<std::string>& repeated_keys)
      : name_(name), repeated_keys_(repeated_keys) {}

  json convert(const YAML::Node& node, int level = 0) {
    if (level > most_levels) fail(node, "is nested too deeply");
    if (++values_ > most_values) fail(node, "holds too many values");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return is_text(node) ? json(valid(node)) : plain(valid(node));
      case YAML::NodeType::Sequence: {
        json list = json::array();
        for (const YAML::Node& item : node) list.push_back(convert(item, level + 1));
        return list;
      }
      case YAML::NodeType::Map: {
        json object = json::object();
        for (const auto& entry : node) {
          if (!entry.first.IsScalar()) fail(entry.first, "has a key that is no text");
          std::string key = valid(entry.first);
          if (object.contains(key)) repeated_keys_.push_back(key);
          object[std::move(key)] = convert(entry.second, level + 1);
        }
        return object;
      }
      default:
        return nullptr;
    }
  }

  [[noreturn]] void fail(const YAML::Node& node, const char* problem) const {
    throw UserError("load yaml file \"" + name_ + "\" failed: it " + problem + place(node.Mark()) + ".");
  }

 private:
  // Quoted, or tagged as text.
  static bool is_text(const YAML::Node& node) { return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str"; }

  std::string valid(const YAML::Node& node) const {
    const std::string& text = node.Scalar();
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t length = utf8_length(rest);
      if (length == 0) fail(node, "is not UTF-8");
      rest.remove_prefix(length);
    }
    return text;
  }

  static json plain(const std::string& text) {
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    const std::string_view digits = std::string_view(text).substr(text[0] == '+' ? 1 : 0);
    if (const auto integer = parse_number<std::int64_t>(digits)) return *integer;
    // Not the words that std::from_chars takes for numbers: "nan", "infinity".
    const bool is_numeral = digits.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
    const auto real = parse_number<double>(digits);
    if (is_numeral && real && std::isfinite(*real)) return *real;
    return text;
  }

  const std::string& name_;
  std::vector<std::string>& repeated_keys_;
  std::size_t values_ = 0;
};

}  // namespace

json parse_yaml(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return nullptr;
    Converter converter(name, repeated_keys);
    if (documents.size() > 1) converter.fail(documents[1], "holds a second document");
    return converter.convert(documents.front());
  } catch (const YAML::Exception& error) {
    throw UserError("load yaml file \"" + name + "\" failed: it is not valid YAML" + place(error.mark) + ".");
  }
}

}  // namespace msrun
