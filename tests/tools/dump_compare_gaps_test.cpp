// What the table of compare says of results that have the norm of the golden ones, or none, of inputs, of values
// without calls, and of what differs between sound runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <fstream>
#include <span>

#include "tests/support/npy_file.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const Json plain = recorded_tensor(1.5, -1, 0.25, 2);

Json times(Json tensor, double factor) {
  for (const char* key : {"Max", "Min", "Mean", "Norm"}) tensor[key] = tensor[key].get<double>() * factor;
  return tensor;
}

// The row of that name when target and golden hold these data.
Row judged(const Json& target, const Json& golden, const std::string& name, const Json& more = Json::object()) {
  ComparedDumps dumps;
  dumps.write("target", target, more);
  dumps.write("golden", golden, more);
  EXPECT_EQ(dumps.run().exit_code, 0);
  return row_named(dumps.rows(), name);
}

TEST(DumpCompareGaps, AnOutputOfTheOtherSignIsAnError) {
  const auto dump = [](const Json& output) { return Json{{"Torch.foo.0.forward", recorded_call({plain}, {output})}}; };
  const Row row = judged(dump(recorded_tensor(1, -3, -0.5, 4)), dump(recorded_tensor(3, -1, 0.5, 4)),
                         "Torch.foo.0.forward.output.0");
  EXPECT_EQ(row.at("Result"), "error");
  EXPECT_THAT(row.at("Err_message"), HasSubstr("although the inputs agree"));
}

// What item() or size() gives is no tensor and has no statistics but itself.
TEST(DumpCompareGaps, NumbersThatACallGivesAreJudged) {
  const auto result = [](const Json& mine, const Json& theirs, double factor = 1) {
    const auto dump = [](const Json& value, double of_input) {
      const Json number{{"type", value.is_number_float() ? "float" : "int"}, {"value", value}};
      return Json{{"Tensor.foo.0.forward", recorded_call({times(plain, of_input)}, {number})}};
    };
    return judged(dump(mine, factor), dump(theirs, 1), "Tensor.foo.0.forward.output.0").at("Result");
  };
  EXPECT_EQ(result(3, 4), "error");
  EXPECT_EQ(result(std::int64_t{1} << 62, (std::int64_t{1} << 62) + 1), "error");
  EXPECT_EQ(result(1.5, 1.6), "error");
  EXPECT_EQ(result(3, 3), "pass");
  EXPECT_EQ(result(1.5, 1.5000001), "pass");
  EXPECT_EQ(result(1.5, 1.515, 1.01), "pass") << "the inputs bring it";
}

// The norm of a gradient is that of its opposite.
TEST(DumpCompareGaps, AGradientOfAParameterKeepsItsSign) {
  const auto result = [](const Json& mine) {
    const auto dump = [](const Json& weight) {
      return Json{{"Module.fc.Linear.parameters_grad.0", {{"weight", {weight}}}}};
    };
    return judged(dump(mine), dump(recorded_tensor(3, -1, 0.5, 4)), "Module.fc.Linear.parameters_grad.0.weight")
        .at("Result");
  };
  EXPECT_EQ(result(recorded_tensor(1, -3, -0.5, 4)), "warning");
  EXPECT_EQ(result(recorded_tensor(-1, -3, -2, 4)), "error");
  EXPECT_EQ(result(recorded_tensor(2.6, -1.2, 0.45, 4.1)), "pass");
}

TEST(DumpCompareGaps, AnOutputIsNotAccusedOfWhatItsInputsBring) {
  const auto dump = [](double factor) {
    return Json{{"Torch.foo.0.forward", recorded_call({times(plain, factor)}, {times(plain, factor)})}};
  };
  EXPECT_EQ(judged(dump(1.01), dump(1), "Torch.foo.0.forward.output.0").at("Result"), "pass");
}

TEST(DumpCompareGaps, ExtremesWithoutANormAreJudged) {
  const auto dump = [](double size) {
    Json output = recorded_tensor(size, -size, 0, 0);
    output.erase("Norm");
    output.erase("Mean");
    return Json{{"Torch.exp.0.forward", recorded_call({plain}, {output})}};
  };
  EXPECT_EQ(judged(dump(300), dump(3), "Torch.exp.0.forward.output.0").at("Result"), "error");
}

TEST(DumpCompareGaps, RandomCallsAreNotHeldToTheGap) {
  const auto dump = [](double mean) {
    Json call = recorded_call({plain, plain, plain}, {recorded_tensor(3, -2, mean, 4)});
    call["input_kwargs"]["dropout_p"] = {{"type", "float"}, {"value", 0.1}};
    return Json{{"Functional.scaled_dot_product_attention.0.forward", call}};
  };
  const std::string name = "Functional.scaled_dot_product_attention.0.forward.output.0";
  EXPECT_EQ(judged(dump(0.5), dump(0.1), name).at("Result"), "pass");
}

TEST(DumpCompareGaps, ATensorWithoutAnyValuesIsAWarning) {
  Json empty{{"type", "torch.Tensor"}, {"dtype", "torch.complex64"}, {"shape", {2, 2}}};
  const Json data{{"Torch.fft.0.forward", recorded_call({plain}, {empty})}};
  const Row row = judged(data, data, "Torch.fft.0.forward.output.0");
  EXPECT_EQ(row.at("Result"), "warning");
  EXPECT_THAT(row.at("Err_message"), HasSubstr("Neither NPU nor bench has values"));
  empty["shape"] = {0, 2};
  const Json none{{"Torch.fft.0.forward", recorded_call({plain}, {empty})}};
  EXPECT_EQ(judged(none, none, "Torch.fft.0.forward.output.0").at("Result"), "pass");
}

TEST(DumpCompareGaps, InputsThatDifferAreCountedAndTheFirstIsNamed) {
  ComparedDumps dumps;
  const auto dump = [](double factor) {
    return Json{{"Torch.relu.0.forward", recorded_call({times(plain, factor)}, {times(plain, factor)})},
                {"Torch.exp.0.forward", recorded_call({times(plain, factor)}, {times(plain, factor)})}};
  };
  dumps.write("target", dump(2));
  dumps.write("golden", dump(1));
  const Finished run = dumps.run({"--fail-on", "warning"});
  EXPECT_THAT(run.out, HasSubstr("2 rows, the first Torch.relu.0.forward.input.0"));
  EXPECT_EQ(run.exit_code, 1);
  dumps.write("target", dump(1));
  const Finished equal = dumps.run({"--fail-on", "warning"});
  EXPECT_THAT(equal.out, Not(HasSubstr("Inputs")));
  EXPECT_EQ(equal.exit_code, 0);
}

TEST(DumpCompareGaps, TheValuesOfDebugJsonAreJudged) {
  const TemporaryDirectory scratch;
  const auto write = [&](const std::string& side, double factor) {
    fs::create_directories(scratch / side);
    Json dump{{"task", "statistics"}, {"level", "debug"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}};
    dump["data"] = {{"x.0.debug", times(plain, factor)},
                    {"loss.empty.0.debug", {{"out", times(plain, factor)}}},
                    {"step.0.debug", {{"type", "int"}, {"value", factor == 1 ? 1 : 7}}}};
    std::ofstream(scratch / side / "debug.json") << dump.dump();
  };
  write("target", 2);
  write("golden", 1);
  const Finished run = run_tool("dump_compare",
                                {"-tp", (scratch / "target/debug.json").string(), "-gp",
                                 (scratch / "golden/debug.json").string(), "-o", (scratch / "out").string()},
                                scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("3 rows: 3 error"));
}

TEST(DumpCompareGaps, NamesOfDevicesAgree) {
  const auto dump = [](const std::string& device, bool md5) {
    Json call = recorded_call({plain}, {plain});
    if (md5) call["output"][0]["md5"] = call["input_args"][0]["md5"] = "11111111";
    call["input_kwargs"]["device"] = {{"type", "torch.device"}, {"value", device}};
    call["input_kwargs"]["mode"] = {{"type", "str"}, {"value", device}};
    return Json{{"Torch.zeros.0.forward", call}};
  };
  for (const bool md5 : {false, true}) {
    for (const char* leaf : {"device", "mode"}) {
      const std::string name = std::string("Torch.zeros.0.forward.input.") + leaf;
      EXPECT_EQ(judged(dump("npu:0", md5), dump("cuda:0", md5), name).at("Result"), "pass") << md5;
      EXPECT_EQ(judged(dump("npu:0", md5), dump("replicate", md5), name).at("Result"), "error") << md5;
    }
  }
}

// A device that differs is no input that differs, which would excuse the outputs.
TEST(DumpCompareGaps, NamesOfDevicesDoNotExcuseOutputs) {
  const auto dump = [](const std::string& device, double factor) {
    Json call = recorded_call({plain}, {times(plain, factor)});
    call["input_kwargs"]["device"] = {{"type", "torch.device"}, {"value", device}};
    return Json{{"Torch.foo.0.forward", call}};
  };
  EXPECT_THAT(judged(dump("npu:0", 2), dump("cuda:0", 1), "Torch.foo.0.forward.output.0").at("Err_message"),
              HasSubstr("The NormRelativeErr of output is greater than 0.5."));
}

TEST(DumpCompareGaps, StructuresClaimNothingOfStatistics) {
  const Json tensor{{"type", "torch.Tensor"}, {"dtype", "torch.float32"}, {"shape", {2, 2}}};
  const Json data{{"Torch.exp.0.forward", recorded_call({tensor}, {tensor})}};
  const Row row = judged(data, data, "Torch.exp.0.forward.output.0", {{"task", "structure"}});
  EXPECT_EQ(row.at("Result"), "pass");
  for (const char* title : {"Max diff", "L2norm diff", "MaxRelativeErr", "NormRelativeErr"}) {
    EXPECT_EQ(row.at(title), "N/A") << title;
  }
}

// Two recordings of one tensor with its file.
struct TensorDumps {
  ComparedDumps dumps;

  template <class T>
  void write(const std::string& side, const std::string& call, DType stored, const std::string& dtype,
             const std::vector<T>& values) {
    const std::string name = call + (call.ends_with("parameters_grad") ? ".weight" : ".output.0");
    Json leaf = recorded_tensor(4, 1, 2, 5, {static_cast<int>(values.size())}, dtype);
    leaf["data_name"] = name + ".npy";
    const Json data{{call, name.ends_with("weight") ? Json{{"weight", {leaf}}} : recorded_call({}, {leaf})}};
    dumps.write(side, data, {{"task", "tensor"}});
    fs::create_directories(dumps.folder() / side / "dump_tensor_data");
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    write_npy(dumps.folder() / side / "dump_tensor_data" / (name + ".npy"),
              Tensor::from<T>(stored, shape, std::span<const T>(values)));
  }
  Row row() {
    EXPECT_EQ(dumps.run().exit_code, 0);
    return dumps.rows().front();
  }
};

TEST(DumpCompareGaps, IntegersBeyondDoublePrecisionAreToldApart) {
  const auto judged_integers = [](const std::vector<std::int64_t>& mine, const std::vector<std::int64_t>& golden) {
    TensorDumps files;
    files.write("target", "Torch.hash.0.forward", DType::int64, "torch.int64", mine);
    files.write("golden", "Torch.hash.0.forward", DType::int64, "torch.int64", golden);
    return files.row();
  };
  constexpr std::int64_t large = std::int64_t{1} << 60;
  const Row row = judged_integers({large + 1, large, 7}, {large, large, 7});
  EXPECT_EQ(row.at("MaxAbsErr"), "0.0");
  EXPECT_EQ(row.at("Result"), "error");
  EXPECT_THAT(row.at("Err_message"), HasSubstr("Whole numbers that differ by less than the metrics show: 1 elements."));
  EXPECT_EQ(judged_integers({large + 1}, {large}).at("Result"), "error");
  EXPECT_EQ(judged_integers({large + 1, large, 7}, {large + 1, large, 7}).at("Result"), "pass");
}

TEST(DumpCompareGaps, IntegersOfStatisticsAreComparedWithAllTheirDigits) {
  const auto dump = [](const Json& max) {
    Json output = plain;
    output["dtype"] = "torch.uint64";
    output["Max"] = max;
    output["Min"] = 0;
    output["Mean"] = output["Norm"] = nullptr;
    return Json{{"Torch.clone.0.forward", recorded_call({plain}, {output})},
                {"Torch.clone.1.forward", recorded_call({output}, {output})}};
  };
  const std::string name = "Torch.clone.0.forward.output.0";
  for (const auto& [mine, golden] : {std::pair<Json, Json>(9007199254740993, 9007199254740992),
                                     {18446744073709551615U, 18446744073709551614U},
                                     {1000001, 1000000}}) {
    const Row row = judged(dump(mine), dump(golden), name);
    EXPECT_EQ(row.at("Result"), "error") << mine;
    EXPECT_EQ(row.at("Max diff"), "1.0") << mine;
    EXPECT_THAT(row.at("Err_message"), HasSubstr("has other whole numbers, although the inputs are equal")) << mine;
    EXPECT_EQ(judged(dump(mine), dump(mine), name).at("Result"), "pass") << mine;
  }
  ComparedDumps dumps;
  dumps.write("target", dump(9007199254740993));
  dumps.write("golden", dump(9007199254740992));
  EXPECT_THAT(dumps.run().out, HasSubstr("(a warning): 1 row, the first Torch.clone.1.forward.input.0."));
}

TEST(DumpCompareGaps, OutputsOfEqualInputsHaveRoomForRoundingAlone) {
  const auto result = [](const std::string& call, double factor, const std::string& dtype = "torch.float32") {
    const auto dump = [&](double by) {
      Json output = times(plain, by);
      output["dtype"] = dtype;
      Json input = plain;
      input["dtype"] = dtype;
      return Json{{call, recorded_call({input}, {output})}};
    };
    return judged(dump(factor), dump(1), call + ".output.0").at("Result");
  };
  EXPECT_EQ(result("Functional.softmax.0.forward", 1.000001), "pass");
  EXPECT_EQ(result("Functional.softmax.0.forward", 1.0002), "error");
  EXPECT_EQ(result("Functional.softmax.0.forward", 1.004, "torch.bfloat16"), "pass");
  EXPECT_EQ(result("Functional.softmax.0.forward", 1.03, "torch.bfloat16"), "error");
  EXPECT_EQ(result("Functional.softmax.0.forward", 1.004, "torch.float16"), "error");
  // Devices round the operands of products, and nobody knows what an unknown call does.
  EXPECT_EQ(result("Torch.matmul.0.forward", 1.0005), "pass");
  EXPECT_EQ(result("Torch.unknown.0.forward", 1.0005), "pass");
}

TEST(DumpCompareGaps, GradientsOfBfloat16MayDifferByTheirLastBit) {
  // Numbers of bfloat16, as recorders store them in float32.
  const auto moved = [](int steps, const std::string& dtype) {
    std::vector<float> golden;
    std::vector<float> mine;
    for (int i = 0; i < 100; ++i) {
      const auto bits = static_cast<std::uint32_t>(0x3F80 + i) << 16;
      golden.push_back(std::bit_cast<float>(bits));
      mine.push_back(i % 10 < 6 ? std::bit_cast<float>(bits + (static_cast<std::uint32_t>(steps) << 16))
                                : golden.back());
    }
    TensorDumps files;
    files.write("target", "Module.fc.Linear.parameters_grad", DType::float32, dtype, mine);
    files.write("golden", "Module.fc.Linear.parameters_grad", DType::float32, dtype, golden);
    return files.row().at("Result");
  };
  EXPECT_EQ(moved(1, "torch.bfloat16"), "pass");
  EXPECT_EQ(moved(1, "torch.float32"), "error");
  EXPECT_EQ(moved(40, "torch.bfloat16"), "error");
}

}  // namespace
}  // namespace msrun::testing
