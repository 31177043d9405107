// Runs that are continued under changed circumstances: CSVs gone or edited, another number of threads and devices, the
// dump elsewhere, another writer at work.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <sstream>

#include "tests/support/test_paths.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ResumeHard : public Unfinished {};

TEST_F(ResumeHard, WhenTheCsvsWereDeleted) {
  const fs::path result = killed_run();
  for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
    fs::remove(only_file(out(), prefix));
  }
  const Finished finished = resume(result);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("calls were finished by the earlier run"));
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, WhenOneCsvWasDeletedAndTheOtherEdited) {
  const fs::path result = killed_run();
  fs::remove(only_file(out(), "accuracy_checking_details_"));
  write_file(result, "API name,Verdict\nFunctional.silu.0,\"looks good to me\n");
  const Finished finished = resume(result);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, WhenTheCsvsOfAFinishedRunWereEdited) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  write_file(result, "");
  write_file(only_file(out(), "accuracy_checking_details_"), "a,b,c\n");
  EXPECT_EQ(resume(result).exit_code, 0);
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, WithOtherThreadsAndDevices) {
  const fs::path result = killed_run();
  const Finished finished = resume(result, {"-n", "3", "-d", "5", "6", "7"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_as_if_undisturbed();
  // What ran on the devices of before is still to be seen by device.
  std::size_t rows = 0;
  for (const char* device : {"device0", "device1", "device5", "device6", "device7"}) {
    // Before it was killed, the run may have finished nothing on one of its devices.
    if (!fs::exists(out() / device)) continue;
    rows += read_csv(only_file(out() / device, "accuracy_checking_result_")).size() - 1;
  }
  EXPECT_EQ(rows, 84U);
}

TEST_F(ResumeHard, WhenTheDumpWasMoved) {
  const fs::path before = scratch_ / "before.json";
  fs::copy_file(dump("llama_bf16"), before);
  const auto run = std::make_unique<Process>(
      std::vector<std::string>{"-api_info", before, "-o", out(), "--sim-fault", "Tensor.__mul__.0=hang"},
      scratch_.path());
  ASSERT_TRUE(eventually(20, [&] { return fs::exists(out()) && finished_calls() >= 70; }));
  run->signal(SIGKILL);
  run->wait();
  const fs::path directory = scratch_ / "elsewhere";
  fs::create_directory(directory);
  const fs::path after = directory / "dump.json";
  fs::rename(before, after);
  const Finished finished =
      msrun({"-api_info", after, "-csv_path", only_file(out(), "accuracy_checking_result_")}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("calls were finished by the earlier run"));
  expect_as_if_undisturbed();
}

// What one device has finished stands; the other takes the rest.
TEST_F(ResumeHard, WithAnotherBackend) {
  const fs::path tensors = fs::path(test_data()) / "opinfo_sample" / "nn_activation" / "dump.json";
  const std::string hanging = "Functional.softplus.0";
  const auto rows_of_whole_run = [&](const std::string& backend) {
    const fs::path whole = scratch_ / backend;
    EXPECT_EQ(msrun({"-api_info", tensors, "--backend", backend, "-o", whole}, scratch_.path()).exit_code, 0);
    return read_csv(only_file(whole, "accuracy_checking_details_"));
  };
  const Rows on_sim = rows_of_whole_run("sim");
  const Rows on_recorded = rows_of_whole_run("recorded");
  Process run({"-api_info", tensors, "-n", "4", "-o", out(), "--sim-fault", hanging + "=hang"}, scratch_.path());
  const std::size_t calls = read_csv(only_file(scratch_ / "sim", "accuracy_checking_result_")).size() - 1;
  ASSERT_TRUE(eventually(20, [&] { return fs::exists(out()) && finished_calls() == calls - 1; }));
  run.signal(SIGKILL);
  run.wait();

  const Finished finished =
      msrun({"-api_info", tensors, "--backend", "recorded", "-csv_path", only_file(out(), "accuracy_checking_result_")},
            scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Device under test: recorded."));
  const auto rows_of = [&](const Rows& rows, bool of_hanging) {
    Rows some;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(some),
                 [&](const auto& row) { return row[0].starts_with(hanging + ".") == of_hanging; });
    return some;
  };
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_details_"));
  EXPECT_EQ(rows_of(rows, false), rows_of(on_sim, false));
  EXPECT_EQ(rows_of(rows, true), rows_of(on_recorded, true));
  EXPECT_FALSE(rows_of(rows, true).empty());
}

TEST_F(ResumeHard, WhenTheJournalIsMissingAndBothCsvsAreTorn) {
  const fs::path result = killed_run();
  fs::remove(journal());
  const fs::path details = only_file(out(), "accuracy_checking_details_");
  fs::resize_file(result, fs::file_size(result) - 5);
  fs::resize_file(details, fs::file_size(details) - 5);
  const Finished finished = resume(result);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("the last row is torn"));
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, IsRefusedWithoutAnythingToContinue) {
  fs::create_directory(out());
  const fs::path nowhere = out() / "accuracy_checking_result_20260101000000.csv";
  const Finished finished = resume(nowhere);
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, AllOf(HasSubstr(nowhere.string()), HasSubstr("does not exist")));
}

TEST_F(ResumeHard, IsRefusedWhileAnotherRunWrites) {
  const auto first = busy_run();
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const auto before = snapshot(out());
  const Finished second = resume(result);
  EXPECT_EQ(second.exit_code, 2) << second.out;
  EXPECT_THAT(second.err, AllOf(HasSubstr("another run is writing this journal"),
                                HasSubstr("process " + std::to_string(first->pid()) + " ("),
                                HasSubstr("--sim-fault Tensor.__mul__.0=hang")));
  EXPECT_EQ(snapshot(out()), before);
  EXPECT_TRUE(first->running());
  first->signal(SIGKILL);
  // At once: the runners of the first may still be about to notice.
  const Finished third = resume(result);
  EXPECT_EQ(third.exit_code, 0) << third.out << third.err;
  first->wait();
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, WithPowerDurabilityTheFilesAreTheSame) {
  const fs::path result = killed_run({"--durability", "power"});
  const Finished finished = resume(result, {"--durability", "power"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_as_if_undisturbed();
}

// The journal names the dump and the options.
TEST_F(ResumeHard, ByTheResultFileAlone) {
  const fs::path result = killed_run({"--seed", "7", "--titles", "en", "--only", "Functional.*", "--only", "T*"});
  const Finished finished = msrun({"-csv_path", result}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("calls were finished by the earlier run"), HasSubstr("--seed 7"),
                                  HasSubstr("--sim-fault Tensor.__mul__.0=hang of the earlier run is not taken over")));
  expect_as_if_undisturbed({"--seed", "7", "--titles", "en", "--only", "Functional.*", "--only", "T*"});
}

TEST_F(ResumeHard, StaysInItsDirectory) {
  const fs::path result = killed_run();
  const Finished run = msrun({"-csv_path", result, "-o", scratch_ / "elsewhere"}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("a run that is continued writes to the directory it began in, " + out().string()));
  EXPECT_FALSE(fs::exists(scratch_ / "elsewhere"));
}

TEST_F(ResumeHard, ByTheDetailsFileOrTheJournal) {
  killed_run();
  EXPECT_EQ(msrun({"-csv_path", only_file(out(), "accuracy_checking_details_")}, scratch_.path()).exit_code, 0);
  expect_as_if_undisturbed();
  EXPECT_EQ(msrun({"-csv_path", journal()}, scratch_.path()).exit_code, 0);
  expect_as_if_undisturbed();
}

// A fault that changes results is part of the device under test.
TEST_F(ResumeHard, WithTheFaultsOfTheDevice) {
  const std::vector<std::string> fault{"--sim-fault", "Torch.matmul.*=wrong-block", "--sim-fault",
                                       "Functional.silu.*=wrong-element"};
  const fs::path result = killed_run(fault);
  fs::resize_file(journal(), fs::file_size(journal()) / 3);
  const Finished finished = msrun({"-csv_path", result}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_as_if_undisturbed(fault);
}

TEST_F(ResumeHard, AloneNamesWhatDiffers) {
  const fs::path result = killed_run();
  expect_refused({"-csv_path", result, "--only", "Functional.*"}, {"--only: none then, 'Functional.*' now"});
  expect_refused({"-csv_path", result, "-f"}, {"-f: none then, given now"});
  expect_refused({"-csv_path", result, "--seed", "5"}, {"seed (1234 then, 5 now)"});
  // What does nothing to the recording makes no run another one.
  const Finished continued = msrun({"-csv_path", result, "--max-abs-err", "0.5"}, scratch_.path());
  EXPECT_EQ(continued.exit_code, 0) << continued.out << continued.err;
  EXPECT_THAT(continued.out, HasSubstr("--max-abs-err does nothing"));
  fs::remove(journal());
  expect_refused({"-csv_path", result}, {"no journal beside", "give it with -api_info"});
}

TEST_F(ResumeHard, WithOtherQuantisedApisIsAnotherRun) {
  const std::string config = scratch_ / "config.yaml";
  write_file(config, "quantization_api_list: [npu_dynamic_quant, npu_rms_norm]\n");
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-config", config, "-o", out()}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  write_file(config, "quantization_api_list: [npu_rms_norm, npu_dynamic_quant, npu_rms_norm]\n");
  EXPECT_EQ(resume(result, {"-config", config}).exit_code, 0) << "the order says nothing";
  write_file(config, "precision: 14\n");
  const Finished refused = resume(result, {"-config", config});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(quantization_apis (["npu_dynamic_quant","npu_rms_norm"] then)"));
}

class WithoutJournal : public ResumeHard {
 protected:
  fs::path whole_run() {
    EXPECT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
    fs::remove(journal());
    return result();
  }
  fs::path result() const { return out() / only("accuracy_checking_result_"); }
  fs::path details() const { return out() / only("accuracy_checking_details_"); }
  // The CSV, not what is kept beside it.
  std::string only(const std::string& prefix) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && name.ends_with(".csv")) return name;
    }
    return {};
  }
  std::string only_report() const { return only_file(out(), "accuracy_checking_report_").filename(); }
  // Lines of the log that warn of what is in the files.
  static std::size_t warnings(const std::string& log) {
    std::istringstream lines(log);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("[WARNING]") != std::string::npos && line.find(".csv") != std::string::npos) ++count;
    }
    return count;
  }
  // Rows of the file but the title whose first cell passes.
  static void keep_rows(const fs::path& csv, const std::function<bool(const std::string&)>& keep) {
    const std::string text = read_file(csv);
    std::string kept;
    std::size_t row = 0;
    bool keeping = true;
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = text.find("\r\n", begin);
      end = end == std::string::npos ? text.size() : end + 2;
      const std::string line = text.substr(begin, end - begin);
      keeping = row++ == 0 || keep(line.substr(0, line.find(',')));
      if (keeping) kept += line;
      begin = end;
    }
    write_file(csv, kept);
  }
};

TEST_F(WithoutJournal, RowsOfAnotherDumpAreRefused) {
  const fs::path result = whole_run();
  expect_refused({"-api_info", dump("vit_fp32"), "-csv_path", result},
                 {"of the 84 rows", "not in the dump", "Nothing was changed"});
}

// A recording of two calls with gradients and of one whose output has as many elements as the values say.
std::string two_and_a_choice(const std::string& size, const std::string& dtype) {
  const std::string tensor = R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": [)" + size +
                             R"(, 3], "Max": 1.0, "Min": -1.0, "Mean": 0.1, "Norm": 2.0, "requires_grad": true})";
  const std::string chosen =
      R"({"type": "torch.Tensor", "dtype": "torch.int64", "shape": [5, 2], "Max": 3, "Min": 0, "requires_grad": false})";
  const auto forward = [](const std::string& name, const std::string& input, const std::string& output) {
    return "\"" + name + R"(.forward": {"input_args": [)" + input + R"(], "input_kwargs": {}, "output": [)" + output +
           "]}";
  };
  const auto backward = [&](const std::string& name) {
    return "\"" + name + R"(.backward": {"input": [)" + tensor + R"(], "output": [)" + tensor + "]}";
  };
  return R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {)" +
         forward("Functional.relu.0", tensor, tensor) + ", " + backward("Functional.relu.0") + ", " +
         forward("Torch.exp.0", tensor, tensor) + ", " + backward("Torch.exp.0") + ", " +
         forward("Torch.nonzero.0", tensor, chosen) + "}}";
}

class OfTheSameNames : public WithoutJournal {
 protected:
  fs::path recording() const { return scratch_ / "dump.json"; }
  fs::path checked(const std::string& text) {
    write_file(recording(), text);
    const Finished finished = msrun({"-api_info", recording(), "-o", out()}, scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    fs::remove(journal());
    return result();
  }
};

TEST_F(OfTheSameNames, RowsOfOtherShapesDtypesOrGradientsAreRefused) {
  const std::string text = two_and_a_choice("4", "float32");
  const fs::path csv = checked(text);
  write_file(recording(), two_and_a_choice("6", "float32"));
  expect_refused({"-api_info", recording(), "-csv_path", csv},
                 {"2 of the 3 rows of " + csv.string(),
                  "Functional.relu.0.forward.output.0 has the shape (4, 3), and the recording says (6, 3)",
                  "of another recording with calls of the same names", "Nothing was changed"});
  write_file(recording(), two_and_a_choice("4", "bfloat16"));
  expect_refused({"-api_info", recording(), "-csv_path", csv},
                 {"2 of the 3 rows", "is of torch.float32, and the recording says torch.bfloat16"});
  std::string forward_only = text;
  const std::string from = "\"Torch.exp.0.backward\"";
  forward_only.replace(forward_only.find(from), from.size(), "\"Torch.exp.1.backward\"");
  write_file(recording(), forward_only);
  expect_refused({"-api_info", recording(), "-csv_path", csv},
                 {"1 of the 3 rows", "Torch.exp.0.backward.output.0 is there, and the recording has no backward"});
  // Also where the options leave those calls out.
  expect_refused({"-api_info", recording(), "-csv_path", csv, "--only", "Functional.*"}, {"Torch.exp.0.backward"});
}

// The output of nonzero is of another size each time values are drawn otherwise; the recorded size is none that the
// arguments have.
TEST_F(OfTheSameNames, ASizeThatDependsOnValuesSaysNothing) {
  const std::string text = two_and_a_choice("4", "float32");
  const fs::path csv = checked(text);
  ASSERT_THAT(read_file(details()),
              Not(HasSubstr("Torch.nonzero.0.forward.output.0,torch.int64,torch.int64,\"(5, 2)")));
  const std::string rows = read_file(csv);
  const Finished finished = msrun({"-api_info", recording(), "-csv_path", csv}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, Not(HasSubstr("was written after")));
  EXPECT_EQ(read_file(csv), rows);
}

// What CSVs cannot tell: another step of the same model.
TEST_F(OfTheSameNames, ARecordingThatIsNewerIsWarnedOf) {
  const std::string text = two_and_a_choice("4", "float32");
  const fs::path csv = checked(text);
  fs::last_write_time(recording(), fs::last_write_time(csv) + std::chrono::seconds(5));
  const Finished finished = msrun({"-api_info", recording(), "-csv_path", csv}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(recording().string() + " was written after " + csv.string()));
}

TEST_F(WithoutJournal, RowsThatTheOptionsLeaveOutStay) {
  const fs::path csv = whole_run();
  const std::string rows = read_file(csv);
  const std::string details_before = read_file(details());
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--only", "Functional.silu.*"}, std::vector<std::string>{"-f"}}) {
    const Finished finished = resume(csv, options);
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_EQ(read_file(csv), rows);
    EXPECT_EQ(read_file(details()), details_before);
    // The journal that was made of them keeps them, too.
    write_file(csv, "");
    EXPECT_EQ(msrun({"-csv_path", csv}, scratch_.path()).exit_code, 0);
    EXPECT_EQ(read_file(csv), rows);
    EXPECT_THAT(msrun({"journal", csv}, scratch_.path()).out, HasSubstr("Kept"));
    fs::remove(journal());
  }
}

TEST_F(WithoutJournal, WhatRunsAgainComesBetweenTheRowsThatStay) {
  const fs::path csv = whole_run();
  const std::string rows = read_file(csv);
  const auto is_silu = [](const std::string& name) { return name.find("Functional.silu.") != std::string::npos; };
  keep_rows(csv, [&](const std::string& name) { return !is_silu(name); });
  ASSERT_NE(read_file(csv), rows);
  const Finished finished = resume(csv, {"--only", "Functional.silu.*"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(read_file(csv), rows);
  expect_only_result_files();
  expect_as_if_undisturbed();
}

TEST_F(WithoutJournal, WhatTheOptionsLeaveOutIsToldBesideTheTable) {
  const fs::path csv = whole_run();
  const Finished finished = resume(csv, {"--only", "Functional.silu.*", "--summary"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto silus = std::ranges::count_if(
      names(read_csv(csv)), [](const std::string& name) { return name.starts_with("Functional.silu."); });
  const std::string line =
      std::to_string(84 - silus) + " calls of the earlier run are not counted, none of them errors";
  EXPECT_THAT(finished.out, HasSubstr(line));
  EXPECT_THAT(read_file(out() / only_report()), HasSubstr(line));
}

// A pass has no Message that says it.
TEST_F(WithoutJournal, ASimulatedDeviceIsStillTold) {
  const fs::path csv = whole_run();
  const Finished finished = resume(csv, {"--summary"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Device under test: simulated device"));
  EXPECT_THAT(read_file(out() / only_report()), HasSubstr("This run was made on a simulated device"));
}

// What is not in the new files for good stays beside them.
TEST_F(WithoutJournal, NothingIsDeletedWithoutACopy) {
  const fs::path csv = whole_run();
  const std::string rows = read_file(csv);
  const std::string repeated = rows + "Functional.silu.0,error,error,a row of its own\r\n" + "torn";
  write_file(csv, repeated);
  const Finished finished = resume(csv);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(warnings(finished.out), 1U) << finished.out;
  EXPECT_THAT(finished.out, AllOf(HasSubstr(".csv.bak"), HasSubstr("the last row is torn"),
                                  HasSubstr("of a call that has a later row")));
  EXPECT_EQ(read_file(csv.string() + ".bak"), repeated);
  EXPECT_TRUE(fs::exists(details().string() + ".bak"));
}

TEST_F(WithoutJournal, ACopyGoesWhenEverythingInItIsThereAgain) {
  const fs::path csv = whole_run();
  // Details of a call without a row in the result file: the call runs again.
  keep_rows(csv, [](const std::string& name) { return name != "Functional.silu.0"; });
  const Finished finished = resume(csv);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("of calls without a result row"), HasSubstr(".csv.bak")));
  expect_only_result_files();
  expect_as_if_undisturbed();
}

TEST_F(ResumeHard, AnEmptyJournalBesideFullCsvsSaysWhatToDo) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out()}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const std::string bytes = read_file(journal());
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, bytes.find("\xF7\x4A\x46\x8B")}) {
    write_file(journal(), bytes.substr(0, size));
    expect_refused({"-api_info", dump("llama_bf16"), "-csv_path", result},
                   {journal().string(), "away, and -csv_path continues from what"});
    expect_refused({"-csv_path", result}, {journal().string(), "away, and -csv_path "});
  }
  write_file(journal(), std::string(bytes.size(), '\0'));
  expect_refused({"-csv_path", result}, {journal().string(), "away, and -csv_path with -api_info continues"});
  fs::remove(journal());
  EXPECT_EQ(resume(result).exit_code, 0);
  expect_as_if_undisturbed();
}

// The CSVs may have outlived the end of the journal.
TEST_F(ResumeHard, RowsThatTheJournalHasLostAreKeptUntilTheyAreThereAgain) {
  ASSERT_EQ(msrun({"-api_info", dump("llama_bf16"), "-o", out(), "-n", "1"}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  fs::resize_file(journal(), fs::file_size(journal()) / 2);
  const Finished finished = msrun({"-csv_path", result}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(".csv.bak"));
  expect_only_result_files();
  expect_as_if_undisturbed();
}

}  // namespace
}  // namespace msrun::testing
