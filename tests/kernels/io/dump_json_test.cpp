#include "kernels/io/dump/dump_json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/kernels/io/dump_text.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

TEST(DumpJson, ReadsTheSmallestDump) {
  const Dump dump = read(R"({"task":"statistics","level":"L1","framework":"PyTorch","dump_data_dir":null,"data":{
 "Functional.relu.0.forward":{
  "input_args":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,3],"Max":1.5,"Min":-1.0,
                 "Mean":0.1,"Norm":2.0,"requires_grad":true}],
  "input_kwargs":{}, "output":[{"type":"torch.Tensor","dtype":"torch.float16","shape":[2,3],"Max":1.5,
                 "Min":0.0,"Mean":0.1,"Norm":2.0,"requires_grad":true}]},
 "Functional.relu.0.backward":{
  "input":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,3],"Max":0.5,"Min":-0.5,
            "Mean":0.1,"Norm":2.0,"requires_grad":false}],
  "output":[]}}})");
  EXPECT_EQ(dump.header.framework, "pytorch");
  EXPECT_EQ(dump.header.task, "statistics");
  EXPECT_EQ(dump.header.level, "L1");
  EXPECT_GT(dump.header.entries, 0U);
  EXPECT_FALSE(dump.header.real_data);
  ASSERT_EQ(dump.entries.size(), 2U);
  const auto& [forward_name, forward] = dump.entries[0];
  EXPECT_EQ(forward_name, "Functional.relu.0.forward");
  EXPECT_TRUE(forward.has_args && forward.has_kwargs && !forward.has_grad_inputs);
  EXPECT_EQ(show(forward.args), "[tensor torch.float32 [2 3 ] max 1.5 min -1 mean 0.10000000000000001 norm 2 grad]");
  EXPECT_EQ(forward.output_dtype, "torch.float16");
  const auto& [backward_name, backward] = dump.entries[1];
  EXPECT_EQ(backward_name, "Functional.relu.0.backward");
  EXPECT_TRUE(!backward.has_args && !backward.has_kwargs && backward.has_grad_inputs);
  EXPECT_EQ(show(backward.grad_inputs),
            "[tensor torch.float32 [2 3 ] max 0.5 min -0.5 mean 0.10000000000000001 norm 2]");
  EXPECT_EQ(backward.output_dtype, "");
}

TEST(DumpJson, ConvertsEveryFormOfValue) {
  EXPECT_EQ(shown(R"({"type":"int","value":3})"), "int 3");
  EXPECT_EQ(shown(R"({"value":3,"type":"int"})"), "int 3");
  EXPECT_EQ(shown(R"({"type":"int","value":9.0})"), "int 9");
  EXPECT_EQ(shown(R"({"type":"float","value":2.5})"), "float 2.5");
  EXPECT_EQ(shown(R"({"type":"float","value":2})"), "float 2");
  EXPECT_EQ(shown(R"({"type":"float","value":-Infinity})"), "float -inf");
  EXPECT_EQ(shown(R"({"type":"bool","value":true})"), "True");
  EXPECT_EQ(shown(R"({"type":"bool","value":0})"), "False");
  EXPECT_EQ(shown(R"({"type":"str","value":"mean"})"), "'mean'");
  EXPECT_EQ(shown("null"), "None");
  EXPECT_EQ(shown(R"({"type":"NoneType","value":null})"), "None");
  EXPECT_EQ(shown(R"({"type":"slice","value":[1,null,-2]})"), "slice 1::-2");
  EXPECT_EQ(shown(R"({"type":"ellipsis","value":"..."})"), "...");
  EXPECT_EQ(shown(R"({"type":"torch.Size","value":[2,3]})"), "[int 2, int 3]");
  EXPECT_EQ(shown(R"({"type":"torch.dtype","value":"torch.float16"})"), "torch.float16");
  EXPECT_EQ(shown(R"({"type":"torch.device","value":"npu:0"})"), "device 'npu:0'");
  EXPECT_EQ(shown(R"({"type":"torch.device","value":3})"), "device '3'");
  EXPECT_EQ(shown(R"({"type":"torch.device","value":0})"), "device ''");
  EXPECT_EQ(shown(R"({"type":"torch.device","value":null})"), "device ''");
  // dtype=None and device=None.
  EXPECT_EQ(shown(R"({"type":"torch.dtype","value":"None"})"), "None");
  EXPECT_EQ(shown(R"({"type":"torch.device"})"), "device ''");
  EXPECT_EQ(shown(R"({"type":"torch.memory_format","format":"channels_last"})"), "None");
  EXPECT_EQ(shown(R"({"type":"float32","value":0.1})"), "float 0.10000000000000001");
  EXPECT_EQ(shown(R"({"type":"int64","value":7})"), "int 7");
  EXPECT_EQ(shown(R"({"type":"bool_","value":true})"), "True");
  EXPECT_EQ(shown(R"({"type":"str_","value":"a"})"), "'a'");
  EXPECT_EQ(shown(R"({"type":"numpy.float32","value":0.1})"), "float 0.10000000149011612");
  EXPECT_EQ(shown(R"({"type":"numpy.float16","value":0.1})"), "float 0.0999755859375");
  EXPECT_EQ(shown(R"({"type":"numpy.uint64","value":7})"), "int 7");
  EXPECT_EQ(shown(R"({"type":"numpy.bool_","value":false})"), "False");
  EXPECT_EQ(shown(R"({"type":"numpy.unicode_","value":"u"})"), "'u'");
  EXPECT_EQ(shown(R"({"type":"torch.ProcessGroup","group_ranks":[0,1],"group_id":"7"})"), "None");
  EXPECT_EQ(shown(R"({"type":"torch.distributed.ReduceOp","value":"SUM"})"), "'SUM'");
  EXPECT_EQ(shown(R"([{"type":"int","value":3},[null]])"), "[int 3, [None]]");
  EXPECT_EQ(shown(R"({"a":{"type":"int","value":3},"type":{"type":"str","value":"x"},"a":{"type":"int","value":4}})"),
            "{a: int 4, type: 'x'}");
}

TEST(DumpJson, GivesAReasonForWhatCannotBeRebuilt) {
  EXPECT_EQ(shown(R"({"type":"numpy.ndarray","dtype":"<U3","shape":[2]})"),
            "unsupported: numpy.ndarray is not supported now");
  EXPECT_EQ(shown("{}"), "unsupported: input_args[0] was not recorded.");
  EXPECT_EQ(shown(R"({"type":"torch.Generator"})"),
            "unsupported: Type torch.Generator of input_args[0] is not supported.");
  EXPECT_EQ(shown(R"({"type":"numpy.complex64","value":"1j"})"),
            "unsupported: Type numpy.complex64 of input_args[0] is not supported.");
  EXPECT_EQ(shown(R"({"class_type":"torch.distributed.P2POp","op":{}})"),
            "unsupported: Type torch.distributed.P2POp of input_args[0] is not supported.");
  EXPECT_EQ(shown(R"({"type":"torch.dtype","value":"torch.uint16"})"),
            "unsupported: Dtype is not supported: torch.uint16");
  EXPECT_EQ(shown(R"({"type":"int"})"), "unsupported: input_args[0] has no value.");
  EXPECT_EQ(shown(R"({"type":"int","value":"3"})"), "unsupported: input_args[0].value must be an integer.");
  EXPECT_EQ(shown(R"({"type":"int","value":18446744073709551615})"),
            "unsupported: input_args[0].value does not fit 64 bits.");
  EXPECT_EQ(shown(R"({"type":"int","value":NaN})"), "float nan");
  EXPECT_EQ(shown(R"({"type":"float","value":null})"), "unsupported: input_args[0].value must be a number.");
  EXPECT_EQ(shown(R"({"type":"bool","value":2})"), "unsupported: input_args[0].value must be a boolean.");
  EXPECT_EQ(shown(R"({"type":"str","value":[]})"), "unsupported: input_args[0].value must be a string.");
  EXPECT_EQ(shown(R"({"type":"slice","value":[1,2]})"),
            "unsupported: input_args[0].value must be a list of three integers or nulls.");
  EXPECT_EQ(shown(R"({"type":"slice","value":[1,"2",3]})"),
            "unsupported: input_args[0].value must be a list of three integers or nulls.");
  EXPECT_EQ(shown(R"({"type":"torch.Size","value":[1.5]})"),
            "unsupported: input_args[0].value must be a list of integers.");
  const DumpEntry entry = read_entry(R"({"input_kwargs": {"a": [null, {"b": {"type": "int", "value": {}}}]}})");
  EXPECT_EQ(show(entry.kwargs), "{a: [None, {b: unsupported: input_kwargs.a[1].b.value must be an integer.}]}");
}

TEST(DumpJson, ReadsTensorDescriptions) {
  EXPECT_EQ(shown(R"({"shape":[2],"dtype":"torch.bool","type":"torch.Tensor","Max":true,"Min":false,"Mean":null})"),
            "tensor torch.bool [2 ] max 1 min 0");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[],"Max":NaN,"Min":NaN,
                      "Max_except_inf_nan":2,"Min_except_inf_nan":-1})"),
            "tensor torch.float32 [] max nan min nan max_finite 2 min_finite -1");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":2,"Min":-1,
                      "Max_origin":Infinity,"Min_origin":-1})"),
            "tensor torch.float32 [1 ] max inf min -1 max_finite 2 min_finite -1");
  // Shapes and dtypes are kept as they are; whoever makes the tensor judges them.
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.unheard_of","shape":[-1,9223372036854775807,0]})"),
            "tensor torch.unheard_of [-1 9223372036854775807 0 ]");
  EXPECT_EQ(shown(R"({"type":"torch.nn.parameter.Parameter","dtype":"torch.float32","shape":[1],"data_name":"a.pt"})"),
            "tensor torch.float32 [1 ] name a.pt");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","datapath":"/x/y.pt","requires_grad":true})"),
            "tensor  [] grad path /x/y.pt");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":"big","requires_grad":1})"),
            "unsupported: Data info Min: None , Max: big, info type must be int or float.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":"inf","Min":-2})"),
            "unsupported: Data info Min: -2.0 , Max: inf, info type must be int or float.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[0],"Max":"big"})"),
            "tensor torch.float32 [0 ]");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":"big","data_name":"a.pt"})"),
            "tensor torch.float32 [1 ] name a.pt");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1],"Max":null})"),
            "tensor torch.float32 [1 ]");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","shape":[1]})"), "unsupported: input_args[0] is a tensor without dtype.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32"})"),
            "unsupported: input_args[0] is a tensor without shape.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":3,"shape":[1]})"),
            "unsupported: input_args[0].dtype must be a string.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[1.5]})"),
            "unsupported: input_args[0].shape must be a list of integers.");
  EXPECT_EQ(shown(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":3})"),
            "unsupported: input_args[0].shape must be a list of integers.");
}

TEST(DumpJson, MalformedEntriesDoNotSpoilTheOthers) {
  const std::string deep = std::string(401, '[') + std::string(401, ']');
  const Dump dump = read(with_data(R"({"a.0.forward": 3, "b.0.forward": {"input_args": {"x": 1}},
      "c.0.forward": {"input_kwargs": [1], "input_args": []}, "d.0.forward": {"input_args": )" +
                                   deep + R"(}, "e.0.backward": {"input": null}, "f.0.forward": [[1]],
      "ok.0.forward": {"input_args": [null], "other": [{"deep": 1}]}})"));
  std::vector<std::string> problems;
  for (const auto& [name, entry] : dump.entries) problems.push_back(name + ": " + entry.problem);
  EXPECT_THAT(problems,
              ::testing::ElementsAre("a.0.forward: The entry must be an object, found a number.",
                                     "b.0.forward: input_args must be a list, found an object.",
                                     "c.0.forward: input_kwargs must be an object, found an array.",
                                     "d.0.forward: input_args is nested deeper than 400 levels.",
                                     "e.0.backward: input must be a list, found null.",
                                     "f.0.forward: The entry must be an object, found an array.", "ok.0.forward: "));
  EXPECT_FALSE(dump.entries[1].second.has_args);
  EXPECT_TRUE(dump.entries[2].second.has_args);
  EXPECT_FALSE(dump.entries[2].second.has_kwargs);
  EXPECT_EQ(dump.entries[6].second.args.size(), 1U);
}

TEST(DumpJson, OutputDtypeIsThatOfTheFirstElement) {
  const auto dtype = [](const std::string& output) { return read_entry(R"({"output": )" + output + "}").output_dtype; };
  EXPECT_EQ(dtype(R"([{"dtype":"torch.bfloat16","type":"torch.Tensor"},{"dtype":"torch.int64"}])"), "torch.bfloat16");
  EXPECT_EQ(dtype(R"([{"type":"int","value":{"dtype":"no"}},{"dtype":"torch.int64"}])"), "");
  EXPECT_EQ(dtype(R"([[{"dtype":"torch.int64"}]])"), "");
  EXPECT_EQ(dtype(R"([{"dtype":["torch.int64"]}])"), "");
  for (const std::string odd : {"[]", "null", "{}", "[null]", "3", "[3, {\"dtype\": \"x\"}]"})
    EXPECT_EQ(dtype(odd), "");
}

TEST(DumpJson, TellsAListFromATupleOfIndicesByTheOutput) {
  const auto index = [](const std::string& list, const std::string& output_shape, const std::string& api) {
    const std::string tensor = R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": )";
    const Dump dump =
        read(with_data(R"({"Tensor.)" + api + R"(.0.forward": {"input_args": [)" + tensor + "[5, 5, 5]}, " + list +
                       R"(], "input_kwargs": {}, "output": [)" + tensor + output_shape + "}]}}"));
    return show(dump.entries.at(0).second.args.at(1));
  };
  const std::string pair = R"([{"type": "int", "value": 1}, {"type": "int", "value": 2}])";
  const std::string flags = R"([{"type": "bool", "value": true}, {"type": "bool", "value": false}])";
  const std::string mixed = R"([{"type": "int", "value": 1}, {"type": "slice", "value": [0, 2, null]}])";
  EXPECT_EQ(index(pair, "[5]", "__getitem__"), "[int 1, int 2]");
  EXPECT_EQ(index(pair, "[2, 5, 5]", "__getitem__"), "[[int 1, int 2]]");
  EXPECT_EQ(index(pair, "[2, 5, 5]", "x"), "[int 1, int 2]");
  EXPECT_EQ(index(flags, "[1, 5, 5]", "__getitem__"), "[[True, False]]");
  EXPECT_EQ(index(mixed, "[5, 5, 5]", "__getitem__"), "[int 1, slice 0:2:]");
}

TEST(DumpJson, TakesThePositionalDtypeOfTheOutput) {
  const auto arguments = [](const std::string& name, const std::string& args, const std::string& kwargs = "{}",
                            const std::string& output =
                                R"({"type":"torch.Tensor","dtype":"torch.int32","shape":[2]})") {
    const std::string x = R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[2],"Max":1,"Min":0})";
    const Dump dump = read(with_data("{\"" + name + R"(.forward": {"input_args": [)" + x + (args.empty() ? "" : ", ") +
                                     args + R"(], "input_kwargs": )" + kwargs + R"(, "output": [)" + output + "]}}"));
    const DumpEntry& entry = dump.entries.at(0).second;
    return show(List(entry.args.begin() + 1, entry.args.end())) + show(entry.kwargs);
  };
  EXPECT_EQ(arguments("Tensor.type.0", "{}"), "[torch.int32]{}");
  EXPECT_EQ(arguments("Tensor.view.0", "{}"), "[torch.int32]{}");
  EXPECT_EQ(arguments("Functional.softmax.0", "-1, 3, {}"), "[int -1, int 3, torch.int32]{}");
  EXPECT_EQ(arguments("Torch.softmax.0", "-1, {}"), "[int -1, torch.int32]{}");
  // Nothing else is a dtype, and without a tensor none is known.
  EXPECT_EQ(arguments("Torch.add.0", "{}"), "[unsupported: input_args[1] was not recorded.]{}");
  EXPECT_EQ(arguments("Torch.unheard_of.0", "{}"), "[unsupported: input_args[1] was not recorded.]{}");
  EXPECT_EQ(arguments("Tensor.type.0", "{}", "{}", R"({"type":"str","value":"torch.FloatTensor"})"),
            "[unsupported: input_args[1] was not recorded.]{}");
  // A layout is that of all tensors that are recorded.
  EXPECT_EQ(arguments("Torch.zeros_like.0", "", R"({"layout": {}, "pin_memory": false})"), "[]{pin_memory: False}");
}

TEST(DumpJson, DropsModulesAndDeliversRepeatedNamesInOrder) {
  const Dump dump = read(with_data(R"({"Module.conv.Conv2d.forward.0": {"input_args": 5}, "b.0.forward": {},
      "a.0.forward": {}, "b.0.forward": {"input_args": []}, "x\u0007\ud800.0.forward": {}})"));
  std::vector<std::string> names;
  for (const auto& [name, entry] : dump.entries) names.push_back(name);
  EXPECT_THAT(names, ::testing::ElementsAre("b.0.forward", "a.0.forward", "b.0.forward", "x\a\xEF\xBF\xBD.0.forward"));
  EXPECT_TRUE(dump.entries[2].second.has_args);
}

TEST(DumpJson, AsksForTheDialectWhereTheEntriesBegin) {
  static std::vector<std::string> completed;
  static constexpr DumpDialect dialect{
      [](std::string_view entry) { return entry.starts_with("Cell."); },
      [](const JsonNode&, std::string_view type, const Where& where) -> Value {
        return std::string(type) + " at " + where.text();
      },
      [](std::string_view entry, DumpEntry&) { completed.emplace_back(entry); },
  };
  const auto read_with = [](const std::string& text) {
    completed.clear();
    std::string told = "nothing";
    DumpReader reader("d.json", memory_source(text));
    reader.choose_dialect([&](std::string_view framework) -> const DumpDialect& {
      told = framework;
      return dialect;
    });
    std::string shown_argument;
    reader.read([&](std::string_view, DumpEntry&& entry) { shown_argument += show(entry.args.at(0)); });
    return told + ": " + shown_argument;
  };
  const std::string data = R"("data": {"Cell.a.0": 1, "Mint.add.0.forward": {"input_args": [{"type": "t"}]}})";
  EXPECT_EQ(read_with(R"({"framework": "MindSpore", )" + data + "}"), "mindspore: 't at input_args[0]'");
  EXPECT_EQ(read_with("{" + data + R"(, "framework": "mindspore"})"), ": 't at input_args[0]'");
  EXPECT_THAT(completed, ::testing::ElementsAre("Mint.add.0.forward"));
}

TEST(DumpJson, HeaderMayFollowTheData) {
  const Dump dump = read(R"({"data": {}, "level": "mix", "dump_data_dir": "./x", "task": "tensor", "md5": [{}]})");
  EXPECT_EQ(dump.header.level, "mix");
  EXPECT_EQ(dump.header.task, "tensor");
  EXPECT_TRUE(dump.header.real_data);
  EXPECT_EQ(dump.header.dump_data_dir, "./x");
  EXPECT_FALSE(dump.header.empty_data_dir);
  EXPECT_TRUE(read(R"({"data": {}, "dump_data_dir": ""})").header.empty_data_dir);
  EXPECT_FALSE(read(R"({"data": {}, "dump_data_dir": null})").header.empty_data_dir);
  EXPECT_EQ(dump.header.entries, 0U);
  for (const std::string falsy : {"null", "\"\"", "0", "0.0", "false", "[]", "{}"}) {
    EXPECT_FALSE(read(R"({"data": {}, "dump_data_dir": )" + falsy + "}").header.real_data) << falsy;
  }
  for (const std::string truthy : {"1", "true", "[0]", "NaN"}) {
    EXPECT_TRUE(read(R"({"data": {}, "dump_data_dir": )" + truthy + "}").header.real_data) << truthy;
  }
}

TEST(DumpJson, InfersAMissingFramework) {
  EXPECT_EQ(read(R"({"data": {}})").header.framework, "pytorch");
  EXPECT_EQ(read(R"({"framework": null, "data": {"a.0.forward": {"input_args":
      [[{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [1]}]]}}})")
                .header.framework,
            "mindspore");
  EXPECT_EQ(read(R"({"framework": "MindTorch", "data": {}})").header.framework, "mindtorch");
  EXPECT_EQ(shown(R"({"type": "mindspore.dtype", "value": "BFloat16"})"), "torch.bfloat16");
}

TEST(DumpJson, RefusesWhatIsNoDump) {
  EXPECT_EQ(error_of(R"({"task": "statistics"})"), "Invalid dump.json format: d.json: no data found in dump.json");
  EXPECT_EQ(error_of(R"({"data": null})"), "Invalid dump.json format: d.json: no data found in dump.json");
  EXPECT_EQ(error_of(R"({"data": [1]})"), "Invalid dump.json format: d.json: data must be an object, found an array");
  EXPECT_EQ(error_of("[]"), "Invalid dump.json format: d.json: the top level must be an object, found an array");
  EXPECT_EQ(error_of("NaN"), "Invalid dump.json format: d.json: the top level must be an object, found a number");
  EXPECT_THAT(error_of(R"({"framework": 3, "data": {}})"), HasSubstr("framework must be a string, found a number"));
  EXPECT_THAT(error_of(R"({"data": {}, "data": {}})"), HasSubstr("occurs twice"));
  EXPECT_EQ(error_of("{\"data\": {\n\"a\": {\"input_args\": [}}}"),
            "d.json: line 2, column 22: expected a value, found '}' (byte 32)");
  EXPECT_THAT(error_of("{\"data\": {}} {"), HasSubstr("expected the end of the file, found '{'"));
  EXPECT_THAT(error_of("\x1F\x8B\x08"), HasSubstr("d.json: line 1, column 1: expected a value, found byte 0x1F"));
}

TEST(DumpJson, RefusesFilesItCannotRead) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      DumpReader reader(path);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  const TemporaryDirectory folder;
  const std::string empty = (folder / "empty.json").string();
  const std::string big = (folder / "big.json").string();
  std::ofstream(empty).close();
  std::ofstream(big).close();
  std::filesystem::resize_file(big, std::uintmax_t{10} << 30);
  EXPECT_EQ(error("/no/such.json"), "The file path /no/such.json does not exist.");
  EXPECT_EQ(error(folder.path()), "The " + folder.path().string() + " should be a file!");
  EXPECT_EQ(error("/dev/null"), "The /dev/null should be a file!");
  EXPECT_EQ(error(empty), "The file " + empty + " is empty.");
  EXPECT_EQ(error(big), "The size (10737418240) of " + big + " exceeds (10737418240) bytes, tools not support.");
  EXPECT_EQ(error(std::string(5000, 'a')), "The file path length exceeds limit.");
}

TEST(DumpJson, ReadsThePairOfFilesOfTheOlderTool) {
  const TemporaryDirectory folder;
  const std::string forward = (folder / "forward_info_1.json").string();
  const std::string backward = (folder / "backward_info_1.json").string();
  std::ofstream(forward) << R"({
"Functional*relu*0": {"args": [{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,3],"Max":1.5,"Min":-1.0,
                       "requires_grad":true}], "kwargs": {"inplace": {"type":"bool","value":false}}},
"Functional.conv2d.0": {"args": [{"type":"torch.Tensor","datapath":"forward_real_data/x.pt","requires_grad":false}]},
"Tensor___add___3_forward": {"args": 1}
})";
  std::ofstream(backward) << R"({"Functional*relu*0": [{"type":"torch.Tensor","dtype":"torch.float32","shape":[2,3]}],
                                 "Tensor*__add__*3": {}})";
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view name, DumpEntry&& entry) {
    lines.push_back(std::string(name) + " " + show(entry.args) + show(entry.kwargs) + show(entry.grad_inputs) +
                    entry.problem);
  };
  const DumpHeader header = read_att_pair(forward, backward, keep);
  EXPECT_THAT(lines,
              ::testing::ElementsAre(
                  "Functional.relu.0.forward [tensor torch.float32 [2 3 ] max 1.5 min -1 grad]{inplace: False}[]",
                  "Functional.conv2d.0.forward [tensor  [] path forward_real_data/x.pt]{}[]",
                  "Tensor.__add__.3.forward []{}[]args must be a list, found a number.",
                  "Functional.relu.0.backward []{}[tensor torch.float32 [2 3 ]]",
                  "Tensor.__add__.3.backward []{}[]The entry must be a list, found an object."));
  EXPECT_EQ(header.framework, "pytorch");
  EXPECT_EQ(header.task, "tensor");
  EXPECT_TRUE(header.real_data);
  lines.clear();
  read_att_pair(forward, "", keep);
  EXPECT_EQ(lines.size(), 3U);
}

TEST(DumpJson, EveryTruncationIsOneError) {
  const std::string whole = with_data(R"({"Torch.add.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype":
      "torch.float32", "shape": [2], "Max": 1.5e1, "Min": NaN, "requires_grad": true}, {"type": "str", "value":
      "a\u00e9"}], "input_kwargs": {"k": null}, "output": [{"dtype": "x"}]}, "Module.a": {"x": [true]}})");
  ASSERT_EQ(error_of(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(error_of(whole.substr(0, size)), HasSubstr("found the end of the file")) << size;
  }
}

}  // namespace
}  // namespace msrun::testing
