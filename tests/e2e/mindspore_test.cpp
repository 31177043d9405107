// acc_check and multi_acc_check of MindSpore dumps: what a user sees beside the golden files.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/io/numpy/npy.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string parse_failed =
    "[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: ";

std::string fixture(const std::string& name) { return test_data("/mindspore/" + name + "/dump.json"); }

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& range) {
  return R"({"type":"mindspore.Tensor","dtype":")" + dtype + R"(","shape":)" + shape + range + "}";
}
const std::string unit_range = R"(,"Max":1.0,"Min":-1.0)";
std::string floats(const std::string& shape) { return tensor("Float32", shape, unit_range); }

std::string forward(const std::string& args, const std::string& kwargs = "{}") {
  return R"({"input_args":[)" + args + R"(],"input_kwargs":)" + kwargs + R"(,"output":[]})";
}
std::string backward(const std::string& gradients) { return R"({"input":[)" + gradients + R"(],"output":[]})"; }

std::string mindspore_dump_text(const std::string& data) {
  return R"({"task":"statistics","level":"L1","framework":"mindspore","dump_data_dir":null,"data":{)" + data + "}}";
}

class MindSporeRun : public Untouched {
 protected:
  // Runs acc_check and returns its result file without the header, cells joined by '|'.
  std::vector<std::string> results(const std::string& dump_path, const std::vector<std::string>& more = {}) {
    return rows_of("result", dump_path, more);
  }
  std::vector<std::string> details(const std::string& dump_path, const std::vector<std::string>& more = {}) {
    return rows_of("details", dump_path, more);
  }
  std::vector<std::string> results_of(const std::string& data, const std::vector<std::string>& more = {}) {
    return results(write_dump(mindspore_dump_text(data)), more);
  }

  Finished run(const std::vector<std::string>& words) { return msrun(words, scratch_.path()); }

  static std::vector<std::string> lines(const fs::path& csv) {
    const Rows rows = read_csv(csv);
    std::vector<std::string> result;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      std::string line;
      for (std::size_t cell = 0; cell < rows[i].size(); ++cell) line += (cell > 0 ? "|" : "") + rows[i][cell];
      result.push_back(line);
    }
    return result;
  }

  json finished_event(const std::string& dump_path, const std::vector<std::string>& more) {
    std::vector<std::string> words{"-api_info", dump_path, "-o", next_out(), "-n", "2", "--message-format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::istringstream events(finished.out);
    json last;
    for (std::string line; std::getline(events, line);) last = json::parse(line);
    return last;
  }

  fs::path next_out() { return scratch_ / ("out" + std::to_string(++runs_)); }

 private:
  std::vector<std::string> rows_of(const std::string& kind, const std::string& dump_path,
                                   const std::vector<std::string>& more) {
    const fs::path folder = next_out();
    std::vector<std::string> words{"acc_check", "-api_info", dump_path, "-o", folder};
    words.insert(words.end(), more.begin(), more.end());
    last_ = run(words);
    return lines(only_file(folder, "accuracy_checking_" + kind + "_"));
  }

 protected:
  Finished last_;
  int runs_ = 0;
};

TEST_F(MindSporeRun, HasTheDocumentedLimitByDefault) {
  const auto rows = details(fixture("08_flash_attention"));
  ASSERT_EQ(rows.size(), 2U);
  for (const std::string& row : rows) {
    EXPECT_THAT(row, HasSubstr("|Float64|Float16|(2, 8, 32)|"));
    EXPECT_THAT(row, HasSubstr("|error|max absolute difference is greater than threshold: 0.0001 "));
  }
  EXPECT_THAT(details(fixture("08_flash_attention"), {"--max-abs-err", "0.001"})[0], HasSubstr("|pass|"));
  EXPECT_THAT(run({"acc_check", "-api_info", fixture("01_quick_start_where"), "--max-abs-err", "0"}).err,
              HasSubstr("must be a number above 0"));
}

TEST_F(MindSporeRun, TestsRecordedTensorsUnlessAnotherBackendIsChosen) {
  EXPECT_THAT(details(fixture("10_real_data"))[1], HasSubstr("|0.05000000074505806|"));
  EXPECT_THAT(last_.out, HasSubstr("Device under test: recorded"));
  const auto rows = results(fixture("10_real_data"), {"--backend", "sim"});
  EXPECT_THAT(rows, ElementsAre("Mint.add.0|pass||", "MintFunctional.relu.0|pass|pass|", "Mint.abs.0|pass||",
                                "Mint.neg.0|pass||", "Mint.sum.0|pass||", "Mint.mul.0|pass||", "Mint.where.0|pass||",
                                "Mint.exp.0|SKIP||[msprobe] 非法文件路径： ",
                                "Mint.cos.0|SKIP||" + parse_failed + "data_name field in api_info.json is missing"));
}

TEST_F(MindSporeRun, TakesTheSpellingsOfTheToolInUse) {
  const std::string where = fixture("01_quick_start_where");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-f", "mindspore", "acc_check"},
                                                {"-f", "mindspore", "run_ut"},
                                                {"-f", "ms", "multi_run_ut"}}) {
    std::vector<std::string> all = words;
    const fs::path folder = next_out();
    all.insert(all.end(), {"-api_info", where, "-o", folder});
    EXPECT_EQ(run(all).exit_code, 0);
    EXPECT_THAT(lines(only_file(folder, "accuracy_checking_result_")), ElementsAre("Mint.where.0|pass||"));
  }
  EXPECT_THAT(results(fixture("09_no_framework_field")), ElementsAre("MintFunctional.relu.0|pass||"));
  EXPECT_THAT(last_.out, HasSubstr("JSON parsing error in framework field:"));
}

TEST_F(MindSporeRun, RefusesFatalInput) {
  const auto refused = [&](const std::string& text, const std::string& part) {
    const std::string path = write_dump(text);
    expect_refused({"acc_check", "-api_info", path, "-o", out()}, {part, path});
  };
  refused(R"({"framework":"mindspore","data":{}})", "task field in api_info.json is missing");
  refused(R"({"framework":"mindspore","task":"free","data":{}})", "task field in api_info.json is not accepted value:");
  refused(R"({"framework":"mindspore","task":7,"data":{}})", "task field in api_info.json is not accepted type:");
  refused(R"({"framework":"mindspore","task":"tensor","dump_data_dir":null,"data":{}})",
          "dump_data_dir field in api_info.json is missing");
  refused(R"({"framework":"paddle","data":{}})", "Unsupported framework in api_info:");
  refused(mindspore_dump_text(R"("Mint.a;=b.0.forward":)" + forward("")), "special characters");
  expect_refused({"-api_info", fixture("01_quick_start_where"), "-o", out(), "-d", "4096"},
                 {"the argument 'device_id' must be in range [0, 4095], but got 4096"});
}

TEST_F(MindSporeRun, OfNoCheckableApiWritesHeadersAlone) {
  EXPECT_TRUE(results_of(R"("Primitive.a.B.0.forward":)" + forward(floats("[2]"))).empty());
  EXPECT_EQ(last_.exit_code, 1) << last_.err;
  EXPECT_THAT(last_.out, HasSubstr("Nothing was checked"));
  EXPECT_THAT(last_.out, HasSubstr("Entries that acc_check is not for: 1 (Primitive 1)"));
  EXPECT_THAT(last_.out, HasSubstr("records no API that is checked; APIs are recorded at the levels L1 and mix."));
  // Level L0 records cells alone.
  EXPECT_TRUE(results_of(R"("Cell.network.Net.forward.0":)" + forward(floats("[2]"))).empty());
  EXPECT_THAT(last_.out, HasSubstr("APIs are recorded at the levels L1 and mix."));
}

TEST_F(MindSporeRun, LeavesOutKeysThatAreNotSupported) {
  EXPECT_THAT(results(fixture("06_unsupported_names")),
              ElementsAre("Mint.add.0|pass||", "Tensor.add_.0|pass||", "Tensor.clamp_.0|pass||"));
  EXPECT_THAT(last_.out,
              HasSubstr("neither forward nor backward and are left out: 1; the first is 'Mint.neg.0.sideward'"));
  EXPECT_THAT(last_.out,
              HasSubstr("Functional 1, Jit 1, Mint 1, MintDistributed 1, NPU 1, Primitive 1, Tensor 3, Torch 1"));
}

TEST_F(MindSporeRun, ChecksDumpsOfMindTorch) {
  EXPECT_THAT(results(fixture("07_mindtorch_names")),
              ElementsAre("Torch.add.0|pass||", "Functional.relu.0|pass|pass|", "Tensor.reshape.779|pass|pass|"));
}

TEST_F(MindSporeRun, SkipsNullStatisticsButOfEmptyTensors) {
  const std::string null = R"(,"Max":null,"Min":null)";
  EXPECT_THAT(
      results_of(R"("Mint.abs.0.forward":)" + forward(tensor("Float32", "[2]", null)) + R"(,"Mint.abs.1.forward":)" +
                 forward(tensor("Float32", "[0]", null)) + R"(,"Mint.abs.2.forward":)" +
                 forward(tensor("Float32", "[2]", R"(,"Max":1.0)")) + R"(,"Mint.abs.3.forward":)" +
                 forward(tensor("Float32", "[2]", R"(,"Max":"1","Min":0)")) + R"(,"Mint.abs.2.backward":)" +
                 backward(floats("[2]"))),
      ElementsAre("Mint.abs.0|SKIP||" + parse_failed + "Max field in api_info.json is missing", "Mint.abs.1|pass||",
                  "Mint.abs.2|SKIP|SKIP|" + parse_failed + "Min field in api_info.json is missing" + parse_failed +
                      "Min field in api_info.json is missing",
                  "Mint.abs.3|SKIP||" + parse_failed +
                      "Max field in api_info.json is not accepted type: (<class 'int'>, <class 'float'>)"));
}

TEST_F(MindSporeRun, PassesEmptyTensors) {
  const std::string path = write_dump(mindspore_dump_text(R"("Mint.abs.0.forward":)" + forward(floats("[2,0,3]"))));
  EXPECT_THAT(details(path), ElementsAre("Mint.abs.0.forward.output.0|Float32|Float32|(2, 0, 3)|1.0|0.0|0.0|pass|"));
}

TEST_F(MindSporeRun, CountsEqualNanAsEqual) {
  const std::string negative = tensor("Float32", "[2,2]", R"(,"Max":-1.0,"Min":-2.0)");
  const std::string path = write_dump(mindspore_dump_text(R"("Mint.log.0.forward":)" + forward(negative)));
  EXPECT_THAT(details(path), ElementsAre("Mint.log.0.forward.output.0|Float32|Float32|(2, 2)|1.0|0.0|0.0|pass|"
                                         "4 elements are the same NaN or Inf on both sides."));
  EXPECT_THAT(details(path, {"--compat", "msprobe"})[0], HasSubstr("|nan|nan|nan|error|cosine similarity"));
  EXPECT_THAT(results_of(R"("Mint.abs.0.forward":)" + forward(tensor("Float32", "[2]", R"(,"Max":NaN,"Min":NaN)"))),
              ElementsAre("Mint.abs.0|SKIP||Range exceeds valid bounds"));
}

TEST_F(MindSporeRun, SkipsDtypesThatTheCheckDoesNotTake) {
  const auto add = [](const std::string& dtype, int call) {
    return R"("Mint.add.)" + std::to_string(call) + R"(.forward":)" +
           forward(tensor(dtype, "[3]", unit_range) + R"(,{"type":"int","value":1})");
  };
  const auto rows =
      results_of(add("UInt64", 0) + "," + add("Int4", 1) + "," + add("HiFloat8", 2) + "," + add("Int8", 3));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], "Mint.add.0|SKIP||[msprobe] Api Accuracy Checker get unsupported type: ");
  EXPECT_EQ(rows[1], "Mint.add.1|SKIP||[msprobe] Api Accuracy Checker get unsupported type: ");
  EXPECT_THAT(rows[2], HasSubstr("|SKIP||" + parse_failed +
                                 "dtype field in api_info.json is not accepted value: dict_keys(['Int8'"));
  EXPECT_EQ(rows[3], "Mint.add.3|pass||");
}

TEST_F(MindSporeRun, DifferentiatesTensorsInLists) {
  const std::string path = write_dump(mindspore_dump_text(
      R"("Mint.cat.0.forward":)" +
      forward("[" + floats("[2,3]") + "," + floats("[4,3]") + "]", R"({"dim":{"type":"int","value":0}})") +
      R"(,"Mint.cat.0.backward":)" + backward(floats("[6,3]"))));
  const auto rows = details(path);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1], HasSubstr("Mint.cat.0.backward.output.0|Float32|Float32|(2, 3)|"));
  EXPECT_THAT(rows[2], HasSubstr("Mint.cat.0.backward.output.1|Float32|Float32|(4, 3)|"));
}

TEST_F(MindSporeRun, PassesOverCellsOfAMixedDump) {
  const std::string text = R"({"task":"statistics","level":"mix","framework":"mindspore","dump_data_dir":null,"data":{)"
                           R"("Cell.net.Dense.forward.0":)" +
                           forward(floats("[2]")) + R"(,"Mint.abs.0.forward":)" + forward(floats("[2]")) +
                           R"(,"Cell.net.Dense.backward.0":)" + backward(floats("[2]")) + "}}";
  EXPECT_THAT(results(write_dump(text)), ElementsAre("Mint.abs.0|pass||"));
}

TEST_F(MindSporeRun, ComputesInTheDtypeThatTheCallAsksFor) {
  const std::string half = tensor("Float16", "[4]", unit_range);
  const std::string kwargs = R"({"dtype":{"type":"mindspore.dtype","value":"Float32"}})";
  const std::string path = write_dump(mindspore_dump_text(R"("Mint.sum.0.forward":)" + forward(half, kwargs) +
                                                          R"(,"Mint.sum.1.forward":)" + forward(half)));
  const auto rows = details(path);
  EXPECT_THAT(rows[0], HasSubstr("|Float32|Float32|()|"));
  EXPECT_THAT(rows[1], HasSubstr("|Float16|Float16|()|"));
}

// The tool in use takes them for constants.
TEST_F(MindSporeRun, DifferentiatesKeywordArguments) {
  const std::string path = write_dump(mindspore_dump_text(
      R"("Mint.matmul.0.forward":)" + forward(floats("[2,3]"), R"({"other":)" + floats("[3,4]") + "}") +
      R"(,"Mint.matmul.0.backward":)" + backward(floats("[2,4]"))));
  const auto rows = details(path);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1], HasSubstr("Mint.matmul.0.backward.output.0|Float32|Float32|(2, 3)|"));
  EXPECT_THAT(rows[2], HasSubstr("Mint.matmul.0.backward.output.1|Float32|Float32|(3, 4)|"));
  EXPECT_EQ(details(path, {"--compat", "msprobe"}).size(), 2U);
}

// The CSV has the tool's own words; which file is missing, events and journal say.
TEST_F(MindSporeRun, NamesTheFileThatIsMissing) {
  const std::string text = "[msprobe] 非法文件路径： ";
  const fs::path folder = next_out();
  const Finished finished = run({"acc_check", "-api_info", fixture("10_real_data"), "-o", folder, "--only",
                                 "Mint.exp.0", "--message-format", "json"});
  EXPECT_THAT(finished.out, HasSubstr(text + "/"));
  EXPECT_THAT(finished.out, HasSubstr("dump_tensor_data/Mint.exp.0.forward.input.0.npy"));
  EXPECT_THAT(lines(only_file(folder, "accuracy_checking_result_")), ElementsAre("Mint.exp.0|SKIP||" + text));
  const Finished journal = run({"journal", only_file(folder, "accuracy_checking_2"), "--export", "-"});
  EXPECT_THAT(journal.out, HasSubstr("dump_tensor_data/Mint.exp.0.forward.input.0.npy"));
}

// Results that nothing was compared with are no part of what was checked, and no summary may hide that.
TEST_F(MindSporeRun, SaysHowManyCallsHaveNoExpectedOutput) {
  const fs::path folder = scratch_ / "no_output";
  fs::copy(fs::path(fixture("10_real_data")).parent_path(), folder, fs::copy_options::recursive);
  auto dump = nlohmann::ordered_json::parse(read_file(folder / "dump.json"));
  for (const char* call : {"Mint.add.0.forward", "Mint.abs.0.forward"}) {
    dump["data"][call]["output"] = nlohmann::ordered_json::array();
  }
  write_file(folder / "dump.json", dump.dump());
  const Finished finished =
      run({"acc_check", "-api_info", folder / "dump.json", "-o", next_out(), "--backend", "recorded", "--summary"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("[WARNING] 2 of 9 calls have no output that can be compared: nothing of them"));
  EXPECT_THAT(finished.out, HasSubstr("        2  not compared: "));
}

// The file counts, but may be that of another call.
TEST_F(MindSporeRun, SaysOfAFileThatItIsNotWhatTheDumpSays) {
  const fs::path folder = scratch_ / "mismatch";
  fs::create_directories(folder / "dump_tensor_data");
  const Folder files(folder / "dump_tensor_data");
  const auto recorded = [](const std::string& name) {
    return tensor("Float32", "[2,3]", unit_range + R"(,"data_name":")" + name + "\"");
  };
  write_npy(files, "a.npy", Tensor::full(DType::float32, std::vector<std::int64_t>{2, 3}, -1));
  write_npy(files, "b.npy", Tensor::full(DType::float64, std::vector<std::int64_t>{3, 2}, 1));
  write_file(folder / "dump.json",
             R"({"task":"tensor","level":"L1","framework":"mindspore","dump_data_dir":"./dump_tensor_data","data":{)"
             R"("Mint.abs.0.forward":{"input_args":[)" +
                 recorded("a.npy") + R"(],"input_kwargs":{},"output":[)" + recorded("b.npy") + "]}}}");
  const std::string dump_path = folder / "dump.json";
  const auto rows = details(dump_path, {"--backend", "recorded"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0], HasSubstr("|pass|The file b.npy holds Float64 (3, 2), the dump says Float32 (2, 3)."));
  EXPECT_THAT(details(dump_path, {"--backend", "recorded", "--compat", "msprobe"}).at(0), Not(HasSubstr("b.npy")));
}

// What changes nothing is said, for recordings of either framework.
TEST_F(MindSporeRun, TellsOfOptionsForAnotherFramework) {
  const std::string theirs = dump("cnn_fp32");
  const auto told = [&](std::vector<std::string> before, const std::string& path, std::vector<std::string> more) {
    before.insert(before.end(), {"acc_check", "-api_info", path, "-o", next_out(), "--only", "*.where.*,*.relu.0"});
    before.insert(before.end(), more.begin(), more.end());
    return run(before).out;
  };
  const std::string own = fixture("01_quick_start_where");
  EXPECT_THAT(told({}, theirs, {"--max-abs-err", "0.001"}),
              HasSubstr("--max-abs-err does nothing: " + theirs + " is a recording of pytorch."));
  EXPECT_THAT(told({}, own, {"--standard", "current"}),
              HasSubstr("--standard does nothing: " + own + " is a recording of mindspore."));
  EXPECT_THAT(told({"-f", "pytorch"}, own, {}), HasSubstr("-f pytorch does nothing: "));
  EXPECT_THAT(told({"-f", "mindspore"}, theirs, {}), HasSubstr("-f mindspore does nothing: "));
  EXPECT_THAT(told({"-f", "mindspore"}, own, {"--max-abs-err", "0.001"}), Not(HasSubstr("does nothing")));
  EXPECT_THAT(told({"-f", "mindspore"}, fixture("07_mindtorch_names"), {}), Not(HasSubstr("does nothing")));
}

TEST_F(MindSporeRun, WritesAPairForTheRunAndOneForEachDevice) {
  const fs::path folder = next_out();
  ASSERT_EQ(
      run({"multi_acc_check", "-api_info", fixture("05_null_stats_and_edge_values"), "-o", folder, "-d", "0", "1"})
          .exit_code,
      0);
  const auto all = lines(only_file(folder, "accuracy_checking_result_"));
  EXPECT_EQ(all, results(fixture("05_null_stats_and_edge_values"))) << "the rows of acc_check, in dump order";
  std::vector<std::string> of_devices;
  for (const std::string device : {"device0", "device1"}) {
    const auto rows = lines(only_file(folder / device, "accuracy_checking_result_"));
    of_devices.insert(of_devices.end(), rows.begin(), rows.end());
  }
  for (const std::string& row : of_devices) EXPECT_THAT(all, ::testing::Contains(row));
  EXPECT_GE(of_devices.size(), 12U);
}

TEST_F(MindSporeRun, GoesOnFromItsJournalAndFromItsFilesAlone) {
  const std::string recording = fixture("05_null_stats_and_edge_values");
  const fs::path folder = next_out();
  ASSERT_EQ(run({"acc_check", "-api_info", recording, "-o", folder}).exit_code, 0);
  const fs::path result = only_file(folder, "accuracy_checking_result_");
  const fs::path details_path = only_file(folder, "accuracy_checking_details_");
  const std::string complete = read_file(result);
  const std::string complete_details = read_file(details_path);
  ASSERT_EQ(run({"acc_check", "-csv_path", result}).exit_code, 0);
  EXPECT_EQ(read_file(result), complete);
  EXPECT_EQ(read_file(details_path), complete_details);
  // The files of the tool in use: no journal, and rows of the last calls missing.
  fs::remove(only_journal(folder));
  std::size_t cut = complete.find("Mint.zeros_like.0");
  write_file(result, complete.substr(0, cut));
  ASSERT_EQ(run({"acc_check", "-api_info", recording, "-csv_path", result}).exit_code, 0);
  EXPECT_EQ(read_file(result), complete);
  EXPECT_EQ(read_file(details_path), complete_details);
}

// acc_check_mindspore.md 9: what is missing is made, with its header; PyTorch's tool refuses that.
TEST_F(MindSporeRun, GoesOnFromItsResultFileAlone) {
  const std::string recording = fixture("05_null_stats_and_edge_values");
  const fs::path folder = next_out();
  ASSERT_EQ(run({"acc_check", "-api_info", recording, "-o", folder}).exit_code, 0);
  const fs::path result = only_file(folder, "accuracy_checking_result_");
  const fs::path details_path = only_file(folder, "accuracy_checking_details_");
  const std::string complete = read_file(result);
  const std::string complete_details = read_file(details_path);
  fs::remove(only_journal(folder));
  fs::remove(details_path);
  write_file(result, complete.substr(0, complete.find("Mint.zeros_like.0")));
  const Finished again = run({"acc_check", "-api_info", recording, "-csv_path", result});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_file(result), complete);
  const std::string made = read_file(details_path);
  EXPECT_EQ(made.substr(0, made.find('\n')), complete_details.substr(0, complete_details.find('\n')));
  EXPECT_THAT(made, HasSubstr("Mint.zeros_like.0.forward.output.0"));
  EXPECT_LT(made.size(), complete_details.size());
}

TEST_F(MindSporeRun, OfASoundDeviceNothingIsSuspicious) {
  for (const auto& entry : fs::directory_iterator(test_data("/mindspore"))) {
    const json event = finished_event((entry.path() / "dump.json").string(), {"--backend", "sim"});
    EXPECT_EQ(event.at("suspicious"), 0) << entry.path() << event;
  }
}

TEST_F(MindSporeRun, FindsWhatASimulatedDeviceDoesWrong) {
  const std::string recording = fixture("02_forward_backward_pairs");
  for (const std::string fault : {"wrong-element", "wrong-block", "acc-bf16", "dropped-term"}) {
    const json event = finished_event(recording, {"--only", "Mint.matmul.0", "--sim-fault", "Mint.matmul.0=" + fault});
    EXPECT_EQ(event.at("suspicious"), 1) << fault << event;
  }
}

}  // namespace
}  // namespace msrun::testing
