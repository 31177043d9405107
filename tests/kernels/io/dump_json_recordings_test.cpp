// Real recordings, read as another parser reads them, and their modules.
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
using ::testing::HasSubstr;

// By another parser. It knows no infinity: it gets a string in its place.
ordered_json parsed(const std::string& path) {
  return ordered_json::parse(std::regex_replace(testing::read_file(path), std::regex(": (-?Infinity)"), ": \"$1\""));
}

TEST(DumpJson, HandsOutModulesToThoseWhoAskForThem) {
  for (const std::string name : {"cnn_fp32_mix", "llama_bf16_mix"}) {
    const std::string path = testing::test_data("/dumps/") + name + "/dump.json";
    const ordered_json data = parsed(path)["data"];
    auto expected = data.begin();
    std::size_t modules = 0;
    std::size_t gradients = 0;
    DumpReader reader(path);
    reader.keep_modules();
    reader.keep_outputs();
    reader.read([&](std::string_view entry_name, DumpEntry&& entry) {
      ASSERT_NE(expected, data.end());
      ASSERT_EQ(entry_name, expected.key());
      const ordered_json& fields = (expected++).value();
      EXPECT_EQ(entry.problem, "") << entry_name;
      const auto expect_tensor = [&](const Value& value, const ordered_json& described) {
        const auto* spec = value.get<std::shared_ptr<const TensorSpec>>();
        ASSERT_NE(spec, nullptr) << entry_name;
        EXPECT_EQ((*spec)->dtype, described["dtype"]);
        EXPECT_EQ((*spec)->shape, described["shape"].get<std::vector<std::int64_t>>());
      };
      if (entry_name.find(".parameters_grad") != std::string_view::npos) {
        ++gradients;
        ASSERT_EQ(entry.parameter_gradients.size(), fields.size()) << entry_name;
        for (const auto& [parameter, gradient] : entry.parameter_gradients) {
          ASSERT_TRUE(gradient.is<List>());
          expect_tensor(gradient.get<List>()->at(0), fields[parameter][0]);
        }
        return;
      }
      EXPECT_EQ(entry.outputs.size(), fields["output"].size()) << entry_name;
      EXPECT_EQ(entry.args.size(), fields.contains("input_args") ? fields["input_args"].size() : 0);
      EXPECT_EQ(entry.grad_inputs.size(), fields.contains("input") ? fields["input"].size() : 0);
      if (!entry_name.starts_with("Module.")) return;
      ++modules;
      ASSERT_EQ(entry.parameters.size(), fields.contains("parameters") ? fields["parameters"].size() : 0);
      for (const auto& [parameter, value] : entry.parameters) expect_tensor(value, fields["parameters"][parameter]);
    });
    EXPECT_EQ(expected, data.end());
    EXPECT_GT(modules, 20U) << name;
    EXPECT_GT(gradients, 5U) << name;
  }
}

TEST(DumpJson, ReadsEveryFormOfModuleEntries) {
  const std::string leaf = R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]})";
  const std::string text = with_data(R"({"Module.fc.Linear.backward.3": {"input": [)" + leaf + R"(], "output": []},
      "Module.fc.Linear.parameters_grad": {"weight": [)" +
                                     leaf + R"(]}, "Cell.a.Dense.parameters_grad.12": {"b": []},
      "Module.parameters_grad.x.Linear.forward.0": {"input_args": [], "input_kwargs": {"k": )" +
                                     leaf + R"(}, "parameters": [1]}, "Module.a": 3})");
  DumpReader reader("d.json", memory_source(text));
  reader.keep_modules();
  std::vector<DumpEntry> entries;
  reader.read([&](std::string_view, DumpEntry&& entry) { entries.push_back(std::move(entry)); });
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries[0].grad_inputs.size(), 1U);
  EXPECT_EQ(entries[1].parameter_gradients.at(0).first, "weight");
  EXPECT_EQ(entries[2].parameter_gradients.size(), 1U);
  EXPECT_EQ(entries[3].kwargs.size(), 1U);
  EXPECT_EQ(entries[3].problem, "parameters must be an object, found an array.");
  EXPECT_THAT(entries[4].problem, HasSubstr("must be an object"));
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
