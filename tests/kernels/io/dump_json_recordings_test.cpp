// Real recordings, read as another parser reads them.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/kernels/io/dump_text.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using nlohmann::ordered_json;

// By another parser. It knows no infinity: it gets a string in its place.
ordered_json parsed(const std::string& path) {
  return ordered_json::parse(std::regex_replace(testing::read_file(path), std::regex(": (-?Infinity)"), ": \"$1\""));
}

// What the tree of a real dump must be, from another parser.
std::string expected(const ordered_json& json) {
  if (json.is_null()) return "None";
  if (json.is_array()) {
    std::string text = "[";
    for (const auto& item : json) text += (text.size() > 1 ? ", " : "") + expected(item);
    return text + "]";
  }
  const std::string type = json.value("type", "");
  if (type == "torch.Tensor") {
    auto spec = std::make_shared<TensorSpec>();
    spec->dtype = json["dtype"];
    for (const auto& size : json["shape"]) spec->shape.push_back(size);
    const auto statistic = [&](const char* key) -> std::optional<double> {
      if (json[key].is_null()) return std::nullopt;
      if (json[key] == "-Infinity") return -INFINITY;
      if (json[key] == "Infinity") return INFINITY;
      return json[key].is_boolean() ? (json[key].get<bool>() ? 1.0 : 0.0) : json[key].get<double>();
    };
    spec->max = statistic("Max");
    spec->min = statistic("Min");
    spec->mean = statistic("Mean");
    spec->norm = statistic("Norm");
    spec->requires_grad = json["requires_grad"];
    spec->data_name = json.value("data_name", "");
    return show(std::shared_ptr<const TensorSpec>(spec));
  }
  if (type == "int") return show(json["value"].get<std::int64_t>());
  if (type == "float") return show(json["value"].get<double>());
  if (type == "bool") return show(json["value"].get<bool>());
  if (type == "str") return show(json["value"].get<std::string>());
  if (type == "torch.dtype") return json["value"];
  if (type == "slice") {
    const auto bound = [&](std::size_t i) { return json["value"][i].is_null() ? "" : json["value"][i].dump(); };
    return "slice " + bound(0) + ":" + bound(1) + ":" + bound(2);
  }
  if (type == "torch.Size") {
    List sizes;
    for (const auto& size : json["value"]) sizes.emplace_back(size.get<std::int64_t>());
    return show(sizes);
  }
  return json.empty() ? "unsupported" : "unexpected " + json.dump();
}

TEST(DumpJson, AgreesWithAnotherParserOnRealDumps) {
  for (const std::string name : {"llama_bf16", "zoo_stat", "zoo_tensor_small"}) {
    const std::string path = testing::test_data("/dumps/") + name + "/dump.json";
    const ordered_json json = parsed(path);
    auto entry = json["data"].begin();
    DumpReader reader(path);
    const DumpHeader header = reader.read([&](std::string_view entry_name, DumpEntry&& read) {
      ASSERT_NE(entry, json["data"].end());
      ASSERT_EQ(entry_name, entry.key());
      EXPECT_EQ(read.problem, "");
      const ordered_json& fields = entry.value();
      const bool forward = entry_name.ends_with("forward");
      EXPECT_EQ(read.has_args, forward);
      EXPECT_EQ(read.has_kwargs, forward);
      EXPECT_EQ(read.has_grad_inputs, !forward);
      const ordered_json& list = fields[forward ? "input_args" : "input"];
      const List& values = forward ? read.args : read.grad_inputs;
      ASSERT_EQ(values.size(), list.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string shown_value = show(values[i]);
        EXPECT_EQ(values[i].is<Unsupported>() ? "unsupported" : shown_value, expected(list[i])) << entry_name;
      }
      if (forward) {
        std::size_t i = 0;
        for (const auto& [key, value] : fields["input_kwargs"].items()) {
          EXPECT_EQ(read.kwargs.at(i).first, key);
          EXPECT_EQ(show(read.kwargs.at(i++).second), expected(value)) << entry_name << " " << key;
        }
        const ordered_json& output = fields["output"];
        const bool described = !output.empty() && output[0].is_object();
        EXPECT_EQ(read.output_dtype, described ? output[0].value("dtype", "") : "");
      }
      ++entry;
    });
    EXPECT_EQ(entry, json["data"].end());
    EXPECT_EQ(header.framework, "pytorch");
    EXPECT_EQ(header.real_data, name == "zoo_tensor_small");
  }
}

}  // namespace
}  // namespace msrun::testing
