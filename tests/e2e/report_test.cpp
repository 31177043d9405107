// The HTML report of a run: when there is one, what becomes of it when something fails, and what msrun report makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* prefix = "accuracy_checking_report";

std::vector<std::string> reports_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".html") names.push_back(entry.path().filename());
  }
  return names;
}

class ReportOfARun : public ::testing::Test {
 protected:
  fs::path out() const { return scratch_ / "out"; }

  Finished run(std::vector<std::string> more, const std::string& recording = "llama_fp32") {
    std::vector<std::string> words{"-api_info", dump(recording), "-n", "2", "-o", out(), "--backend", "sim"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  TemporaryDirectory scratch_;
};

TEST_F(ReportOfARun, LiesBesideTheCsvsAndIsMadeAgainWithTheSameBytes) {
  const Finished finished = run({"--only", "Torch.matmul.*", "--sim-fault", "Torch.matmul.0=hf32"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const fs::path report = only_file(out(), prefix);
  EXPECT_THAT(finished.out, HasSubstr("acc_check task report is saved in " + report.string()));
  // The name has the stamp of the others.
  const std::string result = only_file(out(), "accuracy_checking_result").stem();
  EXPECT_EQ(report.stem().string().substr(std::string(prefix).size()),
            result.substr(std::string("accuracy_checking_result").size()));
  const std::string page = read_file(report);
  EXPECT_THAT(page, HasSubstr("look at Torch.matmul.0 first: Inputs rounded to HF32"));
  EXPECT_THAT(page, HasSubstr("simulated device; no NPU or GPU was tested"));
  fs::remove(report);
  for (const fs::path& of :
       {out(), only_file(out(), "accuracy_checking_result"), only_file(out(), "accuracy_checking_2")}) {
    const Finished again = msrun({"report", of}, scratch_.path());
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.out, report.string() + "\n");
    EXPECT_EQ(read_file(report), page) << of;
    fs::remove(report);
  }
  EXPECT_EQ(msrun({"report", out(), "-o", "-"}, scratch_.path()).out, page);
  // Its own name is not followed where it is a link.
  write_file(scratch_ / "victim", "precious");
  fs::create_symlink(scratch_ / "victim", report);
  EXPECT_EQ(msrun({"report", out()}, scratch_.path()).exit_code, 0);
  EXPECT_EQ(read_file(scratch_ / "victim"), "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(report)));
}

TEST_F(ReportOfARun, IsNotWrittenWhereItIsNotWantedOrTheFilesAreAnotherTools) {
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--no-report"}).exit_code, 0);
  EXPECT_THAT(reports_in(out()), IsEmpty());
  fs::remove_all(out());
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--compat", "msprobe"}).exit_code, 0);
  EXPECT_THAT(reports_in(out()), IsEmpty());
  fs::remove_all(out());
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--compat", "msprobe", "--report"}).exit_code, 0);
  EXPECT_EQ(reports_in(out()).size(), 1U);
  EXPECT_EQ(run({"--report", "--no-report"}).exit_code, 2);
}

TEST_F(ReportOfARun, OfAPartIsWrittenIfItIsAskedFor) {
  for (const std::vector<std::string>& part : {std::vector<std::string>{"--shard", "2/3"}, {"--steal"}}) {
    fs::remove_all(out());
    ASSERT_EQ(run(part).exit_code, 0);
    EXPECT_THAT(reports_in(out()), IsEmpty());
    fs::remove_all(out());
    std::vector<std::string> asked = part;
    asked.emplace_back("--report");
    ASSERT_EQ(run(asked).exit_code, 0);
    ASSERT_EQ(reports_in(out()).size(), 1U) << part.front();
    // However many leases it had, it was one run.
    EXPECT_THAT(read_file(only_file(out(), prefix)), Not(HasSubstr("\"Sessions\"")));
  }
}

TEST_F(ReportOfARun, ThatWasInterruptedIsWrittenByTheRunThatGoesOn) {
  {
    Process running({"-api_info", dump("llama_fp32"), "-n", "2", "-o", out(), "--backend", "sim", "--sim-fault",
                     "Functional.silu.1=hang"},
                    scratch_.path());
    ASSERT_TRUE(eventually(
        60, [&] { return fs::exists(out()) && read_csv(csv_in(out(), "accuracy_checking_result")).size() > 5; }));
    running.signal(SIGKILL);
    running.wait();
  }
  EXPECT_THAT(reports_in(out()), IsEmpty());
  // What there is so far can be looked at.
  const Finished so_far = msrun({"report", out(), "-o", scratch_ / "so_far.html"}, scratch_.path());
  ASSERT_EQ(so_far.exit_code, 0) << so_far.err;
  EXPECT_THAT(read_file(scratch_ / "so_far.html"), HasSubstr("The run is not complete"));
  const Finished resumed = msrun({"-csv_path", csv_in(out(), "accuracy_checking_result")}, scratch_.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string page = read_file(only_file(out(), prefix));
  EXPECT_THAT(page, Not(HasSubstr("The run is not complete")));
  EXPECT_THAT(page, HasSubstr("continued 1 time"));
}

TEST_F(ReportOfARun, TellsOfCallsThatFailedAndOfRetries) {
  ASSERT_EQ(run({"--only", "Torch.matmul.0,Torch.matmul.1,Functional.silu.0", "--sim-fault", "Torch.matmul.1=crash"})
                .exit_code,
            0);
  const std::string page = read_file(only_file(out(), prefix));
  EXPECT_THAT(page, HasSubstr("1 call failed to run."));
  EXPECT_THAT(page, HasSubstr("killed by signal 11 (SIGSEGV)"));
  EXPECT_THAT(page, HasSubstr("\"deaths\":[["));
}

TEST_F(ReportOfARun, ThatCannotBeWrittenIsAWarning) {
  // A folder has the name that the report is to have.
  ASSERT_EQ(run({"--only", "Torch.matmul.0,Torch.matmul.1"}).exit_code, 0);
  const fs::path report = only_file(out(), prefix);
  fs::remove(report);
  fs::create_directory(report);
  const std::string details = read_file(only_file(out(), "accuracy_checking_details"));
  const Finished again =
      msrun({"-csv_path", only_file(out(), "accuracy_checking_result"), "--summary"}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out + again.err, HasSubstr("No report is written"));
  EXPECT_EQ(read_file(only_file(out(), "accuracy_checking_details")), details);
}

TEST_F(ReportOfARun, ToBeSharedHasNoPaths) {
  ASSERT_EQ(run({"--only", "Torch.matmul.*,Functional.silu.*", "--sim-fault", "Torch.matmul.*=hf32", "--sim-fault",
                 "Functional.silu.0=crash"})
                .exit_code,
            0);
  const Finished made = msrun({"report", out(), "--share"}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("_share.html"));
  const std::string shared = read_file(made.out.substr(0, made.out.size() - 1));
  EXPECT_THAT(shared, Not(HasSubstr(fs::path(dump("llama_fp32")).parent_path().string())));
  EXPECT_THAT(shared, Not(HasSubstr(scratch_.path().string())));
  EXPECT_THAT(shared, Not(HasSubstr(" … ")));
  EXPECT_THAT(shared, HasSubstr("Inputs rounded to HF32"));
}

// The data of the page, and its first paragraph.
nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

std::string conclusion_of(const std::string& page) {
  const std::size_t begin = page.find('>', page.find("id=\"conclusion\"")) + 1;
  return page.substr(begin, page.find("</p>", begin) - begin);
}

TEST_F(ReportOfARun, HasCommandLinesThatRunInItsFolder) {
  fs::copy_file(dump("llama_fp32"), scratch_ / "dump.json");
  const std::string folder = programs();
  const auto run_in = [&](const std::string& where, const std::string& line) {
    Process shell({"-c", "cd " + where + " && PATH=" + folder + ":$PATH " + line}, scratch_.path(), {}, "/bin/sh");
    return shell.wait();
  };
  const Finished finished =
      run_in(scratch_.path().string(),
             "msrun -api_info dump.json -o out --backend sim --only Torch.matmul.0 --sim-fault Torch.matmul.0=hf32");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const nlohmann::json commands = data_of(read_file(only_file(out(), prefix)))["commands"];
  const auto run_in_folder = [&](const std::string& line) { return run_in(out().string(), line); };
  const auto text = [&](const char* key) { return commands[key].get<std::string>(); };
  const Finished again = run_in_folder(text("run") + " --only Torch.matmul.0 -o again");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const Finished script =
      run_in_folder(text("program") + " op_generate --api Torch.matmul.0 -i " + text("recording") + " -o scripts");
  EXPECT_EQ(script.exit_code, 0) << script.err;
  const Finished small =
      run_in_folder(text("program") + " shrink --api Torch.matmul.0 -i " + text("journal") + " -o small");
  EXPECT_EQ(small.exit_code, 0) << small.err;
}

// A script of a recording with tensors gets these, which the faults were found with.
TEST_F(ReportOfARun, NamesRealDataForItsScripts) {
  const auto options_of = [&](const std::string& recording, const fs::path& out) {
    const Finished finished =
        msrun({"-api_info", recording, "-o", out, "--only", "Torch.matmul.0", "--backend", "sim"}, scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return data_of(read_file(only_file(out, prefix)))["commands"]["script_options"].get<std::string>();
  };
  EXPECT_EQ(options_of(dump("llama_fp32"), scratch_ / "statistics"), "");
  const fs::path zoo = test_data("/dumps/zoo_tensor");
  const std::string options = options_of(zoo / "dump.json", scratch_ / "tensors");
  EXPECT_EQ(options, " --data_mode real_data");
  const Finished script = run_tool(
      "op_generate",
      {"--api", "Torch.matmul.0", "--data_mode", "real_data", "-i", zoo / "dump.json", "-o", scratch_.file("scripts")},
      scratch_.path());
  EXPECT_EQ(script.exit_code, 0) << script.err;
}

TEST_F(ReportOfARun, WithoutAJournalShowsWhatItsCsvsTell) {
  ASSERT_EQ(run({"--only", "Torch.matmul.*,Functional.silu.*", "--sim-fault", "Torch.matmul.*=hf32", "--sim-fault",
                 "Functional.silu.0=crash"})
                .exit_code,
            0);
  const fs::path report = only_file(out(), prefix);
  const std::string full = read_file(report);
  fs::remove(report);
  fs::remove(only_file(out(), "accuracy_checking_2"));
  for (const fs::path& of :
       {out(), only_file(out(), "accuracy_checking_result"), only_file(out(), "accuracy_checking_details")}) {
    const Finished made = msrun({"report", of}, scratch_.path());
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out, report.string() + "\n");
    const std::string page = read_file(report);
    fs::remove(report);
    EXPECT_EQ(conclusion_of(page), conclusion_of(full));
    EXPECT_THAT(page, HasSubstr("it has no journal. Only a journal tells which recording was checked"));
    EXPECT_THAT(page, HasSubstr("This run was made on a simulated device"));
    EXPECT_THAT(page, Not(HasSubstr("what rounding explains: every warning")));
    const nlohmann::json of_csvs = data_of(page);
    const nlohmann::json of_journal = data_of(full);
    EXPECT_EQ(of_csvs["rows"]["standing"], of_journal["rows"]["standing"]);
    EXPECT_EQ(of_csvs["rows"]["note"], of_journal["rows"]["note"]);
    EXPECT_EQ(of_csvs["groups"], of_journal["groups"]);
    // Metrics with the limit that failed, but no map and no inputs.
    const std::string worst = std::to_string(of_journal["groups"][0][0].get<int>());
    const nlohmann::json& output = of_csvs["details"][worst]["rows"][0];
    EXPECT_EQ(output["metrics"].size(), of_journal["details"][worst]["rows"][0]["metrics"].size());
    EXPECT_FALSE(output.contains("difference"));
    EXPECT_TRUE(of_csvs["details"][worst]["inputs"].empty());
    EXPECT_EQ(of_csvs["commands"]["run"], "");
  }
}

TEST_F(ReportOfARun, OfThePythonToolSaysThatRoundingWasNotJudged) {
  const fs::path files = test_data("/acc_check_csv");
  fs::create_directories(out());
  fs::copy(files / "result.csv", out() / "accuracy_checking_result_20250304112233.csv");
  fs::copy(files / "details.csv", out() / "accuracy_checking_details_20250304112233.csv");
  const Finished made = msrun({"report", out()}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, (out() / "accuracy_checking_report_20250304112233.html").string() + "\n");
  const std::string page = read_file(only_file(out(), prefix));
  EXPECT_EQ(conclusion_of(page),
            "4 of 19 checked calls are errors and 5 are warnings by the documented limits, in 9 APIs; what rounding "
            "explains is not known. Look at NPU.npu_rms_norm.0 first. The backward of 1 call could not be checked.");
  EXPECT_THAT(page, HasSubstr("Nor do these files say what rounding explains"));
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["details"]["1"]["rows"][1]["metrics"][2], nlohmann::json({"Dual-1000", "0.375", "> 0.999", 1}));
  EXPECT_EQ(data["rows"]["standing"].get<std::string>()[11], 'c');
  EXPECT_THAT(page, Not(HasSubstr("simulated device")));
  // For others, without the name of the folder.
  const Finished shared = msrun({"report", out(), "--share", "-o", "-"}, scratch_.path());
  EXPECT_EQ(shared.exit_code, 0);
  EXPECT_THAT(shared.out, Not(HasSubstr("20250304112233")));
}

TEST_F(ReportOfARun, OfAResultFileAloneIsNamedAfterIt) {
  scratch_.write(
      "mine.csv",
      "API Name,Forward Test Success,Backward Test Success,Message\r\n"
      "Torch.add.0,pass,pass,\r\nTorch.mul.0,warning,pass,\r\n"
      "Torch.sub.0,error, ,Rounding: forward.output.0: Explained by rounding\r\nTorch.exp.0,SKIP,SKIP,why\r\nTorch.e");
  const Finished made = msrun({"report", scratch_ / "mine.csv"}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, (scratch_ / "mine_report.html").string() + "\n");
  const std::string page = read_file(scratch_ / "mine_report.html");
  EXPECT_EQ(data_of(page)["rows"]["standing"], "psrc");
  EXPECT_THAT(page, HasSubstr("There is no details file that can be read"));
  EXPECT_THAT(page, HasSubstr("its last row is torn"));
  EXPECT_THAT(page, HasSubstr("the result file says no more"));
}

// The two files of a run may be called anything, if the names differ in "result" and "details" alone.
TEST_F(ReportOfARun, OfFilesWithNamesOfTheirOwnHasTheirDetails) {
  const fs::path files = test_data("/acc_check_csv");
  fs::create_directories(out() / "of results");
  const fs::path result = out() / "of results" / "npu_result.csv";
  const fs::path details = out() / "of results" / "npu_details.csv";
  fs::copy(files / "result.csv", result);
  fs::copy(files / "details.csv", details);
  for (const fs::path& of : {result, details}) {
    const Finished made = msrun({"report", of}, scratch_.path());
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out, (out() / "of results" / "npu_result_report.html").string() + "\n");
    const std::string page = read_file(out() / "of results" / "npu_result_report.html");
    EXPECT_THAT(page, Not(HasSubstr("There is no details file")));
    EXPECT_EQ(data_of(page)["details"]["1"]["rows"][1]["metrics"][2],
              nlohmann::json({"Dual-1000", "0.375", "> 0.999", 1}));
  }
  fs::remove(result);
  const Finished alone = msrun({"report", details}, scratch_.path());
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("npu_details.csv, row 1: this is not the title row of a result file"));
}

// What api_precision_compare leaves in a folder.
TEST_F(ReportOfARun, OfAFolderOfAnotherToolIsOfItsNewestResults) {
  const fs::path files = test_data("/api_precision_compare");
  fs::create_directories(out());
  for (const std::string stamp : {"20250304112233", "20250401000000"}) {
    fs::copy(files / "expected_details.csv", out() / ("api_precision_compare_details_" + stamp + ".csv"));
    fs::copy(files / "expected_result.csv", out() / ("api_precision_compare_result_" + stamp + ".csv"));
  }
  const Finished made = msrun({"report", out()}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const fs::path report = out() / "api_precision_compare_result_20250401000000_report.html";
  EXPECT_EQ(made.out, report.string() + "\n");
  const std::string page = read_file(report);
  EXPECT_THAT(page, HasSubstr("its columns are not known, so that of them only the messages are read"));
  // Functional.softmax.5: the message is in the details alone.
  EXPECT_THAT(page, HasSubstr("forward.output.0: ERROR: 均方根误差比值超过阈值"));
  EXPECT_THAT(page, Not(HasSubstr("the result file says no more")));
}

TEST_F(ReportOfARun, IsNamedByTheLastEvent) {
  const auto event_of = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--only", "Torch.matmul.0", "--message-format", "json"});
    const Finished finished = run(more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const std::size_t last = finished.out.rfind("{\"type\":\"run_finished\"");
    return nlohmann::json::parse(finished.out.substr(last));
  };
  const nlohmann::json event = event_of({});
  EXPECT_EQ(event["report"], only_file(out(), prefix).string());
  fs::remove_all(out());
  EXPECT_TRUE(event_of({"--no-report"})["report"].is_null());
}

TEST_F(ReportOfARun, IsRefusedForWhatIsNoRun) {
  EXPECT_EQ(msrun({"report"}, scratch_.path()).exit_code, 2);
  const Finished missing = msrun({"report", scratch_ / "nowhere"}, scratch_.path());
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("There is no run"));
  fs::create_directory(scratch_ / "empty");
  EXPECT_THAT(msrun({"report", scratch_ / "empty"}, scratch_.path()).err, HasSubstr("holds no run"));
  EXPECT_THAT(msrun({"report", dump("llama_fp32")}, scratch_.path()).err, HasSubstr("dump.json"));
}

}  // namespace
}  // namespace msrun::testing
