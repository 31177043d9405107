// torchair_convert as a user runs it, on finished trees.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "kernels/io/files/zip.h"
#include "kernels/io/stored/npz.h"
#include "tests/tools/torchair_convert_support.h"
#include "tools/torchair_convert/convert_file.h"
#include "tools/torchair_convert/names.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> paths(const Files& files) {
  std::vector<std::string> result;
  for (const auto& [path, bytes] : files) result.push_back(path);
  return result;
}

class TorchairConvert : public ::testing::Test {
 protected:
  fs::path tree() const { return scratch_ / "tree"; }
  void put(const std::string& name, const std::string& bytes) const {
    fs::create_directories((tree() / name).parent_path());
    write_file(tree() / name, bytes);
  }
  Finished convert(std::vector<std::string> further = {}) const {
    return convert_once(tree(), scratch_.path(), std::move(further));
  }
  std::vector<std::string> names_in_tree() const { return paths(files_in(tree())); }

  const TemporaryDirectory scratch_;
};

TEST_F(TorchairConvert, GivesTheFilesOfTheConverterInUse) {
  for (const char* name : {"ge_on", "ge_off", "fx_post710"}) {
    SCOPED_TRACE(name);
    fs::remove_all(tree());
    copy_tree(torchair_data() / "trees" / name, tree());
    const Files before = files_in(tree());
    const Files expected = files_in(torchair_data() / "converted" / name);
    const Finished run = convert();
    EXPECT_EQ(run.exit_code, 0);
    const Files after = files_in(tree());
    ASSERT_EQ(paths(after), paths(expected));
    std::size_t converted = 0;
    for (const auto& [path, bytes] : expected) {
      EXPECT_EQ(after.at(path), bytes) << path;
      if (!before.contains(path)) ++converted;
    }

    EXPECT_EQ(static_cast<std::size_t>(std::count(run.out.begin(), run.out.end(), '\n')), converted);
    EXPECT_THAT(run.out, HasSubstr("Converted: " + tree().string() + "/"));
    EXPECT_THAT(run.err, HasSubstr("holds a tensor without elements"));
    EXPECT_THAT(run.err, HasSubstr("Converted " + std::to_string(converted) + " files, "));
    EXPECT_THAT(run.out, Not(HasSubstr("Waiting")));
    // A second run finds nothing to do.
    EXPECT_EQ(convert().exit_code, 0);
    EXPECT_EQ(files_in(tree()), expected);
  }
}

TEST_F(TorchairConvert, KnowsMappedNamesAndReportsWhatItCannotRead) {
  copy_tree(torchair_data() / "trees" / "ge_quirks", tree());
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 1);
  const std::string folder = "msprobe_ge_dump/worldsize1_global_rank0/20260105101501/0/graph_1_0/1/0/";
  const Files after = files_in(tree());
  EXPECT_TRUE(after.contains(folder + "10000000000000000000505865062723_min_max.npz"));
  EXPECT_FALSE(after.contains(folder + "10000000000000000000505865062723"));
  EXPECT_TRUE(after.contains(folder + "mapping.csv"));
  EXPECT_TRUE(after.contains(folder + "Sin.Trunc_5.23.3.1767607200006924"));
  EXPECT_TRUE(after.contains(folder + "Cos.Empty_7.29.2.1767607200010386"));
  EXPECT_TRUE(after.contains(folder + "Abs.U64_6.26.4.1767607200008655_min_max.npz"));
  EXPECT_THAT(run.err, HasSubstr("Sin.Trunc_5.23.3.1767607200006924 is truncated: it has 145 of 165 bytes."));
  EXPECT_THAT(run.err, HasSubstr("1 could not be converted."));
}

TEST_F(TorchairConvert, LeavesWhatIsNoArrayOfNumbers) {
  copy_tree(torchair_data() / "trees" / "fx_quirks", tree());
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("holds the numpy dtype |O, which is not supported."));
  EXPECT_THAT(run.err, HasSubstr("holds the numpy dtype <U5, which is not supported."));
  EXPECT_THAT(run.err, HasSubstr("2 have nothing to convert."));
  std::size_t left = 0;
  for (const std::string& name : names_in_tree()) left += name.ends_with("_min_max.npy") ? 0 : 1;
  EXPECT_EQ(left, 2);
}

TEST_F(TorchairConvert, LeavesEverythingElseAlone) {
  const std::string dump = ge_file({1, 2});
  const std::string array = npy_file({1, 2});
  // No such names, hidden, or converted already.
  for (const char* name : {"a.b.c.d.txt", "a.b.c.d.swp", "a.b.c.d.csv", "a.b.c.d.json", "a.b.c.d.log", "a.b.c.d.tmp",
                           "a.b.c.d.npz", "a.b.c.d.py", "a.b.c.d.pbtxt", ".a.b.c.d.e", "a.b.c.d", "12345",
                           "a.b.c.d.e_min_max.npz", ".hidden/a.b.c.d.e"}) {
    put(name, dump);
  }
  put("a_min_max.npy", array);
  put(".a.npy", array);
  put("a.b.c.d.zero", "");
  put("zero.npy", "");
  // Unfinished, too long, or no dump.
  put("Short.a.1.2.3", dump.substr(0, dump.size() - 1));
  put("Long.a.1.2.3", dump + "x");
  put("Tiny.a.1.2.3", dump.substr(0, 8));
  put("Zeros.a.1.2.3", std::string(8, '\0'));
  put("Noise.a.1.2.3", std::string("\4\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF", 12));
  put("None.a.1.2.3", ge_dump_bytes({}, {}));
  put("short.npy", array.substr(0, array.size() - 1));
  put("long.npy", array + "x");
  put("half.npy", array.substr(0, 30));
  put("text.npy", "a text of more than ten bytes");
  // Outside of the tree.
  write_file(scratch_ / "outside.npy", array);
  fs::create_directories(scratch_ / "elsewhere");
  write_file(scratch_ / "elsewhere" / "other.npy", array);
  fs::create_symlink(scratch_ / "outside.npy", tree() / "link.npy");
  fs::create_directory_symlink(scratch_ / "elsewhere", tree() / "linked");
  ASSERT_EQ(mkfifo((tree() / "pipe.npy").c_str(), 0600), 0);
  const Files before = files_in(tree());
  const Finished run = convert({"--verbose"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(files_in(tree()), before);
  EXPECT_EQ(read_file(scratch_ / "outside.npy"), array);
  EXPECT_EQ(read_file(scratch_ / "elsewhere" / "other.npy"), array);
  EXPECT_TRUE(fs::is_symlink(tree() / "link.npy"));
  EXPECT_EQ(run.out, "");
  for (const char* name : {"Short.a", "Long.a", "Tiny.a", "Noise.a", "short.npy", "long.npy", "half.npy", "text.npy"}) {
    EXPECT_THAT(run.err, HasSubstr(name));
  }
  EXPECT_THAT(run.err, HasSubstr("None.a.1.2.3 holds no tensors"));
}

TEST_F(TorchairConvert, LeavesFilesWhoseTargetsWouldHaveTooLongNames) {
  const std::string fits = "Add." + std::string(255 - 12 - 4 - 6, 'x') + ".1.2.3";
  const std::string too_long = "Add." + std::string(255 - 4 - 6, 'x') + ".1.2.3";
  ASSERT_EQ((fits + "_min_max.npz").size(), 255);
  put(fits, ge_file({1}));
  put(too_long, ge_file({1}));
  put("caf\xE9\n.npy", npy_file({1}));  // names are bytes
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(names_in_tree(),
              ::testing::UnorderedElementsAre(fits + "_min_max.npz", too_long, "caf\xE9\n_min_max.npy"));
  EXPECT_THAT(run.err, HasSubstr("too long"));
}

TEST_F(TorchairConvert, CountsWarningsOfAKindBeyondTheFifth) {
  for (int i = 0; i < 12; ++i) put("odd" + std::to_string(i) + ".npy", "a text of more than ten bytes");
  put("None.a.1.2.3", ge_dump_bytes({}, {}));
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("None.a.1.2.3 holds no tensors"));
  EXPECT_THAT(run.err, HasSubstr("torchair_convert: and 7 more damaged files (--verbose names all)\n"));
  EXPECT_THAT(run.err, HasSubstr("12 could not be converted."));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 5 + 1 + 1 + 1) << run.err;
}

// Names of files are bytes; they must not move the cursor of a terminal.
TEST_F(TorchairConvert, PrintsNamesWithoutControlCharacters) {
  put("a\x1B[2J.npy", npy_file({1}));
  put("b\n.npy", "a text of more than ten bytes");
  const Finished run = convert();
  EXPECT_THAT(run.out, HasSubstr("/a_[2J.npy -> "));
  EXPECT_THAT(run.err, HasSubstr("/b_.npy is no numpy file."));
}

TEST_F(TorchairConvert, TakesFilesOfAnyTime) {
  put("a.npy", npy_file({1, 2}));
  put("b.npy", npy_file({1, 2}));
  // Nanoseconds since 1970 of either do not fit into 64 bits.
  for (const auto& [name, seconds] : {std::pair("a.npy", 13'000'000'000), {"b.npy", -20'000'000'000}}) {
    const std::array<timespec, 2> times{{{seconds, 0}, {seconds, 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, (tree() / name).c_str(), times.data(), 0), 0);
  }
  EXPECT_EQ(convert().exit_code, 0);
  EXPECT_THAT(names_in_tree(), ElementsAre("a_min_max.npy", "b_min_max.npy"));
}

TEST_F(TorchairConvert, KeepsPermissions) {
  put("a.npy", npy_file({1, 2}));
  fs::permissions(tree() / "a.npy", fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
  EXPECT_EQ(convert().exit_code, 0);
  EXPECT_EQ(fs::status(tree() / "a_min_max.npy").permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
}

TEST_F(TorchairConvert, ReplacesTheTargetOfAKilledConverter) {
  put("a.npy", npy_file({1, 2}));
  put("a_min_max.npy", "half-written by somebody");
  put("._a_min_max.npy.swp", "of an editor");
  put(".a_min_max.npy.999999999.swp", "of a dead converter");
  put("b/.x_min_max.npz.999999999.swp", "of a dead converter");
  put(".b_min_max.npy." + std::to_string(getpid()) + ".swp", "of a process that lives, but is no converter");
  put(".b.npy.1767607200000000.swp", "of an editor");
  EXPECT_EQ(convert().exit_code, 0);
  EXPECT_EQ(read_file(tree() / "a_min_max.npy"), npy_file({1, 2}));
  EXPECT_THAT(names_in_tree(),
              ::testing::UnorderedElementsAre("a_min_max.npy", "._a_min_max.npy.swp", ".b.npy.1767607200000000.swp"));
}

// Readers of archives compare the bytes with their checksums.
TEST_F(TorchairConvert, LeavesSoundArchivesOfOperatorsWithoutInputsOrOutputs) {
  const DumpTensor tensor{.data_type = 8, .shape = {3}, .data = bytes_of(std::vector<std::int64_t>{3, 4, 0})};
  for (const std::string statistics : {"minmax", "full"}) {
    SCOPED_TRACE(statistics);
    fs::remove_all(tree());
    put("Add.out.1.2.3", ge_dump_bytes({}, {tensor}));
    put("Add.in.1.2.3", ge_dump_bytes({tensor}, {}));
    EXPECT_EQ(convert({"--stats", statistics}).exit_code, 0);
    for (const std::string name : {"out", "in"}) {
      const InputFile archive((tree() / ("Add." + name + ".1.2.3_min_max.npz")).string());
      const ZipReader zip(archive);
      const std::vector<NpzMember> members = read_npz(archive);
      for (const ZipEntry& entry : zip.entries()) EXPECT_TRUE(zip.is_sound(entry)) << entry.name;
      EXPECT_EQ(find_member(members, name + "puts")->header.shape, (std::vector<std::int64_t>{1, 2}));
    }
  }
}

// What is looked at before the source is deleted.
TEST_F(TorchairConvert, NoticesArchivesThatNobodyElseCouldRead) {
  put("Add.a.1.2.3", ge_file({1, 2}));
  put("a.npy", npy_file({1, 2}));
  EXPECT_EQ(convert().exit_code, 0);
  const auto check = [&](const std::string& bytes, convert::SourceKind kind) {
    write_file(scratch_ / "converted", bytes);
    convert::check_converted(InputFile((scratch_ / "converted").string()), kind);
  };
  std::string archive = read_file(tree() / "Add.a.1.2.3_min_max.npz");
  EXPECT_NO_THROW(check(archive, convert::SourceKind::ge));
  for (std::size_t at = archive.find("NUMPY"); at < archive.find("PK\x03\x04", 1); at += 20) {
    std::string changed = archive;
    changed[at] ^= 1;
    EXPECT_THROW(check(changed, convert::SourceKind::ge), SkipError) << at;
  }
  // Of an array without elements too, whose checksum does not matter to read_npz.
  put("Add.out.1.2.3", ge_dump_bytes({}, {{.shape = {1}, .data = bytes_of(std::vector<float>{1})}}));
  EXPECT_EQ(convert().exit_code, 0);
  archive = read_file(tree() / "Add.out.1.2.3_min_max.npz");
  EXPECT_NO_THROW(check(archive, convert::SourceKind::ge));
  EXPECT_THROW(check(archive.replace(archive.find("PK\x01\x02") + 16, 4, 4, '\0'), convert::SourceKind::ge), SkipError);
  EXPECT_NO_THROW(check(read_file(tree() / "a_min_max.npy"), convert::SourceKind::fx));
  EXPECT_THROW(check(archive, convert::SourceKind::fx), SkipError);
}

TEST_F(TorchairConvert, KeepsMoreStatisticsOnDemand) {
  put("a.npy", npy_file({1, 2}));
  const DumpTensor integers{.data_type = 8, .shape = {3}, .data = bytes_of(std::vector<std::int64_t>{3, 4, 0})};
  const DumpTensor halves{.data_type = 27, .shape = {2}, .data = std::string("\x80\x3F\x00\x40", 4)};
  put("Add.a.1.2.3", ge_dump_bytes({integers, halves}, {}));
  EXPECT_EQ(convert({"--stats", "full"}).exit_code, 0);

  const InputFile array((tree() / "a_min_max.npy").string());
  const std::string usual = npy_file({1, 2});
  EXPECT_EQ(read_file(tree() / "a_min_max.npy").substr(0, usual.size()), usual);
  const NpyHeader second = read_npy_header(array, usual.size(), array.size());
  EXPECT_THAT(second.shape, ElementsAre(8));
  std::vector<double> values(8);
  TensorReader(array, stored_tensor(second)).read(std::span(values));
  EXPECT_THAT(values, ElementsAre(1, 2, 1.5, ::testing::DoubleEq(std::sqrt(5)), 0, 0, 2, 0x2E3FA576));

  const InputFile archive((tree() / "Add.a.1.2.3_min_max.npz").string());
  const std::vector<NpzMember> members = read_npz(archive);
  ASSERT_EQ(members.size(), 4);
  EXPECT_EQ(members[0].name, "inputs");
  EXPECT_EQ(members[0].header.type, NumpyType::float64);
  EXPECT_EQ(members[2].name, "inputs_stats");
  EXPECT_THAT(members[2].header.shape, ElementsAre(2, 8));
  EXPECT_EQ(members[3].name, "outputs_stats");
  EXPECT_THAT(members[3].header.shape, ElementsAre(0, 8));
  std::vector<double> rows(16);
  TensorReader(archive, stored_tensor(members[2].header)).read(std::span(rows));
  EXPECT_EQ(rows[3], 5);
  EXPECT_EQ(rows[15], 0x2E3FA576);
}

TEST_F(TorchairConvert, TakesLittleMemoryForLargeFiles) {
  if (sanitized) GTEST_SKIP() << "memory is that of the sanitizer";
  constexpr std::uint64_t elements = std::uint64_t{1} << 28;
  // 1 GB of zeros that take no room on the disk.
  const std::string head = npy_file({1});
  std::string header = head.substr(0, 128);
  const std::string shape = "(" + std::to_string(elements) + ",)";
  header.replace(header.find("(1,), }"), shape.size() + 3, shape + ", }");
  put("large.npy", header);
  fs::resize_file(tree() / "large.npy", 128 + elements * 4);
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(read_file(tree() / "large_min_max.npy"), npy_file({0, 0}));
  EXPECT_LT(run.peak, std::uint64_t{200} << 20);
}

TEST_F(TorchairConvert, SaysWhatIsWrongWithACommand) {
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Finished run = run_tool(convert_program, arguments, scratch_.path());
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  fs::create_directories(tree());
  write_file(scratch_ / "file", "x");
  EXPECT_THAT(error({}), HasSubstr("missing"));
  EXPECT_THAT(error({(scratch_ / "nowhere").string()}), HasSubstr("nowhere cannot be read: No such file"));
  EXPECT_THAT(error({(scratch_ / "file").string()}), HasSubstr("cannot be read: Not a directory"));
  EXPECT_THAT(error({tree().string(), "another"}), HasSubstr("unexpected argument another"));
  EXPECT_THAT(error({tree().string(), "--nonsense"}), HasSubstr("nonsense"));
  EXPECT_THAT(error({tree().string(), "--stats", "most"}), HasSubstr("--stats must be minmax or full, not most"));
  EXPECT_THAT(error({tree().string(), "--settle", "-1"}), HasSubstr("--settle must be"));
  EXPECT_THAT(error({tree().string(), "--settle", "nan"}), HasSubstr("settle"));
  EXPECT_THAT(error({tree().string(), "--interval", "0"}), HasSubstr("--interval must be"));
  EXPECT_THAT(error({tree().string(), "--workers", "0"}), HasSubstr("--workers must be"));
  const Finished help = run_tool(convert_program, {"-h"}, scratch_.path());
  EXPECT_EQ(help.exit_code, 0);
  for (const char* text :
       {"--once", "--stats", "--interval", "--settle", "--workers", "--quiet", "--verbose", "Exit codes"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
}

// A mistyped directory, or one of a job that has dumped nothing.
TEST_F(TorchairConvert, SaysThatThereIsNoDump) {
  fs::create_directories(tree() / "empty");
  put("notes.txt", "text");
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("Nothing was converted: no file of a dump lies below " + tree().string() + ".\n"));
  put("fx/0.npy", npy_file({1, 2}));
  EXPECT_EQ(convert().exit_code, 0);
  EXPECT_EQ(convert().exit_code, 0) << "all of it was converted before";
}

TEST_F(TorchairConvert, LosesNothingWhenAnOperationFails) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  const auto fill = [&] {
    fs::remove_all(tree());
    for (int i = 0; i < 3; ++i) {
      put("fx/" + std::to_string(i) + ".npy", npy_file({1.0F * static_cast<float>(i), 5}));
      put("ge/Add.a" + std::to_string(i) + ".1.2.3", ge_file({2.0F * static_cast<float>(i), 5}));
    }
  };
  fill();
  const Files sources = files_in(tree());
  ASSERT_EQ(convert().exit_code, 0);
  const Files expected = files_in(tree());
  int failed = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE("operation " + std::to_string(at));
    fill();
    const fs::path mark = scratch_ / ("mark" + std::to_string(at));
    const Finished run = convert_once(tree(), scratch_.path(), {},
                                      {std::string("LD_PRELOAD=") + FAILING_FILES, "MSRUN_FAIL_DIR=" + tree().string(),
                                       "MSRUN_FAIL_AT=" + std::to_string(at), "MSRUN_FAIL_MARK=" + mark.string(),
                                       "MSRUN_FAIL_ERRNO=" + std::to_string(at % 2 == 0 ? ENOSPC : EIO)});
    ASSERT_TRUE(nothing_is_lost(sources, expected, tree())) << run.err;
    EXPECT_THAT(run.exit_code, ::testing::AnyOf(0, 1)) << run.err;
    if (!fs::exists(mark)) break;
    ++failed;
    // Without failures the rest is done.
    ASSERT_EQ(convert().exit_code, 0);
    ASSERT_EQ(files_in(tree()), expected);
  }
  EXPECT_GT(failed, 20);
}

TEST_F(TorchairConvert, StopsWhenTheDiskIsFull) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  for (int i = 0; i < 20; ++i) put(std::to_string(i) + ".npy", npy_file({1, 2}));
  const Files sources = files_in(tree());
  const Finished run =
      convert_once(tree(), scratch_.path(), {"--interval", "0.01"},
                   {std::string("LD_PRELOAD=") + FAILING_FILES, "MSRUN_FAIL_DIR=" + tree().string() + "/.",
                    "MSRUN_FAIL_AT=1", "MSRUN_FAIL_COUNT=1000000000", "MSRUN_FAIL_MARK=" + (scratch_ / "mark").string(),
                    "MSRUN_FAIL_ERRNO=" + std::to_string(ENOSPC)});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("cannot be written: No space left on device."));
  EXPECT_THAT(run.err, HasSubstr("The disk is full. Nothing is lost"));
  EXPECT_EQ(files_in(tree()), sources);
  EXPECT_EQ(convert().exit_code, 0);
}

TEST(TorchairConvertNames, AreTakenByTheirSuffixes) {
  using namespace convert;
  EXPECT_EQ(kind_of("add.INPUT.0.1.npy"), SourceKind::fx);
  EXPECT_EQ(kind_of("Add.Add_1.2.3.4"), SourceKind::ge);
  EXPECT_EQ(kind_of("123456"), SourceKind::hashed);
  EXPECT_EQ(kind_of("Add.Add_1.2.3.4_min_max.npz"), SourceKind::other);
  EXPECT_EQ(kind_of("a_min_max.npy"), SourceKind::other);
  EXPECT_EQ(target_name(SourceKind::fx, "a.npy"), "a_min_max.npy");
  EXPECT_EQ(target_name(SourceKind::ge, "a.b.c.d.e"), "a.b.c.d.e_min_max.npz");
  EXPECT_FALSE(target_name(SourceKind::ge, std::string(250, 'a')));
  EXPECT_EQ(temporary_name("a_min_max.npy", 12), ".a_min_max.npy.12.swp");
  EXPECT_EQ(maker_of_temporary(".a_min_max.npy.12.swp"), 12);
  for (const char* name : {"a_min_max.npy.12.swp", ".a_min_max.npy.swp", ".a.npy.12.swp", ".a_min_max.npy.0.swp",
                           ".a_min_max.npy.-1.swp", ".a_min_max.npy.1x.swp", ".swp", ".12.swp"}) {
    EXPECT_FALSE(maker_of_temporary(name)) << name;
  }
  const std::string longest(243, 'a');
  const std::string other = longest.substr(0, 242) + "b";
  const std::string temporary = temporary_name(longest + "_min_max.npz", 4194304);
  EXPECT_LE(temporary.size(), 255);
  EXPECT_EQ(maker_of_temporary(temporary), 4194304);
  EXPECT_NE(temporary, temporary_name(other + "_min_max.npz", 4194304));
}

}  // namespace
}  // namespace msrun::testing
