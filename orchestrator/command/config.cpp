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
#include <span>

#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/yaml/checker_config.h"
#include "kernels/io/yaml/yaml.h"
#include "orchestrator/output/run_paths.h"

namespace msrun {

namespace {

using nlohmann::json;

constexpr std::int64_t max_rank_or_step = 1000000;
constexpr std::array section_names{"acc_check", "run_ut"};
constexpr std::array<std::string_view, 3> our_keys{"white_list", "black_list", "error_data_path"};
constexpr std::array<std::string_view, 2> yaml_keys{"precision", "quantization_api_list"};
// What a recorder's config.json has besides, which is of no concern to a check.
constexpr auto recorder_keys = std::to_array<std::string_view>({"acc_check",      "run_ut",
                                                                "task",           "dump_path",
                                                                "rank",           "step",
                                                                "level",          "precision",
                                                                "risk_level",     "enable_dataloader",
                                                                "seed",           "is_deterministic",
                                                                "acl_config",     "async_dump",
                                                                "dump_enable",    "extra_info",
                                                                "statistics",     "tensor",
                                                                "overflow_check", "free_benchmark",
                                                                "grad_probe",     "structure",
                                                                "diff_check",     "exception_dump",
                                                                "nan_check",      "data_mode",
                                                                "summary_mode",   "list",
                                                                "scope",          "framework"});
// What the config.yaml of the older tools has besides.
constexpr auto older_yaml_keys = std::to_array<std::string_view>(
    {"acc_check", "run_ut", "dump_path", "real_data", "dump_step", "jit_compile", "enable_dataloader", "target_iter",
     "is_online", "nfs_path", "is_benchmark_device", "host", "port", "rank_list", "tls_path"});

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
  Checker(const std::string& path, const json& root, bool is_yaml) : path_(path), root_(root), is_yaml_(is_yaml) {}

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

  std::vector<std::string> texts(const char* key, const json& list) const {
    if (!list.is_array()) fail(std::string(key) + " must be a list type");
    std::vector<std::string> result;
    for (const json& element : list) {
      if (!element.is_string()) fail("All elements in " + std::string(key) + " must be string type");
      result.push_back(element.get<std::string>());
    }
    return result;
  }

  std::string directory(const char* key, const json& value) const {
    if (!value.is_string()) fail(std::string(key) + " must be string type");
    const std::string path = value.get<std::string>();
    std::error_code error;
    if (!std::filesystem::exists(path, error)) fail(std::string(key) + ": " + sanitised(path) + " does not exist");
    if (!std::filesystem::is_directory(path, error)) {
      fail(std::string(key) + ": " + sanitised(path) + " is not a directory");
    }
    return path;
  }

  std::unordered_set<std::string> name_list(const json& section, const char* key,
                                            const std::function<bool(std::string_view)>& is_supported) const {
    const json* value = setting(section, key);
    if (value == nullptr) return {};
    std::unordered_set<std::string> names;
    std::string invalid;
    std::string hint;
    for (const std::string& name : texts(key, *value)) {
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

  // The object with the keys of acc_check; run_ut is its older name.
  json section() const {
    for (const char* name : section_names) {
      const json* value = find(name);
      if (value == nullptr) continue;
      if (!value->is_object()) fail(std::string(name) + " must be an object");
      return *value;
    }
    return json::object();
  }

  // A key in the section or at the top of the file; null if it is in neither. A key of YAML without a value is absent.
  const json* setting(const json& section, const char* key) const {
    for (const json* object : {&section, &root_}) {
      const auto found = object->find(key);
      if (found != object->end() && !(is_yaml_ && found->is_null())) return &*found;
    }
    return nullptr;
  }

  // Keys that have no effect, of the section and at the top of the file.
  std::vector<std::string> unused_keys(const json& section) const {
    std::vector<std::string> notices;
    const auto is_one_of = [](std::span<const std::string_view> keys, const std::string& key) {
      return std::ranges::find(keys, key) != keys.end();
    };
    for (const auto& [key, value] : root_.items()) {
      const bool is_ours = is_one_of(our_keys, key) || (is_yaml_ && is_one_of(yaml_keys, key));
      if (is_ours && section.contains(key)) {
        notices.push_back(path_ + ": " + key + " stands inside and outside of acc_check; the one outside is not used.");
      } else if (!is_ours && !(is_yaml_ ? is_one_of(older_yaml_keys, key) : is_one_of(recorder_keys, key))) {
        notices.push_back(path_ + ": there is no key " + sanitised(key) + "; it is not used.");
      }
    }
    if (find(section_names[0]) != nullptr && find(section_names[1]) != nullptr) {
      notices.push_back(path_ + ": acc_check and run_ut are names of one section; what is in run_ut is not used.");
    }
    for (const auto& [key, value] : section.items()) {
      if (is_one_of(our_keys, key) || (is_yaml_ && is_one_of(yaml_keys, key))) continue;
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
  bool is_yaml_;
};

bool is_yaml_name(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

// As JSON's readers do, the last value of a key counts that an object has more than once; the key is then appended to
// repeated_keys.
json parse_json(std::string_view text, std::vector<std::string>& repeated_keys) {
  std::vector<std::unordered_set<std::string>> keys_of_objects;
  return json::parse(text, [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys_of_objects.emplace_back();
    if (event == json::parse_event_t::object_end) keys_of_objects.pop_back();
    if (event == json::parse_event_t::key && !keys_of_objects.back().insert(parsed.get<std::string>()).second) {
      repeated_keys.push_back(parsed.get<std::string>());
    }
    return true;
  });
}

json parse_document(const std::string& path, std::string_view text, std::vector<std::string>& repeated_keys) {
  json root;
  if (!is_yaml_name(path) && nests_too_deep(text)) {
    throw UserError("load json file \"" + path + "\" failed: values are nested too deeply.");
  }
  try {
    root = is_yaml_name(path) ? parse_yaml(path, text, repeated_keys) : parse_json(text, repeated_keys);
  } catch (const json::parse_error& error) {
    throw UserError("load json file \"" + path + "\" failed: it is not valid JSON at byte " +
                    std::to_string(error.byte) + ".");
  } catch (const json::exception&) {
    throw UserError("load json file \"" + path + "\" failed: a number is too large.");
  }
  if (is_yaml_name(path) && root.is_null()) return json::object();  // nothing but comments
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

namespace {

Config read_config(const std::string& path, const std::function<bool(std::string_view)>& is_supported) {
  check_input_file(path, {".json", ".yaml", ".yml"}, max_config_bytes);
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_config(path, text, is_supported);
}

// The configuration with what a config.yaml says that nobody named. That is no reason to fail: it may be the file of
// something else.
Config completed(Config config, const std::string& yaml, bool has_lists,
                 const std::function<bool(std::string_view)>& is_supported) {
  if (yaml.empty()) return config;
  try {
    Config found = read_config(yaml, is_supported);
    const Config usual;
    config.precision = found.precision;
    config.quantization_api_list = std::move(found.quantization_api_list);
    bool says = config.precision != usual.precision || config.quantization_api_list != usual.quantization_api_list;
    if (!has_lists) {
      says = says || !found.white_list.empty() || !found.black_list.empty();
      config.white_list = std::move(found.white_list);
      config.black_list = std::move(found.black_list);
      // As it is shipped it names the current folder; only another one was chosen.
      const std::string place = std::filesystem::path(found.error_data_path).lexically_normal().string();
      const bool is_chosen = !place.empty() && place != "." && place != "./";
      if (is_chosen) config.error_data_path = std::move(found.error_data_path);
      says = says || is_chosen;
    }
    if (says) config.found_yaml = yaml;
  } catch (const UserError& error) {
    config.notices.push_back(sanitised(yaml) + " is not used: " + error.what());
  }
  return config;
}

}  // namespace

Config load_config(const std::string& path, const std::function<bool(std::string_view)>& is_supported) {
  if (path.empty()) return completed({}, installed_config_yaml(), false, is_supported);
  Config config = read_config(path, is_supported);
  return is_yaml_name(path) ? config : completed(std::move(config), config_yaml_for(path), true, is_supported);
}

Config parse_config(const std::string& path, std::string_view text,
                    const std::function<bool(std::string_view)>& is_supported) {
  std::vector<std::string> repeated_keys;
  const json root = parse_document(path, text, repeated_keys);
  const bool is_yaml = is_yaml_name(path);
  const Checker checker(path, root, is_yaml);
  if (!is_yaml) checker.check_common_keys();
  Config config;
  const json section = checker.section();
  config.notices = checker.unused_keys(section);
  for (const std::string& key : repeated_keys) {
    config.notices.push_back(path + ": " + sanitised(key) + " is given more than once; the last one counts.");
  }
  config.white_list = checker.name_list(section, "white_list", is_supported);
  config.black_list = checker.name_list(section, "black_list", is_supported);
  if (const json* value = checker.setting(section, "error_data_path")) {
    config.error_data_path = checker.directory("error_data_path", *value);
  }
  if (!is_yaml) return config;
  if (const json* value = checker.setting(section, "precision")) {
    if (!value->is_number_integer() || *value < 0 || *value > most_decimals) {
      checker.fail("precision must be a number of decimals from 0 to " + std::to_string(most_decimals));
    }
    config.precision = value->get<int>();
  }
  if (const json* value = checker.setting(section, "quantization_api_list")) {
    config.quantization_api_list = checker.texts("quantization_api_list", *value);
    const std::vector<std::string> known = Config().quantization_api_list;
    for (const std::string& name : config.quantization_api_list) {
      if (is_supported(name) || std::ranges::find(known, name) != known.end()) continue;
      config.notices.push_back(path + ": quantization_api_list names " + sanitised(name) +
                               ", which no supported API is called; it has no effect.");
    }
  }
  return config;
}

}  // namespace msrun
