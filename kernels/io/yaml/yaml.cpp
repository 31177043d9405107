#include "kernels/io/yaml/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

using nlohmann::json;

constexpr int most_levels = 64;
constexpr std::size_t most_values = 100000;
constexpr std::size_t most_values_in_order = std::size_t{1} << 23;
// What a document may grow to through aliases, counted in values and bytes of text: so many times its own size, or a
// little where it is small. Without aliases it cannot grow to twice its size.
constexpr std::size_t most_growth = 16;
constexpr std::size_t free_growth = 10000;

// A comment that is appended to every text: a quotation that is not closed, as in a file that was cut off, reaches to
// the end of the text and holds it. The library takes it all the same.
constexpr std::string_view end_of_text = "# end of text 5d1f8c2ab7e94036";

std::string place(const YAML::Mark& mark) { return mark.is_null() ? "" : " at line " + std::to_string(mark.line + 1); }

class Converter {
 public:
  // bytes: of the text.
  Converter(const std::string& name, std::vector<std::string>& repeated_keys, std::size_t most, std::size_t bytes)
      : name_(name), repeated_keys_(repeated_keys), most_(most), room_(free_growth + most_growth * bytes) {}

  YamlNode convert(const YAML::Node& node, int level = 0) {
    if (level > most_levels) fail(node, "is nested too deeply");
    if (++values_ > most_) fail(node, "holds too many values");
    take_room(node, 1);
    YamlNode result;
    result.line = line(node);
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        result.value = is_text(node) ? json(valid(node)) : plain(valid(node));
        break;
      case YAML::NodeType::Sequence:
        result.value = json::array();
        for (const YAML::Node& item : node) result.items.push_back(convert(item, level + 1));
        break;
      case YAML::NodeType::Map: {
        result.value = json::object();
        std::unordered_map<std::string, std::size_t> places;
        for (const auto& entry : node) {
          if (!entry.first.IsScalar()) fail(entry.first, "has a key that is no text");
          std::string key = valid(entry.first);
          YamlNode value = convert(entry.second, level + 1);
          value.line = line(entry.first);
          const auto [place, is_new] = places.emplace(key, result.members.size());
          if (is_new) {
            result.members.push_back({std::move(key), std::move(value)});
          } else {
            repeated_keys_.push_back(std::move(key));
            result.members[place->second].value = std::move(value);
          }
        }
        break;
      }
      default:
        break;
    }
    return result;
  }

  [[noreturn]] void fail(const YAML::Node& node, const char* problem) const {
    throw UserError("load yaml file \"" + name_ + "\" failed: it " + problem + place(node.Mark()) + ".");
  }

 private:
  static std::size_t line(const YAML::Node& node) {
    return node.Mark().is_null() ? 0 : static_cast<std::size_t>(node.Mark().line) + 1;
  }

  // Quoted, or tagged as text.
  static bool is_text(const YAML::Node& node) { return node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str"; }

  void take_room(const YAML::Node& node, std::size_t units) {
    if (units > room_) fail(node, "holds too many values, as its aliases repeat them");
    room_ -= units;
  }

  std::string valid(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    take_room(node, text.size());
    if (text.find(end_of_text) != std::string::npos) fail(node, "ends inside a quotation");
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
  const std::size_t most_;
  std::size_t values_ = 0;
  std::size_t room_;
};

// The library would read it, but not what is appended to it. A document begins with a character of ASCII, or with the
// mark of its encoding.
const char* other_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  const auto zeros = [&](std::size_t first, std::size_t count) {
    return text.size() >= first + count && text.substr(first, count).find_first_not_of('\0') == std::string_view::npos;
  };
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (zeros(0, 3) || zeros(1, 3)) return "UTF-32";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
  return zeros(0, 1) || zeros(1, 1) ? "UTF-16" : nullptr;
}

YamlNode read(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys,
              std::size_t most) {
  if (const char* encoding = other_encoding(text)) {
    throw UserError("load yaml file \"" + name + "\" failed: it is in " + encoding +
                    ", not in UTF-8: convert it first.");
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text) + "\n" + std::string(end_of_text));
    if (documents.empty()) return {};
    Converter converter(name, repeated_keys, most, text.size());
    if (documents.size() > 1) converter.fail(documents[1], "holds a second document");
    return converter.convert(documents.front());
  } catch (const YAML::Exception& error) {
    const bool at_end = error.mark.line > std::ranges::count(text, '\n');
    throw UserError("load yaml file \"" + name + "\" failed: it is not valid YAML" +
                    (at_end ? ": it ends inside a quotation, a list or an object" : place(error.mark)) + ".");
  }
}

json plain_json(YamlNode&& node) {
  for (auto& [key, value] : node.members) node.value[key] = plain_json(std::move(value));
  for (YamlNode& item : node.items) node.value.push_back(plain_json(std::move(item)));
  return std::move(node.value);
}

}  // namespace

json parse_yaml(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys) {
  return plain_json(read(name, text, repeated_keys, most_values));
}

YamlNode parse_yaml_in_order(const std::string& name, std::string_view text, std::vector<std::string>& repeated_keys) {
  return read(name, text, repeated_keys, most_values_in_order);
}

}  // namespace msrun
