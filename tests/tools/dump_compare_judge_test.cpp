// What differs and must not read "pass": rows without a counterpart, other types, values without metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>

#include "kernels/io/torch/pt_file.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const Json ones = recorded_tensor(1, 1, 1, 2);

Json scalar(const std::string& type, const Json& value) { return {{"type", type}, {"value", value}}; }

Json with(Json object, const std::string& key, const Json& value) {
  object[key] = value;
  return object;
}

// The result of the row of a call that differs in this leaf alone, in a recording of that task.
class OneLeaf {
 public:
  OneLeaf(const std::string& call, bool output, const Json& target, const Json& golden, const std::string& task = "") {
    const bool sums = target.contains("md5");
    const Json same = sums ? with(ones, "md5", "1") : ones;
    for (const auto& [side, leaf] : {std::pair("target", &target), std::pair("golden", &golden)}) {
      const Json recorded = output ? recorded_call({same}, {*leaf}) : recorded_call({*leaf}, {same});
      dumps_.write(side, {{call + ".forward", recorded}}, {{"task", task.empty() ? "statistics" : task}});
    }
    row_ = call + (output ? ".forward.output.0" : ".forward.input.0");
  }

  // Result and messages.
  std::string result(const std::vector<std::string>& options = {}) {
    const Finished run = dumps_.run(options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const Row row = row_named(dumps_.rows(), row_);
    return row.at("Result") + " " + row.at("Err_message");
  }
  std::string compat() { return result({"--compat", "msprobe"}); }
  const fs::path& folder() const { return dumps_.folder(); }

 private:
  ComparedDumps dumps_;
  std::string row_;
};

constexpr const char* other_dtype = R"(error ["error: The dtype of NPU and Bench are inconsistent."])";
constexpr const char* other_shape = R"(error ["error: The shape of NPU and Bench are inconsistent."])";
constexpr const char* other_values = R"(error ["error: The values of NPU and Bench differ."])";
constexpr const char* other_scalars = R"(error ["error: The scalar parameters of NPU and Bench are inconsistent."])";

TEST(DumpCompareJudge, WithChecksumsRowsOfEveryApiNeedACounterpart) {
  ComparedDumps dumps;
  const Json sum = with(ones, "md5", "1");
  const Json call = recorded_call({sum}, {sum});
  dumps.write("target", {{"Torch.exp.0.forward", call}, {"Tensor.to.5.forward", call}});
  dumps.write("golden", {{"Torch.exp.0.forward", call}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  for (const char* row : {"Tensor.to.5.forward.input.0", "Tensor.to.5.forward.output.0"}) {
    EXPECT_EQ(row_named(dumps.rows(), row).at("Result"), "warning");
    EXPECT_EQ(row_named(dumps.rows(), row).at("Err_message"), R"(["warning: No bench data matched."])");
  }
  EXPECT_EQ(row_named(dumps.rows(), "Torch.exp.0.forward.input.0").at("Result"), "pass");
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Tensor.to.5.forward.input.0").at("Result"), "pass");
}

TEST(DumpCompareJudge, ChecksumsThatAreNumbersCount) {
  const auto sum = [](const Json& of) { return with(with(ones, "shape", Json::array()), "md5", of); };
  const auto result = [](const Json& target, const Json& golden) {
    return OneLeaf("Torch.a.0", true, target, golden).result();
  };
  const std::string differ = R"(error ["error: The XOR checksum of NPU differs from that of the bench."])";
  EXPECT_EQ(result(sum(2.75), sum(2.75)), "pass []");
  EXPECT_EQ(result(sum(2.75), sum(2.5)), differ);
  EXPECT_EQ(result(sum("0x0000000000000007"), sum("0x0000000000000008")), differ);
  EXPECT_EQ(result(sum("00000007"), sum("00000008")),
            R"(error ["error: The CRC-32 value of NPU differs from that of the bench."])");
}

TEST(DumpCompareJudge, DtypesAndShapesThatDoNotFitAreErrorsWhateverIsCompared) {
  const Json integers = with(ones, "dtype", "torch.int32");
  const Json half = with(ones, "dtype", "torch.float16");
  const Json flat = with(ones, "shape", Json::array({4}));
  const auto sum = [](const Json& leaf) { return with(leaf, "md5", "1"); };
  EXPECT_EQ(OneLeaf("Torch.a.0", true, sum(ones), sum(integers)).result(), other_dtype);
  EXPECT_EQ(OneLeaf("Torch.a.0", true, sum(ones), sum(flat)).result(), other_shape);
  EXPECT_EQ(OneLeaf("Torch.a.0", true, sum(ones), sum(half)).result(), "pass []");
  EXPECT_EQ(OneLeaf("Tensor.to.5", true, ones, integers).result(), other_dtype);
  EXPECT_EQ(OneLeaf("Tensor.to.5", true, ones, half).result(), "pass []");
  EXPECT_EQ(OneLeaf("Tensor.to.5", true, ones, half).compat(), "pass []");
  EXPECT_EQ(OneLeaf("Distributed.all_to_all_single.0", false, ones, integers).result(), other_dtype);
  EXPECT_EQ(OneLeaf("Distributed.all_to_all_single.0", false, ones, flat).result(), other_shape);
  EXPECT_EQ(OneLeaf("Distributed.all_to_all_single.0", false, ones, flat).compat(), "pass []");
}

TEST(DumpCompareJudge, ValuesWithoutAFileAreJudgedAsStatistics) {
  const auto of = [](const Json& target, const Json& golden) {
    return OneLeaf("Torch.a.0", true, target, golden, "tensor");
  };
  const std::string without_file = R"(error ["NPU does not have data file.", )";
  const std::string differ = R"("error: The values of NPU and Bench differ."])";
  const std::string far = R"("error: The NormRelativeErr of output is greater than 0.5.)";
  EXPECT_EQ(of(scalar("bool", true), scalar("bool", false)).result(), without_file + differ);
  EXPECT_EQ(of(scalar("str", "a"), scalar("str", "b")).result(), without_file + differ);
  EXPECT_THAT(of(scalar("int", 3), scalar("int", 50)).result(), HasSubstr(without_file + far));
  EXPECT_THAT(of(ones, recorded_tensor(9, 9, 9, 18)).result(), HasSubstr(without_file + far));
  EXPECT_EQ(of(ones, ones).result(), R"(pass ["NPU does not have data file."])");
  EXPECT_EQ(of(scalar("bool", true), scalar("bool", false)).compat(), "pass []");
  EXPECT_EQ(of(scalar("int", 3), scalar("int", 50)).compat(), "pass []");
}

TEST(DumpCompareJudge, TensorsOfOneNumberAreJudged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto of = [](double target, double golden, const std::vector<std::string>& options = {}) {
    const std::string name = "Torch.a.0.forward.output.0.pt";
    Json leaf = with(recorded_tensor(1, 1, 1, 1, {}), "data_name", name);
    OneLeaf pair("Torch.a.0", true, leaf, leaf, "tensor");
    for (const auto& [side, value] : {std::pair("target", target), std::pair("golden", golden)}) {
      const fs::path folder = pair.folder() / side / "dump_tensor_data";
      fs::create_directories(folder);
      const std::vector<double> values{value};
      write_pt((folder / name).string(),
               Tensor::from<double>(DType::float64, std::vector<std::int64_t>(), values).to(DType::float32));
    }
    return pair.result(options);
  };
  EXPECT_THAT(of(1, nan), HasSubstr("error: The position of inf or nan in NPU and bench Tensor do not match."));
  EXPECT_THAT(of(nan, 1), HasSubstr("error: The position of inf or nan in NPU and bench Tensor do not match."));
  EXPECT_THAT(of(nan, nan), HasSubstr("pass "));
  EXPECT_THAT(of(-1000, 1), HasSubstr("error: The NormRelativeErr of output is greater than 0.5."));
  EXPECT_THAT(of(1.2, 1), HasSubstr("warning: The norm relative error of output is 10 times that of input."));
  EXPECT_THAT(of(1.00001, 1), HasSubstr("pass "));
  EXPECT_EQ(of(-1000, 1, {"--compat", "msprobe"}), "pass []");
}

// A call with a right input and two outputs of which one is wrong, as statistics or as tensors.
class TwoOutputs {
 public:
  TwoOutputs(bool tensors, std::size_t wrong, const std::vector<double>& values) {
    const std::vector<double> right{1, 2, 3, 4};
    for (const char* side : {"target", "golden"}) {
      std::vector<Json> leaves;
      for (std::size_t i = 0; i < 3; ++i) {
        const bool is_wrong = i == wrong + 1 && side == std::string("target");
        const std::vector<double>& shown = is_wrong ? values : right;
        const double norm = std::sqrt(std::inner_product(shown.begin(), shown.end(), shown.begin(), 0.0));
        leaves.push_back(recorded_tensor(std::ranges::max(shown), std::ranges::min(shown), 1, norm, {4}));
        if (tensors) add_file(side, i == 0 ? "input.0" : "output." + std::to_string(i - 1), shown, leaves.back());
      }
      dumps_.write(side, {{"Torch.a.0.forward", recorded_call({leaves[0]}, {leaves[1], leaves[2]})}},
                   {{"task", tensors ? "tensor" : "statistics"}});
    }
  }

  // Results and messages of both outputs.
  std::vector<std::string> results(const std::vector<std::string>& options = {}) {
    const Finished run = dumps_.run(options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::vector<std::string> all;
    for (const char* output : {"Torch.a.0.forward.output.0", "Torch.a.0.forward.output.1"}) {
      const Row row = row_named(dumps_.rows(), output);
      all.push_back(row.at("Result") + " " + row.at("Err_message"));
    }
    return all;
  }

 private:
  void add_file(const std::string& side, const std::string& place, const std::vector<double>& values, Json& leaf) {
    const fs::path folder = dumps_.folder() / side / "dump_tensor_data";
    fs::create_directories(folder);
    leaf["data_name"] = "Torch.a.0.forward." + place + ".pt";
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    write_pt((folder / leaf["data_name"].get<std::string>()).string(),
             Tensor::from<double>(DType::float64, shape, values).to(DType::float32));
  }

  ComparedDumps dumps_;
};

TEST(DumpCompareJudge, TheOutputThatIsWrongIsBlamedAndNoOther) {
  const std::string thousandth =
      "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.";
  const std::string drop = "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";
  const std::string jump = "warning: The norm relative error of output is 10 times that of input.";
  const std::string gap =
      "error: The output is off by more than 0.001 of its largest value, although the inputs agree.";
  for (const std::size_t wrong : {0U, 1U}) {
    const std::size_t right = 1 - wrong;
    std::vector<std::string> results = TwoOutputs(true, wrong, {-4, 3, -2, 1}).results();
    EXPECT_EQ(results[wrong], R"(error [")" + thousandth + R"(", ")" + drop + R"("])");
    EXPECT_EQ(results[right], "pass []");
    results = TwoOutputs(false, wrong, {1, 2, 3, 5}).results();
    EXPECT_EQ(results[wrong], R"(error [")" + jump + R"(", ")" + gap + R"("])");
    EXPECT_EQ(results[right], "pass []");
  }
  const std::vector<std::string> compat = TwoOutputs(false, 1, {1, 2, 3, 5}).results({"--compat", "msprobe"});
  EXPECT_EQ(compat[0], R"(warning [")" + jump + R"("])");
  EXPECT_EQ(compat[1], "pass []");
}

TEST(DumpCompareJudge, InputsWithoutNumbersThatDifferAreErrors) {
  Json mask = with(ones, "dtype", "torch.bool");
  mask["Max"] = mask["Min"] = true;
  mask["Mean"] = mask["Norm"] = nullptr;
  Json other = mask;
  other["Max"] = other["Min"] = false;
  const Json group{{"type", "torch.ProcessGroup"}, {"group_ranks", {0, 1}}};
  const Json groups{{"type", "torch.ProcessGroup"}, {"group_ranks", {0, 2}}};
  const Json slice = scalar("slice", {0, 4, 1});
  for (const char* task : {"statistics", "tensor"}) {
    EXPECT_THAT(OneLeaf("Torch.a.0", false, mask, other, task).result(), HasSubstr("values of NPU and Bench differ"));
    EXPECT_THAT(OneLeaf("Torch.a.0", false, group, groups, task).result(), HasSubstr("The scalar parameters"));
    EXPECT_THAT(OneLeaf("Torch.a.0", false, slice, scalar("slice", {0, 2, 1}), task).result(),
                HasSubstr("The scalar parameters"));
  }
  EXPECT_EQ(OneLeaf("Torch.a.0", false, mask, other).result(), other_values);
  EXPECT_EQ(OneLeaf("Torch.a.0", false, group, groups).result(), other_scalars);
  EXPECT_EQ(OneLeaf("Torch.a.0", false, slice, slice).result(), "pass []");
  EXPECT_EQ(OneLeaf("Torch.a.0", false, mask, other).compat(), "pass []");
  EXPECT_EQ(OneLeaf("Torch.a.0", false, group, groups).compat(), "pass []");
  EXPECT_EQ(OneLeaf("Torch.a.0", false, slice, scalar("slice", {0, 2, 1})).compat(), "pass []");
}

TEST(DumpCompareJudge, NanAndInfinitiesThatAreTextsCount) {
  for (const char* word : {"nan", "NaN", "inf", "Infinity"}) {
    OneLeaf pair("Torch.a.0", true, with(ones, "Max", word), ones);
    EXPECT_THAT(pair.result(), HasSubstr("error: There is nan/inf/-inf in the maximum or minimum value of NPU."));
    EXPECT_THAT(pair.result({"--first-divergence"}), HasSubstr("error"));
    EXPECT_NE(only_file(pair.folder() / "out", "first_divergence_"), fs::path());
    EXPECT_THAT(read_file(only_file(pair.folder() / "out", "first_divergence_")), HasSubstr("\"found\""));
    EXPECT_EQ(pair.compat(), "pass []");
    const Finished search =
        run_tool("overflow_check", {"-i", pair.folder() / "target", "-o", pair.folder() / "found"}, pair.folder());
    EXPECT_THAT(search.out, HasSubstr("First NaN or infinity: rank 0, Torch.a.0.forward"));
  }
}

// In place of a number that JSON has no way to write.
Json not_finite(const char* statistic, const char* word) { return with(ones, statistic, word); }

TEST(DumpCompareJudge, NanAndInfinitiesOfOneStatisticOrOfTheGoldenSideAloneAreErrors) {
  constexpr const char* apart = "NaN or infinities are in other statistics of NPU than of Bench.";
  for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) {
    for (const char* word : {"nan", "inf", "-inf"}) {
      const Json odd = not_finite(statistic, word);
      for (const bool output : {false, true}) {
        EXPECT_THAT(OneLeaf("Torch.a.0", output, ones, odd).result(), HasSubstr(apart)) << statistic << word;
        EXPECT_THAT(OneLeaf("Torch.a.0", output, odd, ones).result(), HasSubstr("error [")) << statistic << word;
        EXPECT_EQ(OneLeaf("Torch.a.0", output, odd, odd).result(), "pass []") << statistic << word;
      }
    }
  }
  EXPECT_THAT(OneLeaf("Torch.a.0", true, not_finite("Norm", "nan"), ones).result(), HasSubstr(apart));
  EXPECT_EQ(OneLeaf("Torch.a.0", true, ones, not_finite("Max", "nan")).compat(), "pass []");
}

TEST(DumpCompareJudge, AMeanThatOverflowedOverFiniteValuesIsNoInfinity) {
  const Json mask = recorded_tensor(0, -3e38, -2e38, 3.4e38);
  const Json overflowed = with(mask, "Mean", "-inf");
  for (const bool output : {false, true}) {
    EXPECT_EQ(OneLeaf("Torch.a.0", output, overflowed, mask).result(), "pass []");
    EXPECT_EQ(OneLeaf("Torch.a.0", output, mask, overflowed).result(), "pass []");
    EXPECT_THAT(OneLeaf("Torch.a.0", output, with(mask, "Mean", "inf"), mask).result(), HasSubstr("error ["));
  }
}

TEST(DumpCompareJudge, EmptyChecksumsAgreeWithNothing) {
  ComparedDumps dumps;
  const Json call = recorded_call({with(ones, "md5", "")}, {with(ones, "md5", "")});
  for (const char* side : {"target", "golden"}) dumps.write(side, {{"Torch.a.0.forward", call}});
  const Finished run = dumps.run({"--first-divergence"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("First divergence: unknown, nothing was compared"));
  EXPECT_THAT(run.out, HasSubstr("2 rows: 0 error, 2 warning, 0 pass"));
  EXPECT_EQ(dumps.rows().front().at("Err_message"), R"(["warning: Neither NPU nor bench has a checksum."])");
}

}  // namespace
}  // namespace msrun::testing
