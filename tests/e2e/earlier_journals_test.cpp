// A run that an earlier program began and that was killed twice (tests/data/journal_version_1 and _2): shown, exported
// and continued.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Earlier {
  int version;
  const char* stamp;
  int records;
  int attempt_notes;
  int uncompressed;
};

class EarlierJournal : public Untouched, public ::testing::WithParamInterface<Earlier> {
 protected:
  EarlierJournal() {
    fs::create_directory(out());
    for (const fs::directory_entry& entry : fs::directory_iterator(data(GetParam().version))) {
      const fs::path name = entry.path().filename();
      if (name.string().starts_with("accuracy_checking_")) fs::copy_file(entry.path(), out() / name);
    }
  }

  static fs::path data(int version) { return fs::path(test_data()) / ("journal_version_" + std::to_string(version)); }
  fs::path result() const { return out() / ("accuracy_checking_result_" + std::string(GetParam().stamp) + ".csv"); }
  fs::path details() const { return out() / ("accuracy_checking_details_" + std::string(GetParam().stamp) + ".csv"); }

  Finished resume(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"-api_info", dump("npu_fused_synth_bf16"), "-csv_path", result()};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
  void expect_whole() const {
    // The Messages of warnings are of today.
    Rows rows = read_csv(result());
    Rows expected = read_csv(data(1) / "whole_result.csv");
    for (Rows* all : {&rows, &expected}) {
      for (std::size_t i = 1; i < all->size(); ++i) (*all)[i].resize(3);
    }
    EXPECT_EQ(rows, expected);
    EXPECT_EQ(read_file(details()), read_file(data(1) / "whole_details.csv"));
  }
  // Without what later versions say of a result.
  std::string exported() const {
    std::istringstream lines(msrun({"journal", result(), "--export", "-"}, scratch_.path()).out);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      auto object = nlohmann::ordered_json::parse(line);
      for (const char* later :
           {"outcome", "tested_on", "suspicious", "proves_little", "checksums", "repeats", "agreement", "represents"}) {
        EXPECT_EQ(object.erase(later), 1U) << later;
      }
      for (auto& row : object["rows"]) {
        for (const char* later : {"beyond_rounding", "judgement", "proves_little", "visible_fault", "difference"}) {
          EXPECT_EQ(row.erase(later), 1U) << later;
        }
      }
      text += object.dump() + "\n";
    }
    return text;
  }
  json as_json() const {
    return json::parse(msrun({"journal", result(), "--json"}, scratch_.path()).out, nullptr, false);
  }
};

TEST_P(EarlierJournal, IsShownAndExportedAsItWas) {
  EXPECT_EQ(exported(), read_file(data(GetParam().version) / "export.jsonl"));
  const json object = as_json();
  EXPECT_EQ(object["format_version"], GetParam().version);
  EXPECT_EQ(object["results"], 20);
  EXPECT_EQ(object["records"], GetParam().records);
  EXPECT_EQ(object["attempt_notes"], GetParam().attempt_notes);
  EXPECT_EQ(object["bytes"]["uncompressed"], GetParam().uncompressed);
  EXPECT_EQ(object["damage"]["unreadable_records"], 0);
  EXPECT_FALSE(object["time"]["last_result"].is_null());
}

TEST_P(EarlierJournal, IsContinuedToTheCsvsOfAnUndisturbedRun) {
  const Finished finished = resume({"--retry-skip"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("--retry-skip: 1 calls that were SKIP run again."),
                                  HasSubstr("19 of 21 calls were finished by the earlier run."),
                                  HasSubstr("1 calls were in flight when a run died, twice or more"),
                                  HasSubstr("The first is NPU.npu_confusion_transpose.0.")));
  expect_whole();

  // The journal has records of both forms now.
  const json object = as_json();
  EXPECT_EQ(object["format_version"], GetParam().version);
  EXPECT_EQ(object["results"], 21);
  EXPECT_EQ(object["replaced"], 1);
  EXPECT_EQ(object["counts"]["skip"], 0);
  EXPECT_EQ(object["damage"]["unreadable_records"], 0);
  fs::remove(result());
  fs::remove(details());
  EXPECT_EQ(resume().exit_code, 0);
  expect_whole();
}

TEST_P(EarlierJournal, KeepsItsSkipUnlessAsked) {
  const std::string skip = "NPU.npu_confusion_transpose.1,SKIP,SKIP,";
  ASSERT_THAT(read_file(result()), HasSubstr(skip));
  fs::remove(result());
  fs::remove(details());
  EXPECT_EQ(resume().exit_code, 0);
  EXPECT_THAT(read_file(result()), HasSubstr(skip));
}

// The header has no list of options, but it tells most of them.
TEST_P(EarlierJournal, TellsItsOptionsToWhoContinuesIt) {
  const Finished finished = resume({"--seed", "9"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("seed (1234 then, 9 now)"));
  const Finished alone = msrun({"-csv_path", result(), "-api_info", dump("npu_fused_synth_bf16")}, scratch_.path());
  EXPECT_EQ(alone.exit_code, 0) << alone.out << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("-n 2 -d 0 1"));
}

INSTANTIATE_TEST_SUITE_P(Versions, EarlierJournal,
                         ::testing::Values(Earlier{1, "20261122031752", 29, 8, 17006},
                                           Earlier{2, "20261122065825", 28, 7, 15747}),
                         [](const auto& tested) { return "Version" + std::to_string(tested.param.version); });

}  // namespace
}  // namespace msrun::testing
