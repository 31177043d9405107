#include "tools/op_generate/configuration.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"
#include "tools/common/whole_file.h"

namespace msrun::op_generate {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_name = 300;  // characters
constexpr std::uint64_t max_configuration_bytes = std::uint64_t{16} << 20;

// The text under a key; empty if it is missing or null.
std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) throw UserError(std::string(key) + " should be a string.");
  return found->get<std::string>();
}

// Nothing if the key is missing or null.
std::optional<std::int64_t> whole_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  const bool fits =
      found->is_number_integer() &&
      (!found->is_number_unsigned() ||
       found->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits) throw UserError(std::string(key) + " is invalid, it should be an int");
  return found->get<std::int64_t>();
}

Json parsed(const std::string& path) {
  Json json = parsed_json<Json>(read_whole_file(path, max_configuration_bytes));
  if (json.is_discarded()) throw UserError("Load json file " + path + " failed.");
  if (!json.is_object()) throw UserError("content of json file " + path + " is not a dict!");
  return json;
}

// A key with a slip in it would leave its setting at the default, unnoticed.
void warn_of_unknown_keys(const std::string& path, const Json& json,
                          const std::function<void(const std::string&)>& warn) {
  const std::vector<std::string> known{"dump_json_path", "api_name",    "extract_api_path", "propagation",
                                       "data_mode",      "random_seed", "iter_times"};
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto nearest = nearest_word(key, known);
    warn(path + ": there is no key " + key + "; it is not used" +
         (nearest ? ", did you mean " + known[*nearest] + "?" : "."));
  }
}

}  // namespace

void check_api_name(const std::string& name) {
  if (name.empty()) throw UserError("api_name is missing.");
  if (is_formula(name)) throw UserError("api name contains special characters, please check!");
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  if (static_cast<std::size_t>(std::ranges::count_if(name, begins_character)) > longest_name) {
    throw UserError("API name " + name + " is too long!");
  }
}

void check_call_name(const std::string& name) {
  check_api_name(name);
  constexpr std::string_view digits = "0123456789";
  constexpr std::string_view harmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
  const std::size_t last = name.rfind('.');
  const bool has_index = last != std::string::npos && last + 1 < name.size() &&
                         name.find_first_not_of(digits, last + 1) == std::string::npos;
  const bool has_api = has_index && name.find('.') < last;
  const bool is_whole = has_api && name.front() != '.' && name.find("..") == std::string::npos;
  if (is_whole && name.find_first_not_of(harmless) == std::string::npos) return;
  throw UserError(name + " is no full name of a call: type, API and index are needed, such as Torch.matmul.0.");
}

void check_iterations(std::int64_t iterations, bool mindspore) {
  constexpr std::int64_t most = 1000;
  if (iterations >= 1 && iterations <= most) return;
  if (mindspore) throw UserError("iter_times should be range from 1 to 1000.");
  if (iterations < 1) throw UserError("iter_times should be an integer bigger than zero!");
  throw UserError("iter_times should not be greater than 1000!");
}

Direction direction_of(const std::string& text) {
  if (text == "forward") return Direction::forward;
  if (text == "backward") return Direction::backward;
  throw UserError("propagation is invalid, it should be one of ['forward', 'backward']");
}

DataMode data_mode_of(const std::string& text) {
  if (text == "random_data") return DataMode::random_data;
  if (text == "real_data") return DataMode::real_data;
  throw UserError("data_mode is invalid, it should be one of ['random_data', 'real_data']");
}

const char* direction_text(Direction direction) { return direction == Direction::forward ? "forward" : "backward"; }

const char* data_mode_text(DataMode mode) { return mode == DataMode::random_data ? "random_data" : "real_data"; }

Configuration read_configuration(const std::string& path, const std::function<void(const std::string&)>& warn) {
  if (path.empty()) throw UserError("config_input path can not be empty, please check.");
  check_path_text(path);
  const Json json = parsed(std::filesystem::absolute(path).lexically_normal().string());
  warn_of_unknown_keys(path, json, warn);
  Configuration configuration;
  configuration.dump_path = text(json, "dump_json_path");
  if (!configuration.dump_path.empty()) check_input_file(configuration.dump_path, {".json"}, max_json_bytes);
  configuration.api = text(json, "api_name");
  if (!configuration.dump_path.empty() || !configuration.api.empty()) check_api_name(configuration.api);
  if (!configuration.dump_path.empty()) check_call_name(configuration.api);
  configuration.extraction_path = text(json, "extract_api_path");
  if (configuration.extraction_path.empty()) throw UserError("extract_api_path is missing.");
  check_path_text(configuration.extraction_path);
  // The form of a missing or null value is that of the default; any other value is judged as it is.
  const auto word = [&](const char* key, const char* fallback) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return std::string(fallback);
    return found->is_string() ? found->get<std::string>() : std::string();
  };
  configuration.propagation = direction_of(word("propagation", "forward"));
  configuration.data_mode = data_mode_of(word("data_mode", "random_data"));
  configuration.seed = whole_number(json, "random_seed");
  configuration.iterations = whole_number(json, "iter_times").value_or(1);
  if (configuration.data_mode == DataMode::real_data && configuration.iterations >= 1) configuration.iterations = 1;
  return configuration;
}

}  // namespace msrun::op_generate
