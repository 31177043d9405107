#include "orchestrator/output/set_aside.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "kernels/io/files/paths.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SetAsideTest : public ::testing::Test {
 protected:
  SetAsideTest() {
    write_file(files_.result, "titles\r\nA,pass,pass\r\nB,error,pass,\"a\nreason\"\r\ntorn");
    write_file(files_.details, "titles\r\nA.0,x\r\nB.0,y\r\n");
  }

  TemporaryDirectory scratch_;
  RunFiles files_ = run_files(scratch_.path().string(), "1");
  Folder folder_{scratch_.path().string()};
};

TEST_F(SetAsideTest, KeepsNothingThatIsAllThere) {
  SetAside rows(folder_, files_, SetAside::Matters::rows);
  rows.details("C.0,z\r\nB.0,y\r\n");
  rows.details("A.0,x\r\n");
  rows.result("B,error,pass,\"a\nreason\"\r\nA,pass,pass,now with a reason\r\n");
  rows.keep();
  EXPECT_THAT(rows.kept(), IsEmpty());
  SetAside calls(folder_, files_, SetAside::Matters::calls);
  calls.result("B,pass,pass\r\n");
  calls.result("A,error, \r\n");
  calls.keep();
  EXPECT_THAT(calls.kept(), IsEmpty());
  EXPECT_EQ(scratch_.names().size(), 2U);
}

TEST_F(SetAsideTest, CopiesOfAnEarlierRunGoWhenTheirRowsAreThere) {
  write_file(files_.result + ".bak", "other titles\r\nA,pass,pass\r\n");
  write_file(files_.result + ".bak1", "titles\r\nA,pass,pass\r\nC,pass,pass\r\n");
  write_file(files_.details + ".bak", "titles\r\nB.0,y\r\nA.0,");
  write_file(files_.details + ".bak1", "titles\r\nA.0,x\r\n");
  SetAside::drop_covered(folder_, files_);
  EXPECT_FALSE(std::filesystem::exists(files_.result + ".bak"));
  EXPECT_TRUE(std::filesystem::exists(files_.result + ".bak1")) << "C is nowhere else";
  EXPECT_FALSE(std::filesystem::exists(files_.details + ".bak"));
  EXPECT_TRUE(std::filesystem::exists(files_.details + ".bak1")) << "the two belong together";
}

// Editors end lines otherwise, quote every cell and leave a blank line; the rows are the same.
TEST_F(SetAsideTest, OtherLineEndsAndQuotesAreTheSameRows) {
  write_file(files_.result, "titles\nA,\"pass\",pass\nB,error,pass,\"a\nreason\"\n\n");
  write_file(files_.details, "titles\n\"A.0\",x\nB.0,y\n\n");
  SetAside rows(folder_, files_, SetAside::Matters::rows);
  rows.details("A.0,x\r\nB.0,y\r\n");
  rows.result("A,pass,pass\r\nB,error,pass,\"a\nreason\"\r\n");
  rows.keep();
  EXPECT_THAT(rows.kept(), IsEmpty());
  write_file(files_.result + ".bak", read_file(files_.result));
  write_file(files_.details + ".bak", read_file(files_.details));
  write_file(files_.result, "titles\r\nA,pass,pass,now with a reason\r\nB,error,pass,\"a\nreason\"\r\n");
  write_file(files_.details, "titles\r\nA.0,x\r\nB.0,y\r\n");
  SetAside::drop_covered(folder_, files_);
  EXPECT_EQ(scratch_.names().size(), 2U);
}

TEST_F(SetAsideTest, ADirectoryOfTheNameOfACopyStays) {
  std::filesystem::create_directory(files_.result + ".bak");
  write_file(files_.details + ".bak1", "titles\r\nA.0,x\r\n");
  SetAside::drop_covered(folder_, files_);
  EXPECT_TRUE(std::filesystem::is_directory(files_.result + ".bak"));
  EXPECT_FALSE(std::filesystem::exists(files_.details + ".bak1")) << "the copies behind it are looked at";
}

TEST_F(SetAsideTest, KeepsBothFilesUntilTheRestIsThere) {
  for (const SetAside::Matters matters : {SetAside::Matters::rows, SetAside::Matters::calls}) {
    const std::string result = read_file(files_.result);
    SetAside aside(folder_, files_, matters);
    aside.details("A.0,x\r\nB.0,y\r\n");
    aside.result("A,pass,pass\r\n");
    aside.keep();
    EXPECT_THAT(aside.kept(), ElementsAre("accuracy_checking_result_1.csv.bak", "accuracy_checking_details_1.csv.bak"));
    EXPECT_EQ(read_file(files_.result + ".bak"), result);
    aside.details("A.0,x\r\n");
    aside.release();
    EXPECT_EQ(aside.kept().size(), 2U) << "not yet";
    aside.details("A.0,x\r\nB.0,y\r\n");
    aside.result("A,pass,pass\r\nB,error,pass,\"a\nreason\"\r\n");
    aside.release();
    EXPECT_THAT(aside.kept(), IsEmpty());
    EXPECT_EQ(scratch_.names().size(), 2U);
  }
}

TEST_F(SetAsideTest, OverwritesNoEarlierCopy) {
  write_file(files_.result + ".bak", "precious");
  SetAside aside(folder_, files_, SetAside::Matters::rows);
  aside.keep();
  EXPECT_EQ(read_file(files_.result + ".bak"), "precious");
  EXPECT_THAT(aside.kept(), ElementsAre("accuracy_checking_result_1.csv.bak1", "accuracy_checking_details_1.csv.bak"));
}

TEST_F(SetAsideTest, FilesThatAreNotThereHoldNothing) {
  fs::remove(files_.result);
  fs::remove(files_.details);
  SetAside aside(folder_, files_, SetAside::Matters::rows);
  aside.keep();
  EXPECT_THAT(aside.kept(), IsEmpty());
}

// What may hold rows is not replaced unseen.
TEST_F(SetAsideTest, RefusesWhatCannotBeRead) {
  for (const SetAside::Matters matters : {SetAside::Matters::rows, SetAside::Matters::calls}) {
    fs::remove_all(files_.result);
    fs::create_directory(files_.result);
    EXPECT_THROW(SetAside(folder_, files_, matters), WriteError);
    fs::remove(files_.result);
    ASSERT_EQ(mkfifo(files_.result.c_str(), 0600), 0);
    try {
      SetAside(folder_, files_, matters);
      ADD_FAILURE() << "was read";
    } catch (const WriteError& error) {
      EXPECT_THAT(error.what(), HasSubstr(files_.result));
    }
  }
}

TEST_F(SetAsideTest, LinksHoldNothing) {
  fs::rename(files_.result, files_.result + ".moved");
  fs::create_symlink(files_.result + ".moved", files_.result);
  fs::remove(files_.details);
  SetAside aside(folder_, files_, SetAside::Matters::calls);
  aside.keep();
  EXPECT_THAT(aside.kept(), IsEmpty());
}

}  // namespace
}  // namespace msrun::testing
