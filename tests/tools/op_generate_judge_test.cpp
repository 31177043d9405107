// What generated scripts say of results that are not finite, for each standard.
#include <gmock/gmock.h>

#include <regex>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OpGenerateJudge : public OpGenerateScript {
 protected:
  // Generates the script of a call.
  void generate(const std::string& key, const std::string& args, const std::string& kwargs = "{}") {
    extraction("\"" + key + "\": " + forward(args, kwargs));
    const testing::Finished finished = run({"-i", configuration(), "-o", scratch_.file("out")});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    script_ = scratch_.file("out/" + key + ".py");
  }

  // What the script prints in each of the runs.
  std::vector<std::string> printed(const std::vector<std::string>& runs) const {
    std::vector<std::string> words{tests_folder() + "/op_generate_damaged.py", script_};
    words.insert(words.end(), runs.begin(), runs.end());
    EXPECT_EQ(python(words, scratch_ / "printed"), 0) << testing::read_file(scratch_ / "printed");
    const std::string text = testing::read_file(scratch_ / "printed");
    std::vector<std::string> texts;
    std::size_t begin = 0;
    for (const std::string& one : runs) {
      begin = text.find(one + ":\n", begin);
      const std::size_t end = std::min(text.find("Compare finished.\n", begin), text.size());
      texts.push_back(text.substr(std::min(begin, end), end - std::min(begin, end)));
      begin = end;
    }
    return texts;
  }

  // The result row; "none" if there is none.
  static std::string result(const std::string& text) {
    static const std::regex row(R"(\| Result +\| (\w+) )");
    std::smatch match;
    return std::regex_search(text, match, row) ? match[1].str() : "none";
  }

  void expect_judged(const std::string& what) const {
    SCOPED_TRACE(what);
    const std::vector<std::string> right{"device=", "device=-inf,bench=-inf", "device=inf1,bench=inf1"};
    const std::vector<std::string> unknown{"device=nan,bench=nan", "device=nan1,bench=nan1"};
    const std::vector<std::string> wrong{"device=nan",
                                         "device=inf",
                                         "device=-inf",
                                         "device=nan1",
                                         "device=inf1",
                                         "bench=nan1",
                                         "device=-inf1,bench=inf1",
                                         "device=nan1,bench=inf1"};
    for (const std::string& text : printed(right)) EXPECT_EQ(result(text), "pass") << text;
    for (const std::string& text : printed(wrong)) EXPECT_EQ(result(text), "error") << text;
    for (const std::string& text : printed(unknown)) {
      EXPECT_EQ(result(text), "warning") << text;
      EXPECT_THAT(text, HasSubstr("NaN on both sides in 1 of the outputs"));
    }
  }

  std::string script_;
};

TEST_F(OpGenerateJudge, LetsNoStandardPassWhatIsNotFinite) {
  const std::string x = tensor("float32", "[64, 64]", "2", "-2");
  generate("Torch.add.0.forward", x + ", " + x);
  expect_judged("Absolute Threshold");
  generate("Torch.matmul.0.forward", x + ", " + x);
  expect_judged("ULP");
  // Of one term: on some processors torch rounds every partial sum of a product to bfloat16.
  generate("Torch.matmul.0.forward",
           tensor("bfloat16", "[64, 1]", "2", "-2") + ", " + tensor("bfloat16", "[1, 64]", "2", "-2"));
  expect_judged("ULP of bfloat16");
  generate("Functional.relu.0.forward", x);
  expect_judged("Binary Equality");
  generate("Functional.conv2d.0.forward",
           tensor("float32", "[1, 3, 40, 40]", "1", "-1") + ", " + tensor("float32", "[4, 3, 3, 3]", "1", "-1"));
  expect_judged("Thousandth");
}

TEST_F(OpGenerateJudge, LetsTheBenchmarkStandardPassNothingThatIsNotFinite) {
  generate("Functional.softmax.0.forward", tensor("float32", "[64, 64]", "3", "-3"),
           R"({"dim": {"type": "int", "value": -1}})");
  const std::string against = " --against gpu.json";
  const std::vector<std::string> found =
      printed({"device= --save gpu.json", "device=" + against, "device=nan" + against, "device=nan1" + against,
               "device=inf1" + against, "device=nan"});
  EXPECT_EQ(result(found[0]), "none");
  EXPECT_THAT(found[0], Not(HasSubstr("NaN or Inf")));
  EXPECT_EQ(result(found[1]), "pass");
  for (std::size_t i = 2; i < found.size(); ++i) {
    EXPECT_EQ(result(found[i]), "error") << found[i];
    EXPECT_THAT(found[i], HasSubstr("| Unequal NaN or Inf "));
  }
  const std::vector<std::string> same =
      printed({"device=nan1,bench=nan1 --save gpu.json", "device=nan1,bench=nan1" + against});
  EXPECT_EQ(result(same[0]), "warning");
  EXPECT_EQ(result(same[1]), "warning");
  EXPECT_THAT(same[1], HasSubstr("| NaN or Inf on Both Sides "));
}

// The documents have a verdict for each of the five.
TEST_F(OpGenerateJudge, HasAVerdictForEveryError) {
  generate("Functional.softmax.0.forward", tensor("float32", "[64, 64]", "3", "-3"),
           R"({"dim": {"type": "int", "value": -1}})");
  const std::vector<std::string> found = printed({"device= --save gpu.json", "device= --against gpu.json"});
  EXPECT_THAT(found[0], Not(HasSubstr("Result")));
  for (const std::string error : {"Small Value Error Proportion", "Maximum Relative Error", "Mean Relative Error",
                                  "Root Mean Squared Error", "Error Balance"}) {
    const std::string limit = error == "Maximum Relative Error" ? "10" : "2";
    const std::regex row("\\| " + error + " Result +\\| pass \\(ratio 1, pass up to 1, warning up to " + limit +
                         "\\) *\\|");
    EXPECT_TRUE(std::regex_search(found[1], row)) << error << found[1];
  }
}

TEST_F(OpGenerateJudge, HasALimitForEveryNumberThatIsJudgedAlone) {
  const std::string x = tensor("float32", "[64, 64]", "2", "-2");
  const auto limits = [&](const std::string& key, const std::string& args) {
    generate(key, args);
    const std::string text = printed({"device="}).front();
    std::string found;
    static const std::regex row(R"(\| Result \(([^)]*)\) +\| (\w+))");
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
      found += (*at)[1].str() + " " + (*at)[2].str() + ";";
    }
    return found;
  };
  EXPECT_EQ(limits("Torch.add.0.forward", x + ", " + x), "= 0 pass;= 0 pass;");
  EXPECT_EQ(limits("Torch.matmul.0.forward", x + ", " + x), "< 64 pass;< 0.05 pass;");
  EXPECT_EQ(limits("Functional.relu.0.forward", x), "= 0 pass;");
  EXPECT_EQ(limits("Functional.conv2d.0.forward",
                   tensor("float32", "[1, 3, 8, 8]", "1", "-1") + ", " + tensor("float32", "[4, 3, 3, 3]", "1", "-1")),
            "> 0.999 pass;");
}

// A smaller share of errors beyond the limit than a GPU's is enough.
TEST_F(OpGenerateJudge, UlpErrorsAreJudgedByAGpuAsWell) {
  const std::string x = tensor("bfloat16", "[32, 32]", "2", "-2");
  generate("Torch.matmul.0.forward", x + ", " + x);
  const std::vector<std::string> found =
      printed({"device=inf1,bench=inf1 --save gpu.json", "device= --against gpu.json"});
  EXPECT_THAT(found[1], HasSubstr("| ULP Error Proportion of GPU "));
  EXPECT_THAT(found[1], HasSubstr("| Result (> NPU) "));
}

}  // namespace
}  // namespace msrun::op_generate
