#include "tools/common/comparison_file.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "tools/common/whole_file.h"

namespace msrun {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 20;

// A key that is there twice leaves open which is meant.
std::vector<std::string> unknown_keys(const std::string& path, const std::vector<std::string>& keys,
                                      const std::vector<std::string>& known) {
  std::set<std::string> seen;
  std::vector<std::string> unknown;
  for (const std::string& key : keys) {
    if (std::ranges::find(known, key) == known.end()) {
      const auto nearest = nearest_word(key, known);
      if (nearest && std::ranges::find(keys, known[*nearest]) == keys.end()) {
        throw UserError("The file " + path + ": the key " + shell_quoted(bounded(sanitised(key))) +
                        " is not known, did you mean " + known[*nearest] + "?");
      }
      unknown.push_back(key);
    } else if (!seen.insert(key).second) {
      throw UserError("The file " + path + ": the key " + key + " is there twice.");
    }
  }
  return unknown;
}

}  // namespace

ComparisonFile read_comparison_file(const std::string& path, const std::vector<std::string>& known) {
  check_input_file(path, {".json"}, max_bytes);
  const std::string bytes = read_whole_file(path, max_bytes);
  if (nests_too_deep(bytes)) throw UserError("The file " + path + ": values are nested too deeply.");
  std::vector<std::string> keys;
  const auto see = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key) keys.push_back(parsed.get<std::string>());
    return true;
  };
  const Json object = Json::parse(bytes, see, false);
  if (object.is_discarded()) throw UserError("The file " + path + " is no JSON.");
  if (!object.is_object()) throw UserError("The file " + path + " is no JSON object.");
  ComparisonFile file;
  file.unknown = unknown_keys(path, keys, known);
  for (const auto& [key, target] :
       {std::pair{"npu_path", &file.npu_path}, {"bench_path", &file.bench_path}, {"stack_path", &file.stack_path}}) {
    const auto value = object.find(key);
    if (std::ranges::find(known, key) == known.end() || value == object.end() || value->is_null()) continue;
    if (!value->is_string()) throw UserError("The file " + path + ": " + key + " is no text.");
    *target = value->get<std::string>();
  }
  if (const auto value = object.find("is_print_compare_log"); value != object.end()) {
    if (!value->is_boolean()) throw UserError("The file " + path + ": is_print_compare_log is neither true nor false.");
    file.logs_rows = value->get<bool>();
  }
  return file;
}

std::string text_of_unknown_key(std::string_view key) {
  return "the key " + bounded(std::string(key)) + " of the comparison file is not known and ignored";
}

}  // namespace msrun
