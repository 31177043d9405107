// Every case of the golden file of NPU fused operators: outputs and gradients in float64 (api_inventory.md 6).
//
// tests/data/fused_ops_golden.json holds expected values of an independent float64 implementation whose gradients were
// checked against automatic differentiation. MSRUN_FUSED_GOLDEN names another file in the same format.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using nlohmann::json;

constexpr double tolerance = 1e-10;  // absolute and relative

std::vector<std::uint8_t> decode_base64(const std::string& text) {
  std::array<int, 256> digit;
  digit.fill(-1);
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < alphabet.size(); ++i) digit[static_cast<std::uint8_t>(alphabet[i])] = static_cast<int>(i);
  std::vector<std::uint8_t> bytes;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = digit[static_cast<std::uint8_t>(c)];
    if (value < 0) continue;
    buffer = (buffer << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(buffer >> bits));
    }
  }
  return bytes;
}

Dims shape_of(const json& description) {
  Dims shape;
  for (const json& size : description.at("shape")) shape.push_back(size.get<std::int64_t>());
  return shape;
}

// Row i of the masks that are too large to be stored: triu_ones has ones from column i + diagonal on; prefix_compressed
// has that triangle in its first 2048 rows, then rows whose right half is one.
bool generated(const std::string& generator, std::int64_t diagonal, std::int64_t i, std::int64_t j) {
  if (generator == "triu_ones") return j - i >= diagonal;
  if (generator == "prefix_compressed") return i < 2048 ? j > i : j >= 1024;
  throw std::runtime_error("unknown generator " + generator);
}

Tensor tensor_of(const json& description) {
  const DType dtype = parse_dtype(description.at("dtype").get<std::string>()).value();
  const Dims shape = shape_of(description);
  Tensor tensor(dtype, shape);
  auto* target = reinterpret_cast<std::uint8_t*>(tensor.mutable_data<std::byte>());
  if (description.contains("generator")) {
    const auto generator = description["generator"].get<std::string>();
    const auto diagonal = description.value("diagonal", std::int64_t{1});
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j)
        target[i * shape[1] + j] = generated(generator, diagonal, i, j) ? 1 : 0;
    }
    return tensor;
  }
  const std::vector<std::uint8_t> bytes = decode_base64(description.at("data").get<std::string>());
  EXPECT_EQ(bytes.size(), tensor.bytes());
  std::copy_n(bytes.begin(), std::min(bytes.size(), tensor.bytes()), target);
  return tensor;
}

using Inputs = std::map<std::string, Var>;

Value argument_of(const json& value, const Inputs& inputs) {
  if (value.is_null()) return None{};
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return inputs.at(value.at("input").get<std::string>());
  List list;
  for (const json& item : value) list.push_back(argument_of(item, inputs));
  return list;
}

// Rows without keys: their softmax statistics are placeholders.
bool is_placeholder(const std::string& name, double expected_sum) {
  return name.starts_with("softmax_") && expected_sum == 0;
}

void compare(const std::string& what, const Tensor& actual, const json& expected_description, const Tensor& sums = {}) {
  const Tensor expected = tensor_of(expected_description);
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const std::vector<double> a = testing::values(actual);
  const std::vector<double> e = testing::values(expected);
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (sums.defined() && is_placeholder(what.substr(what.rfind(' ') + 1), sums.item(static_cast<std::int64_t>(i))))
      continue;
    if (!std::isfinite(e[i])) {
      EXPECT_TRUE(std::isnan(e[i]) ? std::isnan(a[i]) : a[i] == e[i]) << what << ", element " << i;
    } else {
      EXPECT_NEAR(a[i], e[i], tolerance + tolerance * std::abs(e[i])) << what << ", element " << i;
    }
  }
}

void run_case(const json& entry) {
  const auto id = entry.at("id").get<std::string>();
  Tape tape;
  Inputs inputs;
  for (const auto& [name, description] : entry.at("inputs").items()) {
    const Tensor tensor = tensor_of(description);
    inputs[name] = is_floating(tensor.dtype()) ? tape.leaf(tensor.to(DType::float64)) : tape.constant(tensor);
  }
  Dict kwargs;
  for (const json& pair : entry.at("args"))
    kwargs.emplace_back(pair[0].get<std::string>(), argument_of(pair[1], inputs));
  const Operator* op = find_operator("NPU", entry.at("op").get<std::string>());
  ASSERT_NE(op, nullptr) << id;
  const Value result = op->call({}, kwargs, tape);
  const List* list = result.get<List>();
  const auto output = [&](std::size_t i) { return list == nullptr ? *result.get<Var>() : *list->at(i).get<Var>(); };
  const json& outputs = entry.at("outputs");
  Tensor sums;
  for (const json& description : outputs) {
    if (description.at("name") == "softmax_sum") sums = tensor_of(description);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    compare(id + " " + outputs[i].at("name").get<std::string>(), output(i).tensor(), outputs[i], sums);
  }
  if (!entry.contains("grad_output") || !entry.contains("input_grads")) return;
  tape.backward(output(0), tensor_of(entry["grad_output"]).to(DType::float64));
  for (const auto& [name, description] : entry["input_grads"].items()) {
    const Tensor gradient = tape.gradient(inputs.at(name));
    ASSERT_TRUE(gradient.defined()) << id << " has no gradient of " << name;
    compare(id + " gradient of " + name, gradient, description);
  }
}

TEST(FusedGolden, EveryCase) {
  const char* other = std::getenv("MSRUN_FUSED_GOLDEN");
  const std::string path = other != nullptr ? other : testing::test_data("/fused_ops_golden.json");
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const json golden = json::parse(file);
  std::size_t count = 0;
  for (const json& entry : golden.at("cases")) {
    // The `upstream` case documents how the tool in use differs from the operator.
    if (entry.at("semantics") == "upstream") continue;
    SCOPED_TRACE(entry.at("id").get<std::string>());
    ASSERT_NO_THROW(run_case(entry));
    ++count;
  }
  EXPECT_GT(count, 0U);
  if (other == nullptr) {
    EXPECT_EQ(count, 118U);
  }
}

}  // namespace
}  // namespace msrun
