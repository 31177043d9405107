// Generated scripts, run by the Python with torch that ./bootstrap test installs.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <regex>
#include <set>

#include "kernels/api/api_call.h"
#include "kernels/base/text.h"
#include "kernels/io/torch/pt_file.h"
#include "tests/tools/op_generate_support.h"
#include "tools/op_generate/configuration.h"
#include "tools/op_generate/table.h"

namespace msrun::op_generate {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using testing::Finished;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_file;
using ::testing::StartsWith;
using testing::test_data;

// Without the rows that fixtures do not have: a script's own verdicts and their limits.
std::string without_results(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  bool was_result = false;
  for (std::string line; std::getline(lines, line);) {
    if (!was_result && !line.starts_with("| Result ")) result += line + "\n";
    was_result = line.starts_with("| Result ");
  }
  return result;
}

TEST_F(OpGenerateScript, PrintsAndBuildsWhatTheFixturesDo) {
  for (const auto& entry : fs::directory_iterator(test_data("/op_generate"))) {
    if (!entry.is_directory()) continue;
    const fs::path folder = scratch_ / entry.path().filename().string();
    fs::copy(entry.path(), folder, fs::copy_options::recursive);
    ASSERT_EQ(run_shell(folder, testing::programs() + "/op_generate -i config_op.json -o out", scratch_ / "log"), 0);
    std::string script = read_file(folder / "expected/script_name.txt");
    script = "out/" + script.substr(0, script.find('\n'));
    const std::vector<std::string> words{test_data("/op_generate/run_generated.py"), script, "inputs.json"};
    ASSERT_EQ(testing::ScriptServer::instance().run(folder, words, scratch_ / "printed", 240), 0)
        << read_file(scratch_ / "printed");
    EXPECT_EQ(without_results(read_file(scratch_ / "printed")), read_file(folder / "expected/stdout.txt")) << folder;
    EXPECT_EQ(read_file(folder / "inputs.json"), read_file(folder / "expected/inputs.json")) << folder;
    expect_no_lint(scripts_in(folder / "out"));
  }
}

// Cells of a table by the names of its rows.
std::vector<std::pair<std::string, std::string>> rows_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> rows;
  static const std::regex row(R"(\| ([^|]*[^ |]) *\| ([^|]*[^ |]) *\|)");
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, row)) {
      rows.emplace_back(match[1], match[2]);
    } else if (!line.starts_with('+')) {
      rows.emplace_back(line, "");
    }
  }
  return rows;
}

// All numbers are equal to the last digit. On processors on which torch adds in another order, those that are made of
// sums are nearly so.
void expect_equal_tables(const std::string& script, const std::string& native, bool same_sums,
                         const std::string& what) {
  const auto expected = rows_of(script);
  const auto found = rows_of(native);
  ASSERT_EQ(expected.size(), found.size()) << what << "\n" << script << native;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string& title = expected[i].first;
    EXPECT_EQ(title, found[i].first) << what;
    const bool is_sum = title.starts_with("Mean") || title.starts_with("Root Mean");
    const auto number = parse_number<double>(expected[i].second);
    const auto other = parse_number<double>(found[i].second);
    if (!same_sums && is_sum && number && other && std::isfinite(*number)) {
      EXPECT_NEAR(*number, *other, std::abs(*number) * 1e-5) << what << ": " << title;
    } else {
      EXPECT_EQ(expected[i].second, found[i].second) << what << ": " << title;
    }
  }
}

// The entries of a recording by which every API with a script is met once, forward and backward.
std::vector<std::string> entries_of(const fs::path& dump) {
  const std::string text = read_file(dump);
  std::vector<std::string> result;
  std::set<std::string> met;
  static const std::regex entry(R"re("((Torch|Tensor|Functional)\.[\w.]+?\.\d+\.(forward|backward))": \{)re");
  for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
    const std::string key = (*at)[1];
    std::string_view base;
    const auto direction = split_direction(key, base);
    const auto name = ApiName::parse(base);
    if (!direction || !name) continue;
    if (met.insert(name->type + "." + name->api + direction_text(*direction)).second) result.push_back(key);
  }
  return result;
}

TEST_F(OpGenerateScript, OfEveryApiAgreeWithTheNativeTables) {
  const fs::path out = scratch_ / "out";
  std::set<Standard> standards;
  std::set<std::string> apis;
  std::vector<std::string> keys;
  std::vector<std::string> refused;
  for (const std::string& key : entries_of(testing::dump("zoo_stat"))) {
    const Finished finished = run({"--api", key, "-i", testing::dump("zoo_stat").string(), "-o", out.string(), "--run",
                                   "--save-inputs", (out / (key + ".native")).string()});
    // Where the data decide on the shape of the output, the recorded gradient does not fit, and where an argument could
    // not be recorded, nothing does; then the script cannot run, either.
    if (finished.exit_code == 0) keys.push_back(key);
    if (finished.exit_code != 0) refused.push_back(key);
  }
  const std::vector<std::string> scripts = scripts_in(out);
  std::vector<std::string> words{tests_folder() + "/op_generate_scripts.py", out};
  words.insert(words.end(), scripts.begin(), scripts.end());
  ASSERT_EQ(python(words, scratch_ / "log"), 0) << read_file(scratch_ / "log");
  // They differ in their first and last lines; one in ten of each is enough.
  std::vector<std::string> some;
  for (std::size_t i = 0; i < scripts.size(); i += 10) some.push_back(scripts[i]);
  expect_no_lint(some);
  for (const std::string& key : refused) {
    if (!fs::exists(out / (key + ".py"))) continue;
    EXPECT_THAT(read_file(out / (key + ".failed")), HasSubstr("ERROR: ")) << key;
  }
  EXPECT_LE(refused.size(), 10U) << ::testing::PrintToString(refused);
  const bool same_sums = read_file(out / "capability") == "AVX2";
  std::size_t tables = 0;
  for (const std::string& key : keys) {
    const std::string stem = (out / key).string();
    EXPECT_EQ(read_file(stem + ".failed"), "") << key;
    EXPECT_EQ(read_file(stem + ".inputs"), read_file(stem + ".native")) << key;
    EXPECT_THAT(read_file(stem + ".out"),
                AllOf(StartsWith("iter: 0:\nCompare result:\n"), EndsWith("\nCompare finished.\n")))
        << key;
    std::string_view base;
    split_direction(key, base);
    const ApiName name = *ApiName::parse(base);
    const Standard standard = select_standard(name.api, DType::float32, false, Policy::per_api);
    for (int i = 0; fs::exists(stem + "." + std::to_string(i) + ".table"); ++i) {
      const std::string place = stem + "." + std::to_string(i);
      if (read_file(place + ".table").starts_with("NOT COMPARED: ")) {
        EXPECT_THAT(key, HasSubstr("dropout")) << "the two sides drop other elements";
        continue;
      }
      expect_equal_tables(read_file(place + ".table"),
                          comparison_text(read_pt(place + ".device.pt"), read_pt(place + ".bench.pt"), standard),
                          same_sums, key + "." + std::to_string(i));
      standards.insert(standard);
      apis.insert(name.api);
      ++tables;
    }
  }
  EXPECT_GE(apis.size(), 40U);
  EXPECT_GE(tables, 200U);
  EXPECT_GE(standards.size(), 5U);
}

TEST_F(OpGenerateScript, TakesEveryKindOfArgument) {
  const std::string t = tensor("float32", "[4, 6]", "2", "-2");
  const auto call = [&](const std::string& key, const std::string& args, const std::string& kwargs = "{}") {
    extraction("\"" + key + "\": " + forward(args, kwargs));
    return script_output(key);
  };
  const std::string finished = "Compare finished.\n";
  EXPECT_THAT(call("Torch.clamp.0.forward", t + ", null", R"({"max": {"type": "float", "value": Infinity}})"),
              EndsWith(finished));
  EXPECT_THAT(call("Tensor.__getitem__.0.forward",
                   t + R"(, [{"type": "slice", "value": [0, null, 2]}, {"type": "ellipsis", "value": "..."}])"),
              HasSubstr("torch.Size([2, 6])"));
  EXPECT_THAT(
      call(
          "Torch.zeros.0.forward", R"([{"type": "int", "value": 2}, {"type": "int", "value": 3}])",
          R"({"dtype": {"type": "torch.dtype", "value": "torch.float16"}, "device": {"type": "torch.device", "value": "npu:0"}, "requires_grad": {"type": "bool", "value": false}})"),
      HasSubstr("torch.float16"));
  EXPECT_THAT(call("Tensor.to.0.forward", t + R"(, {"type": "torch.dtype", "value": "torch.bfloat16"})",
                   R"({"copy": {"type": "bool", "value": true}, "non_blocking": {"type": "bool", "value": false}})"),
              HasSubstr("torch.bfloat16"));
  EXPECT_THAT(call("Torch.linalg.norm.0.forward", t), EndsWith(finished));
  EXPECT_THAT(call("Torch.cat.0.forward", "[" + t + ", " + t + "]"), HasSubstr("torch.Size([8, 6])"));
  EXPECT_THAT(call("Tensor.size.0.forward", t), AllOf(HasSubstr("index 0:\nPASS"), HasSubstr("index 1:\nPASS")));
  EXPECT_THAT(call("Tensor.dim.0.forward", t), HasSubstr("PASS: out_device and out_bench equals.\n"));
  EXPECT_THAT(call("Torch.isnan.0.forward", tensor("float32", "[2]", "NaN", "null")),
              HasSubstr("no range was recorded"));
  EXPECT_THAT(call("Torch.abs.0.forward", tensor("float32", "[0, 3]", "null", "null")),
              HasSubstr("Both out_device and out_bench have zero elements."));
  EXPECT_THAT(call("Torch.add.0.forward", tensor("int8", "[3]", "-5", "5") + R"(, {"type": "int", "value": 1})"),
              HasSubstr("they were exchanged"));
  EXPECT_THAT(call("Torch.abs.0.forward", tensor("float32", "[5]", "Infinity", "-Infinity")),
              AllOf(HasSubstr("Min: -inf says nothing of the range; -1.0 is taken"), EndsWith(finished)));
  EXPECT_THAT(call("Torch.add.0.forward", tensor("uint8", "[4]", "-1", "-5") + R"(, {"type": "int", "value": 1})"),
              AllOf(HasSubstr("Min: -5.0 lies outside of the range of the dtype; 0 is taken"), EndsWith(finished)));
}

// As the worker does, which calls recorded calls for the pre-check.
TEST_F(OpGenerateScript, CallsAsTheWorkerDoes) {
  const std::string t = tensor("float32", "[4, 6]", "2", "-2");
  const auto call = [&](const std::string& key, const std::string& args, const std::string& kwargs = "{}") {
    extraction("\"" + key + "\": " + forward(args, kwargs));
    return script_output(key);
  };
  const auto text = [](const std::string& value) { return R"({"type": "str", "value": ")" + value + "\"}"; };
  const auto compares = AllOf(HasSubstr("| Compare Standard "), EndsWith("Compare finished.\n"));
  const std::string format = R"({"type": "torch.memory_format", "format": "torch.channels_last"})";
  EXPECT_THAT(call("Tensor.contiguous.0.forward", t, R"({"memory_format": )" + format + "}"), compares);
  EXPECT_THAT(call("Tensor.contiguous.0.forward", t + ", " + format), compares);
  EXPECT_THAT(call("Tensor.to.0.forward", t + ", " + text("npu:0")), compares);
  EXPECT_THAT(call("Tensor.to.0.forward", t + ", " + text("cuda"),
                   R"({"dtype": {"type": "torch.dtype", "value": "torch.float16"}})"),
              AllOf(compares, HasSubstr("torch.float16")));
  EXPECT_THAT(call("Tensor.type.0.forward", t + ", " + text("torch.npu.HalfTensor")),
              AllOf(compares, HasSubstr("torch.float16")));
  EXPECT_THAT(call("Tensor.type.0.forward", t), HasSubstr("PASS: out_device and out_bench equals.\n"))
      << "the dtype of the recording, not that of the benchmark";
  EXPECT_THAT(call("Tensor.type_as.0.forward", t + ", " + tensor("float16", "[1]", "1", "0")), HasSubstr("| pass "))
      << "rounds to the recorded dtype on both sides";
  EXPECT_THAT(call("Tensor.view.0.forward", t + R"(, {"type": "torch.dtype", "value": "torch.int32"})"),
              HasSubstr("| pass "));
  EXPECT_THAT(call("Tensor.__eq__.0.forward", t + R"(, {"type": "NoneType"})"),
              HasSubstr("PASS: out_device and out_bench equals.\n"));
  EXPECT_THAT(call("Torch.stft.0.forward", tensor("float32", "[64]", "1", "-1") + R"(, {"type": "int", "value": 16})",
                   R"({"return_complex": {"type": "bool", "value": false}})"),
              compares);
  EXPECT_THAT(call("Torch.tensor_split.0.forward", t + ", " + tensor("int64", "[2]", "3", "1")),
              AllOf(HasSubstr("index 2:"), compares));
}

TEST_F(OpGenerateScript, ComparesNoRandomNumbers) {
  const std::string x = tensor("float32", "[20, 30]", "1", "0", true);
  const auto call = [&](const std::string& key, const std::string& args, const std::string& kwargs = "{}") {
    extraction("\"" + key + ".forward\": " + forward(args, kwargs) + ", \"" + key + R"(.backward": {"input": [)" + x +
               "]}");
    return script_output(key + ".forward");
  };
  const auto is_silent = AllOf(HasSubstr("NOT COMPARED: "), Not(HasSubstr("Result")), Not(HasSubstr("Standard")));
  const std::string size = R"([{"type": "int", "value": 4}])";
  EXPECT_THAT(call("Torch.bernoulli.0", x), AllOf(is_silent, HasSubstr("bernoulli draws random numbers")));
  EXPECT_THAT(call("Torch.randn.0", size), is_silent);
  EXPECT_THAT(call("Torch.empty.0", size), AllOf(is_silent, HasSubstr("memory that nobody has written")));
  EXPECT_THAT(call("Functional.dropout.0", x), is_silent);
  EXPECT_THAT(script_output("Functional.dropout.0.backward", R"(, "propagation": "backward")"), is_silent);
  EXPECT_THAT(call("Functional.dropout.0", x, R"({"training": {"type": "bool", "value": false}})"),
              AllOf(HasSubstr("| Compare Standard "), Not(HasSubstr("NOT COMPARED"))));
  EXPECT_THAT(call("Functional.gumbel_softmax.0", x), AllOf(is_silent, HasSubstr("draws random numbers")))
      << "which only the generator of the benchmark tells";
  EXPECT_THAT(call("Functional.rrelu.0", x, R"({"training": {"type": "bool", "value": true}})"), is_silent);
  EXPECT_THAT(call("Functional.rrelu.0", x), Not(HasSubstr("NOT COMPARED")));
}

TEST_F(OpGenerateScript, RunsByItself) {
  extraction(R"("Torch.exp.0.forward": )" + forward(tensor("float32", "[4]", "1", "-1")));
  ASSERT_EQ(run({"-i", configuration(), "-o", scratch_.file("out")}).exit_code, 0);
  const std::string command = testing::torch_python() + " out/Torch.exp.0.forward.py --device cpu";
  EXPECT_EQ(run_shell(scratch_.path(), command, scratch_ / "printed"), 0);
  EXPECT_EQ(read_file(scratch_ / "printed"), script_output("Torch.exp.0.forward"));
}

TEST_F(OpGenerateScript, SavesItsNumbersApart) {
  extraction(R"("Torch.exp.0.forward": )" + forward(tensor("float32", "[4]", "1", "-1")));
  const std::string key = "Torch.exp.0.forward";
  script_output(key, "", "--device cpu --save gpu.json");
  const std::string numbers = read_file(scratch_ / "gpu.json");
  EXPECT_THAT(script_output(key, "", "--device cpu --against gpu.json --save ./gpu.json", 1),
              HasSubstr("ERROR: --save ./gpu.json would overwrite gpu.json."));
  EXPECT_EQ(read_file(scratch_ / "gpu.json"), numbers);
  EXPECT_THAT(script_output(key, "", "--device cpu --save out/" + key + ".py", 1), HasSubstr("would overwrite "));
  EXPECT_THAT(script_output(key, "", "--device cpu --save none/gpu.json", 1),
              HasSubstr("ERROR: none/gpu.json cannot be written: "));
}

TEST_F(OpGenerateScript, SaysWhichArgumentsCannotBeBuilt) {
  extraction(R"("Torch.abs.0.forward": )" + forward(tensor("float64", "[60000000000]", "1", "0")));
  EXPECT_THAT(script_output("Torch.abs.0.forward", "", "--device cpu", 1),
              AllOf(HasSubstr("ERROR: the arguments of torch.abs cannot be built: "), Not(HasSubstr("Traceback"))));
}

TEST_F(OpGenerateScript, DifferentiatesWhatIsMarked) {
  const std::string x = tensor("float64", "[3, 2]", "1", "-1", true);
  const auto gradient = [&](const std::string& key, const std::string& args, const std::string& gradients) {
    extraction("\"" + key + ".forward\": " + forward(args) + ", \"" + key + R"(.backward": {"input": [)" + gradients +
               "]}");
    return script_output(key + ".backward", R"(, "propagation": "backward")");
  };
  const std::string g = tensor("float64", "[6, 2]", "1", "-1");
  EXPECT_THAT(gradient("Torch.cat.0", "[" + x + ", " + x + "]", g),
              AllOf(HasSubstr("index 0:"), HasSubstr("index 1:"), Not(HasSubstr("ERROR"))));
  const std::string same = tensor("float64", "[3, 2]", "1", "-1");
  EXPECT_THAT(gradient("Tensor.mul_.0", x + ", " + same, same), AllOf(HasSubstr("index 0:"), Not(HasSubstr("ERROR"))));
  const std::string half = tensor("float64", "[3, 1]", "1", "-1");
  EXPECT_THAT(gradient("Torch.split.0", x + R"(, {"type": "int", "value": 1}, {"type": "int", "value": 1})",
                       half + ", " + half),
              Not(HasSubstr("ERROR")));
  EXPECT_THAT(
      gradient("Torch.split.0", x + R"(, {"type": "int", "value": 1}, {"type": "int", "value": 1})", "null, " + half),
      Not(HasSubstr("ERROR")));
  EXPECT_THAT(gradient("Torch.add.0", x + ", " + tensor("int64", "[3, 2]", "3", "0", true), same),
              AllOf(HasSubstr("index 0:"), Not(HasSubstr("index 1:"))));
}

TEST_F(OpGenerateScript, InPlaceCallsLeaveTheBenchmarksInputsAlone) {
  extraction(R"("Tensor.add_.0.forward": )" +
             forward(tensor("float64", "[4]", "1", "-1") + R"(, {"type": "int", "value": 1})"));
  EXPECT_THAT(script_output("Tensor.add_.0.forward"), HasSubstr("| Result               | pass"));
}

TEST_F(OpGenerateScript, TextOfADumpIsNoCode) {
  const std::string hostile = R"(\"\"\"\u0027); open(\u0027pwned\u0027, \u0027w\u0027) #\\\n)";
  extraction(
      R"("Functional.pad.0.forward": )" +
      forward(tensor("float32", "[2, 2]", "1", "0") + R"(, [{"type": "int", "value": 1}, {"type": "int", "value": 1}])",
              R"({"mode": {"type": "str", "value": ")" + hostile + "\"}, \"" + hostile +
                  R"(": {"type": "int", "value": 1}})"));
  EXPECT_THAT(script_output("Functional.pad.0.forward", "", "--device cpu", 1),
              HasSubstr("ERROR: torch.nn.functional.pad failed on cpu: TypeError"));
  EXPECT_FALSE(fs::exists(scratch_ / "pwned"));
  expect_no_lint(scripts_in(scratch_ / "out"));
}

TEST_F(OpGenerateScript, ChoosesTheDeviceThatIsAskedFor) {
  extraction(R"("Torch.abs.0.forward": )" + forward(tensor("float32", "[2]", "1", "-1")));
  EXPECT_THAT(script_output("Torch.abs.0.forward", "", "--device npu", 1),
              HasSubstr("ERROR: torch finds no npu device here."));
  EXPECT_THAT(script_output("Torch.abs.0.forward", "", "--devise npu", 2),
              HasSubstr("unrecognized arguments: --devise"));
  EXPECT_THAT(script_output("Torch.abs.0.forward", "", "--help"), HasSubstr("op_generate -i"));
}

TEST_F(OpGenerateScript, JudgesTheBenchmarkStandardByAGpusNumbers) {
  extraction(R"("Functional.softmax.0.forward": )" +
             forward(tensor("float32", "[8, 16]", "3", "-3"), R"({"dim": {"type": "int", "value": -1}})"));
  const std::string key = "Functional.softmax.0.forward";
  EXPECT_THAT(script_output(key, "", "--device cpu --save gpu.json"), Not(HasSubstr("Result")));
  std::string numbers = read_file(scratch_ / "gpu.json");
  const auto result = [&](const std::string& text) {
    testing::write_file(scratch_ / "gpu.json", text);
    const auto rows = rows_of(script_output(key, "", "--device cpu --against gpu.json"));
    for (const auto& [title, value] : rows) {
      if (title == "Result") return value;
    }
    return std::string("none");
  };
  EXPECT_EQ(result(numbers), "pass");
  static const std::regex maximum(R"(("Maximum Relative Error": )[^,]*)");
  static const std::regex mean(R"(("Mean Relative Error": )[^,]*)");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(numbers, match, std::regex(R"("Maximum Relative Error": ([^,]*))")));
  const double largest = std::stod(match[1]);
  ASSERT_TRUE(std::regex_search(numbers, match, std::regex(R"("Mean Relative Error": ([^,]*))")));
  const double average = std::stod(match[1]);
  const auto scaled = [&](const std::regex& what, double value) {
    std::ostringstream number;
    number << std::scientific << value;
    return std::regex_replace(numbers, what, "$01" + number.str());
  };
  EXPECT_EQ(result(scaled(maximum, largest / 9)), "warning") << "up to ten times";
  EXPECT_EQ(result(scaled(maximum, largest / 11)), "error");
  EXPECT_EQ(result(scaled(mean, average / 1.9)), "warning") << "up to twice";
  EXPECT_EQ(result(scaled(mean, average / 2.1)), "error");
  testing::write_file(scratch_ / "gpu.json", "[]");
  EXPECT_THAT(script_output(key, "", "--device cpu --against gpu.json", 1),
              HasSubstr("--against does not hold the numbers"));
}

// Beyond U+FFFF, and bytes that are no UTF-8: Linux has any bytes in names.
TEST_F(OpGenerateScript, FindRealDataWhateverTheNamesOfItsFolders) {
  for (const char* name : {"\xF0\x9F\x98\x80", "\xFF\xE4"}) {
    const fs::path folder = scratch_ / name;
    fs::copy(test_data("/op_generate/06_mul_real_data"), folder, fs::copy_options::recursive);
    const std::vector<std::string> words{"--api", "Torch.mul.1", "-i",          (folder / "dump.json").string(),
                                         "-o",    folder / "o",  "--data_mode", "real_data",
                                         "--run"};
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(python({folder / "o/Torch.mul.1.forward.py", "--device", "cpu"}, scratch_ / "printed"), 0)
        << read_file(scratch_ / "printed");
  }
}

TEST_F(OpGenerateScript, OfRealDataSayWhichFileIsMissing) {
  extraction(R"("Torch.abs.0.forward": )" +
             forward(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "data_name": "none.pt"})"));
  const std::string real = R"(, "data_mode": "real_data")";
  EXPECT_THAT(script_output("Torch.abs.0.forward", real, "", 1),
              AllOf(HasSubstr("ERROR: The file path /"), HasSubstr("/none.pt does not exist.")));
  scratch_.write("none.pt", "no tensor");
  EXPECT_THAT(script_output("Torch.abs.0.forward", real, "", 1),
              HasSubstr("load pt file " + scratch_.file("none.pt") + " failed"));
}

}  // namespace
}  // namespace msrun::op_generate
