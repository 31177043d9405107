// Results that differ and that graph may not mark as good, and sound ones that it may not mark as bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "tests/support/npy_file.h"
#include "tests/tools/graph_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

const Json null = nullptr;

struct Verdict {
  Json index;      // of .vis
  std::string db;  // of .vis.db
};

Verdict verdict_of(const GraphRun& run, const std::string& node) {
  return {run.vis()["NPU"]["node"][node]["data"]["precision_index"],
          node_row(run.file(".vis.db"), node).at("precision_index")};
}

TEST(GraphVerdicts, GradientsOfParametersAreJudged) {
  for (const double factor : {1.0, 1.2, 2.0}) {
    GraphRun run;
    for (const std::string side : {"npu", "bench"}) {
      GraphDump dump;
      dump.call("Module.fc.Linear.forward.0", null).call("Module.fc.Linear.backward.0", null);
      dump.data["Module.fc.Linear.parameters_grad"] = {{"weight", {graph_tensor(side == "npu" ? factor : 1)}}};
      dump.write(run.folder() / side);
    }
    EXPECT_EQ(run.run().exit_code, 0);
    const Verdict verdict = verdict_of(run, "Module.fc.Linear.parameters_grad");
    EXPECT_NEAR(verdict.index.get<double>(), factor - 1, 1e-9);
    EXPECT_EQ(verdict.db, factor == 1 ? "0" : factor < 2 ? "0.5" : "1");
  }
}

TEST(GraphVerdicts, ALayerMayBeCalledInput) {
  GraphRun run;
  for (const std::string side : {"npu", "bench"}) {
    GraphDump dump;
    dump.call("Module.input.Linear.forward.0", null, 1, side == "npu" ? 2 : 1);
    dump.write(run.folder() / side);
  }
  EXPECT_EQ(run.run().exit_code, 0);
  const Verdict verdict = verdict_of(run, "Module.input.Linear.forward.0");
  EXPECT_EQ(verdict.index, 1);
  EXPECT_EQ(verdict.db, "1");
}

// Both sides of a call whose output, a loss, has the shape and the value; without files where that is asked for.
GraphRun& with_loss(GraphRun& run, const std::vector<int>& shape, float mine, bool files) {
  const std::string call = "Functional.mse_loss.0.forward";
  for (const std::string side : {"npu", "bench"}) {
    const float value = side == "npu" ? mine : 5;
    GraphDump dump;
    dump.header["task"] = "tensor";
    dump.call(call, null, 1, value);
    dump.data[call]["output"][0] = graph_tensor(value, shape);
    if (files) {
      dump.data[call]["input_args"][0]["data_name"] = call + ".input.0.npy";
      dump.data[call]["output"][0]["data_name"] = call + ".output.0.npy";
    }
    dump.write(run.folder() / side);
    if (!files) continue;
    const fs::path folder = run.folder() / side / "dump_tensor_data";
    fs::create_directories(folder);
    const std::array<float, 4> ones{1, 2, 3, 4};
    const std::array<std::int64_t, 2> square{2, 2};
    write_npy(folder / (call + ".input.0.npy"),
              Tensor::from<float>(DType::float32, square, std::span<const float>(ones)));
    const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
    write_npy(folder / (call + ".output.0.npy"),
              Tensor::from<float>(DType::float32, sizes, std::span<const float>(&value, 1)));
  }
  return run;
}

TEST(GraphVerdicts, TensorsOfOneElementAreJudged) {
  for (const std::vector<int>& shape : {std::vector<int>{}, std::vector<int>{1}}) {
    GraphRun wrong;
    EXPECT_EQ(with_loss(wrong, shape, 10, true).run().exit_code, 0);
    EXPECT_EQ(verdict_of(wrong, "Functional.mse_loss.0.forward").index.get<double>(), 1);
    EXPECT_EQ(verdict_of(wrong, "Functional.mse_loss.0.forward").db, "1");
    GraphRun sound;
    EXPECT_EQ(with_loss(sound, shape, 5.000001F, true).run().exit_code, 0);
    EXPECT_EQ(verdict_of(sound, "Functional.mse_loss.0.forward").index, 0);
    EXPECT_EQ(verdict_of(sound, "Functional.mse_loss.0.forward").db, "0");
  }
}

// Version 1.2.1 has shares of elements of them; of tensors without an axis it has none.
TEST(GraphVerdicts, TensorsOfOneElementHaveSharesInTheOldVersion) {
  for (const float mine : {10.0F, 5.0F}) {
    GraphRun run;
    EXPECT_EQ(with_loss(run, {1}, mine, true).run({"--compat", "1.2.1"}).exit_code, 0);
    const Json node = run.vis()["NPU"]["node"]["Functional.mse_loss.0.forward"];
    const Json& output = node["output_data"].front();
    EXPECT_EQ(output["One Thousandth Err Ratio"], mine == 5 ? "1.0" : "0.0");
    EXPECT_EQ(output["Five Thousandths Err Ratio"], mine == 5 ? "1.0" : "0.0");
    EXPECT_EQ(output["Cosine"], "unsupported");
    EXPECT_EQ(node["data"]["precision_index"].get<double>(), mine == 5 ? 0 : 1);
    GraphRun scalar;
    EXPECT_EQ(with_loss(scalar, {}, mine, true).run({"--compat", "1.2.1"}).exit_code, 0);
    const Json loss = scalar.vis()["NPU"]["node"]["Functional.mse_loss.0.forward"]["output_data"].front();
    EXPECT_EQ(loss["One Thousandth Err Ratio"], "unsupported");
  }
}

// Both sides of one call with this output.
GraphRun& with_outputs(GraphRun& run, const std::string& call, const Json& mine, const Json& golden) {
  for (const auto& [side, output] : {std::pair("npu", mine), {"bench", golden}}) {
    GraphDump dump;
    dump.call(call, null);
    if (output.contains("md5")) dump.data[call]["input_args"][0]["md5"] = "0x01";
    dump.data[call]["output"][0] = output;
    dump.write(run.folder() / side);
  }
  EXPECT_EQ(run.run().exit_code, 0);
  return run;
}

TEST(GraphVerdicts, IntegersAreComparedWithAllTheirDigits) {
  const auto ids = [](const Json& max) {
    Json output = graph_tensor(0);
    output["dtype"] = "torch.int64";
    output["Max"] = max;
    output["Mean"] = output["Norm"] = nullptr;
    return output;
  };
  const auto verdict = [&](const std::string& call, const Json& mine, const Json& golden) {
    GraphRun run;
    return node_row(with_outputs(run, call, ids(mine), ids(golden)).file(".vis.db"), call).at("precision_index");
  };
  const std::string clone = "Tensor.clone.0.forward";
  EXPECT_EQ(verdict(clone, 9007199254740993, 9007199254740992), "1");
  EXPECT_EQ(verdict(clone, 18446744073709551615U, 18446744073709551614U), "1");
  EXPECT_EQ(verdict(clone, 1000001, 1000000), "1");
  EXPECT_EQ(verdict(clone, 9007199254740993, 9007199254740993), "0");
  EXPECT_EQ(verdict("Torch.unknown.0.forward", 9007199254740993, 9007199254740992), "1");
  // Which of two equal elements is named is free.
  EXPECT_EQ(verdict("Torch.argmax.0.forward", 5, 4), "0");
}

TEST(GraphVerdicts, ChecksumsThatAreNumbersCount) {
  const auto loss = [](const Json& sum) {
    Json output = graph_tensor(0, {});
    output["md5"] = sum;
    return output;
  };
  const std::string call = "Functional.mse_loss.0.forward";
  GraphRun wrong;
  const TableRow row = node_row(with_outputs(wrong, call, loss(2.75), loss(2.5)).file(".vis.db"), call);
  EXPECT_EQ(row.at("precision_index"), "1");
  EXPECT_THAT(row.at("output_data"), HasSubstr("error: The XOR checksum of NPU differs from that of the bench."));
  GraphRun sound;
  EXPECT_EQ(verdict_of(with_outputs(sound, call, loss(2.75), loss(2.75)), call).db, "0");
}

TEST(GraphVerdicts, TensorsWithoutFilesAreJudgedByTheirNorms) {
  GraphRun run;
  const Finished finished = with_loss(run, {2, 2}, 10, false).run();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("Nothing was compared"));
  EXPECT_EQ(verdict_of(run, "Functional.mse_loss.0.forward").index.get<double>(), 1);
  EXPECT_EQ(verdict_of(run, "Functional.mse_loss.0.forward").db, "1");
}

TEST(GraphVerdicts, TensorsWithoutAnyValuesAreAWarning) {
  GraphRun run;
  for (const std::string side : {"npu", "bench"}) {
    GraphDump dump;
    dump.call("Torch.fft.0.forward", null);
    for (const char* key : {"Max", "Min", "Mean", "Norm"}) dump.data["Torch.fft.0.forward"]["output"][0].erase(key);
    dump.write(run.folder() / side);
  }
  EXPECT_EQ(run.run().exit_code, 0);
  EXPECT_EQ(verdict_of(run, "Torch.fft.0.forward").db, "0.5");
}

TEST(GraphVerdicts, RoundingNoiseIsNoWarning) {
  GraphRun run;
  for (const std::string side : {"npu", "bench"}) {
    GraphDump dump;
    const bool npu = side == "npu";
    dump.call("Torch.exp.0.forward", null, npu ? 1 + 1e-9 : 1, npu ? 1 + 1e-7 : 1);
    dump.write(run.folder() / side);
  }
  EXPECT_EQ(run.run().exit_code, 0);
  EXPECT_EQ(verdict_of(run, "Torch.exp.0.forward").db, "0");
}

TEST(GraphVerdicts, NamesOfDevicesAgree) {
  GraphRun run;
  for (const std::string side : {"npu", "bench"}) {
    GraphDump dump;
    dump.call("Torch.zeros.0.forward", null);
    const std::string device = side == "npu" ? "npu:0" : "cuda:0";
    dump.data["Torch.zeros.0.forward"]["input_kwargs"]["device"] = {{"type", "torch.device"}, {"value", device}};
    dump.write(run.folder() / side);
  }
  EXPECT_EQ(run.run().exit_code, 0);
  EXPECT_EQ(verdict_of(run, "Torch.zeros.0.forward").db, "0");
}

Json not_finite(const std::string& what) {
  Json tensor = graph_tensor(1);
  for (const char* key : {"Max", "Min", "Mean", "Norm"}) tensor[key] = what;
  return tensor;
}

TEST(GraphVerdicts, OverflowsAreSeenInDictionaries) {
  GraphRun run;
  GraphDump dump;
  dump.call("Module.m.Model.forward.0", null);
  dump.data["Module.m.Model.forward.0"]["output"] = Json::array({{{"logits", not_finite("nan")}}});
  dump.write(run.folder() / "npu");
  EXPECT_THAT(run.run({"-oc"}).out, HasSubstr("first critical overflow in Module.m.Model.forward.0"));
}

TEST(GraphVerdicts, UnwrittenMemoryAndMasksAreNoOverflows) {
  GraphRun run;
  GraphDump dump;
  dump.call("Tensor.new_empty.0.forward", null)
      .call("Torch.full.0.forward", null)
      .call("Torch.softmax.0.forward", null);
  dump.data["Tensor.new_empty.0.forward"]["output"][0] = not_finite("nan");
  dump.data["Torch.full.0.forward"]["input_args"] = Json::array({{{"type", "float"}, {"value", "-inf"}}});
  dump.data["Torch.full.0.forward"]["output"][0] = not_finite("-inf");
  dump.data["Torch.softmax.0.forward"]["input_args"][0] = not_finite("-inf");
  dump.data["Torch.softmax.0.forward"]["output"][0] = not_finite("nan");
  dump.write(run.folder() / "npu");
  EXPECT_THAT(run.run({"-oc"}).out, HasSubstr("first critical overflow in Torch.softmax.0.forward"));
}

}  // namespace
}  // namespace msrun::testing
