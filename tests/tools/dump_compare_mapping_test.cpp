// Which rows of two recordings belong together by files of names, and what becomes of tensors before they are compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/io/torch/pt_file.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const Json ones = recorded_tensor(1, 1, 1, 2);
const Json twos = recorded_tensor(2, 2, 2, 4);

TEST(DumpCompareRepairs, B14LayerMappingsApplyToPairsOfPyTorchAndAreWrittenDown) {
  const TemporaryDirectory scratch;
  const auto run = [&](const std::string& target, const std::string& golden, const std::string& out,
                       const std::string& mapping) {
    return run_tool("dump_compare",
                    {"-tp", target, "-gp", golden, "-o", (scratch.path() / out).string(), "-lm", mapping},
                    scratch.path());
  };
  const std::string cross = compare_data("graph/cross/");
  ASSERT_EQ(run(cross + "npu/dump.json", cross + "bench/dump.json", "cross", cross + "layer_mapping.yaml").exit_code,
            0);
  EXPECT_EQ(read_file(only_file(scratch.path() / "cross", "data_mapping_")),
            read_file(compare_data("expected_upstream/g_cross_lm.data_mapping.yaml")));
  // Two recordings of PyTorch whose modules have other names.
  const auto write = [&](const std::string& side, const std::string& layer) {
    const std::string module = "Module." + layer + ".Linear.forward.0";
    fs::create_directories(scratch.path() / side);
    const auto file = [&](const char* name) { return std::ofstream(scratch.path() / side / name); };
    const Json data{{module, recorded_call({ones}, {twos})}};
    file("dump.json") << Json{{"task", "statistics"}, {"framework", "pytorch"}, {"data", data}};
    file("construct.json") << Json{{module, nullptr}};
    file("stack.json") << Json{{module, {"File model.py, line 1, in forward, \n y = fc(x)"}}};
    return (scratch.path() / side / "dump.json").string();
  };
  const std::string mapping = (scratch.path() / "layers.yaml").string();
  std::ofstream(mapping) << "TopLayer:\n  fc: linear\n  other: one\n";
  const Finished finished = run(write("target", "fc"), write("golden", "linear"), "torch", mapping);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("layers.yaml, line 3: TopLayer.other is no layer of "));
  EXPECT_THAT(finished.err, Not(HasSubstr("line 2")));
  const Row row = row_named(rows_by_title(only_file(scratch.path() / "torch", "compare_result_")),
                            "Module.fc.Linear.forward.0.output.0");
  EXPECT_EQ(row.at("Bench Name"), "Module.linear.Linear.forward.0.output.0");
}

TEST(DumpCompareMapping, AFileThatWasCutOffIsRefused) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  const std::string file = (dumps.folder() / "map.yaml").string();
  const std::string name = "Torch.exp.0.forward.input.0";
  for (const std::string& text : {name + ": \"" + name, name + ": '" + name + "\n", "\"" + name}) {
    std::ofstream(file) << text;
    for (const char* option : {"-dm", "-cm", "-lm"}) {
      const Finished run = dumps.run({option, file});
      EXPECT_EQ(run.exit_code, 2) << text;
      EXPECT_THAT(run.err, HasSubstr("it ends inside a quotation"));
    }
  }
  std::ofstream(file) << name << ": \"" << name << "\"  # a comment";
  EXPECT_EQ(dumps.run({"-dm", file}).exit_code, 0);
}

TEST(DumpCompareRepairs, B28ResultsBelongToTheirRowsWhereRowsOfACallAreApart) {
  // The golden side has its calls in another order, and one more.
  ComparedDumps dumps;
  const Json bad = recorded_call({ones}, {recorded_tensor(9, 1, 1, 9)});
  const Json good = recorded_call({ones}, {twos});
  dumps.write("target", {{"Torch.exp.0.forward", bad}, {"Torch.log.0.forward", good}});
  dumps.write("golden", {{"Torch.sin.0.forward", good}, {"Torch.log.0.forward", good}, {"Torch.exp.0.forward", good}});
  ASSERT_EQ(dumps.run().exit_code, 0);
  for (const Row& row : dumps.rows()) {
    const bool alone = row.at("NPU Name") == "N/A";
    const bool wrong = row.at("NPU Name") == "Torch.exp.0.forward.output.0";
    EXPECT_EQ(row.at("Result"), alone ? "warning" : wrong ? "error" : "pass") << row.at("NPU Name");
  }
}

TEST(DumpCompareRepairs, B30StepsAreComparedInFoldersOfTheirOwnAndAnEmptyPairIsAnError) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  for (const char* place : {"target/step0", "target/step3", "golden/step0", "golden/step3"}) dumps.write(place, data);
  const auto run = [&](const std::string& target, const std::string& golden) {
    return run_tool("dump_compare",
                    {"-tp", (dumps.folder() / target).string(), "-gp", (dumps.folder() / golden).string(), "-o",
                     (dumps.folder() / "out").string()},
                    dumps.folder());
  };
  ASSERT_EQ(run("target", "golden").exit_code, 0);
  for (const char* step : {"step0", "step3"}) {
    EXPECT_NE(only_file(dumps.folder() / "out" / step, "compare_result_"), fs::path()) << step;
  }
  fs::create_directories(dumps.folder() / "empty" / "rank0");
  const Finished none = run("empty", "empty");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("neither dump.json nor debug.json"));
}

TEST(DumpCompareRepairs, B31TheReasonOfARankThatFailedIsTold) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  for (const char* place : {"target/rank0", "golden/rank0", "golden/rank1"}) dumps.write(place, data);
  dumps.write("target/rank1", data, {{"task", "tensor"}});
  const Finished run = run_tool("dump_compare",
                                {"-tp", (dumps.folder() / "target").string(), "-gp",
                                 (dumps.folder() / "golden").string(), "-o", (dumps.folder() / "out").string()},
                                dumps.folder());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("rank1: Please check the dump task is consistent."));
  EXPECT_NE(only_file(dumps.folder() / "out", "compare_result_rank0_"), fs::path());
}

TEST(DumpCompareMapping, EntriesThatNameNothingAreToldWithTheirLines) {
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  dumps.write("target", {{"Cell.a.fc.Linear.forward.0", call}, {"Mint.exp.0.forward", call}},
              {{"framework", "mindspore"}});
  dumps.write("golden", {{"Module.b.fc.Linear.forward.0", call}, {"Torch.exp.0.forward", call}});
  const auto run = [&](const char* option, const std::string& text) {
    const std::string file = (dumps.folder() / "map.yaml").string();
    std::ofstream(file) << text;
    return dumps.run({option, file});
  };
  const Finished data = run("-dm",
                            "Mint.exp.0.forward.input.0: Torch.exp.0.forward.input.0\n"
                            "Mint.nowhere.0.forward.input.0: Torch.exp.0.forward.input.0\n"
                            "Mint.exp.0.forward.output.0: Torch.nowhere.0.forward.output.0\n");
  EXPECT_EQ(data.exit_code, 0) << data.err;
  EXPECT_THAT(data.err, HasSubstr("map.yaml, line 2: Mint.nowhere.0.forward.input.0 is no row of "));
  EXPECT_THAT(data.err, HasSubstr("map.yaml, line 3: Torch.nowhere.0.forward.output.0 is no row of "));
  EXPECT_THAT(data.err, Not(HasSubstr("line 1:")));
  const Finished cell = run("-cm", "a.fc.Linear: b.fc.Linear\nz.Linear: y.Linear\n");
  EXPECT_EQ(cell.exit_code, 0) << cell.err;
  EXPECT_THAT(cell.err, HasSubstr("map.yaml, line 2: z.Linear is no cell of "));
  EXPECT_THAT(cell.err, Not(HasSubstr("line 1:")));
  const Finished api = run("-am",
                           "- {ms_api: Mint.exp, pt_api: Torch.exp, ms_args: [0], pt_args: [0]}\n"
                           "- {ms_api: Mint.nothing, pt_api: Torch.exp}\n"
                           "- {ms_api: Mint.exp}\n");
  EXPECT_EQ(api.exit_code, 0) << api.err;
  EXPECT_THAT(api.err, HasSubstr("map.yaml, line 2: Mint.nothing is no API of "));
  EXPECT_THAT(api.err, HasSubstr("map.yaml, line 3: an entry needs ms_api and pt_api"));
  EXPECT_EQ(row_named(dumps.rows(), "Mint.exp.0.forward.input.0").at("Bench Name"), "Torch.exp.0.forward.input.0");
}

TEST(DumpCompareMapping, KeysThatAreThereTwiceAreRefusedAndRowsWithTwoNamesAreTold) {
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  dumps.write("target", {{"Torch.a.0.forward", call}, {"Torch.b.0.forward", call}});
  dumps.write("golden", {{"Torch.b.0.forward", call}, {"Torch.c.0.forward", call}});
  const auto run = [&](const char* option, const std::string& text, const std::vector<std::string>& more = {}) {
    const std::string file = (dumps.folder() / "map.yaml").string();
    std::ofstream(file) << text;
    std::vector<std::string> words{option, file};
    words.insert(words.end(), more.begin(), more.end());
    return dumps.run(words);
  };
  const std::string a = "Torch.a.0.forward.input.0";
  const std::string b = "Torch.b.0.forward.input.0";
  const std::string c = "Torch.c.0.forward.input.0";
  const std::string again = a + ": " + b + "\n" + a + ": " + c + "\n";
  for (const char* option : {"-dm", "-cm"}) {
    const Finished twice = run(option, again);
    EXPECT_EQ(twice.exit_code, 2) << option;
    EXPECT_THAT(twice.err, HasSubstr("map.yaml has the key " + a + " twice."));
  }
  EXPECT_EQ(run("-dm", again, {"--compat", "msprobe"}).exit_code, 0);
  const Finished layers = run("-lm", "TopLayer:\n  fc: linear\n  fc: dense\n");
  EXPECT_EQ(layers.exit_code, 2);
  EXPECT_THAT(layers.err, HasSubstr("map.yaml has the key fc twice."));
  Finished shared = run("-dm", a + ": " + c + "\n" + b + ": " + c + "\n");
  EXPECT_EQ(shared.exit_code, 0);
  EXPECT_THAT(shared.err, HasSubstr("map.yaml, line 2: " + b + " and " + a + " both belong to " + c));
  // The row b is not listed and keeps its name.
  shared = run("-dm", a + ": " + b + "\n");
  EXPECT_EQ(shared.exit_code, 0);
  EXPECT_THAT(shared.err, HasSubstr("map.yaml, line 1: " + a + " and " + b + " both belong to " + b));
  EXPECT_THAT(run("-dm", a + ": " + b + "\n" + b + ": " + c + "\n").err, Not(HasSubstr("both belong")));
}

TEST(DumpCompareMapping, CellsAreReplacedInTheOrderOfTheFile) {
  ComparedDumps dumps;
  const Json call = recorded_call({ones}, {twos});
  dumps.write("target", {{"Module.z.a.Linear.forward.0", call}});
  dumps.write("golden", {{"Module.z.c.Linear.forward.0", call}});
  const std::string file = (dumps.folder() / "map.yaml").string();
  std::ofstream(file) << "z.a: z.b\nb: c\n";
  ASSERT_EQ(dumps.run({"-cm", file}).exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Module.z.a.Linear.forward.0.input.0").at("Bench Name"),
            "Module.z.c.Linear.forward.0.input.0");
  std::ofstream(file) << "b: c\nz.a: z.b\n";
  EXPECT_EQ(dumps.run({"-cm", file}).exit_code, 2);
}

TEST(DumpCompareMapping, ArgumentsMayHaveNamesAndParts) {
  ComparedDumps dumps;
  Json mine = recorded_call({}, {twos});
  mine["input_args"] = Json::array({Json::array({ones, twos})});
  mine["input_kwargs"]["bias"] = twos;
  Json theirs = recorded_call({twos}, {twos});
  theirs["input_kwargs"]["b"] = twos;
  dumps.write("target", {{"Mint.f.0.forward", mine}}, {{"framework", "mindspore"}});
  dumps.write("golden", {{"Torch.g.0.forward", theirs}});
  const std::string file = (dumps.folder() / "map.yaml").string();
  std::ofstream(file) << "{ms_api: Mint.f, pt_api: Torch.g, ms_args: ['0.1', bias], pt_args: [0, b], ms_output: [0],"
                         " pt_output: [0]}\n";
  ASSERT_EQ(dumps.run({"-am", file}).exit_code, 0);
  const std::vector<Row> rows = dumps.rows();
  EXPECT_EQ(row_named(rows, "Mint.f.0.forward.input.0.0").at("Bench Name"), "N/A");
  EXPECT_EQ(row_named(rows, "Mint.f.0.forward.input.0.1").at("Bench Name"), "Torch.g.0.forward.input.0");
  EXPECT_EQ(row_named(rows, "Mint.f.0.forward.input.bias").at("Bench Name"), "Torch.g.0.forward.input.b");
  EXPECT_EQ(row_named(rows, "Mint.f.0.forward.output.0").at("Bench Name"), "Torch.g.0.forward.output.0");
}

TEST(DumpCompareUsage, PathsOfDifferentKindsAreBothNamed) {
  ComparedDumps dumps;
  const Json data{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  const Finished run =
      run_tool("dump_compare",
               {"-tp", (dumps.folder() / "target").string(), "-gp", (dumps.folder() / "golden" / "dump.json").string()},
               dumps.folder());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("target is a folder"));
  EXPECT_THAT(run.err, HasSubstr("golden/dump.json is a file"));
}

// Recordings of one call with tensors in files; names of files are those of the rows.
class TensorDumps {
 public:
  struct Part {
    std::string key;  // "input.group_list", "output.0"
    Tensor tensor;
  };
  void write(const std::string& side, const std::string& call, const std::vector<Part>& parts) {
    Json entry = recorded_call({}, {});
    const fs::path folder = dumps.folder() / side / "dump_tensor_data";
    fs::create_directories(folder);
    for (const Part& part : parts) {
      Json leaf = recorded_tensor(1, 0, 0.5, 1);
      leaf["data_name"] = call + "." + part.key + ".pt";
      write_pt((folder / leaf["data_name"].get<std::string>()).string(), part.tensor);
      const std::string name = part.key.substr(part.key.find('.') + 1);
      if (part.key.starts_with("output")) {
        entry["output"].push_back(leaf);
      } else {
        entry["input_kwargs"][name] = leaf;
      }
    }
    dumps.write(side, {{call, entry}}, {{"task", "tensor"}});
  }

  ComparedDumps dumps;
};

Tensor matrix(std::int64_t rows, std::int64_t columns, const std::vector<double>& values) {
  const std::array<std::int64_t, 2> shape{rows, columns};
  return Tensor::from<double>(DType::float64, shape, values).to(DType::float32);
}

TEST(DumpCompareTensors, RowsBehindTheValidOnesDoNotCount) {
  for (const auto& [call, argument] : {std::pair("NPU.npu_grouped_matmul.0.forward", "input.group_list"),
                                       std::pair("NPU.npu_dequant_swiglu_quant.0.forward", "input.group_index")}) {
    TensorDumps dumps;
    const std::array<std::int64_t, 1> two{2};
    const std::vector<std::int64_t> one_each{1, 1};
    const Tensor groups = Tensor::from<std::int64_t>(DType::int64, two, one_each);
    dumps.write("target", call, {{argument, groups}, {"output.0", matrix(3, 2, {1, 2, 3, 4, 99, 99})}});
    dumps.write("golden", call, {{argument, groups}, {"output.0", matrix(3, 2, {1, 2, 3, 4, 0, 0})}});
    ASSERT_EQ(dumps.dumps.run({"--first-divergence"}).exit_code, 0);
    EXPECT_EQ(row_named(dumps.dumps.rows(), std::string(call) + ".output.0").at("MaxAbsErr"), "0.0");
    const Json found = Json::parse(read_file(only_file(dumps.dumps.folder() / "out", "first_divergence_")));
    EXPECT_EQ(found["verdict"], "none");
    // The golden side is taken as it is, and valid rows count.
    dumps.write("golden", call, {{argument, groups}, {"output.0", matrix(3, 2, {1, 2, 3, 5, 0, 0})}});
    ASSERT_EQ(dumps.dumps.run().exit_code, 0);
    EXPECT_EQ(row_named(dumps.dumps.rows(), std::string(call) + ".output.0").at("MaxAbsErr"), "1.0");
  }
}

TEST(DumpCompareTensors, AreMultipliedFromTheRightIfAskedTo) {
  TensorDumps dumps;
  const std::string call = "Torch.exp.0.forward";
  dumps.write("target", call, {{"output.0", matrix(2, 2, {1, 2, 3, 4})}});
  dumps.write("golden", call, {{"output.0", matrix(2, 2, {2, 1, 4, 3})}});
  write_pt((dumps.dumps.folder() / "swap.pt").string(), matrix(2, 2, {0, 1, 1, 0}));
  write_pt((dumps.dumps.folder() / "wide.pt").string(), matrix(3, 2, {0, 1, 1, 0, 0, 0}));
  const std::string file = (dumps.dumps.folder() / "factors.yaml").string();
  const auto run = [&](const std::string& text) {
    std::ofstream(file) << text;
    return dumps.dumps.run({"--right-matmul", file});
  };
  const std::string name = call + ".output.0";
  const Finished right =
      run("mode: right_matmul\ntarget_tensor_map:\n  swap.pt: [" + name + ".pt]\ngolden_tensor_map: {}\n");
  ASSERT_EQ(right.exit_code, 0) << right.err;
  EXPECT_EQ(row_named(dumps.dumps.rows(), name).at("MaxAbsErr"), "0.0");
  ASSERT_EQ(run("golden_tensor_map: {wide.pt: [" + name + ".pt]}\n").exit_code, 0);
  EXPECT_EQ(row_named(dumps.dumps.rows(), name).at("MaxAbsErr"), "1.0");
  EXPECT_THAT(row_named(dumps.dumps.rows(), name).at("Err_message"), HasSubstr("Failed to right-matmul golden tensor"));
  const Finished unknown = run("target_tensor_map: {swap.pt: [Torch.nothing.pt]}\n");
  EXPECT_EQ(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("Torch.nothing.pt is no tensor of "));
  EXPECT_EQ(run("target_tensor_map: {swap.pt: x}\n").exit_code, 2);
  EXPECT_EQ(run("other: {}\n").exit_code, 2);
}

TEST(DumpCompareTensors, FuzzyPairsOfOtherNamesSayWhatTheyAre) {
  const TemporaryDirectory scratch;
  const Finished run = run_tool(
      "dump_compare",
      {"-tp", compare_data("12_tensor_fuzzy/target/dump.json"), "-gp", compare_data("12_tensor_fuzzy/golden/dump.json"),
       "-o", (scratch.path() / "out").string(), "-fm", "-tensor_log"},
      scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const Row& row : rows_by_title(only_file(scratch.path() / "out", "compare_result_"))) {
    const bool unequal =
        row.at("NPU Name") != row.at("Bench Name") && row.at("NPU Name") != "N/A" && row.at("Bench Name") != "N/A";
    const bool told = row.at("Err_message").find("Fuzzy matching data") != std::string::npos;
    EXPECT_EQ(told, unequal) << row.at("NPU Name") << row.at("Bench Name");
    if (row.at("NPU Name") == "N/A") continue;
    EXPECT_THAT(run.out, HasSubstr("start compare: " + row.at("NPU Name") + "\n"));
    EXPECT_THAT(run.out, HasSubstr("[" + row.at("NPU Name") + "] Compare result: "));
  }
}

}  // namespace
}  // namespace msrun::testing
