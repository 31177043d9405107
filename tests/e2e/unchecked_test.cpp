// Calls of which a part, or everything, could not be compared: nothing of them may look checked.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json tensor(const std::vector<int>& shape, bool requires_grad) {
  return {{"type", "torch.Tensor"},
          {"dtype", "torch.float32"},
          {"shape", shape},
          {"Max", 1.5},
          {"Min", -1.0},
          {"Mean", 0.1},
          {"Norm", 2.0},
          {"requires_grad", requires_grad}};
}

class Unchecked : public Untouched {
 protected:
  std::string dump_of(const json& data) {
    const json dump{
        {"task", "statistics"}, {"level", "L1"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}, {"data", data}};
    return write_dump(dump.dump());
  }
  // relu with a recorded gradient that does not fit its result.
  std::string with_misfit() {
    return dump_of({{"Functional.relu.0.forward",
                     {{"input_args", {tensor({3, 4}, true)}},
                      {"input_kwargs", json::object()},
                      {"output", {tensor({3, 4}, true)}}}},
                    {"Functional.relu.0.backward", {{"input", {tensor({4, 3}, false)}}, {"output", json::array()}}},
                    {"Torch.abs.0.forward",
                     {{"input_args", {tensor({3, 4}, false)}},
                      {"input_kwargs", json::object()},
                      {"output", {tensor({3, 4}, false)}}}}});
  }
  Finished check(const std::string& recording, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"-api_info", recording, "-o", out(), "--backend", "sim"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
  fs::path result() const { return only_file(out(), "accuracy_checking_result_"); }
};

TEST_F(Unchecked, ABackwardIsCountedAndNamed) {
  const Finished finished = check(with_misfit(), {"--summary"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(read_csv(result()).at(1).at(2), "SKIP");
  EXPECT_THAT(finished.out, HasSubstr("Results that prove little"));
  EXPECT_THAT(finished.out, HasSubstr("Functional.relu.0: the backward could not be checked."));
  const std::string page = read_file(only_file(out(), "accuracy_checking_report_"));
  EXPECT_THAT(page, HasSubstr("The backward of 1 call could not be checked."));
}

TEST_F(Unchecked, ABackwardFailsARunThatIsToFailOnSkips) {
  EXPECT_EQ(check(with_misfit(), {"--fail-on", "skip"}).exit_code, 1);
  EXPECT_EQ(msrun({"-csv_path", result(), "--fail-on", "suspicious"}, scratch_.path()).exit_code, 0);
}

TEST_F(Unchecked, ABackwardIsInTheEvents) {
  const Finished finished = check(with_misfit(), {"--message-format", "json"});
  EXPECT_THAT(finished.out, HasSubstr(R"("proves_little":"backward_unchecked")"));
  EXPECT_THAT(finished.out, HasSubstr(R"("proves_little":1)"));
}

// A mask of a recording without data is random, but selects as many elements as were recorded.
TEST_F(Unchecked, NoBackwardOfASelectionByAMask) {
  const json mask{{"type", "torch.Tensor"}, {"dtype", "torch.bool"}, {"shape", {3, 4}}, {"Max", true},
                  {"Min", false},           {"requires_grad", false}};
  json data;
  int number = 0;
  for (const int selected : {0, 1, 7, 12}) {
    const std::string name = "Tensor.__getitem__." + std::to_string(number++);
    const json result = tensor({selected, 5}, true);
    data[name + ".forward"] = {
        {"input_args", {tensor({3, 4, 5}, true), mask}}, {"input_kwargs", json::object()}, {"output", {result}}};
    data[name + ".backward"] = {{"input", {result}}, {"output", json::array()}};
  }
  const std::string recording = dump_of(data);
  ASSERT_EQ(check(recording, {"--fail-on", "skip"}).exit_code, 0);
  for (const auto& row : read_csv(result())) {
    if (!row.at(0).starts_with("Tensor.")) continue;
    EXPECT_EQ(row.at(2), "pass") << row.at(0);
  }
}

// Without a journal the CSVs tell the same.
TEST_F(Unchecked, ABackwardIsKnownAgainFromTheCsvs) {
  const std::string recording = with_misfit();
  ASSERT_EQ(check(recording).exit_code, 0);
  const fs::path csv = result();
  fs::remove(only_journal(out()));
  const Finished again =
      msrun({"-api_info", recording, "-csv_path", csv, "--backend", "sim", "--fail-on", "skip", "--summary"},
            scratch_.path());
  EXPECT_EQ(again.exit_code, 1) << again.err;
  EXPECT_THAT(again.out, HasSubstr("Functional.relu.0: the backward could not be checked."));
}

// A rule of the pre-check is no fault of the recording.
TEST_F(Unchecked, ABackwardThatARuleLeavesOutFailsNothing) {
  const json index{
      {"type", "torch.Tensor"}, {"dtype", "torch.int64"}, {"shape", {4}}, {"Max", 2.0}, {"Min", 0.0}, {"Mean", 1.0},
      {"requires_grad", false}};
  const std::string recording =
      dump_of({{"Tensor.index_select.0.forward",
                {{"input_args", {tensor({3, 4}, true), 0, index}},
                 {"input_kwargs", {{"out", tensor({4, 4}, false)}}},
                 {"output", {tensor({4, 4}, true)}}}},
               {"Tensor.index_select.0.backward", {{"input", {tensor({4, 4}, false)}}, {"output", json::array()}}}});
  const Finished finished = check(recording, {"--fail-on", "skip", "--summary"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(read_csv(result()).at(1).at(2), "SKIP");
  EXPECT_THAT(finished.out, HasSubstr("a rule leaves the backward out."));
}

// A run in which no output could be compared has checked nothing, however many calls have passed.
TEST_F(Unchecked, CallsWithoutAnOutputMakeNoGreenRun) {
  const std::string recording = dump_of(
      {{"Functional.relu.0.forward",
        {{"input_args", {tensor({0}, false)}}, {"input_kwargs", json::object()}, {"output", {tensor({0}, false)}}}}});
  const Finished finished = check(recording, {"--sim-fault", "*=nan-tail"});
  EXPECT_EQ(finished.exit_code, 1) << finished.out;
  EXPECT_THAT(finished.out + finished.err, HasSubstr("Nothing was checked"));
  EXPECT_THAT(finished.out + finished.err, Not(HasSubstr("Successfully")));
  EXPECT_THAT(read_file(only_file(out(), "accuracy_checking_report_")), HasSubstr("Nothing was checked."));
}

// An empty list has not even a row.
TEST_F(Unchecked, EmptyListsMakeNoGreenRun) {
  const std::string recording = dump_of(
      {{"Tensor.size.0.forward",
        {{"input_args", {tensor(std::vector<int>(), false)}},
         {"input_kwargs", json::object()},
         {"output", json::array()}}},
       {"Torch.unbind.0.forward",
        {{"input_args", {tensor({0, 3}, false)}}, {"input_kwargs", json::object()}, {"output", json::array()}}}});
  const Finished finished = check(recording, {"--junit", (scratch_ / "run.xml").string()});
  EXPECT_EQ(finished.exit_code, 1) << finished.out;
  EXPECT_THAT(finished.out + finished.err, HasSubstr("Nothing was checked"));
  EXPECT_THAT(read_file(scratch_ / "run.xml"), HasSubstr("there is no output to compare."));
}

}  // namespace
}  // namespace msrun::testing
