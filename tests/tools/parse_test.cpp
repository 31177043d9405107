// parse: what it shows of files of tensors, and the .npy files that it makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "kernels/io/numpy/npy.h"
#include "kernels/io/stored/npz.h"
#include "kernels/io/torch/pt_file.h"
#include "tests/support/ge_dump_builder.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/without_privileges.h"
#include "tools/parse/command.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* ge_name = "Add.Add_1.3.0.1767607200000";

class Parse : public ::testing::Test {
 protected:
  Finished run(const std::vector<std::string>& words) const { return run_tool("parse", words, scratch_.path()); }

  std::string file(const std::string& name, const std::string& bytes) const {
    fs::create_directories((scratch_ / name).parent_path());
    write_file(scratch_ / name, bytes);
    return scratch_ / name;
  }

  std::string ge_file(const std::string& name) const {
    // The bits of bfloat16 1.0 and -2.5, and int32.
    const DumpTensor input{.data_type = 27, .shape = {2}, .data = bytes_of<std::uint16_t>({0x3F80, 0xC020})};
    const DumpTensor output{.data_type = 7, .shape = {3, 1}, .data = bytes_of<std::int32_t>({7, 8, 9})};
    return file(name, ge_dump_bytes({input}, {output}));
  }

  static std::vector<double> values(const Tensor& tensor) {
    const Tensor wide = tensor.to(DType::float64).contiguous();
    return {wide.data<double>(), wide.data<double>() + wide.numel()};
  }

  TemporaryDirectory scratch_;
};

TEST_F(Parse, ShowsWhatADumpOfAnOperatorHolds) {
  const Finished shown = run({ge_file(ge_name), "--format", "csv"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, std::string("File,Tensor,Dtype,Shape,Written to,Message\r\n") + ge_name +
                           ",input.0,bfloat16,\"(2,)\",,\r\n" + ge_name + ",output.0,int32,\"(3, 1)\",,\r\n");
  EXPECT_FALSE(fs::exists(scratch_ / (std::string(ge_name) + ".input.0.npy")));
}

// A name that would be a formula is one that exists, behind an apostrophe.
TEST_F(Parse, NamesAreThoseOfTheFiles) {
  write_npy(Folder(scratch_.path()), "=cmd.npy", Tensor::full(DType::float32, std::vector<std::int64_t>{2}, 1));
  const Finished shown = run({scratch_ / "=cmd.npy", "--format", "csv"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\r\n'=cmd.npy,"));
}

TEST_F(Parse, WritesEveryTensorOfADumpAsNpy) {
  const std::string to = scratch_ / "npy";
  ASSERT_EQ(run({ge_file(ge_name), "-o", to}).exit_code, 0);
  const Tensor input = read_npy(to + "/" + ge_name + ".input.0.npy");
  EXPECT_EQ(input.dtype(), DType::float32);
  EXPECT_THAT(values(input), ElementsAre(1.0, -2.5));
  const Tensor output = read_npy(to + "/" + ge_name + ".output.0.npy");
  EXPECT_EQ(output.dtype(), DType::int32);
  EXPECT_EQ(output.shape().size(), 2U);
  EXPECT_THAT(values(output), ElementsAre(7, 8, 9));
}

TEST_F(Parse, TakesAllFilesOfADirectory) {
  ge_file(std::string("dump/0/") + ge_name);
  write_pt(scratch_ / "dump" / "t.pt", Tensor::full(DType::bfloat16, std::vector<std::int64_t>{2, 2}, 0.5));
  NpzArray array{"values", NumpyType::int16, {2}, std::vector<std::byte>(4)};
  file("dump/a.npz", npz_bytes(std::span(&array, 1)));
  file("dump/notes.txt", "no tensors");
  file("dump/broken.npy", "no array");
  const std::string to = scratch_ / "npy";
  const Finished done = run({scratch_ / "dump", "-o", to, "--stats", "--format", "csv"});
  EXPECT_EQ(done.exit_code, 1) << done.out;
  EXPECT_THAT(done.out, StartsWith("File,Tensor,Dtype,Shape,Written to,Min,Max,Mean,L2 norm,NaN,Inf,Message\r\n"));
  EXPECT_THAT(done.out, HasSubstr("t.pt,,bfloat16,\"(2, 2)\"," + to + "/t.npy,0.5,0.5,0.5,1,0,0,\r\n"));
  EXPECT_THAT(done.out, HasSubstr("a.npz,values,int16,"));
  EXPECT_THAT(done.out, HasSubstr("broken.npy"));
  EXPECT_EQ(done.out.find("notes.txt"), std::string::npos);
  EXPECT_EQ(read_npy(to + "/t.npy").dtype(), DType::float32);
  EXPECT_THAT(values(read_npy(to + "/a.values.npy")), ElementsAre(0, 0));
  EXPECT_THAT(values(read_npy(to + "/0/" + ge_name + ".output.0.npy")), ElementsAre(7, 8, 9));
}

TEST_F(Parse, ReplacesNothing) {
  const std::string dump = ge_file(ge_name);
  const std::string to = scratch_ / "npy";
  ASSERT_EQ(run({dump, "-o", to}).exit_code, 0);
  const Finished again = run({dump, "-o", to});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr(".input.0.npy is there already and is not replaced."));
}

TEST_F(Parse, AnArchiveOfWhichSomeArraysCannotBeWrittenHasRows) {
  const std::vector<NpzArray> arrays{{"one", NumpyType::int16, {2}, std::vector<std::byte>(4)},
                                     {"two", NumpyType::int16, {2}, std::vector<std::byte>(4)}};
  const std::string archive = file("dump/a.npz", npz_bytes(arrays));
  const std::string to = scratch_ / "npy";
  file("npy/a.one.npy", "of somebody");
  const std::string rows = "File,Tensor,Dtype,Shape,Written to,Message\r\na.npz,one,int16,\"(2,)\",,The file " + to +
                           "/a.one.npy is there already and is not replaced.\r\na.npz,two,int16,\"(2,)\"," + to +
                           "/a.two.npy,\r\n";
  for (const std::string& input : {archive, std::string(scratch_ / "dump")}) {
    const Finished done = run({input, "-o", to, "--format", "csv"});
    EXPECT_EQ(done.exit_code, 1) << done.err;
    EXPECT_EQ(done.out, rows);
    EXPECT_EQ(done.err, "");
    EXPECT_THAT(values(read_npy(to + "/a.two.npy")), ElementsAre(0, 0));
    fs::remove(to + "/a.two.npy");
  }
  EXPECT_EQ(read_file(scratch_ / "npy" / "a.one.npy"), "of somebody");
}

TEST_F(Parse, WhatOnlyHasTheNameOfAFileHasARowThatSaysWhy) {
  fs::create_directory(scratch_ / "dump");
  write_npy(Folder(scratch_ / "dump"), "good.npy", Tensor::full(DType::float32, std::vector<std::int64_t>{2}, 1));
  fs::create_symlink("nothing.npy", scratch_ / "dump" / "dangling.npy");
  fs::create_symlink("good.npy", scratch_ / "dump" / "linked.npy");
  fs::create_directory(scratch_ / "dump" / "folder.npy");
  const std::string pipe = scratch_ / "dump" / "pipe.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Finished done = run({scratch_ / "dump", "--format", "csv"});
  EXPECT_EQ(done.exit_code, 1) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\r\ndangling.npy,,,,,The link "));
  EXPECT_THAT(done.out, HasSubstr("dangling.npy leads to nothing.\r\n"));
  EXPECT_THAT(done.out, HasSubstr("\r\npipe.npy,,,,,The " + pipe + " should be a file!\r\n"));
  EXPECT_THAT(done.out, HasSubstr("\r\ngood.npy,,float32,\"(2,)\",,\r\n"));
  EXPECT_THAT(done.out, HasSubstr("\r\nlinked.npy,,float32,\"(2,)\",,\r\n"));
  EXPECT_EQ(done.out.find("folder.npy"), std::string::npos);
}

TEST_F(Parse, WhatOfADirectoryIsNotLookedAtIsTold) {
  fs::path deep = scratch_ / "in";
  for (int i = 0; i < 33; ++i) deep /= "d";
  ge_file("elsewhere/" + std::string(ge_name));
  ge_file("in/" + std::string(ge_name));
  fs::create_directories(deep);
  // A link to what is found anyway leaves nothing out.
  fs::create_directory_symlink("d", scratch_ / "in/again");
  EXPECT_EQ(run({scratch_ / "in"}).exit_code, 1);
  fs::remove(deep);
  const Finished whole = run({scratch_ / "in"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.err, "");
  fs::create_directories(deep);
  fs::create_directory_symlink(scratch_ / "elsewhere", scratch_ / "in/link");
  const Finished part = run({scratch_ / "in"});
  EXPECT_EQ(part.exit_code, 1);
  EXPECT_THAT(part.out, HasSubstr("input.0"));
  EXPECT_THAT(part.err,
              AllOf(HasSubstr("parse: warning: The link " + (scratch_ / "in/link").string() + " to a directory"),
                    HasSubstr("parse: warning: What lies more than 32 levels below")));
}

TEST_F(Parse, ASubdirectoryThatCannotBeReadIsTold) {
  ge_file("in/" + std::string(ge_name));
  ge_file("in/locked/" + std::string(ge_name));
  fs::permissions(scratch_ / "in/locked", fs::perms::none);
  parse::Options options;
  options.input = scratch_ / "in";
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  int code = -1;
  {
    const WithoutPrivileges user(scratch_.path());
    code = parse::run(options, false);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("input.0"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), AllOf(HasSubstr("locked cannot be read: Permission denied"),
                                                              HasSubstr("parse: warning: The directory ")));
  EXPECT_EQ(code, 1);
  fs::permissions(scratch_ / "in/locked", fs::perms::owner_all);
}

TEST_F(Parse, ADirectoryWithoutANameIsNone) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-o", ""}, std::vector<std::string>{"--out_path", ""}}) {
    const Finished refused = run({ge_file(ge_name), words[0], words[1]});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(" needs the name of a directory\n"));
    EXPECT_EQ(refused.out, "");
  }
}

TEST_F(Parse, SaysInOneLineWhatCannotBeUsed) {
  EXPECT_EQ(run({}).err,
            "parse: a file or a directory is needed: parse FILE|DIR [-o DIR]; parse -h lists all options\n");
  fs::create_directory(scratch_ / "empty");
  for (const std::string& input : {std::string(scratch_ / "missing.pt"), std::string(scratch_ / "empty"),
                                   file("odd.npz", "x"), file("odd", "y")}) {
    const Finished refused = run({input});
    EXPECT_EQ(refused.exit_code, 2) << input;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(input));
    EXPECT_EQ(refused.out, "");
  }
}

TEST_F(Parse, WhatIsRefusedLeavesNoFolder) {
  for (const std::string& input : {std::string(scratch_ / "missing.pt"), file("odd.npz", "x")}) {
    EXPECT_EQ(run({"-d", input, "-t", "npy", "-o", scratch_ / "new/out"}).exit_code, 2) << input;
    EXPECT_FALSE(fs::exists(scratch_ / "new")) << input;
  }
}

TEST_F(Parse, StatisticsCountWhatIsNotFinite) {
  const float nan = std::nanf("");
  const DumpTensor tensor{.data_type = 1, .shape = {3}, .data = bytes_of<float>({1, nan, INFINITY})};
  const Finished shown = run({file(ge_name, ge_dump_bytes({tensor}, {})), "--stats", "--format", "csv"});
  EXPECT_THAT(shown.out, HasSubstr(",input.0,float32,\"(3,)\",,nan,nan,nan,nan,1,1,"));
}

TEST_F(Parse, ANaNHasNoSign) {
  const DumpTensor tensor{.data_type = 1, .shape = {2}, .data = bytes_of<float>({INFINITY, -INFINITY})};
  const Finished shown = run({file(ge_name, ge_dump_bytes({tensor}, {})), "--stats", "--format", "csv"});
  EXPECT_THAT(shown.out, HasSubstr(",input.0,float32,\"(2,)\",,-inf,inf,nan,inf,0,2,"));
}

TEST_F(Parse, IsACommandOfMsrun) {
  EXPECT_THAT(msrun({"parse", "--help"}, scratch_.path()).out, HasSubstr("Usage: parse FILE|DIR"));
}

TEST_F(Parse, TakesTheCommandLineOfMsprobe) {
  const std::string to = scratch_ / "made";
  ASSERT_EQ(run({"-d", ge_file(ge_name), "-t", "pt", "-o", to}).exit_code, 0);
  const Tensor input = read_pt(to + "/" + ge_name + ".input.0.pt");
  EXPECT_EQ(input.dtype(), DType::bfloat16) << "torch has it";
  EXPECT_THAT(values(input), ElementsAre(1, -2.5));
  const Tensor output = read_pt(to + "/" + ge_name + ".output.0.pt");
  EXPECT_EQ(output.dtype(), DType::int32);
  EXPECT_THAT(output.shape(), ElementsAre(3, 1));
  ASSERT_EQ(run({"--dump_path", ge_file(ge_name), "--type", "npy", "--output_path", to}).exit_code, 0);
  EXPECT_THAT(values(read_npy(to + "/" + ge_name + ".input.0.npy")), ElementsAre(1, -2.5));
}

TEST_F(Parse, HasTheDefaultsOfMsprobeBehindItsOption) {
  fs::create_directories(scratch_ / "dump");
  ge_file(std::string("dump/") + ge_name);
  Process shell({"-c", "cd '" + scratch_.path().string() + "' && '" + programs() + "/parse' -d dump"}, scratch_.path(),
                {}, "/bin/sh");
  const Finished finished = shell.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(fs::exists(scratch_ / "output" / (std::string(ge_name) + ".input.0.pt")));
}

TEST_F(Parse, KeepsTheDtypesOfTorchInItsFiles) {
  write_pt(scratch_ / "a.pt", Tensor::full(DType::bfloat16, std::vector<std::int64_t>{2, 2}, 1.5));
  ASSERT_EQ(run({scratch_ / "a.pt", "-t", "pt", "-o", scratch_ / "made", "--stats"}).exit_code, 0);
  EXPECT_EQ(read_pt(scratch_ / "made/a.pt").dtype(), DType::bfloat16);
  EXPECT_THAT(run({scratch_ / "a.pt", "-t", "pt"}).err, HasSubstr("-t needs -o DIR"));
  EXPECT_THAT(run({"-d", scratch_ / "a.pt", scratch_ / "a.pt"}).err, HasSubstr("given twice"));
  EXPECT_THAT(run({"-d", scratch_ / "a.pt", "-t", "bin"}).err, HasSubstr("pt"));
}

}  // namespace
}  // namespace msrun::testing
