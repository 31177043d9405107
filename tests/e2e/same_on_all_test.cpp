// --same-on-all: every call on all devices, what is said of a device that differs, and that a run goes on where it was.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class SameOnAll : public Unfinished {
 protected:
  Finished run(const std::vector<std::string>& more, const std::string& recording = "vit_fp32") {
    fs::remove_all(out());
    std::vector<std::string> words{"-api_info", dump(recording), "-o", out(), "--backend", "sim", "--same-on-all"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  std::map<std::string, json> agreements() {
    const Finished journal = msrun({"journal", out(), "--export", "-"}, scratch_.path());
    EXPECT_EQ(journal.exit_code, 0) << journal.err;
    std::map<std::string, json> found;
    std::istringstream lines(journal.out);
    for (std::string line; std::getline(lines, line);) {
      const json result = json::parse(line);
      found[result["name"]] = result["agreement"];
    }
    return found;
  }

  static std::vector<int> blamed(const json& agreement) {
    std::vector<int> devices;
    for (const json& answer : agreement["answers"]) {
      if (answer["blamed"] == true) devices.push_back(answer["device"]);
    }
    return devices;
  }
};

TEST_F(SameOnAll, SoundDevicesAgree) {
  const Finished finished = run({"-d", "0", "1", "2", "--repeat", "2", "--fail-on", "unsteady"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto found = agreements();
  EXPECT_EQ(found.size(), 55U);
  for (const auto& [name, agreement] : found) {
    EXPECT_EQ(agreement["verdict"], "same") << name;
    EXPECT_EQ(agreement["answers"].size(), 3U) << name;
  }
  const std::string result = read_file(only_file(out(), "accuracy_checking_result_"));
  ASSERT_EQ(msrun({"-api_info", dump("vit_fp32"), "-o", scratch_ / "plain"}, scratch_.path()).exit_code, 0);
  EXPECT_EQ(read_file(only_file(scratch_ / "plain", "accuracy_checking_result_")), result);
}

TEST_F(SameOnAll, TheDeviceThatDiffersIsNamedEverywhere) {
  const Finished finished = run({"-d", "0", "1", "2", "--sim-fault", "Functional.gelu.*=wrong-on-device=1", "--fail-on",
                                 "unsteady", "--summary"});
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  std::size_t calls = 0;
  for (const auto& [name, agreement] : agreements()) {
    const bool is_sick = name.starts_with("Functional.gelu.");
    calls += is_sick ? 1 : 0;
    EXPECT_EQ(blamed(agreement), is_sick ? std::vector<int>{1} : std::vector<int>{}) << name;
  }
  ASSERT_GT(calls, 0U);
  EXPECT_THAT(finished.out,
              HasSubstr("Devices that differ from the others\n  device 1: " + std::to_string(calls) + " call"));
  EXPECT_THAT(read_file(only_file(out(), "accuracy_checking_result_")),
              HasSubstr("Device 1 differs from devices 0 and 2 (forward.output.0)"));
}

TEST_F(SameOnAll, OfTwoDevicesTheBenchmarkTells) {
  const Finished finished =
      run({"-d", "0", "1", "--sim-fault", "Functional.gelu.*=wrong-on-device=0", "--message-format", "json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  for (const auto& [name, agreement] : agreements()) {
    if (!name.starts_with("Functional.gelu.")) continue;
    EXPECT_EQ(blamed(agreement), std::vector<int>{0}) << name << agreement;
    EXPECT_THAT(agreement["reason"].get<std::string>(), HasSubstr("the benchmark speaks against it"));
  }
  EXPECT_THAT(finished.out, HasSubstr(R"("blamed_devices":[{"device":0,)"));
}

// Both are wrong, each in its own way, so that both check.
TEST_F(SameOnAll, TheTensorsOfEveryDeviceThatChecksAreKept) {
  const Finished finished = run({"-d", "0", "1", "--only", "Functional.gelu.*", "-save_error_data", "--sim-fault",
                                 "Functional.gelu.*=scale=2", "--sim-fault", "Functional.gelu.*=wrong-on-device=0"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const fs::path folder = only_file(out(), "ut_error_data");
  std::map<std::string, std::set<fs::path>> places;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) places[entry.path().filename()].insert(entry.path().parent_path());
  }
  ASSERT_FALSE(places.empty());
  for (const auto& [name, folders] : places) EXPECT_EQ(folders.size(), 2U) << name;
}

TEST_F(SameOnAll, IsRefusedWithFewerThanTwoDevices) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"-api_info", dump("vit_fp32"), "--same-on-all"},
           {"acc_check", "-api_info", dump("vit_fp32"), "--same-on-all", "-d", "0", "1"},
           {"run_overflow_check", "-api_info", dump("vit_fp32"), "--same-on-all", "-d", "0", "1"}}) {
    const Finished finished = msrun(words, scratch_.path());
    EXPECT_EQ(finished.exit_code, 2) << finished.out;
    EXPECT_THAT(finished.err, HasSubstr("--same-on-all"));
  }
  const Finished few = run({"-d", "2", "0", "-n", "1"});
  EXPECT_EQ(few.exit_code, 0) << few.err;
  for (const auto& [name, agreement] : agreements()) EXPECT_EQ(agreement["answers"].size(), 2U) << name;
}

TEST_F(SameOnAll, IsContinuedToTheSameBytesOnTheSameDevicesAlone) {
  const std::vector<std::string> faults{
      "--sim-fault", "Torch.*=wrong-on-device=2", "--sim-fault", "Tensor.*=wrong-once=0.2", "--repeat", "2"};
  std::vector<std::string> calm{"-d", "0", "1", "2"};
  calm.insert(calm.end(), faults.begin(), faults.end());
  ASSERT_EQ(run(calm, "llama_bf16").exit_code, 0);
  const std::string result = read_file(only_file(out(), "accuracy_checking_result_"));
  const std::string details = read_file(only_file(out(), "accuracy_checking_details_"));
  EXPECT_THAT(result, HasSubstr("Device 2 differs from devices 0 and 1"));
  fs::remove_all(out());

  std::vector<std::string> words{"-api_info", dump("llama_bf16"), "-o", out(), "--same-on-all"};
  words.insert(words.end(), calm.begin(), calm.end());
  Process busy(words, scratch_.path());
  ASSERT_TRUE(eventually(60, [&] { return fs::exists(out()) && finished_calls() >= 10; }));
  busy.signal(SIGKILL);
  busy.wait();
  const fs::path csv = only_file(out(), "accuracy_checking_result_");
  const Finished other = msrun({"-csv_path", csv, "-d", "0", "1"}, scratch_.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("same_on_all ([0,1,2] then, [0,1] now)"));
  const Finished last = msrun({"-csv_path", csv}, scratch_.path());
  EXPECT_EQ(last.exit_code, 0) << last.out << last.err;
  EXPECT_EQ(read_file(csv), result);
  EXPECT_EQ(read_file(only_file(out(), "accuracy_checking_details_")), details);
}

}  // namespace
}  // namespace msrun::testing
