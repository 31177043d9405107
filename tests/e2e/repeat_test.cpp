// --repeat: what a user sees of calls that do not come out the same each time, and that a run goes on with it alone.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Repeated : public ::testing::Test {
 protected:
  Finished run(const std::vector<std::string>& more, const std::string& recording = "vit_fp32") {
    fs::remove_all(out());
    std::vector<std::string> words{"-api_info", dump(recording), "-o", out(), "--backend", "sim"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  // Results by name, as the journal's export has them.
  std::map<std::string, json> exported() {
    const Finished journal = msrun({"journal", out(), "--export", "-"}, scratch_.path());
    EXPECT_EQ(journal.exit_code, 0) << journal.err;
    std::map<std::string, json> results;
    std::istringstream lines(journal.out);
    for (std::string line; std::getline(lines, line);) {
      json result = json::parse(line);
      results[result["name"]] = result;
    }
    return results;
  }

  std::string message_of(const std::string& call) const {
    for (const auto& row : read_csv(only_file(out(), "accuracy_checking_result_"))) {
      if (row[0] == call) return row.size() > 3 ? row[3] : "";
    }
    return "no such call";
  }

  fs::path out() const { return scratch_ / "out"; }

  const TemporaryDirectory scratch_;
};

TEST_F(Repeated, SoundCallsAreSteadyAndHaveTheirChecksums) {
  const Finished finished = run({"--repeat", "3", "--fail-on", "unsteady"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto results = exported();
  EXPECT_EQ(results.size(), 55U);
  for (const auto& [name, result] : results) {
    if (result["outcome"] != "checked") continue;
    EXPECT_FALSE(result["checksums"].is_null()) << name;
    EXPECT_EQ(result["repeats"]["runs"], 3) << name;
    EXPECT_EQ(result["repeats"]["different"], 0) << name;
  }
  EXPECT_EQ(run({}).exit_code, 0);
  for (const auto& [name, result] : exported()) {
    EXPECT_EQ(result["checksums"], results.at(name)["checksums"]) << name;
    EXPECT_TRUE(result["repeats"].is_null()) << name;
  }
}

TEST_F(Repeated, ACallThatIsWrongOnceIsNamed) {
  const std::vector<std::string> words{"--repeat",  "3",         "--sim-fault", "Functional.gelu.0=wrong-once",
                                       "--summary", "--fail-on", "unsteady"};
  const Finished finished = run(words);
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  const std::string sentence = "Not the same in every run: with the same inputs 1 of 3 runs gave other bits";
  EXPECT_THAT(message_of("Functional.gelu.0"), HasSubstr(sentence));
  EXPECT_THAT(finished.out, HasSubstr("1  unsteady: other bits in another run with the same inputs"));
  EXPECT_THAT(finished.out, HasSubstr(sentence));
  const json repeats = exported().at("Functional.gelu.0")["repeats"];
  EXPECT_EQ(repeats["different"], 1);
  EXPECT_EQ(repeats["output"], "forward.output.0");
}

TEST_F(Repeated, ALaterRunThatIsWrongIsFoundAlthoughTheVerdictIsAPass) {
  const std::vector<std::string> faults{"--repeat",         "20",
                                        "--sim-fault",      "Functional.gelu.*=wrong-once=0.05",
                                        "--message-format", "json",
                                        "--fail-on",        "suspicious",
                                        "--only",           "Functional.gelu.*"};
  const Finished finished = run(faults);
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  std::istringstream lines(finished.out);
  int passes = 0;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    if (event["type"] == "api_result" && event["forward"] == "pass" && event["suspicious"] == true) {
      ++passes;
      EXPECT_GT(event["repeats"]["different"], 0);
      EXPECT_FALSE(event["checksums"].is_null());
      EXPECT_THAT(event["reason"].get<std::string>(), HasSubstr("Not the same in every run"));
    }
    if (event["type"] == "run_finished") {
      EXPECT_GT(event["unsteady"], 0);
    }
  }
  EXPECT_GT(passes, 0);
}

TEST_F(Repeated, CompatFilesSayNothingOfIt) {
  const std::string fault = "*=wrong-once=0.5";
  EXPECT_EQ(run({"--compat", "msprobe"}).exit_code, 0);
  const std::string calm = read_file(only_file(out(), "accuracy_checking_result_"));
  // No first run is wrong, so that the verdicts are the same.
  EXPECT_EQ(run({"--compat", "msprobe", "--repeat", "2"}).exit_code, 0);
  EXPECT_EQ(read_file(only_file(out(), "accuracy_checking_result_")), calm);
  EXPECT_EQ(run({"--compat", "msprobe", "--repeat", "2", "--sim-fault", fault, "--fail-on", "unsteady"}).exit_code, 1);
  EXPECT_THAT(read_file(only_file(out(), "accuracy_checking_result_")), Not(HasSubstr("Not the same")));
}

TEST_F(Repeated, IsRefusedWhereItMeansNothing) {
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Finished finished = msrun(words, scratch_.path());
    EXPECT_EQ(finished.exit_code, 2) << finished.out;
    return finished.err + finished.out;
  };
  const std::string recording = dump("vit_fp32");
  EXPECT_THAT(refusal({"-api_info", recording, "--repeat", "0"}), HasSubstr("--repeat"));
  EXPECT_THAT(refusal({"run_overflow_check", "-api_info", recording, "--repeat", "2"}), HasSubstr("takes no --repeat"));
  EXPECT_THAT(refusal({"-api_info", recording, "--backend", "sim", "--sim-fault", "*=wrong-once=2"}),
              HasSubstr("expected wrong-once[=P]"));
  EXPECT_THAT(refusal({"-api_info", recording, "--backend", "sim", "--sim-fault", "*=wrong-on-device"}),
              HasSubstr("expected wrong-on-device=ID"));
}

class RepeatedUnfinished : public Unfinished {};

TEST_F(RepeatedUnfinished, IsContinuedWithTheSameNumberOfRunsAlone) {
  const std::vector<std::string> words{"-api_info",   dump("llama_bf16"),      "-o", out(), "--repeat", "2",
                                       "--sim-fault", "Torch.*=wrong-once=0.3"};
  ASSERT_EQ(msrun(words, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const std::string calm = read_file(result);
  EXPECT_THAT(calm, HasSubstr("Not the same in every run"));
  fs::remove(result);
  const Finished other = msrun({"-csv_path", result, "--repeat", "3"}, scratch_.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err + other.out, HasSubstr("repeat (2 then, 3 now)"));
  EXPECT_EQ(msrun({"-csv_path", result}, scratch_.path()).exit_code, 0);
  EXPECT_EQ(read_file(result), calm);
}

}  // namespace
}  // namespace msrun::testing
