// Generated scripts of MindSpore recordings, run by the Python with torch and a MindSpore that torch imitates.
#include <gmock/gmock.h>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using ::testing::HasSubstr;
using testing::read_file;

class OpGenerateMindSpore : public OpGenerateScript {
 protected:
  static std::string tensor(const std::string& dtype, const std::string& shape) {
    return R"({"type": "mindspore.Tensor", "dtype": ")" + dtype + R"(", "shape": )" + shape +
           R"(, "Max": 1.0, "Min": -1.0})";
  }
  // The details file that a script writes, run with a MindSpore that torch imitates.
  testing::Rows details(const std::string& key) const {
    fs::remove_all(scratch_ / "op_result_output");
    const std::string command = "env PYTHONPATH=" + shell(tests_folder() + "/fake_mindspore") + " " +
                                testing::torch_python() + " " + shell(scratch_ / "out" / (key + ".py"));
    EXPECT_EQ(run_shell(scratch_.path(), command, scratch_ / "printed"), 0) << read_file(scratch_ / "printed");
    return testing::read_csv(testing::csv_in(scratch_ / "op_result_output", "accuracy_checking_details_"));
  }
};

TEST_F(OpGenerateMindSpore, ScriptsWriteThePairOfFilesOfAPreCheck) {
  const std::string dump = scratch_.write(
      "dump.json", R"({"framework": "mindspore", "task": "statistics", "dump_data_dir": null, "data": {
    "Mint.where.0.forward": {"input_args": [)" +
                       tensor("Bool", "[1, 4096]") +
                       R"(, {"type": "int", "value": 0}, {"type": "int", "value": 1}], "input_kwargs": {}},
    "Mint.matmul.0.forward": {"input_args": [)" +
                       tensor("Float16", "[4, 8]") + ", " + tensor("Float16", "[8, 3]") + R"(], "input_kwargs": {}},
    "Mint.matmul.0.backward": {"input": [)" +
                       tensor("Float16", "[4, 3]") + R"(]},
    "Tensor.sub.0.forward": {"input_args": [)" +
                       tensor("BFloat16", "[3]") + R"(, {"type": "float", "value": 0.5}], "input_kwargs": {}}}})");
  for (const char* key : {"Mint.where.0.forward", "Mint.matmul.0.backward", "Tensor.sub.0.forward"}) {
    ASSERT_EQ(run({"--api", key, "-i", dump, "-o", scratch_.file("out"), "--iter_times", "2"}).exit_code, 0);
  }
  testing::Rows rows = details("Mint.where.0.forward");
  ASSERT_EQ(rows.size(), 3U) << "a row of every iteration";
  EXPECT_EQ(rows[0], (std::vector<std::string>{"API Name", "Bench Dtype", "Tested Dtype", "Shape", "Cosine",
                                               "MaxAbsErr", "MaxRelativeErr", "Status", "Message"}));
  EXPECT_EQ(rows[1], (std::vector<std::string>{"Mint.where.0.forward.output.0", "Int64", "Int64", "(1, 4096)", "1.0",
                                               "0.0", "0.0", "pass", ""}));
  EXPECT_EQ(read_file(scratch_ / "printed"),
            "There is neither an NPU nor a GPU here: the device is the cpu, which tests no NPU or GPU.\niter: "
            "0:\niter: 1:\nCompare finished.\n");
  const testing::Rows results =
      testing::read_csv(testing::csv_in(scratch_ / "op_result_output", "accuracy_checking_result_"));
  EXPECT_EQ(results.at(1), (std::vector<std::string>{"Mint.where.0", "pass", "", ""}));
  rows = details("Tensor.sub.0.forward");
  EXPECT_EQ(rows.at(1).at(1), "BFloat16");
  EXPECT_EQ(rows.at(1).at(7), "pass");
  expect_no_lint(scripts_in(scratch_ / "out"));
  EXPECT_THAT(read_file(scratch_ / "out/Mint.where.0.json"), HasSubstr("\"framework\": \"mindspore\""));
}

// Norms of large numbers are no doubles, but their cosine is.
TEST_F(OpGenerateMindSpore, ScriptsCompareLargeAndEqualNumbers) {
  const std::string large =
      R"({"type": "mindspore.Tensor", "dtype": "Float64", "shape": [8], "Max": 2e200, "Min": 1e200})";
  const std::string dump = scratch_.write(
      "dump.json",
      R"({"framework": "mindspore", "task": "statistics", "dump_data_dir": null, "data": {
    "Mint.abs.0.forward": {"input_args": [)" +
          large + R"(], "input_kwargs": {}},
    "Mint.bernoulli.0.forward": {"input_args": [)" +
          R"({"type": "mindspore.Tensor", "dtype": "Float32", "shape": [64], "Max": 1.0, "Min": 0.0}], "input_kwargs": {}}}})");
  ASSERT_EQ(run({"--api", "Mint.abs.0", "-i", dump, "-o", scratch_.file("out")}).exit_code, 0);
  const testing::Rows rows = details("Mint.abs.0.forward");
  EXPECT_THAT(rows.at(1).at(4), ::testing::AnyOf("1.0", HasSubstr("0.99999999")));
  EXPECT_EQ(rows.at(1).at(7), "pass");
  const testing::Finished finished = run({"--api", "Mint.bernoulli.0", "-i", dump, "-o", scratch_.file("out")});
  EXPECT_THAT(finished.err, HasSubstr("the script compares no values"));
  EXPECT_EQ(details("Mint.bernoulli.0.forward").size(), 1U);
  EXPECT_THAT(read_file(scratch_ / "printed"), HasSubstr("NOT COMPARED: bernoulli draws random numbers"));
}

}  // namespace
}  // namespace msrun::op_generate
