#include "tools/tensor_compare/cases.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/io/files/file.h"
#include "kernels/tensor/storage_bytes.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 64;  // of tagged values

constexpr std::uint8_t no_digit = 64;
constexpr auto base64_digits = [] {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::uint8_t i = 0; i < no_digit; ++i) table[static_cast<unsigned char>(alphabet[i])] = i;
  return table;
}();

// RFC 4648, padding optional; nothing for text that is no base64.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const std::uint32_t digit = base64_digits[static_cast<unsigned char>(c)];
    if (digit == no_digit) return std::nullopt;
    window = window << 6 | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(window >> bits & 0xFFU));
    }
  }
  return bytes;
}

// The value of a key, with the type it must have.
const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw UserError("the key " + std::string(key) + " is missing");
  return *found;
}

std::string text_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw UserError(std::string(key) + " is not a text");
  return value.get<std::string>();
}

const Json& list_of(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) throw UserError(std::string(key) + " is not a list");
  return value;
}

Tensor make_tensor(const Json& object, const char* dtype_key, const char* shape_key, const char* data_key) {
  const std::string dtype_text = text_of(object, dtype_key);
  const std::optional<DType> dtype = parse_dtype(dtype_text);
  if (!dtype) throw UserError(std::string(dtype_key) + " is no known dtype: " + dtype_text);
  std::vector<std::int64_t> shape;
  for (const Json& size : list_of(object, shape_key)) {
    if (!size.is_number_integer()) throw UserError(std::string(shape_key) + " is not a list of whole numbers");
    shape.push_back(size.get<std::int64_t>());
  }
  const auto bytes = decode_base64(text_of(object, data_key));
  if (!bytes) throw UserError(std::string(data_key) + " is not base64");
  try {
    // Before the memory for it is asked for: a shape may claim anything.
    const std::int64_t count = element_count(shape);
    if (count != static_cast<std::int64_t>(bytes->size() / size_of(*dtype)) || bytes->size() % size_of(*dtype) != 0) {
      throw UserError(std::string(data_key) + " holds " + std::to_string(bytes->size()) + " bytes, which is not " +
                      tuple_text(shape) + " of " + dtype_text);
    }
    Tensor tensor(*dtype, shape);
    const std::span target(tensor.mutable_data<std::byte>(), tensor.bytes());
    std::ranges::copy(*bytes, target.begin());
    if (*dtype == DType::boolean) normalize_booleans(target);
    return tensor;
  } catch (const SkipError& error) {
    throw UserError(std::string(shape_key) + ": " + error.what());
  }
}

// A tagged value: {"t": "int", "v": 3}, {"t": "tensor", "dtype": ..., "shape": ..., "data": ...}.
Value make_value(const Json& tagged, int depth) {
  if (!tagged.is_object()) throw UserError("a value is not an object");
  if (depth > max_depth) throw UserError("values are nested too deeply");
  const std::string tag = text_of(tagged, "t");
  if (tag == "none") return None{};
  if (tag == "tensor") return make_tensor(tagged, "dtype", "shape", "data");
  const Json& v = member(tagged, "v");
  if (tag == "int" && v.is_number_integer()) return v.get<std::int64_t>();
  if (tag == "bool" && v.is_boolean()) return v.get<bool>();
  if (tag == "str" && v.is_string()) return v.get<std::string>();
  if (tag == "float" && v.is_number()) return v.get<double>();
  if (tag == "float" && v.is_string()) {  // "1.5", "nan", "-inf"
    const std::string text = v.get<std::string>();
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0') return number;
  }
  if ((tag == "list" || tag == "tuple") && v.is_array()) {
    List list;
    for (const Json& item : v) list.push_back(make_value(item, depth + 1));
    return list;
  }
  if (tag == "dict" && v.is_object()) {
    Dict dict;
    for (const auto& [key, item] : v.items()) dict.emplace_back(key, make_value(item, depth + 1));
    return dict;
  }
  throw UserError("v holds no value of type " + tag + ", or there is no such type");
}

ComparisonCase make_case(const Json& json) {
  if (!json.is_object()) throw UserError("it is not an object");
  ComparisonCase test;
  test.name = text_of(json, "name");
  test.api = text_of(json, "api_name");
  const std::string kind = text_of(json, "kind");
  if (kind == "structure") {
    test.bench = make_value(member(json, "bench_value"), 0);
    test.device = make_value(member(json, "device_value"), 0);
  } else if (kind == "tensor") {
    test.bench = make_tensor(json, "bench_dtype", json.contains("bench_shape") ? "bench_shape" : "shape", "bench");
    test.device = make_tensor(json, "device_dtype", "shape", "device");
  } else {
    throw UserError("kind is neither tensor nor structure: " + kind);
  }
  if (const auto fp8 = json.find("input_fp8"); fp8 != json.end()) {
    if (!fp8->is_boolean()) throw UserError("input_fp8 is neither true nor false");
    test.fp8_input = fp8->get<bool>();
  }
  if (json.contains("forced_standard")) {
    const std::string standard = text_of(json, "forced_standard");
    test.forced = parse_standard(standard);
    if (!test.forced) throw UserError("forced_standard is no known standard: " + standard);
    if (kind != "tensor") throw UserError("forced_standard is for tensors only");
  }
  return test;
}

}  // namespace

std::vector<ComparisonCase> parse_cases(const std::string& path, std::string_view text) {
  Json file;
  try {
    if (nests_too_deep(text)) throw UserError(path + ": values are nested too deeply");
    if (has_too_many_members(text))
      throw UserError(path + ": an object has more than " + std::to_string(max_ordered_members) + " members");
    file = Json::parse(text);
  } catch (const Json::exception& error) {
    // Behind "[json.exception.parse_error.101] parse error at ".
    const std::string what = error.what();
    const std::string_view label = "parse error at ";
    const std::size_t at = what.find(label);
    throw UserError(path + " is not JSON: " + (at == std::string::npos ? what : what.substr(at + label.size())));
  }
  if (!file.is_array()) throw UserError(path + " holds no list of cases");
  std::vector<ComparisonCase> cases;
  for (const Json& json : file) {
    try {
      cases.push_back(make_case(json));
    } catch (const UserError& error) {
      std::string place = path + ", case " + std::to_string(cases.size() + 1);
      if (json.is_object() && json.contains("name") && json["name"].is_string()) {
        place += " (" + json["name"].get<std::string>() + ")";
      }
      throw UserError(place + ": " + error.what());
    }
  }
  return cases;
}

std::vector<ComparisonCase> read_cases(const std::string& path) {
  try {
    InputFile file(path);
    std::string text(file.size(), '\0');
    std::size_t filled = 0;
    while (const std::size_t count = file.read(std::span(text).subspan(filled))) filled += count;
    text.resize(filled);
    return parse_cases(path, text);
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

Comparison compare_case(const ComparisonCase& test, const CompareOptions& options) {
  try {
    if (test.forced) {
      Comparison comparison;
      comparison.rows.push_back(
          compare_tensors(test.api, *test.bench.get<Tensor>(), *test.device.get<Tensor>(), *test.forced, options));
      comparison.status = comparison.rows.front().status;
      return comparison;
    }
    const Operator* op = find_in_any_namespace(test.api);
    return compare_outputs("Functional." + test.api + ".0", op == nullptr ? ordinary_traits : op->traits(), test.bench,
                           test.device, test.fp8_input, options);
  } catch (const SkipError& error) {
    return skipped(error.what());
  }
}

}  // namespace msrun
