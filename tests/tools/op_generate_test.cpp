// op_generate as its users see it: configurations, extractions, what it refuses. None of it needs Python.
#include <gmock/gmock.h>

#include <regex>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using testing::read_file;
using ::testing::StartsWith;
using testing::test_data;
using testing::write_file;

class OpGenerate : public OpGenerateTest {
 protected:
  // What lies in the folder, but for the streams of the programs that ran.
  std::vector<std::string> files() const {
    std::vector<std::string> names = scratch_.names();
    std::erase_if(names, [](const std::string& name) { return name.starts_with("std"); });
    return names;
  }
};

TEST_F(OpGenerate, ExtractsAndLogsAsTheFixturesDo) {
  for (const auto& entry : fs::directory_iterator(test_data("/op_generate"))) {
    if (!entry.is_directory()) continue;
    const fs::path folder = scratch_ / entry.path().filename().string();
    fs::copy(entry.path(), folder, fs::copy_options::recursive);
    const fs::path output = scratch_ / "output";
    ASSERT_EQ(run_shell(folder, testing::programs() + "/op_generate -i config_op.json -o .", output), 0)
        << read_file(output);
    std::string printed =
        std::regex_replace(read_file(output), std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) )"), "");
    const std::string path = fs::canonical(folder).string();
    for (std::size_t at = 0; (at = printed.find(path)) != std::string::npos;) printed.replace(at, path.size(), "{DIR}");
    EXPECT_THAT(printed, StartsWith(read_file(folder / "expected/generate_log.txt"))) << folder;
    std::string script = read_file(folder / "expected/script_name.txt");
    script.erase(script.find_last_not_of('\n') + 1);
    EXPECT_TRUE(fs::exists(folder / script)) << folder;
    if (fs::exists(folder / "expected/extracted.json")) {
      const fs::path extracted =
          folder / (script.substr(0, script.find(".forward")).substr(0, script.find(".backward")) + ".json");
      EXPECT_EQ(read_file(extracted), read_file(folder / "expected/extracted.json")) << folder;
    }
  }
}

TEST_F(OpGenerate, RunsNativelyOnTheInputsOfTheFixtures) {
  for (const auto& entry : fs::directory_iterator(test_data("/op_generate"))) {
    if (!entry.is_directory()) continue;
    const fs::path folder = scratch_ / entry.path().filename().string();
    fs::copy(entry.path(), folder, fs::copy_options::recursive);
    const fs::path output = scratch_ / "output";
    ASSERT_EQ(run_shell(folder,
                        testing::programs() +
                            "/op_generate -i config_op.json -o . --run --seed-mode stream --save-inputs in.json",
                        output),
              0)
        << read_file(output);
    EXPECT_EQ(read_file(folder / "in.json"), read_file(folder / "expected/inputs.json")) << folder;
    // Rows, shapes and dtypes are those of the script; numbers of other kernels may differ.
    const auto titles = [](const std::string& text) {
      std::vector<std::string> result;
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("| Result") || line.starts_with('+') || line.find(" [INFO] ") != std::string::npos)
          continue;
        const bool is_number = line.find("Err") != std::string::npos || line.find("ratio") != std::string::npos;
        line = line.substr(0, is_number ? line.find('|', 1) : line.find_last_not_of("| ") + 1);
        result.push_back(std::regex_replace(line, std::regex(" +"), " "));
      }
      return result;
    };
    EXPECT_EQ(titles(read_file(output)), titles(read_file(folder / "expected/stdout.txt"))) << folder;
  }
}

TEST_F(OpGenerate, RefusesFaultyConfigurationsInTheDocumentedWords) {
  extraction(R"("Torch.add.0.forward": )" + forward(tensor("float32", "[2]", "1", "0")));
  const auto config = [&](const std::string& text) { return scratch_.write("config_op.json", text); };
  const std::string dump = scratch_.write("dump.json", R"({"framework": "pytorch", "data": {}})");
  const std::string of_dump =
      R"({"dump_json_path": ")" + dump + R"(", "extract_api_path": ")" + scratch_.file("new.json") + "\"";
  EXPECT_EQ(refusal(scratch_.file("none.json")), "The file path " + scratch_.file("none.json") + " does not exist.\n");
  EXPECT_EQ(refusal(""), "config_input path can not be empty, please check.\n");
  EXPECT_THAT(refusal(config("{")), HasSubstr("Load json file "));
  EXPECT_EQ(refusal(config(R"({"dump_json_path": "none.json", "extract_api_path": "x"})")),
            "The file path none.json does not exist.\n");
  EXPECT_EQ(refusal(config(of_dump + "}")), "api_name is missing.\n");
  EXPECT_EQ(refusal(config(of_dump + R"(, "api_name": ""})")), "api_name is missing.\n");
  EXPECT_EQ(refusal(config(of_dump + R"(, "api_name": "=Torch.add.0"})")),
            "api name contains special characters, please check!\n");
  EXPECT_EQ(refusal(config(of_dump + R"(, "api_name": "a;@b"})")),
            "api name contains special characters, please check!\n");
  const std::string long_name(301, 'a');
  EXPECT_EQ(refusal(config(of_dump + R"(, "api_name": ")" + long_name + "\"}")),
            "API name " + long_name + " is too long!\n");
  EXPECT_EQ(refusal(config(R"({"api_name": ""})")), "extract_api_path is missing.\n");
  EXPECT_EQ(refusal(config(R"({"extract_api_path": "/no/such.json"})")),
            "The file path /no/such.json does not exist.\n");
  EXPECT_EQ(refusal(configuration(R"(, "propagation": "up")")),
            "propagation is invalid, it should be one of ['forward', 'backward']\n");
  EXPECT_EQ(refusal(configuration(R"(, "data_mode": 1)")),
            "data_mode is invalid, it should be one of ['random_data', 'real_data']\n");
  for (const char* seed : {"true", "1.5", "1.0", "\"1\"", "1e3", "[]"}) {
    EXPECT_EQ(refusal(configuration(std::string(R"(, "random_seed": )") + seed)),
              "random_seed is invalid, it should be an int\n")
        << seed;
    EXPECT_EQ(refusal(configuration(std::string(R"(, "iter_times": )") + seed)),
              "iter_times is invalid, it should be an int\n")
        << seed;
  }
  EXPECT_EQ(refusal(configuration(R"(, "iter_times": 0)")), "iter_times should be an integer bigger than zero!\n");
  EXPECT_EQ(refusal(configuration(R"(, "iter_times": 1001)")), "iter_times should not be greater than 1000!\n");
  EXPECT_TRUE(!fs::exists(scratch_ / "out") || fs::is_empty(scratch_ / "out")) << "nothing is written";
}

TEST_F(OpGenerate, TakesTheDocumentedDefaults) {
  extraction(R"("Torch.add.0.forward": )" +
             forward(tensor("float32", "[2]", "1", "0") + R"(, {"type": "int", "value": 1})"));
  EXPECT_EQ(run({"-i", configuration(), "-o", scratch_.file("out")}).exit_code, 0);
  const std::string script = read_file(scratch_ / "out/Torch.add.0.forward.py");
  for (const char* line : {"\"random_seed\": 1234,", "\"iter_times\": 1,", "\"data_mode\": \"random_data\",",
                           "\"standard\": \"Absolute Threshold Standard\","}) {
    EXPECT_THAT(script, HasSubstr(line));
  }
  extraction(R"("Torch.abs.0.forward": )" +
             forward(R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "data_name": "none.pt"})"));
  EXPECT_EQ(
      run({"-i", configuration(R"(, "random_seed": -5, "iter_times": 1000, "data_mode": "real_data", "unknown": {})"),
           "-o", scratch_.file("out")})
          .exit_code,
      0);
  const std::string other = read_file(scratch_ / "out/Torch.abs.0.forward.py");
  EXPECT_THAT(other, HasSubstr("\"random_seed\": -5,"));
  EXPECT_THAT(other, HasSubstr("\"iter_times\": 1,")) << "real data run once";
}

TEST_F(OpGenerate, RefusesExtractionsInTheDocumentedWords) {
  const std::string record = forward(tensor("float32", "[2]", "1", "0"));
  const auto refused = [&](const std::string& text, const std::string& more = "") {
    scratch_.write("call.json", text);
    return refusal(configuration(more));
  };
  const std::string backward = R"(, "propagation": "backward")";
  for (const char* empty : {"{}", "[]", "null", "0", "\"\""}) EXPECT_EQ(refused(empty), "json file is empty!\n");
  EXPECT_EQ(refused("[1]"), "content of json file is not a dict!\n");
  EXPECT_EQ(refused(R"({"A.a.0.forward": {}, "A.b.0.forward": {}, "A.c.0.forward": {}})"),
            "json file has more than one API, the API only contains forward and backward info\n");
  EXPECT_EQ(refused(R"({"Torch.abs.0.forward": {}})"), "Invalid forward API data in json_content!\n");
  EXPECT_EQ(refused(R"({"Torch.abs.0.forward": )" + record + "}", backward),
            "Backward propagation requires contains forward and backward info!\n");
  EXPECT_EQ(refused(R"({"Torch.abs.0.forward": )" + record + R"(, "Torch.abs.0.backward": []})", backward),
            "Invalid backward API data in json_content!\n");
  EXPECT_EQ(refused(R"({"Torch.abs.0.forward": )" + record + R"(, "Torch.abs.0.backward": {"output": []}})", backward),
            "Invalid backward API data in json_content!\n");
  EXPECT_EQ(refused(R"({"NPU.npu_swiglu.0.forward": )" + record + "}"), "type NPU of API is not supported!\n");
  EXPECT_EQ(refused(R"({"Module.a.Linear.0.forward": )" + record + "}"), "type Module of API is not supported!\n");
  EXPECT_EQ(refused(R"({"Torch.abs.forward": )" + record + "}"), "Unexpected name in json: Torch.abs.forward\n");
  EXPECT_EQ(refused(R"({"Torch.a.b.c.0.forward": )" + record + "}"),
            "Unexpected name in json: Torch.a.b.c.0.forward\n");
  EXPECT_EQ(refused(R"({"Torch.ab-s.0.forward": )" + record + "}"), "Unexpected name in json: Torch.ab-s.0.forward\n");
  EXPECT_THAT(refused(R"({"Torch.nope.0.forward": )" + record + "}"), StartsWith("The API Torch.nope is not known"));
  EXPECT_TRUE(!fs::exists(scratch_ / "out") || fs::is_empty(scratch_ / "out")) << "nothing is written";
}

TEST_F(OpGenerate, TellsForwardFromBackwardByItsName) {
  const std::string record = forward(tensor("float32", "[2]", "1", "0", true));
  extraction(R"("Torch.abs.0.backward": {"input": [)" + tensor("float32", "[2]", "1", "0") +
             R"(]}, "Torch.abs.0.forward": )" + record);
  EXPECT_EQ(run({"-i", configuration(), "-o", scratch_.file("out")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch_ / "out/Torch.abs.0.forward.py"));
  EXPECT_EQ(run({"-i", configuration(R"(, "propagation": "backward")"), "-o", scratch_.file("out")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch_ / "out/Torch.abs.0.backward.py"));
}

TEST_F(OpGenerate, UsesNoOldExtraction) {
  const std::string old = extraction(R"("Torch.abs.0.forward": )" + forward(tensor("float32", "[2]", "1", "0")));
  const std::string dump = scratch_.write("dump.json", R"({"data": {"Torch.abs.01.forward": {}}})");
  const std::string config =
      scratch_.write("config_op.json", R"({"dump_json_path": ")" + dump +
                                           R"(", "api_name": "Torch.abs.0", "extract_api_path": ")" + old + "\"}");
  const std::string before = read_file(old);
  const std::string expected = "The dump " + dump + " has no call Torch.abs.0. Did you mean Torch.abs.01?\n";
  EXPECT_EQ(refusal(config), expected);
  EXPECT_EQ(read_file(old), before);
  fs::remove(old);
  EXPECT_EQ(refusal(config), expected);
  EXPECT_FALSE(fs::exists(old));
}

// The entries of a dump of PyTorch, statistics only.
std::string dump_text(const std::string& entries) { return R"({"framework": "pytorch", "data": {)" + entries + "}}"; }

TEST_F(OpGenerate, OverwritesNothingOfTheUser) {
  const std::string text = dump_text(R"("Torch.abs.0.forward": )" + forward(tensor("float32", "[2]", "1", "0")));
  const std::string dump = scratch_.write("dump.json", text);
  const std::string link = scratch_.file("link.json");
  fs::create_symlink(dump, link);
  const auto config = [&](const std::string& target) {
    return scratch_.write(
        "config_op.json",
        R"({"dump_json_path": ")" + dump + R"(", "api_name": "Torch.abs.0", "extract_api_path": ")" + target + "\"}");
  };
  for (const std::string& target : {dump, link, scratch_.file("out/../dump.json")}) {
    EXPECT_EQ(refusal(config(target)), "The extraction " + target + " would overwrite the recording " + dump + ".\n");
  }
  const std::string own = scratch_.file("config_op.json");
  EXPECT_EQ(refusal(config(own)), "The extraction " + own + " would overwrite the configuration " + own + ".\n");
  const std::string extracted = scratch_.file("call.json");
  const auto saving = [&](const std::string& inputs) {
    return run({"-i", config(extracted), "-o", scratch_.file("out"), "--run", "--save-inputs", inputs});
  };
  for (const auto& [inputs, what] : std::vector<std::pair<std::string, std::string>>{
           {dump, "the recording " + dump},
           {link, "the recording " + dump},
           {extracted, "the extraction " + extracted},
           {own, "the configuration " + own},
           {scratch_.file("out/Torch.abs.0.forward.py"),
            "the script " + scratch_.file("out/Torch.abs.0.forward.py")}}) {
    const Finished finished = saving(inputs);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.err, "op_generate: --save-inputs " + inputs + " would overwrite " + what + ".\n");
  }
  EXPECT_EQ(read_file(dump), text);
  EXPECT_FALSE(fs::exists(extracted));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
  EXPECT_EQ(saving(scratch_.file("in.json")).exit_code, 0);
}

TEST_F(OpGenerate, PutsNoScriptInPlaceOfAnotherFile) {
  const std::string dump = scratch_.write(
      "dump.json", dump_text(R"("Torch.abs.0.forward": )" + forward(tensor("float32", "[2]", "1", "0"))));
  fs::create_directory(scratch_ / "out");
  const std::string script = scratch_.file("out/Torch.abs.0.forward.py");
  const auto config = [&](const std::string& target) {
    return scratch_.write(
        "config_op.json",
        R"({"dump_json_path": ")" + dump + R"(", "api_name": "Torch.abs.0", "extract_api_path": ")" + target + "\"}");
  };
  EXPECT_EQ(refusal(config(script)), "The script " + script + " would overwrite the extraction " + script + ".\n");
  EXPECT_FALSE(fs::exists(script));
  fs::create_symlink(dump, script);
  EXPECT_EQ(refusal(config(scratch_.file("call.json"))),
            "The script " + script + " would overwrite the recording " + dump + ".\n");
  EXPECT_FALSE(fs::exists(scratch_ / "call.json"));
}

// What nothing can be built of is refused before a script of it is written.
TEST_F(OpGenerate, RefusesTensorsThatCannotBe) {
  const auto refused = [&](const std::string& argument) {
    extraction(R"("Torch.mul.1.forward": )" + forward(R"({"type": "int", "value": 1}, )" + argument));
    return refusal(configuration());
  };
  const std::string place = scratch_.file("call.json") + ": Torch.mul.1.forward: ";
  const auto shaped = [&](const std::string& shape) { return refused(tensor("float32", shape, "1", "0")); };
  EXPECT_EQ(shaped("[2, -1]"), place + "input_args[1]: Shape [2, -1] has a negative size.\n");
  EXPECT_EQ(shaped("[1000000, 1000000]"), place + "input_args[1]: Shape (1000000, 1000000) has too many elements.\n");
  EXPECT_THAT(shaped("[1000000000000, 1000000000000]"), HasSubstr("has too many elements"));
  EXPECT_EQ(shaped("[2.5]"), place + "input_args[1].shape must be a list of integers.\n");
  EXPECT_EQ(shaped("null"), place + "input_args[1].shape must be a list of integers.\n");
  EXPECT_EQ(shaped("[null]"), place + "input_args[1].shape must be a list of integers.\n");
  EXPECT_EQ(refused(tensor("float31", "[2]", "1", "0")), place + "input_args[1]: torch.float31 is not supported!\n");
  EXPECT_EQ(refused(tensor("complex64", "[2]", "1", "0")),
            place +
                "input_args[1]: torch.complex64 is not supported! Complex data are not drawn at random: record with "
                "the task tensor, and take --data_mode real_data.\n");
  EXPECT_EQ(refused(R"({"type": "torch.Tensor", "data_name": "a.pt"})"),
            place + "input_args[1]: No dtype was recorded.\n");
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
  extraction(
      R"("Torch.rand.0.forward": {"input_args": [], "input_kwargs": {"generator": {"type": "int", "value": 1}}})");
  EXPECT_THAT(refusal(configuration()), HasSubstr("Torch.rand.0.forward: A recorded generator cannot be rebuilt."));
}

TEST_F(OpGenerate, WarnsOfCallsThatDrawRandomNumbers) {
  const std::string x = tensor("float32", "[4, 6]", "1", "0");
  const auto warned = [&](const std::string& api, const std::string& args, const std::string& kwargs = "{}") {
    extraction("\"" + api + ".0.forward\": " + forward(args, kwargs));
    const Finished finished = run({"-i", configuration(), "-o", scratch_.file("out")});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.err;
  };
  EXPECT_EQ(warned("Torch.bernoulli", x),
            "op_generate: warning: Torch.bernoulli.0.forward: the script compares no values: bernoulli draws random "
            "numbers: there is no expected result to compare with.\n");
  EXPECT_THAT(warned("Functional.dropout", x), HasSubstr("dropout drops elements at random"));
  EXPECT_EQ(warned("Functional.dropout", x, R"({"p": {"type": "float", "value": 0.0}})"), "");
  EXPECT_EQ(warned("Functional.dropout", x, R"({"training": {"type": "bool", "value": false}})"), "");
  EXPECT_EQ(warned("Torch.abs", x), "");
}

TEST_F(OpGenerate, DemandsTheFullNameOfACall) {
  const std::string record = forward(tensor("float32", "[2]", "1", "0"));
  const std::string dump =
      scratch_.write("dump.json", dump_text(R"("Torch.abs.0.forward": )" + record + R"(, "Torch.abs.1.forward": )" +
                                            record + R"(, "Torch.../../../esc.0.forward": )" + record));
  for (const std::string name : {"Torch", "Torch.abs", "Torch.0", ".abs.0", "Torch..0", "Torch.abs.0.", "Torch.abs.x",
                                 "Torch.../../../esc.0", "Torch./esc.0", "Torch.a bs.0", "Torch.abs.0.output"}) {
    const Finished finished = run({"--api", name, "-i", dump, "-o", scratch_.file("a/b/out")});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.err,
              "op_generate: " + name +
                  " is no full name of a call: type, API and index are needed, such as Torch.matmul.0.\n");
    const std::string config =
        scratch_.write("config_op.json", R"({"dump_json_path": ")" + dump + R"(", "api_name": ")" + name +
                                             R"(", "extract_api_path": ")" + scratch_.file("call.json") + "\"}");
    EXPECT_THAT(refusal(config), StartsWith(name + " is no full name of a call"));
  }
  EXPECT_EQ(run({"--api", "Torch.a\nb.0", "-i", dump, "-o", scratch_.file("a/b/out")}).exit_code, 2);
  extraction(R"("Torch.../../../esc.0.forward": )" + record);
  EXPECT_EQ(refusal(configuration()), "Unexpected name in json: Torch.../../../esc.0.forward\n");
  EXPECT_THAT(files(), ::testing::ElementsAre("call.json", "config_op.json", "dump.json"));
}

TEST_F(OpGenerate, LeavesNoExtractionOfACallThatCannotBeUsed) {
  const std::string record = forward(tensor("float32", "[2]", "1", "0"));
  const std::string dump =
      scratch_.write("dump.json", dump_text(R"("Torch.matmul.0.forward": )" + record + R"(, "Torch.nope.0.forward": )" +
                                            record + R"(, "Torch.abs.0.../../../esc.0.forward": )" + record));
  const auto refused = [&](const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--api", name, "-i", dump, "-o", scratch_.file("out")};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 2) << name;
    EXPECT_EQ(finished.out, "") << name;
    return finished.err;
  };
  EXPECT_EQ(refused("Torch.matmull.0"),
            "op_generate: The dump " + dump + " has no call Torch.matmull.0. Did you mean Torch.matmul.0?\n");
  EXPECT_EQ(refused("Functional.conv2d.7"), "op_generate: The dump " + dump + " has no call Functional.conv2d.7.\n");
  EXPECT_THAT(refused("Torch.nope.0"), HasSubstr("The API Torch.nope is not known"));
  EXPECT_THAT(refused("Torch.matmul.0", {"--propagation", "backward"}),
              HasSubstr("Backward propagation requires contains forward and backward info!"));
  EXPECT_THAT(refused("Torch.abs.0"), HasSubstr("Unexpected name in json: "));
  EXPECT_EQ(refused("Torch.matmul.0", {"--data_mode", "real_data"}),
            "op_generate: data_mode real_data: " + dump +
                " holds no tensors of Torch.matmul.0.forward, only their statistics; random_data builds some.\n");
  EXPECT_EQ(refused("Torch.matmul.0.backward", {"--propagation", "forward"}),
            "op_generate: --api Torch.matmul.0.backward and --propagation forward contradict each other\n");
  EXPECT_THAT(refused("Torch.matmul.0.forward", {"--propagation", "backward"}), HasSubstr("contradict each other"));
  EXPECT_THAT(files(), ::testing::ElementsAre("dump.json"));
  EXPECT_EQ(run({"--api", "Torch.matmul.0.forward", "--propagation", "forward", "-i", dump, "-o", scratch_.file("out")})
                .exit_code,
            0);
}

TEST_F(OpGenerate, RunsNoCallsOfMindSpore) {
  const std::string dump = scratch_.write(
      "dump.json",
      R"({"framework": "mindspore", "data": {"Mint.abs.0.forward": {"input_args": [{"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2], "Max": 1.0, "Min": -1.0}], "input_kwargs": {}},
          "MintFunctional.relu.0.forward": {"input_args": [], "input_kwargs": {}, "output": []}}})");
  const Finished finished = run({"--api", "Mint.abs.0", "-i", dump, "-o", scratch_.file("out"), "--run"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.err, "op_generate: --run is for PyTorch recordings, and " + dump +
                              " is one of MindSpore: leave --run out, and run the script that is written.\n");
  EXPECT_EQ(run({"--api", "MintFunctional.relu.0", "-i", dump, "-o", scratch_.file("out")}).err,
            "op_generate: type MintFunctional of API is not supported!\n");
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
  EXPECT_EQ(run({"--api", "Mint.abs.0", "-i", dump, "-o", scratch_.file("out")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch_ / "out/Mint.abs.0.forward.py"));
}

TEST_F(OpGenerate, WorksStraightFromADump) {
  const std::string dump = testing::dump("zoo_stat").string();
  const Finished finished = run({"--api", "Torch.matmul.0", "-i", dump, "-o", scratch_.file("out")});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(fs::exists(scratch_ / "out/Torch.matmul.0.forward.py"));
  EXPECT_THAT(finished.out, HasSubstr("Without Python: msrun -api_info " + dump + " --only Torch.matmul.0\n"));
  EXPECT_EQ(run({"--api", "Torch.matmul.0.backward", "-i", dump, "-o", scratch_.file("out")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch_ / "out/Torch.matmul.0.backward.py"));
  const Finished through_msrun = testing::msrun(
      {"-f", "pytorch", "op_generate", "--api", "Torch.matmul.1", "-i", dump, "-o", scratch_.file("out")},
      scratch_.path());
  EXPECT_EQ(through_msrun.exit_code, 0) << through_msrun.err;
  EXPECT_EQ(run({"--seed-mode", "stream", "-i", dump, "--api", "Torch.matmul.0"}).err,
            "op_generate: --seed-mode needs --run\n");
  EXPECT_THAT(run({"-i", dump}).err, HasSubstr("the option -o DIR is missing"));
  EXPECT_THAT(run({"-i", dump, "-o", "x", "--propagation", "backward"}).err,
              HasSubstr("--propagation needs --api NAME"));
}

TEST_F(OpGenerate, RefusesTensorsOutsideOfTheDump) {
  for (const std::string name : {"../secret.pt", "/etc/passwd"}) {
    const std::string dump = scratch_.write(
        "dump.json",
        R"({"dump_data_dir": "./data", "data": {"Torch.abs.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "data_name": ")" +
            name + R"("}], "input_kwargs": {}}}})");
    EXPECT_THAT(run({"--api", "Torch.abs.0", "-i", dump, "-o", scratch_.file("o")}).err,
                HasSubstr("lies outside the folder of the dump and is not read"));
    EXPECT_EQ(run({"--api", "Torch.abs.0", "-i", dump, "--allow-outside-data", "-o", scratch_.file("o")}).exit_code, 0);
  }
}

TEST_F(OpGenerate, NamesTensorFilesAbsolutely) {
  const std::string folder = test_data("/op_generate/06_mul_real_data");
  const Finished finished = run({"--api", "Torch.mul.1", "-i", folder + "/dump.json", "-o", scratch_.file("o"),
                                 "--data_mode", "real_data", "--run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(read_file(scratch_ / "o/Torch.mul.1.forward.py"),
              HasSubstr("\"data_name\": \"" + folder + "/dump_tensor_data/Torch.mul.1.forward.input.0.pt\""));
}

TEST_F(OpGenerate, RunsFusedOperatorsWithoutAScript) {
  extraction(R"("NPU.npu_swiglu.0.forward": )" + forward(tensor("float16", "[2, 8]", "1", "-1")));
  const Finished finished = run({"-i", configuration(), "-o", scratch_.file("out"), "--run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Benchmark Standard"));
  EXPECT_TRUE(fs::is_empty(scratch_ / "out"));
}

// A recorded ignore_index is the least value of the targets; random ones between it and the classes would be none.
TEST_F(OpGenerate, DrawsClassesForALossThatIgnoresSome) {
  const std::string scores = tensor("float32", "[8, 5]", "2.0", "-2.0");
  const std::string target = tensor("int64", "[8]", "4", "-100");
  const std::vector<std::pair<std::string, std::string>> spellings{{scores + ", " + target, "{}"},
                                                                   {scores, R"({"target": )" + target + "}"}};
  for (const auto& [args, kwargs] : spellings) {
    extraction(R"("Functional.cross_entropy.0.forward": )" + forward(args, kwargs));
    const testing::Finished finished = run({"-i", configuration(), "-o", scratch_.file("out"), "--run"});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("Compare finished."));
    const std::string script = testing::read_file(scratch_.file("out/Functional.cross_entropy.0.forward.py"));
    EXPECT_THAT(script, ::testing::Not(HasSubstr("-100")));
  }
}

// Sums that cancel have large relative errors, for which a pre-check looks at the absolute ones first.
TEST_F(OpGenerate, TellsWhatAPreCheckPasses) {
  const std::string dump = testing::dump("llama_fp32");
  const testing::Finished finished =
      run({"--api", "Tensor.__mul__.20", "--propagation", "backward", "-i", dump, "-o", scratch_.file("out"), "--run"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("| error "));
  EXPECT_THAT(finished.err, HasSubstr("index 0: the standard calls it an error; a pre-check passes it"));
  EXPECT_THAT(finished.err, ::testing::Not(HasSubstr("index 1:")));
}

TEST_F(OpGenerate, SaysWhichKeysOfTheConfigurationThereAreNot) {
  extraction(R"("Torch.abs.0.forward": )" + forward(tensor("float32", "[2]", "1", "0")));
  const Finished finished = run({"-i", configuration(R"(, "iter_time": 3, "note": 1)"), "-o", scratch_.file("out")});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("there is no key iter_time; it is not used, did you mean iter_times?\n"),
                                  HasSubstr("there is no key note; it is not used.\n")));
}

// A thousandth is less than the last place of a bfloat16.
TEST_F(OpGenerate, SaysOfAnErrorThatRoundingExplainsIt) {
  const std::string dump = std::string(test_data("/dumps/zoo_tensor/dump.json"));
  const Finished finished = run(
      {"--api", "Functional.conv2d.1", "--data_mode", "real_data", "-i", dump, "-o", scratch_.file("out"), "--run"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("| error "));
  EXPECT_THAT(finished.err, HasSubstr("the standard calls it an error; rounding to torch.bfloat16 explains it"));
}

// Numbers at the end of the range of float32 overflow in a product of float32, and not in one of float64.
TEST_F(OpGenerate, BlamesNoDeviceForARangeThatIsInfinite) {
  extraction(R"("Torch.matmul.0.forward": )" + forward(tensor("float32", "[8, 16]", "Infinity", "-Infinity") + ", " +
                                                       tensor("float32", "[16, 8]", "2.5", "-3")));
  const Finished finished = run({"-i", configuration(), "-o", scratch_.file("out"), "--run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("| pass "), ::testing::Not(HasSubstr("| error "))));
}

TEST_F(OpGenerate, SaysWhichRangesItCannotTake) {
  const auto warnings = [&](const std::string& argument) {
    extraction(R"("Torch.abs.0.forward": )" + forward(argument));
    const Finished finished = run({"-i", configuration(), "-o", scratch_.file("out"), "--run"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.err;
  };
  EXPECT_THAT(warnings(tensor("float32", "[2]", "NaN", "-Infinity")),
              AllOf(HasSubstr("arg_0 Max: nan says nothing of the range; 1.0 is taken in its place."),
                    HasSubstr("arg_0 Min: -inf says nothing of the range; -1.0 is taken in its place.")));
  EXPECT_THAT(warnings(tensor("float32", "[2]", "Infinity", "-8.5")),
              HasSubstr("arg_0 Max: inf says nothing of the range; 17.0 is taken in its place."));
  EXPECT_THAT(warnings(tensor("float16", "[2]", "60000", "-Infinity")),
              HasSubstr("arg_0 Min: -inf says nothing of the range; -65504.0 is taken in its place."));
  EXPECT_THAT(warnings(tensor("float16", "[2]", "1e6", "0")),
              HasSubstr("arg_0 Max: 1000000.0 lies outside of the range of the dtype; 65504.0 is taken in its place."));
  EXPECT_THAT(warnings(tensor("int8", "[2]", "-3", "5")),
              HasSubstr("arg_0: Min is greater than Max; they were exchanged."));
  EXPECT_THAT(warnings(tensor("float16", "[3]", "null", "null")),
              HasSubstr("arg_0: no range was recorded; all its values are 0."));
  EXPECT_EQ(warnings(tensor("float32", "[0]", "null", "null")), "");
}

}  // namespace
}  // namespace msrun::op_generate
