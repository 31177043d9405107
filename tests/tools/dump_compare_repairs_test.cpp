// What msProbe's comparison of dumps gets wrong and this one does not: a test for each numbered error of the
// specification, which with --compat msprobe is there again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/io/torch/pt_file.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const Json ones = recorded_tensor(1, 1, 1, 2);
const Json twos = recorded_tensor(2, 2, 2, 4);

Json scalar(const std::string& type, const Json& value) { return {{"type", type}, {"value", value}}; }

Json with_md5(Json tensor, const std::string& sum) {
  tensor["md5"] = sum;
  return tensor;
}

// Runs the default comparison of a pair of the recordings.
std::vector<Row> compared(const std::string& pair, const std::vector<std::string>& options = {}) {
  const TemporaryDirectory scratch;
  std::vector<std::string> words{"-tp", compare_data(pair + "/target/dump.json"),
                                 "-gp", compare_data(pair + "/golden/dump.json"),
                                 "-o",  (scratch.path() / "out").string()};
  words.insert(words.end(), options.begin(), options.end());
  const Finished run = run_tool("dump_compare", words, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return rows_by_title(only_file(scratch.path() / "out", "compare_result_"));
}

TEST(DumpCompareRepairs, B1ChecksumsAreSeenAtEveryLeaf) {
  ComparedDumps dumps;
  Json call = recorded_call({}, {});
  call["input_kwargs"]["nested"] = Json::array({Json::array({with_md5(ones, "0a0b0c0d")})});
  dumps.write("target", {{"Torch.cat.0.forward", call}});
  dumps.write("golden", {{"Torch.cat.0.forward", call}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(dumps.rows().front().at("NPU MD5"), "0a0b0c0d");
}

TEST(DumpCompareRepairs, B2StructureDumpsAreComparedByNameTypeAndShape) {
  ComparedDumps dumps;
  const Json tensor{{"type", "torch.Tensor"}, {"dtype", "torch.float32"}, {"shape", {2, 2}}};
  const Json other{{"type", "torch.Tensor"}, {"dtype", "torch.float32"}, {"shape", {4}}};
  dumps.write("target", {{"Torch.exp.0.forward", recorded_call({tensor}, {tensor})}}, {{"task", "structure"}});
  dumps.write("golden", {{"Torch.exp.0.forward", recorded_call({tensor}, {other})}}, {{"task", "structure"}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Torch.exp.0.forward.input.0").at("Result"), "pass");
  EXPECT_THAT(row_named(dumps.rows(), "Torch.exp.0.forward.output.0").at("Err_message"), HasSubstr("shape"));
}

TEST(DumpCompareRepairs, B3OddTextsAreQuotedAndDoNotEndTheComparison) {
  ComparedDumps dumps;
  const Json call = recorded_call({scalar("str", "=1+1"), ones}, {ones});
  dumps.write("target", {{"Torch.odd.0.forward", call}});
  dumps.write("golden", {{"Torch.odd.0.forward", call}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(dumps.rows().front().at("NPU max"), "'=1+1");
  const Finished compat = dumps.run({"--compat", "msprobe"});
  EXPECT_EQ(compat.exit_code, 2);
  EXPECT_THAT(compat.err, HasSubstr("data info of Torch.odd.0.forward contains special characters, please check!"));
}

TEST(DumpCompareRepairs, B4CallsWithoutADirectionAreKept) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0", recorded_call({ones}, {twos})},
                  {"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  const Finished run = dumps.run();
  EXPECT_THAT(run.err, HasSubstr("1 calls"));
  EXPECT_EQ(dumps.rows().size(), 4U);
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(dumps.rows().size(), 2U);
}

TEST(DumpCompareRepairs, B5EqualNamesArePairedInOrderAndB35GradientsAloneAreCompared) {
  ComparedDumps dumps;
  const Json data{{"Module.fc.Linear.parameters_grad", {{"weight", {ones, twos}}}}};
  dumps.write("target", data);
  dumps.write("golden", data);
  ASSERT_EQ(dumps.run().exit_code, 0);
  ASSERT_EQ(dumps.rows().size(), 2U);
  for (const Row& row : dumps.rows()) EXPECT_EQ(row.at("Result"), "pass");
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(dumps.rows().size(), 4U);
}

TEST(DumpCompareRepairs, B6RowsOfTheGoldenSideAloneAreThere) {
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  dumps.write("target", {{"Torch.exp.0.forward", call}, {"Torch.log.0.forward", call}});
  dumps.write("golden", {{"Torch.exp.0.forward", call}, {"Torch.sin.0.forward", call}, {"Torch.log.0.forward", call}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  const std::vector<Row> rows = dumps.rows();
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[2].at("NPU Name"), "N/A");
  EXPECT_EQ(rows[2].at("Bench Name"), "Torch.sin.0.forward.input.0");
  EXPECT_EQ(rows[2].at("Result"), "warning");
}

TEST(DumpCompareRepairs, B7AnotherDtypeIsAnErrorWithItsCells) {
  const Row row = row_named(compared("05_stat_odd"), "Torch.argmax.0.forward.output.0");
  EXPECT_EQ(row.at("Bench Dtype"), "torch.int64");
  EXPECT_EQ(row.at("Result"), "error");
  EXPECT_THAT(row.at("Err_message"), HasSubstr("error: The dtype of NPU and Bench are inconsistent."));
}

TEST(DumpCompareRepairs, B8B9B10B11FuzzyMatchingPairsCalls) {
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  const auto module = [](int number) { return "Module.feed_forward.Linear.forward." + std::to_string(number); };
  dumps.write("target", {{module(3), call}, {"Torch.exp.4.forward", call}, {"Torch.log.7.forward", call}});
  dumps.write("golden", {{module(0), call}, {"Torch.log.0.forward", call}});
  ASSERT_EQ(dumps.run({"-fm"}).exit_code, 0);
  const std::vector<Row> rows = dumps.rows();
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].at("Bench Name"), module(0) + ".input.0");
  EXPECT_EQ(rows[1].at("Bench Name"), module(0) + ".output.0");
  EXPECT_EQ(row_named(rows, "Torch.exp.4.forward.input.0").at("Bench Name"), "N/A");
  EXPECT_EQ(row_named(rows, "Torch.log.7.forward.output.0").at("Bench Name"), "Torch.log.0.forward.output.0");
}

TEST(DumpCompareRepairs, B12MappingsPairTheSameBackwardCalls) {
  for (const Row& row : compared("02_stat_bf16_backward", {"-cm"})) {
    EXPECT_EQ(row.at("NPU Name"), row.at("Bench Name"));
  }
}

TEST(DumpCompareRepairs, B13ApiMappingFilesAreReadInBothForms) {
  for (const char* form : {"", "- "}) {
    ComparedDumps dumps;
    const Json call = recorded_call({ones, twos}, {twos});
    dumps.write("target", {{"Mint.special.0.forward", call}}, {{"framework", "mindspore"}});
    dumps.write("golden", {{"Torch.other.0.forward", recorded_call({twos, ones}, {twos})}});
    const std::string indent(std::string(form).size(), ' ');
    const std::string file = (dumps.folder() / "api.yaml").string();
    std::ofstream(file) << form << "ms_api: Mint.special\n"
                        << indent << "pt_api: Torch.other\n"
                        << indent << "ms_args: [0, 1]\n"
                        << indent << "pt_args: [1, 0]\n"
                        << indent << "ms_outputs: [0]\n"
                        << indent << "pt_outputs: [0]\n";
    const Finished run = dumps.run({"-am", file});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(row_named(dumps.rows(), "Mint.special.0.forward.input.0").at("Bench Name"),
              "Torch.other.0.forward.input.1");
    EXPECT_EQ(row_named(dumps.rows(), "Mint.special.0.forward.output.0").at("Bench Name"),
              "Torch.other.0.forward.output.0");
  }
}

// Recordings with one call whose tensors are in files.
class TensorPair {
 public:
  TensorPair(const Tensor& target, const Tensor& golden, Json leaf = ones) {
    leaf["data_name"] = "Torch.exp.0.forward.output.0.pt";
    for (const auto& [side, tensor] : {std::pair("target", &target), std::pair("golden", &golden)}) {
      dumps_.write(side, {{"Torch.exp.0.forward", recorded_call({}, {leaf})}}, {{"task", "tensor"}});
      const fs::path folder = dumps_.folder() / side / "dump_tensor_data";
      fs::create_directories(folder);
      write_pt((folder / "Torch.exp.0.forward.output.0.pt").string(), *tensor);
    }
  }
  Row row(const std::vector<std::string>& options = {}) {
    const Finished run = dumps_.run(options);
    EXPECT_EQ(run.exit_code, 0);
    log_ = run.err;
    return dumps_.rows().front();
  }
  const std::string& log() const { return log_; }
  fs::path file() const { return dumps_.folder() / "target" / "dump_tensor_data" / "Torch.exp.0.forward.output.0.pt"; }

 private:
  ComparedDumps dumps_;
  std::string log_;  // of the last run
};

Tensor floats(const std::vector<double>& values) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, values).to(DType::float32);
}

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(DumpCompareRepairs, B15SignsOfInfinitiesCount) {
  TensorPair pair(floats({1, inf}), floats({1, -inf}));
  EXPECT_EQ(pair.row().at("Result"), "error");
  EXPECT_THAT(pair.row().at("Err_message"), HasSubstr("error: The position of inf or nan"));
  EXPECT_EQ(pair.row({"--compat", "msprobe"}).at("Cosine"), "1.0");
}

TEST(DumpCompareRepairs, B16ImaginaryPartsCount) {
  const std::array<std::int64_t, 1> shape{2};
  const std::vector<std::complex<double>> one{{1, 1}, {2, 0}};
  const std::vector<std::complex<double>> other{{1, -1}, {2, 0}};
  TensorPair pair(Tensor::from<std::complex<double>>(DType::complex128, shape, one),
                  Tensor::from<std::complex<double>>(DType::complex128, shape, other));
  EXPECT_EQ(pair.row().at("MaxAbsErr"), "2.0");
  EXPECT_EQ(pair.row({"--compat", "msprobe"}).at("MaxAbsErr"), "0.0");
}

// Their squares are beyond the range of float64.
TEST(DumpCompareRepairs, LargeNumbersHaveACosine) {
  const auto doubles = [](const std::vector<double>& values) {
    return Tensor::from<double>(DType::float64, std::array{static_cast<std::int64_t>(values.size())}, values);
  };
  TensorPair pair(doubles({1e200, 1e200, 1e200, 1}), doubles({1e200, -1e200, 1e200, 1}));
  const Row row = pair.row();
  EXPECT_EQ(row.at("Cosine"), "0.333333333333");
  EXPECT_EQ(row.at("EucDist"), "2e+200");
  EXPECT_EQ(row.at("Err_message").find("NaN"), std::string::npos);
  EXPECT_EQ(TensorPair(doubles({1e300, 1}), doubles({1e300, 1})).row().at("Cosine"), "1.0");
  EXPECT_EQ(pair.row({"--compat", "msprobe"}).at("Cosine"), "Nan");
}

TEST(DumpCompareRepairs, B17RowsWithoutACounterpartAreWarnings) {
  const Row row = row_named(compared("05_stat_odd"), "Torch.npu_only.0.forward.input.0");
  EXPECT_EQ(row.at("Result"), "warning");
  EXPECT_EQ(row.at("Err_message"), R"(["warning: No bench data matched."])");
}

TEST(DumpCompareRepairs, B18OtherPlacesOfNanAreErrors) {
  const Row row = row_named(compared("04_tensor_odd"), "Torch.log.0.forward.output.0");
  EXPECT_EQ(row.at("Result"), "error");
  EXPECT_THAT(row.at("Err_message"),
              HasSubstr("error: The position of inf or nan in NPU and bench Tensor do not match."));
}

TEST(DumpCompareRepairs, B19AMissingFileIsAnError) {
  TensorPair pair(floats({1}), floats({1}));
  fs::remove(pair.file());
  EXPECT_EQ(pair.row().at("Result"), "error");
  EXPECT_THAT(pair.row().at("Err_message"), HasSubstr("not found or read failed."));
  EXPECT_THAT(pair.log(), AllOf(HasSubstr(pair.file().string()), HasSubstr("does not exist")));
  EXPECT_EQ(pair.row({"--compat", "msprobe"}).at("Result"), "pass");
  write_file(pair.file(), "no tensor");
  EXPECT_THAT(pair.row().at("Err_message"),
              AllOf(HasSubstr("error: Dump file of NPU not found or read failed. The file " + pair.file().string()),
                    Not(HasSubstr("Bench not found"))));
  EXPECT_THAT(pair.log(), HasSubstr(pair.file().string()));
}

TEST(DumpCompareRepairs, B20MessagesOfTheMetricsAreKept) {
  const std::vector<Row> rows = compared("04_tensor_odd");
  EXPECT_THAT(row_named(rows, "Functional.relu.0.forward.output.0").at("Err_message"),
              HasSubstr("warning: Cannot compare by Cosine Similarity, All the data is Zero in npu dump data."));
  EXPECT_THAT(row_named(rows, "Torch.nested.0.forward.output.0").at("Err_message"), HasSubstr("0-d tensor"));
}

TEST(DumpCompareRepairs, AFileWithoutElementsAgreesOnlyWithARecordingWithoutAny) {
  const auto leaf = [](int size) { return recorded_tensor(1, 1, 1, 2, {size}); };
  const std::string other = R"("error: Shape of NPU and bench tensor do not match. Skipped."])";
  const std::string none = R"("error: The recorded tensor has elements, its file has none."])";
  EXPECT_THAT(TensorPair(floats({}), floats({1, 2}), leaf(2)).row().at("Err_message"), HasSubstr(other));
  EXPECT_THAT(TensorPair(floats({1, 2}), floats({}), leaf(2)).row().at("Err_message"), HasSubstr(other));
  EXPECT_THAT(TensorPair(floats({}), floats({}), leaf(2)).row().at("Err_message"), HasSubstr(none));
  for (const auto& [target, golden] : {std::pair(floats({}), floats({1, 2})), std::pair(floats({}), floats({}))}) {
    EXPECT_EQ(TensorPair(target, golden, leaf(2)).row().at("Result"), "error");
    EXPECT_EQ(TensorPair(target, golden, leaf(2)).row({"--compat", "msprobe"}).at("Result"), "pass");
  }
  const Row empty = TensorPair(floats({}), floats({}), leaf(0)).row();
  EXPECT_EQ(empty.at("Result"), "pass");
  EXPECT_EQ(empty.at("Err_message"), R"(["This is empty data, can not compare."])");
}

TEST(DumpCompareRepairs, B21TheDocumentedLimitOfTheOutputCounts) {
  TensorPair pair(floats({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), floats({1, 1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1, 1.1}));
  EXPECT_THAT(pair.row().at("Err_message"), HasSubstr("One Thousandth Err Ratio > 0.9 while the output < 0.6"));
  EXPECT_THAT(pair.row({"--compat", "msprobe"}).at("Err_message"), Not(HasSubstr("One Thousandth")));
}

TEST(DumpCompareRepairs, B22AnotherKindOfNotFiniteIsAnError) {
  // NaN and Infinity are no JSON, so the text is written by hand.
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  for (const auto& [side, word] : {std::pair("target", "NaN"), std::pair("golden", "Infinity")}) {
    dumps.write(side, {{"Torch.exp.0.forward", call}});
    const fs::path path = dumps.folder() / side / "dump.json";
    std::string text = read_file(path);
    text.replace(text.rfind("\"Max\":2.0"), 9, "\"Max\":" + std::string(word));
    std::ofstream(path) << text;
  }
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_THAT(row_named(dumps.rows(), "Torch.exp.0.forward.output.0").at("Err_message"), HasSubstr("nan/inf/-inf"));
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Torch.exp.0.forward.output.0").at("Result"), "pass");
}

TEST(DumpCompareRepairs, B23InputsOfAModuleNamedOutputAreInputs) {
  const std::vector<Row> rows = compared("05_stat_odd");
  const std::string module = "Module.encoder.output.dense.Linear.forward.0";
  EXPECT_EQ(row_named(rows, module + ".input.0").at("Result"), "pass");
  EXPECT_EQ(row_named(rows, module + ".output.0").at("Result"), "error");
}

TEST(DumpCompareRepairs, B24NamesOfDtypesAndAbsentRequiresGradAreNoErrors) {
  const TemporaryDirectory scratch;
  const Finished run =
      run_tool("dump_compare",
               {"-tp", compare_data("graph/cross/npu/dump.json"), "-gp", compare_data("graph/cross/bench/dump.json"),
                "-o", (scratch.path() / "out").string(), "-lm", compare_data("graph/cross/layer_mapping.yaml")},
               scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const Row& row : rows_by_title(only_file(scratch.path() / "out", "compare_result_"))) {
    EXPECT_THAT(row.at("Err_message"), Not(HasSubstr("Required_Grad")));
    EXPECT_THAT(row.at("Err_message"), Not(HasSubstr("dtype")));
  }
}

TEST(DumpCompareRepairs, B25DtypesOfQkvCountAsWell) {
  ComparedDumps dumps;
  const Json half = recorded_tensor(1, 1, 1, 2, {2, 2}, "torch.float16");
  dumps.write("target", {{"Module.qkv.Linear.forward.0", recorded_call({ones}, {half})}});
  dumps.write("golden", {{"Module.qkv.Linear.forward.0", recorded_call({ones}, {ones})}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Module.qkv.Linear.forward.0.output.0").at("Result"), "error");
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Module.qkv.Linear.forward.0.output.0").at("Result"), "pass");
}

TEST(DumpCompareRepairs, B26AnInputThatIsZeroOnOneSideDisagrees) {
  ComparedDumps dumps;
  const Json zeros = recorded_tensor(0, 0, 0, 0);
  dumps.write("target", {{"Torch.exp.0.forward", recorded_call({ones}, {twos})}});
  dumps.write("golden", {{"Torch.exp.0.forward", recorded_call({zeros}, {ones})}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_THAT(row_named(dumps.rows(), "Torch.exp.0.forward.output.0").at("Err_message"),
              Not(HasSubstr("greater than 0.5")));
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  EXPECT_THAT(row_named(dumps.rows(), "Torch.exp.0.forward.output.0").at("Err_message"), HasSubstr("greater than 0.5"));
}

TEST(DumpCompareRepairs, B27BooleansThatDifferAreErrors) {
  const Row row = row_named(compared("05_stat_odd"), "Torch.eq.0.forward.output.0");
  EXPECT_EQ(row.at("Result"), "error");
  EXPECT_THAT(row.at("Err_message"), HasSubstr("error: The values of NPU and Bench differ."));
}

TEST(DumpCompareRepairs, B36WrongGradientsOfParametersAreErrors) {
  ComparedDumps dumps;
  dumps.write("target",
              {{"Module.fc.Linear.parameters_grad", {{"weight", {twos}}, {"bias", {recorded_tensor(1, 1, 1, 2.4)}}}}});
  dumps.write("golden", {{"Module.fc.Linear.parameters_grad", {{"weight", {ones}}, {"bias", {ones}}}}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Module.fc.Linear.parameters_grad.weight").at("Result"), "error");
  EXPECT_EQ(row_named(dumps.rows(), "Module.fc.Linear.parameters_grad.bias").at("Result"), "warning");
  ASSERT_EQ(dumps.run({"--compat", "msprobe"}).exit_code, 0);
  for (const Row& row : dumps.rows()) EXPECT_EQ(row.at("Result"), "pass");
}

TEST(DumpCompareRepairs, B37StoredNumbersAreSubtracted) {
  const Row row = row_named(compared("05_stat_odd"), "Functional.softmax.0.forward.output.0");
  EXPECT_EQ(row.at("Min diff"), "-7.450580596923828e-09");
}

TEST(DumpCompareRepairs, B29RanksArePairedByNumberB30StepsAndB31FailuresAreTold) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  for (const char* place : {"target/step0/rank0", "target/step0/rank2", "golden/step0/rank0", "golden/step0/rank1"}) {
    dumps.write(place, data);
  }
  dumps.write("target/step1/rank0", data, {{"task", "tensor"}});
  dumps.write("golden/step1/rank0", data);
  const std::string out = (dumps.folder() / "out").string();
  const auto path = [&](const char* side) { return (dumps.folder() / side).string(); };
  const Finished run =
      run_tool("dump_compare", {"-tp", path("target"), "-gp", path("golden"), "-o", out}, dumps.folder());
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rank 1 is missing"));
  EXPECT_THAT(run.err, HasSubstr("rank 2 is missing"));
  EXPECT_THAT(run.err, HasSubstr("Please check the dump task is consistent. (" + path("target")));
  EXPECT_NE(only_file(dumps.folder() / "out" / "step0", "compare_result_rank0_"), fs::path());
  const Finished none =
      run_tool("dump_compare", {"-tp", path("target/step1"), "-gp", path("golden/step1"), "-o", out}, dumps.folder());
  EXPECT_EQ(none.exit_code, 2);
}

TEST(DumpCompareResults, NobodysFilesAreReplaced) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  const fs::path out = dumps.folder() / "out";
  const auto path = [&](const char* side) { return (dumps.folder() / side / "dump.json").string(); };
  constexpr std::size_t runs = 6;
  for (std::size_t i = 0; i < runs; ++i) {
    const Finished run = run_tool("dump_compare",
                                  {"-tp", path("target"), "-gp", path("golden"), "-o", out.string(), "--html",
                                   "--first-divergence", i % 2 == 0 ? "--xlsx" : "-s"},
                                  dumps.folder());
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  std::size_t pages = 0;
  std::size_t tables = 0;
  std::size_t divergences = 0;
  for (const auto& entry : fs::directory_iterator(out)) {
    fs::path file = entry.path();
    if (file.filename().string().starts_with("first_divergence_")) ++divergences;
    if (file.extension() == ".csv" || file.extension() == ".xlsx") ++tables;
    if (file.extension() != ".html") continue;
    ++pages;
    const bool csv = fs::exists(file.replace_extension(".csv"));
    EXPECT_NE(csv, fs::exists(file.replace_extension(".xlsx"))) << file;
  }
  EXPECT_EQ(pages, runs);
  EXPECT_EQ(tables, runs);
  EXPECT_EQ(divergences, runs);
}

TEST(DumpCompareResults, NothingComparedIsSaidAndNoSuccess) {
  ComparedDumps dumps;
  const Json nothing = recorded_call({recorded_tensor(1, 1, 1, 2)}, {recorded_tensor(1, 1, 1, 2)});
  Json empty = nothing;
  for (const char* key : {"input_args", "output"}) {
    for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) empty[key][0][statistic] = nullptr;
  }
  for (const Json& target : {Json{{"Torch.exp.0.forward", empty}}, Json::object()}) {
    dumps.write("target", target);
    dumps.write("golden", {{"Torch.exp.0.forward", nothing}});
    for (const std::vector<std::string>& options : {std::vector<std::string>(), {"--first-divergence"}}) {
      const Finished run = dumps.run(options);
      EXPECT_EQ(run.exit_code, 1) << run.err;
      EXPECT_THAT(run.out, HasSubstr("Nothing was compared"));
      EXPECT_THAT(run.out, Not(HasSubstr("agree within rounding")));
    }
  }
}

TEST(DumpCompareResults, CallsThatCannotBeReadAreNamed) {
  ComparedDumps dumps;
  Json deep = scalar("int", 1);
  for (int i = 0; i < 450; ++i) deep = Json::array({deep});
  const Json sound = recorded_call({ones}, {ones});
  dumps.write("target", {{"Torch.exp.0.forward", sound}, {"Torch.cat.0.forward", recorded_call({deep}, {ones})}});
  dumps.write("golden", {{"Torch.exp.0.forward", sound}, {"Torch.cat.0.forward", recorded_call({deep}, {twos})}});
  const Finished run = dumps.run();
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(dumps.rows().size(), 2U);
  EXPECT_THAT(run.err, HasSubstr("target/dump.json cannot be compared"));
  EXPECT_THAT(run.err, HasSubstr("golden/dump.json cannot be compared"));
  EXPECT_THAT(run.err, HasSubstr("first Torch.cat.0.forward"));
}

TEST(DumpCompareResults, RanksThatCannotBeReadAreNamedAndNoSuccess) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  for (const char* place : {"target/rank0", "target/rank1", "golden/rank0", "golden/rank1"}) dumps.write(place, data);
  std::ofstream(dumps.folder() / "target" / "rank1" / "dump.json") << R"({"task":"statistics","data":{)";
  const auto path = [&](const char* side) { return (dumps.folder() / side).string(); };
  for (const std::vector<std::string>& options :
       {std::vector<std::string>(), {"--fail-on", "error"}, {"--first-divergence"}}) {
    fs::remove_all(dumps.folder() / "out");
    std::vector<std::string> words{"-tp", path("target"), "-gp", path("golden"), "-o", path("out")};
    words.insert(words.end(), options.begin(), options.end());
    const Finished run = run_tool("dump_compare", words, dumps.folder());
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr("rank1: "));
    EXPECT_NE(only_file(dumps.folder() / "out", "compare_result_rank0_"), fs::path());
    if (options != std::vector<std::string>{"--first-divergence"}) continue;
    EXPECT_THAT(run.out, HasSubstr("Rank 1 could not be read"));
    const fs::path found = only_file(dumps.folder() / "out", "first_divergence_");
    EXPECT_EQ(Json::parse(read_file(found))["unread"], Json::array({1}));
  }
}

TEST(DumpCompareResults, RanksAndStepsThatDoNotApplyAndEndlessTolerancesAreRefused) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  EXPECT_EQ(dumps.run({"--rank", "0"}).exit_code, 2);
  EXPECT_EQ(dumps.run({"--step", "0"}).exit_code, 2);
  EXPECT_EQ(dumps.run({"--first-divergence", "--tolerance", "inf"}).exit_code, 2);
  EXPECT_EQ(dumps.run({"--first-divergence", "--tolerance", "2"}).exit_code, 0);
}

}  // namespace
}  // namespace msrun::testing
