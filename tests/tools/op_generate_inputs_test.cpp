// Which recording, and which entry of it, op_generate takes a call from.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::read_file;
using testing::test_data;

class OpGenerateInputs : public OpGenerateTest {
 protected:
  static std::string recording(const std::string& entries) {
    return R"({"task": "statistics", "framework": "pytorch", "data": {)" + entries + "}}";
  }
  static std::string exp_of(const std::string& shape) {
    return R"("Torch.exp.0.forward": )" + forward(tensor("float32", shape, "1", "0"));
  }
};

TEST_F(OpGenerateInputs, EntriesThatOccurAgainAreTold) {
  const std::string dump = scratch_.write("dump.json", recording(exp_of("[2]") + "," + exp_of("[3]")));
  const Finished made = run({"--api", "Torch.exp.0", "-i", dump, "-o", scratch_.file("o")});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("that occur again, the later in place of the earlier: 1; the first is "
                                  "'Torch.exp.0.forward'"));
}

// What is extracted is what was recorded.
TEST_F(OpGenerateInputs, LargeIntegersKeepTheirDigits) {
  const std::string dump = scratch_.write(
      "dump.json",
      recording(R"("Torch.exp.0.forward": )" + forward(tensor("float32", "[2]", "18446744073709551617", "0"))));
  const std::string config =
      configuration(R"(, "dump_json_path": ")" + dump + R"(", "api_name": "Torch.exp.0", "propagation": "forward")");
  const Finished made = run({"-i", config, "-o", scratch_.path()});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(testing::read_file(scratch_.file("call.json")), HasSubstr(": 18446744073709551617"));
}

// The script says so again when it runs, and it may be run by someone else.
TEST_F(OpGenerateInputs, RangesThatAreNoNumbersAreToldWithTheScript) {
  const auto warnings = [&](const std::string& max, const std::string& dtype) {
    const std::string argument = tensor(dtype, "[2]", max, dtype == "bool" ? "false" : "0");
    const std::string dump =
        scratch_.write("dump.json", recording(R"("Torch.logical_not.0.forward": )" + forward(argument)));
    const Finished made = run({"--api", "Torch.logical_not.0", "-i", dump, "-o", scratch_.file("o")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const Finished native = run({"--api", "Torch.logical_not.0", "-i", dump, "-o", scratch_.file("o"), "--run"});
    EXPECT_EQ(native.err.empty(), max == "1" || max == "true") << native.err;
    return made.err;
  };
  EXPECT_THAT(warnings("NaN", "float32"),
              HasSubstr("Torch.logical_not.0.forward: NaN or infinity was recorded as Min or Max of 1 tensor,"));
  EXPECT_THAT(warnings("Infinity", "bool"), HasSubstr("Min or Max of 1 tensor,"));
  EXPECT_EQ(warnings("1", "float32"), "");
  EXPECT_EQ(warnings("true", "bool"), "");
}

TEST_F(OpGenerateInputs, TwoDataAreRefusedAsByThePreCheck) {
  const std::string dump =
      scratch_.write("dump.json", R"({"task": "statistics", "data": {)" + exp_of("[2]") + R"(}, "data": {}})");
  const Finished refused = run({"--api", "Torch.exp.0", "-i", dump, "-o", scratch_.file("o")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the key data occurs twice"));
}

TEST_F(OpGenerateInputs, AFolderStandsForTheOneRecordingInIt) {
  std::filesystem::create_directories(scratch_ / "in/step0/rank0");
  scratch_.write("in/step0/rank0/dump.json", recording(exp_of("[2]")));
  for (const char* folder : {"in", "in/step0/rank0"}) {
    const Finished made = run({"--api", "Torch.exp.0", "-i", scratch_.file(folder), "-o", scratch_.file("o")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("in/step0/rank0/dump.json --only Torch.exp.0"));
  }
  std::filesystem::create_directories(scratch_ / "none");
  EXPECT_THAT(run({"--api", "Torch.exp.0", "-i", scratch_.file("none"), "-o", scratch_.file("o")}).err,
              HasSubstr("There is no dump.json in "));
}

TEST_F(OpGenerateInputs, OfSeveralRanksTheNameSaysWhichOne) {
  for (const std::string rank : {"rank0", "rank1"}) {
    std::filesystem::create_directories(scratch_ / "in" / rank);
    scratch_.write("in/" + rank + "/dump.json", recording(exp_of(rank == "rank0" ? "[2]" : "[3]")));
  }
  const auto attempt = [&](const char* name) {
    return run({"--api", name, "-i", scratch_.file("in"), "-o", scratch_.file("o")});
  };
  const Finished made = attempt("rank1:Torch.exp.0");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(testing::read_file(scratch_ / "o/Torch.exp.0.json"), HasSubstr("3"));
  EXPECT_THAT(attempt("Torch.exp.0").err, HasSubstr("several recordings"));
  EXPECT_THAT(attempt("Torch.exp.0").err, HasSubstr("such as rank0:Torch.exp.0"));
  EXPECT_THAT(attempt("rank7:Torch.exp.0").err, HasSubstr("There is no recording of rank7"));
}

// As in front of the patterns of --only: the folder of a rank, wherever in the name of the rank it is.
TEST_F(OpGenerateInputs, ARankMayBeNamedByItsFolderAloneWhereThatIsNotAmbiguous) {
  for (const std::string rank : {"step0/rank0", "step0/rank1", "step1/rank1"}) {
    std::filesystem::create_directories(scratch_ / "in" / rank);
    scratch_.write("in/" + rank + "/dump.json", recording(exp_of(rank == "step0/rank0" ? "[2]" : "[3]")));
  }
  const auto attempt = [&](const char* name) {
    return run({"--api", name, "-i", scratch_.file("in"), "-o", scratch_.file("o")});
  };
  const Finished made = attempt("rank0:Torch.exp.0");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("in/step0/rank0/dump.json --only Torch.exp.0"));
  EXPECT_EQ(attempt("step1:Torch.exp.0").exit_code, 0);
  EXPECT_EQ(attempt("step0/rank1:Torch.exp.0").exit_code, 0);
  const Finished ambiguous = attempt("rank1:Torch.exp.0");
  EXPECT_EQ(ambiguous.exit_code, 2);
  EXPECT_THAT(ambiguous.err, HasSubstr("say which is meant, step0/rank1, step1/rank1.\n"));
  EXPECT_THAT(attempt("rank:Torch.exp.0").err, HasSubstr("; the ranks are step0/rank0, step0/rank1, step1/rank1.\n"));
}

// The dumper writes the folder of the host that recorded, where the files no longer are.
TEST_F(OpGenerateInputs, FindsTheFilesOfARecordingThatWasMoved) {
  const fs::path folder = scratch_ / "moved";
  fs::copy(test_data("/op_generate/06_mul_real_data"), folder, fs::copy_options::recursive);
  const std::string recorded = "\"./dump_tensor_data\"";
  std::string dump = read_file(folder / "dump.json");
  ASSERT_THAT(dump, HasSubstr(recorded));
  dump.replace(dump.find(recorded), recorded.size(), "\"/train/of/another/host/step0/rank0/dump_tensor_data\"");
  testing::write_file(folder / "dump.json", dump);
  const Finished finished = run({"--api", "Torch.mul.1", "-i", (folder / "dump.json").string(), "-o",
                                 scratch_.file("o"), "--data_mode", "real_data", "--run"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(read_file(scratch_ / "o/Torch.mul.1.forward.py"),
              HasSubstr("\"data_name\": \"" + folder.string() + "/dump_tensor_data/Torch.mul.1.forward.input.0.pt\""));
}

// Nothing is equal bit by bit that is computed.
TEST_F(OpGenerateInputs, AbsoluteValuesOfComplexNumbersAreComputed) {
  const auto script_of = [&](const std::string& dtype) {
    extraction(R"("Torch.abs.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.)" + dtype +
               R"(", "shape": [2], "data_name": "a.pt"}], "input_kwargs": {}, "output": [)" +
               tensor("float32", "[2]", "1", "0") + "]}");
    EXPECT_EQ(run({"-i", configuration(R"(, "data_mode": "real_data")"), "-o", scratch_.file("o")}).exit_code, 0);
    return read_file(scratch_ / "o/Torch.abs.0.forward.py");
  };
  EXPECT_THAT(script_of("float32"), HasSubstr("\"standard\": \"Binary Equality Standard\""));
  EXPECT_THAT(script_of("complex64"), HasSubstr("\"standard\": \"Benchmark Standard\""));
}

}  // namespace
}  // namespace msrun::op_generate
