// --layout att and --compat att on recordings of the older tool, held to the files and the log that it wrote of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "kernels/io/torch/pt_file.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Names = std::set<std::string>;
// The lines of a file that belong to one call.
using Lines = std::map<std::string, std::string>;

std::string call_of(const std::string& line) {
  const std::string name = line.substr(0, line.find(','));
  return name.substr(0, std::min(name.find(".forward."), name.find(".backward.")));
}

Lines lines_of(const fs::path& path) {
  Lines lines;
  std::istringstream in(read_file(path));
  for (std::string line; std::getline(in, line);) lines[call_of(line)] += line + "\n";
  return lines;
}

Names differing(const Lines& a, const Lines& b) {
  Names names;
  for (const auto& [left, right] : {std::pair(&a, &b), {&b, &a}}) {
    for (const auto& [name, lines] : *left) {
      const auto found = right->find(name);
      if (found == right->end() || found->second != lines) names.insert(name);
    }
  }
  return names;
}

// "[INFO]start UT test" of a log line; other lines as they are, without blanks at their end.
std::string without_time(std::string line) {
  const std::size_t level = line.find(")-[");
  if (level != std::string::npos && line.starts_with("20")) line.erase(0, level + 2);
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> log_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(without_time(line));
  return lines;
}

class AttLayout : public Untouched {
 protected:
  // A copy of the recording with that name.
  fs::path recording(const std::string& name) {
    const fs::path folder = scratch_ / name;
    if (!fs::exists(folder)) fs::copy(test_data("/att/" + name), folder, fs::copy_options::recursive);
    return folder;
  }

  Finished check(const std::string& name, const std::vector<std::string>& more, const std::string& to) {
    const fs::path folder = recording(name);
    fs::create_directories(scratch_ / to);
    std::vector<std::string> words{
        "run_ut", "-forward",   folder / "forward_info_0.json", "-backward", folder / "backward_info_0.json",
        "-o",     scratch_ / to};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  Lines result(const std::string& of) const { return lines_of(scratch_ / of / "accuracy_checking_result.csv"); }
  Lines details(const std::string& of) const { return lines_of(scratch_ / of / "accuracy_checking_details.csv"); }

  Finished overflow(const std::vector<std::string>& more) {
    std::vector<std::string> words{"run_overflow_check", "-forward", recording("overflow") / "forward_info_0.json"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }
};

// What stood in Python's or torch's own words, or depends on what torch 1.13 lacks on the CPU.
const Names in_foreign_words{"Torch*relu*0", "Torch*exp*0",         "Torch*sin*0",         "Torch*cos*0",
                             "Torch*neg*0",  "Torch*no_such_api*0", "NPU*npu_rotary_mul*0"};

TEST_F(AttLayout, RawGivesTheFilesOfRecordedStatistics) {
  const Finished run = check("statistics", {"--compat", "att"}, "raw");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const fs::path expected = recording("statistics") / "expected";
  EXPECT_EQ(differing(result("raw"), lines_of(expected / "accuracy_checking_result.csv")), in_foreign_words);
  EXPECT_EQ(differing(details("raw"), lines_of(expected / "accuracy_checking_details.csv")),
            (Names{"Torch*relu*0", "Torch*neg*0"}));
  for (const std::string& name : in_foreign_words) {
    if (name == "Torch*relu*0" || name == "Torch*neg*0") continue;
    EXPECT_THAT(result("raw").at(name), HasSubstr(",SKIP,SKIP,"));
  }
}

TEST_F(AttLayout, MendsWhatTheOldToolLostOfStatistics) {
  ASSERT_EQ(check("statistics", {"--layout", "att"}, "mended").exit_code, 0);
  const Lines mended = result("mended");
  Names repaired = in_foreign_words;
  repaired.merge(
      Names{"Torch*max*0", "Torch*split*1", "Torch*cat*0", "Torch*add*3", "Torch*cos*2", "Torch*cos*3", "Torch*add*2"});
  const fs::path expected = recording("statistics") / "expected";
  EXPECT_EQ(differing(mended, lines_of(expected / "accuracy_checking_result.csv")), repaired);
  EXPECT_EQ(mended.at("Torch*max*0"), "Torch*max*0,True,True\r\n");
  EXPECT_EQ(mended.at("Torch*split*1"), "Torch*split*1,True,True\r\n");
  EXPECT_THAT(mended.at("Torch*add*3"), HasSubstr("Torch*add*3,True,SKIP,"));
  for (const char* name : {"Torch*cos*2", "Torch*cos*3", "Torch*add*2", "Torch*relu*0", "Torch*neg*0"}) {
    EXPECT_EQ(mended.at(name), std::string(name) + ",True,N/A\r\n");
  }
}

TEST_F(AttLayout, RawGivesTheFilesAndTheLogOfRecordedTensors) {
  const Finished run = check("real_data", {"--compat", "att"}, "raw");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  if (sanitized) GTEST_SKIP() << "at -O1 the compiler does not fuse addcmul's product with its sum: other bits";
  const fs::path expected = recording("real_data") / "expected";
  // Files that cannot be read: the old tool gave no reason, or Python's.
  EXPECT_EQ(differing(result("raw"), lines_of(expected / "accuracy_checking_result.csv")),
            (Names{"Torch*neg*0", "Torch*neg*1"}));
  EXPECT_EQ(differing(details("raw"), lines_of(expected / "accuracy_checking_details.csv")), Names{});
  const std::vector<std::string> lines = log_lines(run.out);
  auto at = lines.begin();
  for (const std::string& line : log_lines(read_file(expected / "log.txt"))) {
    if (line.find("*neg*") != std::string::npos || line.find("{ROOT}") != std::string::npos) continue;
    at = std::find(at, lines.end(), line);
    ASSERT_NE(at, lines.end()) << line << "\n" << run.out;
  }
  EXPECT_EQ(at, lines.end() - 1);
}

TEST_F(AttLayout, RawSavesErrorDataUntilANumberIsTaken) {
  const fs::path config = scratch_ / "config.json";
  fs::create_directory(scratch_ / "kept");
  write_file(config, R"({"error_data_path": ")" + (scratch_ / "kept").string() + "\"}");
  const Finished run = check("error_data", {"--compat", "att", "-save_error_data", "-config", config}, "raw");
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const fs::path expected = recording("error_data") / "expected";
  // The message has the path of the folder.
  EXPECT_EQ(differing(result("raw"), lines_of(expected / "accuracy_checking_result.csv")), Names{"Torch*mul*2"});
  EXPECT_THAT(result("raw").at("Torch*mul*2"),
              HasSubstr("ut_error_data/Torch.mul.2.forward.input.0.pt already exists\r\n"));
  EXPECT_EQ(differing(details("raw"), lines_of(expected / "accuracy_checking_details.csv")), Names{});
  Names saved;
  for (const auto& file : fs::directory_iterator(scratch_ / "kept" / "ut_error_data")) {
    saved.insert("ut_error_data/" + file.path().filename().string());
  }
  Names listed;
  std::istringstream list(read_file(expected / "ut_error_data.txt"));
  for (std::string line; std::getline(list, line);) {
    const std::string file = line.substr(0, line.find(' '));
    listed.insert(file);
    const Tensor tensor = read_pt((scratch_ / "kept" / file).string());
    EXPECT_THAT(line, HasSubstr(" " + std::string(name(tensor.dtype())) + " [")) << file;
  }
  EXPECT_EQ(saved, listed);
  // Never into a folder that is there.
  const Finished again = check("error_data", {"--layout", "att", "-save_error_data", "-config", config}, "again");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("ut_error_data already exists, please remove it first"));
  // An empty one, which a run without failures leaves, holds nothing.
  fs::remove_all(scratch_ / "kept" / "ut_error_data");
  fs::create_directory(scratch_ / "kept" / "ut_error_data");
  const Finished into_empty = check("error_data", {"--layout", "att", "-save_error_data", "-config", config}, "empty");
  EXPECT_EQ(into_empty.exit_code, 0) << into_empty.err;
  EXPECT_FALSE(fs::is_empty(scratch_ / "kept" / "ut_error_data"));
}

TEST_F(AttLayout, SavesTensorsOfKeywordsByTheirNames) {
  const fs::path config = scratch_ / "config.json";
  write_file(config, R"({"error_data_path": ")" + scratch_.path().string() + "\"}");
  ASSERT_EQ(check("error_data", {"--layout", "att", "-save_error_data", "-config", config}, "mended").exit_code, 0);
  const fs::path saved = scratch_ / "ut_error_data";
  EXPECT_TRUE(fs::exists(saved / "Torch.mul.2.forward.input.0.pt"));
  EXPECT_TRUE(fs::exists(saved / "Torch.mul.2.forward.input.kwargs.other.pt"));
  EXPECT_TRUE(fs::exists(saved / "Torch.mul.2.forward.output.npu.0.pt"));
  EXPECT_EQ(result("mended").at("Torch*mul*2").find("SKIP"), std::string::npos);
}

TEST_F(AttLayout, ReplacesNothingAndMakesNoDirectory) {
  const std::vector<std::string> layout{"--layout", "att"};
  ASSERT_EQ(check("real_data", layout, "once").exit_code, 0);
  const Finished again = check("real_data", layout, "once");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("/once/accuracy_checking_result.csv already exists, please remove it first or use a "
                                   "new dump path"));
  const fs::path folder = recording("real_data");
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run_ut", "-forward", folder / "forward_info_0.json", "--layout", "att"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  };
  const std::string backward = folder / "backward_info_0.json";
  const Finished missing = run({"-backward", backward, "-o", scratch_ / "missing"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("[Errno 2] No such file or directory: '"));
  EXPECT_FALSE(fs::exists(scratch_ / "missing"));
  EXPECT_THAT(run({"-o", scratch_ / "once"}).err, HasSubstr("required: -backward/--backward_input_file"));
  EXPECT_THAT(run({"-backward", "backward.txt"}).err,
              HasSubstr("The forward_input_file and backward_input_file should be a json file!"));
  EXPECT_THAT(run({"-backward", scratch_ / "none.json"}).err, HasSubstr("Input file "));
  const Finished both = run({"-backward", backward, "-o", scratch_ / "once", "--compat", "msprobe"});
  EXPECT_THAT(both.err, HasSubstr("--compat msprobe does not go with --layout att"));
}

TEST_F(AttLayout, IsContinuedFromItsResultFile) {
  ASSERT_EQ(check("real_data", {"--layout", "att"}, "run").exit_code, 0);
  const fs::path file = scratch_ / "run" / "accuracy_checking_result.csv";
  const std::string whole = read_file(file) + read_file(scratch_ / "run" / "accuracy_checking_details.csv");
  // What is torn off stands in the journal.
  write_file(file, read_file(file).substr(0, 100));
  const Finished run = msrun({"-csv_path", file}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_EQ(read_file(file) + read_file(scratch_ / "run" / "accuracy_checking_details.csv"), whole);
  const Finished other = msrun({"-csv_path", file, "--layout", "current"}, scratch_.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("layout"));
}

TEST_F(AttLayout, JudgesARecordingOfToday) {
  fs::create_directory(out());
  const Finished run = msrun({"-api_info", dump("cnn_fp32"), "--layout", "att", "-d", "0", "1", "-n", "2", "-o", out()},
                             scratch_.path());
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const Rows rows = read_csv(out() / "accuracy_checking_result.csv");
  EXPECT_THAT(rows.front(), ElementsAre("API name", "Forward Test Success", "Backward Test Success", "Message"));
  EXPECT_THAT(rows[1].front(), Not(HasSubstr("*")));
  EXPECT_FALSE(fs::exists(out() / "device0"));
  EXPECT_THAT(run.out, HasSubstr("Overall Statistics"));
  EXPECT_THAT(run.out, HasSubstr("Skipped"));
  EXPECT_THAT(run.out, HasSubstr(")-[INFO]UT task completed.\n"));
}

TEST_F(AttLayout, ListsLeaveNoRow) {
  const fs::path config = scratch_ / "config.json";
  write_file(config, R"({"black_list": ["add"]})");
  ASSERT_EQ(check("statistics", {"--layout", "att", "-config", config}, "listed").exit_code, 0);
  EXPECT_FALSE(result("listed").contains("Torch*add*0"));
  EXPECT_TRUE(result("listed").contains("Torch*mul*0"));
}

// The lines that name torch's own limits; the sum of finite numbers is none of ours.
TEST_F(AttLayout, OverflowChecksAreToldInTheOldWords) {
  const auto told = [](const Finished& run) {
    Names lines;
    for (const std::string& line : log_lines(run.out)) {
      if (line.starts_with("[WARNING]The ") || line.find("involves in-place") != std::string::npos ||
          line.starts_with("[ERROR]") || line.starts_with("[WARNING]Backward")) {
        lines.insert(line);
      }
    }
    return lines;
  };
  Names expected;
  for (const std::string& line : log_lines(read_file(test_data("/att/overflow/expected/log.txt")))) {
    if (line.starts_with("[WARNING]The ") || line.find("involves in-place") != std::string::npos) expected.insert(line);
  }
  const Finished raw = overflow({"--compat", "att"});
  ASSERT_EQ(raw.exit_code, 0) << raw.out << raw.err;
  for (const std::string& line : expected) EXPECT_TRUE(told(raw).contains(line)) << line << "\n" << raw.out;
  EXPECT_TRUE(
      told(raw).contains("[ERROR]Run NPU_npu_scaled_masked_softmax_0_forward UT Error: Type NPU is not supported."))
      << raw.out;
  EXPECT_THAT(raw.out, HasSubstr("start UT test\n"));
  EXPECT_THAT(raw.out, HasSubstr("UT task completed.\n"));

  const Finished mended = overflow({"--layout", "att", "-backward", recording("overflow") / "backward_info_0.json"});
  ASSERT_EQ(mended.exit_code, 0);
  EXPECT_TRUE(told(mended).contains("[WARNING]The Tensor___add___0_forward overflow is a normal overflow."));
  EXPECT_TRUE(told(mended).contains("[WARNING]Backward of Torch_mul_7_forward is not checked."));
  EXPECT_TRUE(told(mended).contains("[WARNING]The Torch_mul_7_forward overflow is a normal overflow."));
}

TEST_F(AttLayout, AMalformedNameIsARowAmongOthers) {
  const fs::path folder = scratch_ / "odd";
  fs::create_directories(folder);
  const std::string tensor =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 1.0, "requires_grad": false})";
  write_file(folder / "forward_info_0.json", R"({"Torch*add": {"args": [)" + tensor + R"(], "kwargs": {}},
      "Torch*a*b*0": {"args": [)" + tensor + R"(], "kwargs": {}}, "Torch*neg*0": {"args": [)" +
                                                 tensor + R"(], "kwargs": {}}})");
  write_file(folder / "backward_info_0.json", "{}");
  ASSERT_EQ(check("odd", {"--layout", "att"}, "run").exit_code, 0);
  const Lines rows = result("run");
  EXPECT_THAT(rows.at("Torch*add"), HasSubstr("Torch*add,SKIP,SKIP,"));
  EXPECT_THAT(rows.at("Torch*a*b*0"), HasSubstr("Torch*a*b*0,SKIP,SKIP,"));
  EXPECT_EQ(rows.at("Torch*neg*0"), "Torch*neg*0,True,N/A\r\n");
}

TEST_F(AttLayout, TypeTakesTheNameOfATensorType) {
  const fs::path folder = scratch_ / "types";
  fs::create_directories(folder);
  std::string calls;
  const std::vector<std::string> types{"torch.BFloat16Tensor", "torch.npu.DoubleTensor", "torch.int64", "FloatTensor"};
  for (std::size_t i = 0; i < types.size(); ++i) {
    calls += (i == 0 ? "" : ",") + std::string("\"Tensor*type*") + std::to_string(i) +
             R"(": {"args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 1.0,
                "requires_grad": false}, {"type": "str", "value": ")" +
             types[i] + R"("}], "kwargs": {}})";
  }
  write_file(folder / "forward_info_0.json", "{" + calls + "}");
  write_file(folder / "backward_info_0.json", "{}");
  ASSERT_EQ(check("types", {"--layout", "att"}, "run").exit_code, 0);
  EXPECT_THAT(details("run").at("Tensor*type*0"), HasSubstr(",torch.bfloat16,torch.bfloat16,"));
  EXPECT_THAT(details("run").at("Tensor*type*1"), HasSubstr(",torch.float64,torch.float64,"));
  EXPECT_THAT(details("run").at("Tensor*type*2"), HasSubstr(",torch.int64,torch.int64,"));
  EXPECT_THAT(result("run").at("Tensor*type*3"), HasSubstr("there is no dtype 'FloatTensor'"));
}

}  // namespace
}  // namespace msrun::testing
