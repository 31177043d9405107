// Options of dump_compare that do not apply, files that ask for more memory than their recording, and numbers and texts
// that must come out as they were recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

#include "kernels/io/files/file.h"
#include "kernels/io/files/zip.h"
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
const Json exp_call{{"Torch.exp.0.forward", recorded_call({ones}, {twos})}};

TEST(DumpCompareOptions, ThatMsprobesSearchOfRanksHasNotAreRefused) {
  ComparedDumps dumps;
  for (const char* side : {"t/rank0", "g/rank0"}) dumps.write(side, exp_call);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"-tp",    dumps.folder() / "t",   "-gp", dumps.folder() / "g",
                                   "-o",     dumps.folder() / "out", "-da", "--compat",
                                   "msprobe"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool("dump_compare", words, dumps.folder());
  };
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--fail-on", "error"}, {"--html"}, {"--xlsx"}, {"--tolerance", "2"}}) {
    const Finished refused = run(more);
    EXPECT_EQ(refused.exit_code, 2) << more.front();
    EXPECT_THAT(refused.err, HasSubstr(more.front() + " does not go with --diff_analyze and --compat msprobe"));
    EXPECT_FALSE(fs::exists(dumps.folder() / "out")) << more.front();
  }
  EXPECT_EQ(run({}).exit_code, 0);
}

TEST(DumpCompareOptions, OfAFileAreReadStrictly) {
  ComparedDumps dumps;
  for (const char* side : {"t", "g"}) dumps.write(side, exp_call);
  const std::string file = dumps.folder() / "compare.json";
  const auto run = [&] { return run_tool("dump_compare", {"-i", file, "-o", dumps.folder() / "out"}, dumps.folder()); };
  const auto expect_refused = [&](const std::string& why) {
    const Finished refused = run();
    EXPECT_EQ(refused.exit_code, 2) << why;
    EXPECT_THAT(refused.err, HasSubstr(why));
    EXPECT_FALSE(fs::exists(dumps.folder() / "out")) << why;
  };
  expect_refused("does not exist");
  fs::create_directory(file);
  expect_refused("should be a file!");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  expect_refused("should be a file!");
  fs::remove(file);
  const Json paths{{"npu_path", dumps.folder() / "t/dump.json"}, {"bench_path", dumps.folder() / "g/dump.json"}};
  const auto with = [&](const char* key, const Json& value) {
    Json object = paths;
    object[key] = value;
    write_file(file, object.dump());
  };
  write_file(file, "[]");
  expect_refused("is no JSON object");
  with("bench_path", nullptr);
  expect_refused("needs npu_path and bench_path");
  with("npu_path", 5);
  expect_refused("npu_path is no text");
  with("is_print_compare_log", "false");
  expect_refused("is_print_compare_log is neither true nor false");
  with("stck_path", "s.json");
  expect_refused("the key stck_path is not known, did you mean stack_path?");
  with("rank_id", 0);
  const Finished finished = run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("the key rank_id of the comparison file is not known and ignored"));
}

TEST(DumpCompareOptions, WithoutEffectAreTold) {
  ComparedDumps dumps;
  for (const char* side : {"target", "golden"}) dumps.write(side, exp_call);
  const Finished alone = dumps.run({"--tolerance", "2", "-tensor_log"});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_THAT(alone.err, AllOf(HasSubstr("--tolerance has no effect without --first-divergence"),
                               HasSubstr("-tensor_log has no effect on recordings without tensors.")));
  EXPECT_THAT(dumps.run({"--tolerance", "2", "--first-divergence"}).err, Not(HasSubstr("has no effect")));
}

TEST(DumpCompareOptions, ALayerMappingNeedsLayers) {
  ComparedDumps dumps;
  const std::string mapping = dumps.folder() / "map.yaml";
  write_file(mapping, "TopLayer:\n  fc: linear\n");
  const auto put = [&](const std::string& side, const char* name, const std::string& text) {
    write_file(dumps.folder() / side / name, text);
  };
  for (const char* side : {"target", "golden"}) {
    dumps.write(side, exp_call);
    put(side, "stack.json", R"({"Torch.exp.0.forward": ["File a.py, line 1, in forward, \n x"]})");
    put(side, "construct.json", R"({"Torch.exp.0.forward": null})");
  }
  EXPECT_EQ(dumps.run({"-lm", mapping}).exit_code, 0);
  put("golden", "construct.json", "{}");
  const Finished empty = dumps.run({"-lm", mapping});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err,
              HasSubstr("A layer mapping cannot be applied to " + (dumps.folder() / "golden/dump.json").string() +
                        ": beside it construct.json is empty"));
  fs::remove(dumps.folder() / "target" / "stack.json");
  const Finished missing = dumps.run({"-lm", mapping});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("beside it stack.json is missing"));
  EXPECT_EQ(dumps.run({"-lm", mapping, "--compat", "msprobe"}).exit_code, 0);
}

TEST(DumpCompareRepairs, B31AFolderOfAModeThatFailedDoesNotStopTheOthers) {
  ComparedDumps dumps;
  for (const char* side : {"t", "g"}) {
    for (const char* below : {"/graph/0", "/graph/1", "/pynative/0"}) dumps.write(std::string(side) + below, exp_call);
  }
  write_file(dumps.folder() / "t/graph/0/dump.json", "{");
  fs::remove(dumps.folder() / "g/pynative/0/dump.json");
  const Finished run =
      run_tool("dump_compare", {"-tp", dumps.folder() / "t", "-gp", dumps.folder() / "g", "-o", dumps.folder() / "out"},
               dumps.folder());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("graph/0: "), HasSubstr("pynative/0: ")));
  EXPECT_THAT(run.out, HasSubstr("graph/1: 2 rows: 0 error, 0 warning, 2 pass"));
  EXPECT_NE(only_file(dumps.folder() / "out/graph/1", "compare_result_"), fs::path());
}

// A .pt file of one number that stands for so many.
void write_repeated(const fs::path& path, std::int64_t elements, float value) {
  std::string count = "\x8A\x08";
  for (int i = 0; i < 8; ++i) count += static_cast<char>((elements >> (8 * i)) & 0xFF);
  const auto text = [](const std::string& word) {
    return "X" + std::string(1, static_cast<char>(word.size())) + std::string(3, '\0') + word;
  };
  const std::string pickle = std::string("\x80\x02") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
                             "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x01tQ" + std::string("K\0", 2) +
                             "(" + count + "t(" + std::string("K\0", 2) + "t\x89" + "ccollections\nOrderedDict\n)RtR.";
  OutputFile file(path.string());
  ZipWriter archive(file);
  archive.add("a/data.pkl", std::as_bytes(std::span(pickle)));
  archive.add("a/data/0", std::as_bytes(std::span(&value, 1)));
  archive.finish();
  file.close();
}

TEST(DumpCompareTensors, ThatRepeatTheirElementsTakeNoMoreMemoryThanTheirFiles) {
  ComparedDumps dumps;
  const auto write = [&](int elements) {
    Json leaf = recorded_tensor(3, 3, 3, 3, {elements});
    leaf["data_name"] = "Torch.exp.0.forward.output.0.pt";
    for (const char* side : {"target", "golden"}) {
      dumps.write(side, {{"Torch.exp.0.forward", recorded_call({}, {leaf})}}, {{"task", "tensor"}});
      fs::create_directories(dumps.folder() / side / "dump_tensor_data");
    }
  };
  const auto file = [&](const std::string& side) {
    return dumps.folder() / side / "dump_tensor_data" / "Torch.exp.0.forward.output.0.pt";
  };
  // Some more than a block.
  constexpr int elements = 40'000;
  write(elements);
  write_repeated(file("target"), elements, 3);
  const std::array<std::int64_t, 1> shape{elements};
  std::vector<float> values(elements, 3);
  values.back() = 5;
  write_pt(file("golden").string(), Tensor::from<float>(DType::float32, shape, values));
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(dumps.rows().front().at("MaxAbsErr"), "2.0");
  // Nobody could wait for the second, nor hold it, whatever the dump says.
  write(4);
  for (const auto& [count, reason] : {std::pair(100'000'000L, "repeating its own, the dump says 4."),
                                      {10'000'000'000L, "of those no more than 1024 MiB are read."}}) {
    write_repeated(file("target"), count, 3);
    const Finished refused = dumps.run();
    EXPECT_THAT(refused.err, HasSubstr("describes " + std::to_string(count) + " elements by repeating "));
    EXPECT_THAT(refused.err, HasSubstr(reason));
    EXPECT_EQ(dumps.rows().front().at("Result"), "error");
    EXPECT_EQ(dumps.rows().front().at("MaxAbsErr"), "unsupported");
  }
}

TEST(DumpCompareNumbers, IntegersOfAnySizeStayIntegers) {
  ComparedDumps dumps;
  const auto write = [&](const std::string& side, const std::string& digits) {
    dumps.write(side, {{"Torch.add.0.forward", recorded_call({Json{{"type", "int"}, {"value", "DIGITS"}}},
                                                             {Json{{"type", "int"}, {"value", 1}}})}});
    std::string text = read_file(dumps.folder() / side / "dump.json");
    text.replace(text.find("\"DIGITS\""), 8, digits);
    write_file(dumps.folder() / side / "dump.json", text);
  };
  // Both are the same double.
  write("target", "18446744073709551616");
  write("golden", "18446744073709551617");
  ASSERT_EQ(dumps.run().exit_code, 0);
  const Row row = row_named(dumps.rows(), "Torch.add.0.forward.input.0");
  EXPECT_EQ(row.at("NPU Dtype"), "<class 'int'>");
  EXPECT_EQ(row.at("NPU max"), "18446744073709551616");
  EXPECT_EQ(row.at("Bench max"), "18446744073709551617");
  EXPECT_EQ(row.at("Result"), "error") << row.at("Err_message");
  write("golden", "18446744073709551616");
  ASSERT_EQ(dumps.run().exit_code, 0);
  EXPECT_EQ(row_named(dumps.rows(), "Torch.add.0.forward.input.0").at("Result"), "pass");
}

TEST(DumpCompareTable, MessagesAreJsonWhateverTheyName) {
  ComparedDumps dumps;
  Json leaf = twos;
  leaf["data_name"] = "a\tb\x01\"c.pt";
  for (const char* side : {"target", "golden"}) {
    dumps.write(side, {{"Torch.exp.0.forward", recorded_call({}, {leaf})}}, {{"task", "tensor"}});
  }
  ASSERT_NE(dumps.run().exit_code, 2);
  const std::string cell = dumps.rows().front().at("Err_message");
  const Json messages = Json::parse(cell, nullptr, false);
  ASSERT_TRUE(messages.is_array()) << cell;
  EXPECT_THAT(messages.front().get<std::string>(), HasSubstr("a\tb"));
}

}  // namespace
}  // namespace msrun::testing
