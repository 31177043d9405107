// The dtypes of generated scripts: autocast, mixtures of dtypes, complex numbers; and that random data fit each other.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OpGeneratePrecision : public OpGenerateScript {
 protected:
  static std::string result_of(const std::string& dtype) {
    return R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": [4, 3]})";
  }

  // The records of a call whose first result has the dtype, and of its backward.
  std::string record(const std::string& call, const std::string& args, const std::string& output_dtype,
                     const std::string& gradient = "", const std::string& kwargs = "{}") const {
    std::string members = "\"" + call + R"(.forward": {"input_args": [)" + args + R"(], "input_kwargs": )" + kwargs +
                          R"(, "output": [)" + result_of(output_dtype) + "]}";
    if (!gradient.empty()) members += ", \"" + call + R"(.backward": {"input": [)" + gradient + R"(], "output": []})";
    return extraction(members);
  }

  // What --run prints of the extraction that was written.
  std::string native_output(const std::string& more = "") const {
    const testing::Finished finished = run({"-i", configuration(more), "-o", scratch_.file("out"), "--run"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out;
  }

  // The cells of the rows with this title, in their order.
  static std::vector<std::string> cells(const std::string& text, const std::string& title) {
    std::vector<std::string> found;
    std::istringstream lines(text);
    static const std::regex row(R"(\| ([^|]*[^ |]) *\| ([^|]*[^ |]) *\|)");
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_match(line, match, row) && match[1] == title) found.push_back(match[2]);
    }
    return found;
  }

  const std::string backward_ = R"(, "propagation": "backward")";
};

using Cells = std::vector<std::string>;

// Of one term, as torch rounds every partial sum to bfloat16 on some processors.
TEST_F(OpGeneratePrecision, CallsWithMixedDtypesRunUnderAutocast) {
  record("Functional.linear.0",
         tensor("bfloat16", "[4, 1]", "2", "-2", true) + ", " + tensor("float32", "[3, 1]", "1", "-1", true),
         "bfloat16", tensor("bfloat16", "[4, 3]", "1", "-1"));
  const std::string forward = script_output("Functional.linear.0.forward");
  EXPECT_EQ(cells(forward, "Dtype of out_device"), Cells{"torch.bfloat16"});
  EXPECT_EQ(cells(forward, "Dtype of out_bench"), Cells{"torch.float64"});
  EXPECT_EQ(cells(forward, "Result"), Cells{"pass"});
  EXPECT_EQ(cells(native_output(), "Dtype of out_device"), Cells{"torch.bfloat16"});
  const std::string backward = script_output("Functional.linear.0.backward", backward_);
  EXPECT_EQ(cells(backward, "Dtype of out_device"), (Cells{"torch.bfloat16", "torch.float32"}));
  EXPECT_EQ(cells(backward, "Computed in"), Cells{"torch.bfloat16"}) << "the weight's, whose gradient is float32";
}

TEST_F(OpGeneratePrecision, AResultInAHalfTypeShowsAutocast) {
  record("Torch.matmul.0", tensor("float32", "[4, 1]", "2", "-2") + ", " + tensor("float32", "[1, 3]", "1", "-1"),
         "bfloat16");
  for (const std::string& text : {script_output("Torch.matmul.0.forward"), native_output()}) {
    EXPECT_EQ(cells(text, "Dtype of out_device"), Cells{"torch.bfloat16"}) << text;
    EXPECT_EQ(cells(text, "Result"), Cells{"pass"}) << "the benchmark has the rounded operands, too";
  }
  record("Torch.matmul.0", tensor("float32", "[4, 1]", "2", "-2") + ", " + tensor("float32", "[1, 3]", "1", "-1"),
         "float32");
  EXPECT_EQ(cells(script_output("Torch.matmul.0.forward"), "Dtype of out_device"), Cells{"torch.float32"});
}

TEST_F(OpGeneratePrecision, GradientsHaveTheLimitsOfTheDtypeTheyWereComputedIn) {
  record("Functional.linear.0",
         tensor("float32", "[1, 4]", "2", "-2", true) + ", " + tensor("float32", "[3, 4]", "1", "-1", true), "bfloat16",
         tensor("bfloat16", "[1, 3]", "1", "-1"));
  for (const std::string& text : {script_output("Functional.linear.0.backward", backward_), native_output(backward_)}) {
    EXPECT_EQ(cells(text, "Dtype of out_device"), (Cells{"torch.float32", "torch.float32"})) << text;
    EXPECT_EQ(cells(text, "Computed in"), (Cells{"torch.bfloat16", "torch.bfloat16"}));
    EXPECT_EQ(cells(text, "Result").back(), "pass") << "the weight's gradients have one term each";
  }
}

TEST_F(OpGeneratePrecision, AutocastToFloat32IsAutocast) {
  const std::string dim = R"({"dim": {"type": "int", "value": -1}})";
  for (const std::string half : {"bfloat16", "float16"}) {
    record("Functional.softmax.0", tensor(half, "[4, 6]", "3", "-3"), "float32", "", dim);
    for (const std::string& text : {script_output("Functional.softmax.0.forward"), native_output()}) {
      EXPECT_EQ(cells(text, "Dtype of out_device"), Cells{"torch.float32"}) << half << text;
    }
  }
}

// What autocast leaves alone promotes.
TEST_F(OpGeneratePrecision, OtherMixturesAreNoAutocast) {
  record("Torch.add.0", tensor("bfloat16", "[4, 3]", "2", "-2") + ", " + tensor("float32", "[3]", "1", "-1"),
         "float32");
  for (const std::string& text : {script_output("Torch.add.0.forward"), native_output()}) {
    EXPECT_EQ(cells(text, "Dtype of out_device"), Cells{"torch.float32"});
    EXPECT_EQ(cells(text, "Dtype of out_bench"), Cells{"torch.float64"});
    EXPECT_EQ(cells(text, "Result"), Cells{"pass"});
  }
}

TEST_F(OpGeneratePrecision, ComplexResultsAreComparedByTheirParts) {
  record("Torch.fft.fft.0", tensor("float32", "[4, 16]", "2", "-2"), "complex64");
  for (const std::string& text : {script_output("Torch.fft.fft.0.forward"), native_output()}) {
    EXPECT_EQ(cells(text, "Shape"), Cells{"torch.Size([4, 16])"});
    EXPECT_EQ(cells(text, "Dtype of out_device"), Cells{"torch.complex64"});
    EXPECT_EQ(cells(text, "Dtype of out_bench"), Cells{"torch.complex128"});
    EXPECT_EQ(cells(text, "Compare Standard"), Cells{"Benchmark Standard"});
    EXPECT_THAT(text, Not(HasSubstr("ERROR")));
  }
}

TEST_F(OpGeneratePrecision, MasksOfAnAttentionLeaveEveryQueryAKey) {
  const std::string x = tensor("float32", "[3, 64, 4]", "1", "-1");
  const std::string number = R"(, {"type": "int", "value": )";
  const std::string args =
      x + ", " + x + ", " + x + number + "4}" + number + "1}, " + tensor("float32", "[12, 4]", "1", "-1") +
      R"(, null, null, null, {"type": "bool", "value": false}, {"type": "float", "value": 0.0}, )" +
      tensor("float32", "[4, 4]", "1", "-1") + R"(, null, {"type": "bool", "value": false})";
  const std::string kwargs = R"({"key_padding_mask": )" + tensor("bool", "[64, 3]", "true", "false") +
                             R"(, "attn_mask": )" + tensor("bool", "[3, 3]", "true", "false") + "}";
  record("Functional.multi_head_attention_forward.0", args, "float32", "", kwargs);
  for (const std::string& text :
       {script_output("Functional.multi_head_attention_forward.0.forward"), native_output()}) {
    EXPECT_THAT(text, AllOf(HasSubstr("index 0:"), HasSubstr("| Compare Standard "), Not(HasSubstr("NaN"))));
  }
}

TEST_F(OpGeneratePrecision, MaskedNumbersAreNoOrdinaryOnes) {
  const std::string dim = R"({"dim": {"type": "int", "value": -1}})";
  for (const std::string mask : {"-Infinity", "-3.4e38", "-1e30"}) {
    record("Functional.softmax.0", tensor("float32", "[20, 8]", "3", mask), "float32", "", dim);
    const testing::Finished made =
        run({"-i", configuration(), "-o", scratch_.file("out"), "--run", "--save-inputs", scratch_.file("native")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "") << "nothing is odd about such a range";
    const std::string script = scratch_.file("out/Functional.softmax.0.forward.py");
    ASSERT_EQ(python({tests_folder() + "/op_generate_scripts.py", scratch_.file("out"), script}, scratch_ / "log"), 0);
    const std::string inputs = testing::read_file(scratch_ / "out/Functional.softmax.0.forward.inputs");
    EXPECT_EQ(inputs, testing::read_file(scratch_ / "native"));
    EXPECT_THAT(testing::read_file(scratch_ / "out/Functional.softmax.0.forward.out"), Not(HasSubstr("NaN")));
    EXPECT_THAT(inputs, HasSubstr(mask == "-Infinity" ? "-Infinity, " : "e+3"));
    EXPECT_THAT(inputs, HasSubstr(", 2.")) << "beside ordinary numbers";
  }
}

TEST_F(OpGeneratePrecision, RandomArgumentsFitEachOther) {
  const std::string scatter = tensor("float32", "[8, 8]", "1", "-1") + ", " +
                              tensor("bool", "[8, 8]", "true", "false") + ", " + tensor("float32", "[20]", "1", "-1");
  record("Torch.masked_scatter.0", scatter, "float32");
  EXPECT_THAT(script_output("Torch.masked_scatter.0.forward", R"(, "iter_times": 3)"),
              AllOf(HasSubstr("iter: 2:"), HasSubstr("| Compare Standard "), Not(HasSubstr("ERROR"))));
  record("Torch.bucketize.0", tensor("float32", "[9]", "3", "-3") + ", " + tensor("float32", "[40]", "3", "-3"),
         "int64");
  const std::string native = native_output();
  EXPECT_EQ(cells(script_output("Torch.bucketize.0.forward"), "Result"), cells(native, "Result"));
  EXPECT_THAT(testing::read_file(scratch_ / "out/Torch.bucketize.0.forward.py"), HasSubstr("\"fitted\": [[["));
}

}  // namespace
}  // namespace msrun::op_generate
