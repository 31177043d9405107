// Faults that torchair_compare may not pass over, in small dumps made for it: results of another size beside golden
// values that count as zero, outputs that one side alone has, and types that a converted file does not tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/tools/torchair_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* graph_name = "dynamo_original_graph_0_rank_0_pid_1_ts_20260105000000000000.txt";
const fs::path ge_folder = rank0 / "20260105100000/0/graph_0/0/0";
const fs::path fx_folder = rank0 / "graph_0/0";

struct GraphOp {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // names of tensors of FX
};

class SmallDumps : public ::testing::Test {
 protected:
  static void write(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void write_graph(const fs::path& dump, const std::vector<GraphOp>& ops) const {
    std::string text = "name: \"g\"\n";
    for (const GraphOp& op : ops) {
      text += "op {\n  name: \"" + op.name + "\"\n  type: \"" + op.type + "\"\n";
      for (const std::string& input : op.inputs) text += "  input: \"" + input + "\"\n";
      for (const std::string& output : op.outputs) {
        text +=
            "  output_desc {\n    name: \"y\"\n    attr {\n      key: \"_fx_tensor_name\"\n      value {\n        s: "
            "\"" +
            output + "\"\n      }\n    }\n  }\n";
      }
      text += "}\n";
    }
    write(scratch_ / dump / graph_name, text);
  }
  void write_ge(const fs::path& dump, const std::string& op, const std::vector<std::vector<float>>& inputs,
                const std::vector<std::vector<float>>& outputs) const {
    const auto tensors = [](const std::vector<std::vector<float>>& all) {
      std::vector<DumpTensor> result;
      for (const std::vector<float>& values : all) {
        result.push_back({.shape = {values.size()}, .original_shape = {values.size()}, .data = bytes_of(values)});
      }
      return result;
    };
    write(scratch_ / dump / ge_folder / (op + ".1.1.1767607200000000"),
          ge_dump_bytes(tensors(inputs), tensors(outputs)));
  }
  void write_fx(const std::string& tensor, const std::vector<float>& values) const {
    write(scratch_ / "fx" / fx_folder / (tensor + ".20260105100000100000.npy"), npy_file(values));
  }
  Compared compared(const fs::path& mine, const fs::path& golden) const {
    return compare(scratch_ / mine, scratch_ / golden, scratch_);
  }
  static std::string result_of(const Compared& compared, const std::string& place) {
    const std::vector<std::size_t> rows = rows_of(compared.report, place);
    return rows.size() == 1 ? cell(compared.report, rows[0], "Result") : "no row " + compared.finished.err;
  }

  const TemporaryDirectory scratch_;
};

TEST_F(SmallDumps, ResultsMayNotBeOfAnotherSizeWhereGoldenCountsAsZero) {
  write_graph("ge", {{"Neg_1", "Neg", {"data:0"}, {"neg-aten.neg.default.OUTPUT.0"}}});
  const std::vector<float> golden{1e-8F, 2e-8F, 3e-8F, 4e-8F};
  write_fx("neg-aten.neg.default.INPUT.0", {1, 2, 3, 4});
  write_fx("neg-aten.neg.default.OUTPUT.0", golden);
  const auto result = [&](const std::vector<float>& mine) {
    write_ge("ge", "Neg.Neg_1", {{1, 2, 3, 4}}, {mine});
    return result_of(compared("ge", "fx"), ",outputs,0");
  };
  EXPECT_EQ(result({1, 2, 3, 4}), "FAIL");
  EXPECT_EQ(result({2e-8F, 4e-8F, 6e-8F, 8e-8F}), "FAIL");
  EXPECT_EQ(result({1.0001e-8F, 2e-8F, 3e-8F, 4e-8F}), "PASS");
  EXPECT_EQ(result(golden), "PASS");
}

TEST_F(SmallDumps, OutputsThatTheOperatorLacksAreToldOf) {
  write_graph("ge", {{"Split_1", "Split", {"data:0"}, {"s-aten.OUTPUT.0", "s-aten.OUTPUT.1"}}});
  write_ge("ge", "Split.Split_1", {{1, 2, 3, 4}}, {{1, 2}});
  write_fx("s-aten.INPUT.0", {1, 2, 3, 4});
  write_fx("s-aten.OUTPUT.0", {1, 2});
  write_fx("s-aten.OUTPUT.1", {3, 4});
  EXPECT_THAT(compared("ge", "fx").finished.err,
              HasSubstr("Of the tensors of Split_1, token_id 0, 1 are in the golden dump alone"));
  write_ge("ge", "Split.Split_1", {{1, 2, 3, 4}}, {{1, 2}, {3, 4}});
  EXPECT_THAT(compared("ge", "fx").finished.err, Not(HasSubstr("alone")));
}

TEST_F(SmallDumps, FurtherOutputsOfAFusedOperatorAreToldOf) {
  for (const char* dump : {"on", "off"}) {
    write_graph(dump, {{"Mul_1", "Mul", {"x:0", "y:0"}, {"m-a.OUTPUT.0"}},
                       {"Add_2", "Add", {"Mul_1:0", "z:0"}, {"a-a.OUTPUT.0"}}});
  }
  write_ge("off", "Mul.Mul_1", {{1, 2}, {3, 4}}, {{3, 8}});
  write_ge("off", "Add.Add_2", {{3, 8}, {5, 6}}, {{8, 14}});
  write_ge("on", "AutomaticBufferFusionOp.Mul_1Add_2", {{1, 2}, {3, 4}, {5, 6}}, {{8, 14}, {777, 777}});
  EXPECT_THAT(compared("on", "off").finished.err,
              HasSubstr("Of the tensors of Mul_1Add_2, token_id 0, 1 are in the dump to compare alone"));
}

// The converter writes the extremes of all inputs of an operator in one type.
TEST_F(SmallDumps, ConvertedTensorsOfInt8AreComparedWithThoseOfASharedType) {
  write_graph("ge", {{"Q_1", "Quant", {"data:0", "s:0"}, {"q-aten.OUTPUT.0"}}});
  const DumpTensor small{.data_type = 3, .shape = {4}, .original_shape = {4}, .data = std::string("\1\2\3\4", 4)};
  const DumpTensor wide{.shape = {2}, .original_shape = {2}, .data = bytes_of(std::vector<float>{1, 2})};
  write(scratch_ / "ge" / ge_folder / "Quant.Q_1.1.1.1767607200000000", ge_dump_bytes({small, wide}, {wide}));
  std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (4,), }";
  header.resize(117, ' ');
  write(scratch_ / "fx" / fx_folder / "q-aten.INPUT.0.20260105100000100000.npy",
        std::string("\x93NUMPY\x01\0\x76\0", 10) + header + "\n\1\2\3\4");
  write_fx("q-aten.INPUT.1", {1, 2});
  write_fx("q-aten.OUTPUT.0", {1, 2});
  for (const char* dump : {"ge", "fx"}) ASSERT_EQ(convert_once(scratch_ / dump, scratch_.path()).exit_code, 0);
  const Compared result = compared("ge", "fx");
  for (const char* place : {",inputs,0", ",inputs,1", ",outputs,0"}) EXPECT_EQ(result_of(result, place), "PASS");
}

}  // namespace
}  // namespace msrun::testing
