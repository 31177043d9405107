// What the answers of several devices to one call come to: who is to blame, who has to check, and whom nothing speaks
// against.
#include "runner/results/agreement.h"

#include <gmock/gmock.h>

#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verdict = Agreement::Verdict;

// By part: the device of part p has id 10 + p.
Answers answers(const std::vector<std::uint64_t>& outputs, const std::string& call = "Torch.matmul.0") {
  Answers answers;
  for (std::size_t part = 0; part < outputs.size(); ++part) {
    ApiResult run;
    run.name = call;
    run.device = static_cast<std::int32_t>(10 + part);
    run.forward = outputs[part] == 0 ? Status::skip : Status::pass;
    if (outputs[part] == 0) {
      run.message = "no luck";
    } else {
      run.checksums = {{outputs[part]}, {7}};
    }
    answers.runs.push_back(run);
  }
  return answers;
}

std::vector<std::int32_t> blamed(const Answers& answers) {
  std::vector<std::int32_t> devices;
  const ApiResult result = joined(answers);
  for (const DeviceAnswer& answer : result.agreement->answers) {
    if (answer.blamed) devices.push_back(answer.device);
  }
  return devices;
}

Verdict verdict(const Answers& answers) { return joined(answers).agreement->verdict; }

ApiResult check_of(const ApiResult& run, bool suspicious) {
  ApiResult check = run;
  if (suspicious) {
    check.forward = Status::error;
    DetailsRow row(pytorch_columns());
    row.status = Status::error;
    row.message = "\nNot explained by rounding: 1 of 8 elements differs.\n";
    check.forward_rows = {row};
  }
  return check;
}

void make_unsteady(ApiResult& run) { run.repeats = {3, 1, false, "forward.output.0", ""}; }

TEST(AgreementOfDevices, IsFoundWhereAllGiveTheSame) {
  for (const std::uint64_t output : {0, 5}) {
    const Answers same = answers({output, output, output});
    EXPECT_EQ(verdict(same), Verdict::same);
    EXPECT_THAT(wanted_checks(same), IsEmpty());
    EXPECT_EQ(message_with_reason(joined(same)), joined(same).message);
  }
}

TEST(AgreementOfDevices, TheFewerAreToBlame) {
  const Answers one = answers({5, 5, 6});
  EXPECT_THAT(blamed(one), ElementsAre(12));
  EXPECT_THAT(wanted_checks(one), IsEmpty());
  EXPECT_EQ(message_with_reason(joined(one)),
            "Suspicious: Device 12 differs from devices 10 and 11 (forward.output.0).");
  EXPECT_TRUE(is_suspicious(joined(one)));
  EXPECT_THAT(blamed(answers({6, 5, 5, 5})), ElementsAre(10)) << "also if it is the one whose values were judged";
  EXPECT_THAT(blamed(answers({5, 6, 5, 7, 5})), ElementsAre(11, 13));
  EXPECT_EQ(message_with_reason(joined(answers({5, 6, 5, 7, 5}))),
            "Suspicious: Devices 11 and 13 differ from devices 10, 12 and 14 (forward.output.0).");
}

TEST(AgreementOfDevices, OfTwoTheBenchmarkTells) {
  Answers two = answers({5, 6});
  EXPECT_THAT(wanted_checks(two), ElementsAre(1));
  two.checks[1] = check_of(two.runs[1], true);
  EXPECT_THAT(wanted_checks(two), IsEmpty());
  EXPECT_THAT(blamed(two), ElementsAre(11));
  EXPECT_THAT(message_with_reason(joined(two)),
              HasSubstr("Device 11 differs from device 10 (forward.output.0): the benchmark speaks against it: "
                        "forward.output.0: Not explained by rounding: 1 of 8 elements differs."));
  two.checks[1] = two.runs[1];
  two.runs[0] = check_of(two.runs[0], true);
  EXPECT_THAT(blamed(two), ElementsAre(10));
}

TEST(AgreementOfDevices, OfTwoNothingMayTell) {
  Answers two = answers({5, 6});
  two.checks[1] = two.runs[1];
  EXPECT_EQ(verdict(two), Verdict::undecided) << "the benchmark has nothing against either";
  EXPECT_THAT(blamed(two), IsEmpty());
  EXPECT_EQ(message_with_reason(joined(two)),
            "Suspicious: Not the same on every device: the bits of devices 10 and 11 differ (forward.output.0), and "
            "nothing tells which are wrong.");
  two.runs[0] = check_of(two.runs[0], true);
  two.checks[1] = check_of(two.runs[1], true);
  EXPECT_EQ(verdict(two), Verdict::undecided) << "it speaks against both";
}

TEST(AgreementOfDevices, WithoutMostOneOfEachKindChecks) {
  const Answers halves = answers({5, 6, 5, 6});
  EXPECT_THAT(wanted_checks(halves), ElementsAre(1));
  Answers decided = halves;
  decided.checks[1] = check_of(halves.runs[1], true);
  EXPECT_THAT(blamed(decided), ElementsAre(11, 13));
  EXPECT_THAT(wanted_checks(answers({5, 6, 7})), ElementsAre(1, 2));
}

TEST(AgreementOfDevices, OperatorsThatAreDeclaredToVaryAreNamedAndNotBlamed) {
  const Answers varying = answers({5, 5, 6}, "Torch.cumsum.0");
  EXPECT_EQ(verdict(varying), Verdict::may_vary);
  EXPECT_FALSE(is_suspicious(joined(varying)));
  EXPECT_EQ(message_with_reason(joined(varying)),
            "Varies between devices 10, 11 and 12, as its operator may (forward.output.0).");
  Answers gradients = answers({5, 5, 5}, "Functional.embedding.0");
  gradients.runs[1].checksums.gradients = {8};
  EXPECT_EQ(verdict(gradients), Verdict::may_vary);
  EXPECT_EQ(verdict(answers({5, 5, 6}, "Functional.embedding.0")), Verdict::blamed) << "its outputs may not";
}

TEST(AgreementOfDevices, WhoGivesNothingDiffersFromThoseThatDo) {
  const Answers silent = answers({5, 0, 5});
  EXPECT_THAT(blamed(silent), ElementsAre(11));
  EXPECT_THAT(message_with_reason(joined(silent)), HasSubstr("it did not run the call: no luck"));
  EXPECT_EQ(verdict(answers({0, 0, 5})), Verdict::undecided);
  // The device has run it; what failed was the check.
  Answers unchecked = answers({5, 5, 5});
  unchecked.runs[0].forward = Status::skip;
  EXPECT_EQ(verdict(unchecked), Verdict::same);
}

TEST(AgreementOfDevices, WhereTheFirstRefusesAnotherChecks) {
  for (const std::vector<std::uint64_t>& outputs : {std::vector<std::uint64_t>{0, 5}, {0, 5, 5}, {0, 0, 5}}) {
    Answers refused = answers(outputs);
    refused.runs.front().outcome = Outcome::not_checkable;
    const std::uint32_t stand_in = outputs[1] == 0 ? 2 : 1;
    EXPECT_THAT(wanted_checks(refused), ElementsAre(stand_in));
    refused.checks[stand_in] = refused.runs[stand_in];
    EXPECT_THAT(wanted_checks(refused), IsEmpty());
    const ApiResult result = joined(refused);
    EXPECT_EQ(result.device, static_cast<std::int32_t>(10 + stand_in));
    EXPECT_EQ(result.forward, Status::pass);
    EXPECT_TRUE(is_suspicious(result));
    refused.checks[stand_in] = check_of(refused.runs[stand_in], true);
    EXPECT_EQ(joined(refused).forward, Status::error) << "what the check finds counts";
  }
  Answers split = answers({0, 5, 6});
  split.runs.front().outcome = Outcome::not_checkable;
  EXPECT_THAT(wanted_checks(split), ElementsAre(1, 2)) << "each once";
}

TEST(AgreementOfDevices, WhatFailedToRunWhereItWasToBeCheckedMayRunAgain) {
  Answers died = answers({0, 5, 5});
  died.runs.front().outcome = Outcome::failed_to_run;
  EXPECT_THAT(wanted_checks(died), IsEmpty());
  EXPECT_EQ(joined(died).outcome, Outcome::failed_to_run);
  EXPECT_THAT(blamed(died), ElementsAre(10));
}

TEST(AgreementOfDevices, WhoIsNotTheSameEachTimeIsToBlameUnlessNobodyIs) {
  Answers one = answers({5, 6, 6});
  make_unsteady(one.runs[1]);
  EXPECT_THAT(wanted_checks(one), ElementsAre(2)) << "of the steady ones nobody is the fewer";
  one.checks[2] = check_of(one.runs[2], false);
  EXPECT_THAT(blamed(one), ElementsAre(11));
  Answers alike = answers({5, 5, 5});
  make_unsteady(alike.runs[2]);
  EXPECT_THAT(blamed(alike), ElementsAre(12));
  EXPECT_THAT(message_with_reason(joined(alike)), HasSubstr("it does not give the same bits each time"));
  Answers all = answers({5, 6, 5});
  for (ApiResult& run : all.runs) make_unsteady(run);
  EXPECT_EQ(verdict(all), Verdict::undecided) << "it is the call";
  EXPECT_THAT(wanted_checks(all), IsEmpty());
}

TEST(AgreementOfDevices, ACheckThatGivesOtherBitsThanItsRunSpeaksAgainstTheDevice) {
  Answers two = answers({5, 6});
  two.checks[1] = check_of(answers({5, 5}).runs[1], false);
  EXPECT_THAT(blamed(two), ElementsAre(11));
  EXPECT_THAT(joined(two).agreement->reason, HasSubstr("not give the same bits each time"));
}

TEST(AgreementOfDevices, ListsDevicesByIdAndAddsTheirTimes) {
  Answers three = answers({5, 5, 5});
  three.runs[0].device = 30;
  for (ApiResult& run : three.runs) run.times = {1, 2, 3, 4};
  const ApiResult result = joined(three);
  ASSERT_EQ(result.agreement->answers.size(), 3U);
  EXPECT_EQ(result.agreement->answers[2].device, 30);
  EXPECT_EQ(result.times.device, 6U);
  EXPECT_EQ(result.device, 30) << "that of the check";
}

}  // namespace
}  // namespace msrun
