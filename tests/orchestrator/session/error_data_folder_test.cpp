// Which folder of error data is a run's own, where several have used one name.
#include "orchestrator/session/error_data_folder.h"

#include <gmock/gmock.h>

#include "kernels/base/error.h"
#include "runner/dialects/att.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

const std::string stamp_a = "20260101000000";
const std::string stamp_b = "20260202000000";
const std::string stamp_c = "20260303000000";

class ErrorDataFolder : public ::testing::Test {
 protected:
  // As a fresh run does; what it saves, and what its journal notes.
  EarlierErrorData begin(const std::string& stamp, const std::string& file = "x.npy") {
    make_room_for_error_data(place_, "error_data", stamp);
    place_.make_new("error_data");
    const Folder own = place_.subfolder("error_data");
    if (!file.empty()) write_file(own.path_of(file), stamp);
    return {true, folder_identity(own)};
  }
  std::string continued(const std::string& stamp, const EarlierErrorData& earlier) {
    return continued_error_data(place_, mindspore_dialect(), stamp, false, earlier);
  }

  TemporaryDirectory scratch_;
  Folder place_{scratch_.path().string()};
};

TEST_F(ErrorDataFolder, ThatWasSetAsideIsFoundByItsRun) {
  const EarlierErrorData a = begin(stamp_a);
  const EarlierErrorData b = begin(stamp_b);
  const EarlierErrorData c = begin(stamp_c);
  EXPECT_EQ(continued(stamp_a, a), "error_data_before_" + stamp_b);
  EXPECT_EQ(continued(stamp_b, b), "error_data_before_" + stamp_c);
  EXPECT_EQ(continued(stamp_c, c), "error_data");
  // Of earlier versions no journal notes it: the order of the stamps tells it.
  EXPECT_EQ(continued(stamp_a, {true, ""}), "error_data_before_" + stamp_b);
  EXPECT_EQ(continued(stamp_b, {true, ""}), "error_data_before_" + stamp_c);
  EXPECT_EQ(continued(stamp_c, {true, ""}), "error_data");
}

TEST_F(ErrorDataFolder, OfARunThatHasNoneIsNotThatOfAnother) {
  const EarlierErrorData a = begin(stamp_a);
  std::filesystem::remove_all(scratch_ / "error_data");
  begin(stamp_b);
  EXPECT_EQ(continued(stamp_a, a), "ut_error_data" + stamp_a);
  EXPECT_EQ(continued(stamp_a, {}), "ut_error_data" + stamp_a) << "begun without -save_error_data";
  std::filesystem::create_directory(scratch_ / ("ut_error_data" + stamp_a));
  EXPECT_EQ(continued(stamp_a, {true, ""}), "ut_error_data" + stamp_a) << "where it has gone on before";
}

TEST_F(ErrorDataFolder, ThatIsEmptyIsNotTakenOver) {
  const EarlierErrorData a = begin(stamp_a, "");
  const EarlierErrorData b = begin(stamp_b, "");
  EXPECT_NE(a.identity, b.identity);
  EXPECT_EQ(continued(stamp_a, a), "ut_error_data" + stamp_a);
  EXPECT_EQ(continued(stamp_b, b), "error_data");
}

TEST_F(ErrorDataFolder, OfARunThatGoesOnIsKeptForIt) {
  const EarlierErrorData a = begin(stamp_a, "");
  const Folder held = place_.subfolder("error_data");
  hold_error_data(held);
  begin(stamp_b, "");
  EXPECT_EQ(continued(stamp_a, a), "error_data_before_" + stamp_b);
}

TEST_F(ErrorDataFolder, OfTheOldLayoutIsRefusedWhereItIsAnothers) {
  const Dialect& dialect = att_dialect(false);
  const auto of = [&](const EarlierErrorData& earlier) {
    return continued_error_data(place_, dialect, "", false, earlier);
  };
  const Folder own = place_.subfolder("ut_error_data");
  write_file(own.path_of("x.pt"), "");
  const EarlierErrorData earlier{true, folder_identity(own)};
  EXPECT_EQ(of(earlier), "ut_error_data");
  std::filesystem::rename(scratch_ / "ut_error_data", scratch_ / "moved");
  EXPECT_EQ(of(earlier), "ut_error_data") << "nothing is there";
  write_file(place_.subfolder("ut_error_data").path_of("y.pt"), "");
  EXPECT_THAT(error_of<UserError>([&] { of(earlier); }), HasSubstr("move it away"));
}

}  // namespace
}  // namespace msrun::testing
