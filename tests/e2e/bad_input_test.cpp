// Input that cannot be used: files, options, config.json, runs to be continued. Each is refused with one line that says
// what is wrong with which file, exit code 2, and nothing is written.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "tests/support/sanitized.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

class BadInput : public Untouched {
 protected:
  void expect_dump_refused(const std::string& text, const std::vector<std::string>& parts) {
    const std::string path = write_dump(text);
    std::vector<std::string> named = parts;
    named.push_back(path);
    expect_refused({"-api_info", path, "-o", out()}, named);
  }
  void expect_option_refused(const std::vector<std::string>& option, const std::vector<std::string>& parts) {
    std::vector<std::string> arguments{"-api_info", dump("llama_fp32"), "-o", out()};
    arguments.insert(arguments.end(), option.begin(), option.end());
    expect_refused(arguments, parts);
  }
};

TEST_F(BadInput, DumpThatIsNoFile) {
  const std::string missing = scratch_ / "missing.json";
  expect_refused({"-api_info", missing, "-o", out()}, {missing, "does not exist"});
  expect_refused({"-api_info", scratch_.path(), "-o", out()}, {scratch_.path(), "there is no dump.json in "});
  const std::string pipe = scratch_ / "pipe.json";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused({"-api_info", pipe, "-o", out()}, {pipe, "should be a file"});
  fs::remove(pipe);
  write_file(scratch_ / "dump.txt", "{}");
  expect_refused({"-api_info", scratch_ / "dump.txt", "-o", out()}, {"dump.txt", "'.json'"});
  expect_refused({"-api_info", "a\nb.json", "-o", out()}, {"a_b.json", "special characters"});
  expect_refused({"-api_info", std::string(5000, 'x') + ".json", "-o", out()}, {"length exceeds limit"});
  expect_refused({}, {"-api_info"});
}

TEST_F(BadInput, DumpThatIsNoJson) {
  const std::string whole = read_file(dump("llama_fp32"));
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += static_cast<char>(i * 7);
  expect_dump_refused("", {"is empty"});
  expect_dump_refused(" \n", {"line 2", "end of the file"});
  expect_dump_refused(whole.substr(0, whole.size() / 2), {"line", "column", "end of the file"});
  expect_dump_refused(whole.substr(0, whole.rfind('}')), {"end of the file"});
  expect_dump_refused(whole + "{", {"expected the end of the file"});
  expect_dump_refused("hello", {"line 1, column 1", "'h'"});
  expect_dump_refused("\x1F\x8B\x08 packed", {"is compressed"});
  expect_dump_refused(std::string("\xFF\xFE{\0", 4), {"is in UTF-16"});
  expect_dump_refused(bytes, {"line 1, column 1"});
  expect_dump_refused("{\"data\": {\"Functional.relu.0.forward\": {\"input_args\": [tru", {"line 1"});
  expect_dump_refused("{\"data\": {\"Functional.re\xFFlu.0.forward\": {}}}", {"UTF-8"});
}

TEST_F(BadInput, DumpOfOtherTypes) {
  expect_dump_refused(R"({"Functional*relu*0": {"args": [], "kwargs": {}}})", {"no data found", "go with -forward"});
  expect_dump_refused("[]", {"top level must be an object", "an array"});
  expect_dump_refused("3", {"top level must be an object", "a number"});
  expect_dump_refused("null", {"top level must be an object", "null"});
  expect_dump_refused("\"data\"", {"top level must be an object", "a string"});
  expect_dump_refused("{}", {"no data found"});
  expect_dump_refused(R"({"data": null})", {"no data found"});
  expect_dump_refused(R"({"data": []})", {"data must be an object", "an array"});
  expect_dump_refused(R"({"data": "x"})", {"data must be an object", "a string"});
  expect_dump_refused(R"({"framework": 3, "data": {}})", {"framework must be a string"});
  expect_dump_refused(dump_text(R"("=cmd.0.forward": {})"), {"api name contains special characters", "=cmd"});
  expect_dump_refused(dump_text(R"("a;@b.0.forward": {})"), {"api name contains special characters"});
}

// Fails at once and in little memory, however much follows.
TEST_F(BadInput, GigabyteOfBrackets) {
  const fs::path path = scratch_ / "brackets.json";
  {
    std::ofstream file(path, std::ios::binary);
    const std::string piece(16U << 20, '[');
    for (int i = 0; i < 64; ++i) file << piece;
  }
  std::optional<InheritedLimit> memory;
  if (!sanitized) memory.emplace(RLIMIT_AS, rlim_t{1} << 30);
  constexpr std::uint64_t little = (300 << 20) + sanitizer_keeps;
  EXPECT_LT(expect_refused({"-api_info", path, "-o", out()}, {path, "top level must be an object"}).peak, little);
  for (const std::string start : {R"({"x": )", R"({"data": {"Functional.relu.0.forward": {"input_args": )",
                                  R"({"data": {"Functional.relu.0.forward": )"}) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file << start;
    file.close();
    EXPECT_LT(expect_refused({"-api_info", path, "-o", out()}, {path, "nested more than"}).peak, little);
  }
  fs::remove(path);
}

TEST_F(BadInput, Options) {
  expect_option_refused({"-d", "0", "0"}, {"-d", "unique"});
  expect_option_refused({"-d", "nine"}, {"-d", "device ids", "nine"});
  expect_option_refused({"-d", "-1"}, {"-d", "-1"});
  expect_option_refused({"-d", "x"}, {"-d", "x"});
  expect_option_refused({"-n", "0"}, {"-n", "1 to 64", "0"});
  expect_option_refused({"-n", "65"}, {"-n", "1 to 64", "65"});
  expect_option_refused({"-n", "99999999999999999999"}, {"-n", "1 to 64"});
  expect_option_refused({"--sim-fault", "nonsense"}, {"--sim-fault nonsense", "PATTERN=FAULT"});
  expect_option_refused({"--sim-fault", "Torch.*=nonsense"}, {"--sim-fault", "acc-fp16"});
  expect_option_refused({"--sim-fault", "=hang"}, {"--sim-fault"});
  expect_option_refused({"--backend", "nonsense"}, {"--backend", "nonsense", "sim"});
  // A statistics dump has no outputs to take.
  expect_option_refused({"--backend", "recorded"}, {"recorded"});
  expect_option_refused({"--backend", "torch:cpu", "--python", "/nowhere/python"}, {"--python", "/nowhere/python"});
  expect_option_refused({"--memory", "0"}, {"--memory"});
  expect_option_refused({"--memory", "lots"}, {"--memory", "lots"});
  expect_option_refused({"--task-timeout", "-1"}, {"--task-timeout"});
  expect_option_refused({"--seed", "x"}, {"--seed"});
  expect_option_refused({"--nonsense"}, {"--nonsense"});
  expect_option_refused({"-config", scratch_ / "missing.json"}, {"missing.json", "does not exist"});
}

TEST_F(BadInput, ThreadsBeyondEightPerDeviceAreReducedAndSaidSo) {
  const Finished run = msrun(
      {"-api_info", dump("cnn_fp32"), "-n", "32", "-d", "0", "-o", out(), "--message-format", "json"}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("\"threads\":8,"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("[WARNING]"), std::string::npos);
  EXPECT_NE(run.err.find("32"), std::string::npos) << run.err;
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  write_file(scratch_ / "file", "kept");
  const auto refused = [&](const std::string& directory, const std::vector<std::string>& parts) {
    expect_refused({"-api_info", dump("cnn_fp32"), "-o", directory}, parts);
  };
  refused(scratch_ / "file", {"file", "should be a directory"});
  refused(scratch_ / "file/below", {"below"});
  refused("/proc/msrun", {"/proc/msrun"});
  refused("/dev/null/msrun", {"/dev/null/msrun"});
  refused("a\tb", {"a_b", "special characters"});
  if (geteuid() != 0) {
    fs::create_directory(scratch_ / "locked");
    fs::permissions(scratch_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
    refused(scratch_ / "locked", {"locked", "not writable"});
    refused(scratch_ / "locked/below", {"locked"});
  }
  // Of the directory for tensors.
  write_file(scratch_ / "config.json", R"({"acc_check": {"error_data_path": "/proc"}})");
  fs::create_directory(out());
  expect_refused({"-api_info", dump("cnn_fp32"), "-o", out(), "-save_error_data", "-config", scratch_ / "config.json"},
                 {"/proc/ut_error_data"});
}

TEST_F(BadInput, Config) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    write_file(scratch_ / "config.json", text);
    std::vector<std::string> named = parts;
    named.emplace_back(scratch_ / "config.json");
    expect_option_refused({"-config", scratch_ / "config.json"}, named);
  };
  refused("", {"not valid JSON"});
  refused("{\"acc_check\": ", {"not valid JSON at byte 15"});
  refused("[]", {"must be an object"});
  refused("null", {"must be an object"});
  refused(R"({"acc_check": 3})", {"acc_check must be an object"});
  refused(R"({"acc_check": {"white_list": "relu"}})", {"white_list must be a list"});
  refused(R"({"acc_check": {"black_list": {}}})", {"black_list must be a list"});
  refused(R"({"acc_check": {"white_list": [3]}})", {"white_list", "string"});
  refused(R"({"acc_check": {"white_list": ["relu", "reluu"]}})", {"white_list", "'reluu'"});
  refused(R"({"acc_check": {"error_data_path": 3}})", {"error_data_path must be string"});
  refused(R"({"acc_check": {"error_data_path": "/nowhere/at/all"}})", {"/nowhere/at/all", "does not exist"});
  refused(R"({"acc_check": {"error_data_path": ")" + dump("cnn_fp32").string() + "\"}}", {"is not a directory"});
  refused(R"({"task": "nonsense"})", {"task must be one of"});
  refused(R"({"rank": [-1]})", {"rank must be a list"});
  refused(R"({"rank": [1e999]})", {"a number is too large"});
  refused(std::string(100000, '['), {"values are nested too deeply"});
  refused("{\"a\": \"" + std::string(2U << 20, 'x') + "\"}", {"The size"});
}

class BadResume : public BadInput {
 protected:
  void SetUp() override {
    ASSERT_EQ(msrun({"-api_info", dump("cnn_fp32"), "-o", out()}, scratch_.path()).exit_code, 0);
    result_ = only_file(out(), "accuracy_checking_result_");
    details_ = only_file(out(), "accuracy_checking_details_");
    journal_ = only_journal(out());
  }
  void expect_resume_refused(const fs::path& result, const std::vector<std::string>& parts,
                             const std::vector<std::string>& more = {},
                             const std::string& api_info = dump("cnn_fp32")) {
    std::vector<std::string> arguments{"-api_info", api_info, "-csv_path", result};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_refused(arguments, parts);
  }

  fs::path result_;
  fs::path details_;
  fs::path journal_;
};

TEST_F(BadResume, FilesThatAreNotThoseOfARun) {
  expect_resume_refused(out() / "accuracy_checking_result_20240101000000.csv", {"does not exist"});
  expect_resume_refused(out(), {"is a folder"});
  fs::copy_file(result_, out() / "renamed.csv");
  expect_resume_refused(out() / "renamed.csv", {"renamed.csv", "do not modify the result csv name"});
}

TEST_F(BadResume, AnotherRun) {
  expect_resume_refused(result_, {journal_, "dump"}, {}, dump("vit_fp32"));
  expect_resume_refused(result_, {journal_, "seed (1234 then, 7 now)"}, {"--seed", "7"});
  expect_resume_refused(result_, {journal_, "standard"}, {"--standard", "current"});
  expect_resume_refused(result_, {journal_, "calls (50 then", "what --only, --except, -f and -config leave"},
                        {"--only", "Functional.conv2d.*"});
}

// Nothing is run whose rows could not be written.
TEST_F(BadResume, WhatIsNoFileInPlaceOfACsv) {
  for (const fs::path& csv : {result_, details_}) {
    const std::string bytes = read_file(csv);
    fs::remove(csv);
    fs::create_directory(csv);
    expect_resume_refused(journal_, {csv});
    fs::remove(csv);
    ASSERT_EQ(mkfifo(csv.c_str(), 0600), 0);
    expect_resume_refused(journal_, {csv});
    fs::remove(csv);
    write_file(csv, bytes);
  }
}

TEST_F(BadResume, DamagedJournal) {
  const std::string whole = read_file(journal_);
  for (const std::string& text : {std::string(), std::string("hello"), whole.substr(0, 20), std::string(5000, '\0')}) {
    write_file(journal_, text);
    expect_resume_refused(result_, {journal_});
  }
}

TEST_F(BadResume, CsvsOfAnotherToolWithoutAJournal) {
  fs::remove(journal_);
  const std::string result = read_file(result_);
  write_file(result_, "hello,world\r\n");
  expect_resume_refused(result_, {result_});
  write_file(result_, "hello");
  expect_resume_refused(result_, {result_});
  write_file(result_, result);
  write_file(details_, std::string(1000, '\0'));
  expect_resume_refused(result_, {details_});
  fs::remove(details_);
  expect_resume_refused(result_, {details_, "does not exist"});
}

}  // namespace
}  // namespace msrun::testing
