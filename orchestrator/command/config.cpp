#include "orchestrator/command/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/text.h"
#include "orchestrator/output/run_paths.h"

namespace msrun {

namespace {

using nlohmann::json;

constexpr std::int64_t max_rank_or_step = 1000000;

// It is held in memory as a whole, at many times its size.
constexpr std::uint64_t max_config_bytes = std::uint64_t{1} << 20;

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool in_range =
      error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= max_rank_or_step;
  return in_range ? std::optional(value) : std::nullopt;
}

bool is_rank_or_step(const json& element) {
  if (element.is_number_integer()) {
    return element >= 0 && element <= max_rank_or_step;
  }
  if (!element.is_string()) return false;
  const std::string text = element.get<std::string>();
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return parse_count(text).has_value();
  const auto first = parse_count(std::string_view(text).substr(0, dash));
  const auto last = parse_count(std::string_view(text).substr(dash + 1));
  return first && last && *first <= *last;
}

// Checks of one file; every message begins with its name.
class Checker {
 public:
  Checker(const std::string& path, const json& root) : path_(path), root_(root) {}

  [[noreturn]] void fail(const std::string& text) const { throw UserError(path_ + ": " + text); }

  void check_common_keys() const {
    check_choice("task",
                 {"tensor", "statistics", "acc_check", "structure", "diff_check", "exception_dump", "nan_check"});
    check_choice("level", {"L0", "L1", "L2", "mix", "debug"});
    check_choice("precision", {"low", "high"});
    check_choice("risk_level", {"CORE", "FOCUS", "ALL"});
    check_ranges("rank");
    check_ranges("step");
    if (const json* value = find("dump_path"); value && !value->is_string()) fail("dump_path must be string type");
    for (const char* key : {"extra_info", "async_dump", "dump_enable"}) {
      if (const json* value = find(key); value && !value->is_boolean()) fail(std::string(key) + " must be bool type");
    }
  }

  std::unordered_set<std::string> name_list(const json& section, const char* key,
                                            const std::function<bool(std::string_view)>& is_supported) const {
    if (!section.contains(key)) return {};
    const json& list = section[key];
    if (!list.is_array()) fail(std::string(key) + " must be a list type");
    std::unordered_set<std::string> names;
    std::string invalid;
    std::string hint;
    for (const json& element : list) {
      if (!element.is_string()) fail("All elements in " + std::string(key) + " must be string type");
      const std::string name = element.get<std::string>();
      if (!is_supported(name)) {
        invalid += (invalid.empty() ? "'" : ", '") + sanitised(name) + "'";
        const std::string bare = name.substr(name.find('.') + 1);
        if (bare != name && is_supported(bare)) hint = " (names stand without their type: '" + sanitised(bare) + "')";
      }
      names.insert(name);
    }
    if (!invalid.empty()) fail("Invalid api in " + std::string(key) + ": [" + invalid + "]" + hint);
    return names;
  }

  // Keys of section, or beside it, that the user may believe to have an effect.
  std::vector<std::string> unused_keys(const json& section) const {
    static constexpr std::array<std::string_view, 3> known{"white_list", "black_list", "error_data_path"};
    std::vector<std::string> notices;
    for (const std::string_view key : known) {
      if (root_.contains(key)) {
        notices.push_back(path_ + ": " + std::string(key) + " stands outside of acc_check and is not used.");
      }
    }
    for (const auto& [key, value] : section.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      notices.push_back(path_ + ": acc_check has no key " + sanitised(key) + "; it is not used.");
    }
    return notices;
  }

 private:
  // Null counts as absent, as in the recorder's own reading of these keys.
  const json* find(const char* key) const {
    const auto found = root_.find(key);
    return found == root_.end() || found->is_null() ? nullptr : &*found;
  }

  void check_choice(const char* key, std::initializer_list<const char*> choices) const {
    const json* value = find(key);
    if (value == nullptr) return;
    std::string known;
    for (const char* choice : choices) {
      if (value->is_string() && *value == choice) return;
      known += (known.empty() ? "" : ", ") + std::string(choice);
    }
    fail(std::string(key) + " must be one of " + known);
  }

  void check_ranges(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_rank_or_step)) {
      fail(std::string(key) + " must be a list of numbers or strings such as \"3\" and \"3-5\", from 0 to " +
           std::to_string(max_rank_or_step));
    }
  }

  const std::string& path_;
  const json& root_;
};

json parse_json(const std::string& path, std::string_view text) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::parse_error& error) {
    throw UserError("load json file \"" + path + "\" failed: it is not valid JSON at byte " +
                    std::to_string(error.byte) + ".");
  } catch (const json::exception&) {
    throw UserError("load json file \"" + path + "\" failed: a number is too large.");
  }
  if (!root.is_object()) throw UserError(path + ": the top level must be an object");
  return root;
}

}  // namespace

ListVerdict Config::list_verdict(std::string_view api_name) const {
  const std::string name(api_name);
  if (black_list.contains(name)) return ListVerdict::in_black_list;
  if (!white_list.empty() && !white_list.contains(name)) return ListVerdict::not_in_white_list;
  return ListVerdict::run;
}

Config load_config(const std::string& path, const std::function<bool(std::string_view)>& is_supported) {
  check_input_file(path, {".json"}, max_config_bytes);
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_config(path, text, is_supported);
}

Config parse_config(const std::string& path, std::string_view text,
                    const std::function<bool(std::string_view)>& is_supported) {
  const json root = parse_json(path, text);
  const Checker checker(path, root);
  checker.check_common_keys();
  Config config;
  const json section = root.value("acc_check", json::object());
  if (!section.is_object()) checker.fail("acc_check must be an object");
  config.notices = checker.unused_keys(section);
  config.white_list = checker.name_list(section, "white_list", is_supported);
  config.black_list = checker.name_list(section, "black_list", is_supported);
  if (section.contains("error_data_path")) {
    if (!section["error_data_path"].is_string()) checker.fail("error_data_path must be string type");
    config.error_data_path = section["error_data_path"].get<std::string>();
    std::error_code error;
    if (!std::filesystem::exists(config.error_data_path, error)) {
      checker.fail("error_data_path: " + sanitised(config.error_data_path) + " does not exist");
    }
    if (!std::filesystem::is_directory(config.error_data_path, error)) {
      checker.fail("error_data_path: " + sanitised(config.error_data_path) + " is not a directory");
    }
  }
  return config;
}

}  // namespace msrun
