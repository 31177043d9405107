// The parts of api_precision_compare and the program as its users see it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

#include "journal/run_files.h"
#include "journal/writer.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "runner/results/record.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tools/api_precision_compare/api_name.h"
#include "tools/api_precision_compare/command.h"
#include "tools/api_precision_compare/inputs.h"

namespace msrun::api_precision_compare {
namespace {

using msrun::testing::Finished;
using msrun::testing::read_csv;
using msrun::testing::read_file;
using msrun::testing::run_tool;
using msrun::testing::TemporaryDirectory;
using msrun::testing::write_file;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ApiPrecisionCompareOutputNames, HaveSixOrSevenParts) {
  const auto six = parse_output_name("Functional.relu.0.forward.output.1");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->api, "relu");
  EXPECT_EQ(six->call, "Functional.relu.0");
  EXPECT_EQ(six->family, "Functional.relu");
  EXPECT_EQ(six->direction, "forward");
  const auto seven = parse_output_name("Torch.linalg.inv.3.backward.output.0");
  ASSERT_TRUE(seven);
  EXPECT_EQ(seven->api, "linalg.inv");
  EXPECT_EQ(seven->call, "Torch.linalg.inv.3");
  EXPECT_EQ(seven->family, "Torch.linalg.inv");
  EXPECT_EQ(seven->direction, "backward");
  for (const char* text : {"", ".", "a.b.c.d.e", "a.b.c.d.e.f.g.h"}) EXPECT_FALSE(parse_output_name(text)) << text;
}

TEST(ApiPrecisionCompareOutputNames, FormulasAreFoundAndDefused) {
  for (const char* text : {"=a", "+a", "-a", "%a", "@a", "＝a", "＠a", "a;=b", "a;b;＋c"}) {
    EXPECT_TRUE(is_formula(text)) << text;
    EXPECT_FALSE(is_formula(harmless_name(text))) << text;
  }
  for (const char* text : {"", "a=b", "a;b", "Functional.relu.0.forward.output.0"}) {
    EXPECT_FALSE(is_formula(text)) << text;
    EXPECT_EQ(harmless_name(text), text);
  }
  EXPECT_EQ(harmless_name("=a;＝b\n"), "_a;_b_");
}

TEST(ApiPrecisionCompareCells, AreBlankNumbersOrElse) {
  const auto kind = [](const char* text, Reading reading = Reading::careful) {
    return parse_cell(text, false, reading).kind;
  };
  const auto value = [](const char* text, Reading reading = Reading::careful) {
    return parse_cell(text, false, reading).value;
  };
  using Kind = InputCell::Kind;
  EXPECT_EQ(kind(" "), Kind::blank);
  EXPECT_EQ(kind("   "), Kind::blank);
  EXPECT_EQ(kind("abc"), Kind::other);
  EXPECT_EQ(kind("1.0x"), Kind::other);
  EXPECT_EQ(kind("++1"), Kind::other);
  EXPECT_EQ(kind("+-1"), Kind::other);
  EXPECT_EQ(value(" 1e-05 "), 1e-05);
  EXPECT_EQ(value("+2"), 2);
  EXPECT_EQ(value("inf"), infinite);
  EXPECT_EQ(value("-inf"), -infinite);
  EXPECT_EQ(value("1e400"), infinite);
  EXPECT_EQ(value("-1e400"), -infinite);
  EXPECT_EQ(value("1e-400"), 0);
  for (const char* word : {"nan", "NaN", "-nan", "1.#IND", "-1.#QNAN"}) {
    EXPECT_TRUE(std::isnan(value(word))) << word;
    EXPECT_TRUE(std::isnan(value(word, Reading::msprobe))) << word;
  }
  // What stands for nothing is NaN upstream; two such cells would agree and pass.
  for (const char* word : {"", "NA", "#N/A N/A", "<NA>", "null"}) {
    EXPECT_EQ(kind(word), Kind::blank) << word;
    EXPECT_TRUE(std::isnan(value(word, Reading::msprobe))) << word;
    EXPECT_FALSE(parse_cell(word, false, Reading::msprobe).is_text) << word;
  }
  EXPECT_TRUE(parse_cell("1", false, Reading::msprobe).is_text);
  EXPECT_FALSE(parse_cell("1", true, Reading::msprobe).is_text);
}

Options parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "api_precision_compare");
  return std::get<Options>(parse_options(static_cast<int>(words.size()), words.data()));
}

TEST(ApiPrecisionCompareCommandLine, TakesAllSpellings) {
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"-npu", "n.csv", "-gpu", "g.csv", "-o", "out"},
           {"--npu_csv_path", "n.csv", "--gpu_csv_path", "g.csv", "--out_path", "out"},
           {"--npu-csv-path=n.csv", "-gpu=g.csv", "--out-path=out"},
           {"-npu_csv_path", "n.csv", "--gpu", "g.csv", "-out_path", "out"},
       }) {
    const Options options = parsed(words);
    EXPECT_EQ(options.npu_path, "n.csv");
    EXPECT_EQ(options.gpu_path, "g.csv");
    EXPECT_EQ(options.out_path, "out");
  }
  const Options defaults = parsed({"-npu", "n.csv", "-gpu", "g.csv"});
  EXPECT_EQ(defaults.out_path, "./");
  EXPECT_EQ(defaults.rules.policy, Policy::per_api);
  EXPECT_FALSE(defaults.rules.compat_msprobe || defaults.rules.english);
  const Options all = parsed({"-npu", "n.csv", "-gpu", "g.csv", "--standard", "current", "--compat", "msprobe",
                              "--titles=en", "--fail-on", "warning"});
  EXPECT_EQ(all.rules.policy, Policy::current);
  EXPECT_TRUE(all.rules.compat_msprobe && all.rules.english);
  EXPECT_EQ(all.fail_on, FailLevel::warning);
}

TEST(ApiPrecisionCompareCommandLine, NamesWhatIsWrong) {
  const auto message = [](const std::vector<const char*>& words) { return error_of([&] { parsed(words); }); };
  EXPECT_EQ(message({}), "no error") << "files are looked for when the command runs";
  EXPECT_THAT(message({"-npu", "a.csv", "-gpu"}), HasSubstr("gpu"));
  EXPECT_THAT(message({"-npu", "a.csv", "-gpu", "b.csv", "c.csv"}), HasSubstr("unexpected argument c.csv"));
  EXPECT_THAT(message({"-npu", "a.csv", "-gpu", "b.csv", "--strict"}), HasSubstr("strict"));
  EXPECT_THAT(message({"-npu", "a.csv", "-gpu", "b.csv", "--titles", "fr"}), HasSubstr("--titles must be one of zh"));
}

fs::path golden(const std::string& name) { return fs::path(testing::test_data()) / "api_precision_compare" / name; }

std::vector<std::string> arguments(const fs::path& npu, const fs::path& gpu, const fs::path& out,
                                   std::initializer_list<const char*> more = {}) {
  std::vector<std::string> words{"-npu", npu, "-gpu", gpu, "-o", out};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ApiPrecisionCompareInputs, WithoutAJournalTheMessagesTellThatADeviceWasSimulated) {
  const TemporaryDirectory scratch;
  const RunFiles files = run_files(scratch.path().string(), "20260101000000");
  write_file(files.details, "");
  const std::string titles = "API Name,Forward Test Success,Backward Test Success,Message\r\n";
  write_file(files.result,
             titles + "Torch.exp.0,error, ,Suspicious: wrong (simulated device; no NPU or GPU was tested)\r\n");
  EXPECT_TRUE(was_simulated(files.details));
  write_file(files.result, titles + "Torch.exp.0,error, ,Suspicious: wrong\r\n");
  EXPECT_FALSE(was_simulated(files.details));
  fs::resize_file(files.result, std::uintmax_t{1} << 40);  // without a block on the disk
  EXPECT_THROW(was_simulated(files.details), UserError);
}

TEST(ApiPrecisionCompareProgram, WritesForeignTextShort) {
  const TemporaryDirectory scratch;
  const std::string text(3 << 20, 'x');
  std::string details = read_file(golden("cases/single_unsupported/npu_details.csv"));
  const std::string blanks(18, ',');
  details += text + ",,," + blanks + "," + text + "\r\n";
  details += "Functional.softmax.1.forward.output.0,torch.float32,torch.float32,()" + blanks + "error," + text + "\r\n";
  write_file(scratch / "npu.csv", details);
  const auto words = arguments(scratch / "npu.csv", scratch / "npu.csv", scratch / "out");
  const Finished run = run_tool("api_precision_compare", words, scratch.path());
  EXPECT_LT(run.out.size() + run.err.size(), 16U << 10);
  for (const char* file : {"api_precision_compare_details_", "api_precision_compare_result_"}) {
    const auto rows = read_csv(msrun::testing::only_file(scratch / "out", file));
    ASSERT_EQ(rows.size(), 4U);
    for (const auto& row : rows) {
      for (const std::string& cell : row) EXPECT_LE(cell.size(), longest_foreign_text);
    }
    EXPECT_THAT(rows[3].back(), AnyOf(IsEmpty(), HasSubstr(" bytes)")));
  }
}

TEST(ApiPrecisionCompareProgram, ComparesAndCloses) {
  const TemporaryDirectory scratch;
  const auto words = arguments(golden("npu_details.csv"), golden("gpu_details.csv"), scratch / "out");
  const Finished done = run_tool("api_precision_compare", words, scratch.path());
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("| Pass | Warning | Error | Skip | None |"), HasSubstr("APIs to look at first"),
                              HasSubstr("Max Relative Error: ratio 12 (limit 2)"), HasSubstr("/out/api_precision")));
  EXPECT_THAT(done.err, AllOf(HasSubstr("2 outputs of the NPU file have no row in the GPU file"),
                              HasSubstr("1 output of the GPU file is not in the NPU file")));
  // The same through msrun, and failing where that is asked.
  std::vector<std::string> through{"-f", "pytorch", "api_precision_compare"};
  through.insert(through.end(), words.begin(), words.end());
  through.insert(through.end(), {"--fail-on", "error"});
  EXPECT_EQ(msrun::testing::msrun(through, scratch.path()).exit_code, 1);
}

TEST(ApiPrecisionCompareProgram, RefusesWhatIsNoDetailsFile) {
  const TemporaryDirectory scratch;
  const auto run = [&](const fs::path& npu, const fs::path& gpu) {
    return run_tool("api_precision_compare", arguments(npu, gpu, scratch / "out"), scratch.path());
  };
  const fs::path good = golden("gpu_details.csv");
  write_file(scratch / "empty.csv", "");
  write_file(scratch / "other.txt", "a\n");
  for (const auto& [path, text] : {std::pair{scratch / "none.csv", "does not exist"},
                                   {scratch / "empty.csv", "no title row"},
                                   {scratch / "other.txt", "should be one of the following types"},
                                   {golden("cases/missing_columns_npu/npu_details.csv"),
                                    "The following columns 误差均衡性,双千指标 are missing in npu_csv"}}) {
    const Finished done = run(path, good);
    EXPECT_EQ(done.exit_code, 2) << path;
    EXPECT_THAT(done.err, HasSubstr(text));
    EXPECT_TRUE(!fs::exists(scratch / "out") || fs::is_empty(scratch / "out")) << path;
  }
  EXPECT_THAT(run(good, golden("cases/missing_columns_npu/npu_details.csv")).err, HasSubstr("missing in gpu_csv"));
  // As a spreadsheet program may save it: UTF-16.
  std::string wide = "\xFF\xFE";
  for (const char c : std::string("API Name,DEVICE Dtype\r\n")) wide += {c, '\0'};
  write_file(scratch / "wide.csv", wide);
  EXPECT_THAT(run(scratch / "wide.csv", good).err, HasSubstr("its titles are not UTF-8"));
}

TEST(ApiPrecisionCompareProgram, BadRowsAreReportedAndTheRestIsCompared) {
  const TemporaryDirectory scratch;
  std::string text = read_file(golden("cases/extra_and_reordered_columns/gpu_details.csv"));
  const std::size_t second = text.find("\r\nFunctional.softmax.1");
  ASSERT_NE(second, std::string::npos);
  text.insert(second, "\r\nFunctional.softmax.7.forward.output.0,torch.float32,torch.float16");
  text += "Functional.softmax.8.forward.output.0,\"torn";
  write_file(scratch / "npu.csv", text);
  const Finished done = run_tool("api_precision_compare",
                                 arguments(scratch / "npu.csv", scratch / "npu.csv", scratch / "out"), scratch.path());
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, AllOf(HasSubstr("npu.csv, row 3: it has 3 fields in place of 23"), HasSubstr("were dropped")));
  const auto rows = read_csv(msrun::testing::only_file(scratch / "out", "api_precision_compare_result_"));
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[1].at(1), "pass");
  EXPECT_EQ(rows[2].at(0), "Functional.softmax.7");
  EXPECT_EQ(rows[2].at(1), "SKIP");
  EXPECT_EQ(rows[4].at(1), "pass");
}

// A file that is not complete has no name.
TEST(ApiPrecisionCompareProgram, LeavesNothingIfItCannotWrite) {
  const TemporaryDirectory scratch;
  const std::string command = "ulimit -f 1; '" + testing::programs() + "/api_precision_compare' -npu '" +
                              golden("npu_details.csv").string() + "' -gpu '" + golden("gpu_details.csv").string() +
                              "' -o '" + (scratch / "out").string() + "' > /dev/null 2> '" +
                              (scratch / "err").string() + "'";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(read_file(scratch / "err"), HasSubstr("_<time> cannot be written: File too large"));
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST(ApiPrecisionCompareProgram, EnglishTitlesAreReadAndWritten) {
  const TemporaryDirectory scratch;
  std::string text = read_file(golden("npu_details.csv"));
  const std::size_t line = text.find("\r\n");
  std::string titles =
      "\xEF\xBB\xBF"
      "API Name,Bench Dtype,DEVICE Dtype,Shape";
  for (int i = 0; i < metric_count; ++i) titles += "," + std::string(metric_title(static_cast<Metric>(i), true));
  write_file(scratch / "npu.csv", titles + ",Status,Message" + text.substr(line));
  const auto rows_of = [&](const fs::path& npu, const char* out) {
    const auto words = arguments(npu, golden("gpu_details.csv"), scratch / out, {"--titles", "en"});
    const Finished run = run_tool("api_precision_compare", words, scratch.path());
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.err, HasSubstr("no numbers"));
    return read_csv(msrun::testing::only_file(scratch / out, "api_precision_compare_details_"));
  };
  const auto rows = rows_of(scratch / "npu.csv", "english");
  EXPECT_EQ(rows, rows_of(golden("npu_details.csv"), "chinese"));
  EXPECT_EQ(rows[0].at(3), "RMSE Ratio of NPU to GPU");
  for (const auto& row : rows) {
    for (const std::string& field : row) {
      EXPECT_TRUE(std::ranges::all_of(field, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) << field;
    }
  }
}

void write_run(const fs::path& folder, const std::string& stamp, const std::string& fingerprint) {
  fs::create_directories(folder);
  const RunFiles files = run_files(folder.string(), stamp);
  fs::copy_file(golden("cases/single_unsupported/npu_details.csv"), files.details);
  if (fingerprint.empty()) return;
  journal::Writer::create(files.journal, R"({"program":"msrun","fingerprint":)" + fingerprint + "}").close();
}

TEST(ApiPrecisionCompareInputs, AreComparedByTheJournals) {
  const TemporaryDirectory scratch;
  const auto details = [&](const char* folder, const std::string& fingerprint) {
    write_run(scratch / folder, "20260101000000", fingerprint);
    return run_files((scratch / folder).string(), "20260101000000").details;
  };
  const std::string npu = details("npu", R"({"dump":"aa","seed":1234,"seed_mode":"per-api","standard":"current"})");
  const std::string same = details("same", R"({"dump":"aa","seed":1234,"seed_mode":"per-api","standard":"per_api"})");
  const std::string other = details("other", R"({"dump":"bb","seed":7,"seed_mode":"stream"})");
  EXPECT_THAT(input_differences(npu, same), IsEmpty());
  EXPECT_EQ(
      input_differences(npu, other),
      "the recorded calls (aa on the NPU, bb on the GPU), the seed (1234 on the NPU, 7 on the GPU), the seed mode "
      "(per-api on the NPU, stream on the GPU)");
  EXPECT_THAT(input_differences(npu, details("none", "")), IsEmpty());
  EXPECT_THAT(input_differences(npu, details("broken", "7")), IsEmpty());
  EXPECT_THAT(input_differences(npu, golden("gpu_details.csv")), IsEmpty());

  const Finished done = run_tool("api_precision_compare", arguments(npu, other, scratch / "out"), scratch.path());
  EXPECT_EQ(done.exit_code, 1);  // all are SKIP
  EXPECT_THAT(done.err, HasSubstr("did not have the same inputs"));
  EXPECT_THAT(run_tool("api_precision_compare", arguments(npu, same, scratch / "out"), scratch.path()).err,
              Not(HasSubstr("inputs")));
}

// The details file of a run of the sample dump.
std::string checked(const TemporaryDirectory& scratch, const std::string& dump, const std::string& seed) {
  static int runs = 0;
  const fs::path out = scratch / (dump + "_" + std::to_string(++runs));
  const std::string file = (fs::path(testing::test_data()) / "dumps" / dump / "dump.json").string();
  const Finished done =
      run_tool("msrun", {"-api_info", file, "--backend", "sim", "--seed", seed, "-o", out.string()}, scratch.path());
  EXPECT_EQ(done.exit_code, 0) << done.err;
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().filename().string().starts_with("accuracy_checking_details")) return entry.path().string();
  }
  return {};
}

TEST(ApiPrecisionCompareInputs, AreComparedCallByCall) {
  const TemporaryDirectory scratch;
  const std::string npu = checked(scratch, "cnn_fp32", "1");
  EXPECT_TRUE(was_simulated(npu));
  EXPECT_FALSE(was_simulated(golden("gpu_details.csv")));
  const Finished both = run_tool("api_precision_compare", arguments(npu, npu, scratch / "both"), scratch.path());
  EXPECT_THAT(both.err, HasSubstr("the results of the NPU file are of a simulated device; no NPU or GPU was tested"));
  EXPECT_THAT(input_differences(npu, checked(scratch, "cnn_fp32", "1")), IsEmpty());
  EXPECT_EQ(input_differences(npu, checked(scratch, "cnn_fp32", "2")),
            "39 of 50 calls, the first by name is Functional.adaptive_avg_pool2d.0; the seed (1 on the NPU, 2 on the "
            "GPU)");
  // Recorded tensors do not depend on the seed, though the runs' options differ.
  EXPECT_THAT(input_differences(checked(scratch, "zoo_tensor_small", "1"), checked(scratch, "zoo_tensor_small", "2")),
              IsEmpty());
}

TEST(ApiPrecisionCompareInputs, AreComparedWithAJournalOfVersion1) {
  const TemporaryDirectory scratch;
  const std::string details = "/journal_version_1/accuracy_checking_details_20261122031752.csv";
  const std::string npu = testing::test_data(details);
  EXPECT_THAT(input_differences(npu, checked(scratch, "npu_fused_synth_bf16", "1234")), IsEmpty());
  EXPECT_EQ(input_differences(npu, checked(scratch, "npu_fused_synth_bf16", "7")),
            "19 of 19 calls, the first by name is NPU.npu_fast_gelu.0; the seed (1234 on the NPU, 7 on the GPU)");
}

TEST(ApiPrecisionCompareInputs, AreThoseOfTheJournalFurtherUpForOneOfSeveralRanks) {
  const TemporaryDirectory scratch;
  const auto details = [&](const char* folder, const char* seed) {
    const RunFiles files = run_files((scratch / folder).string(), "20260101000000");
    const RunFiles of_rank = run_files((scratch / folder / "step0/rank1").string(), "20260101000000");
    fs::create_directories(of_rank.directory);
    fs::copy_file(golden("cases/single_unsupported/npu_details.csv"), of_rank.details);
    journal::Writer::create(files.journal, R"({"program":"msrun","recordings":[{"rank":"step0/rank1"}],)" +
                                               std::string(R"("fingerprint":{"seed":)") + seed + "}}")
        .close();
    return of_rank.details;
  };
  EXPECT_EQ(input_differences(details("npu", "1"), details("gpu", "2")), "the seed (1 on the NPU, 2 on the GPU)");
}

TEST(ApiPrecisionCompareInputs, OfOneOfSeveralRanksAreThoseOfItsCalls) {
  const TemporaryDirectory scratch;
  // A journal that says which inputs the calls of two ranks had, rank1's under another name than that of its result.
  const auto details = [&](const char* folder, std::uint64_t of_rank0, std::uint64_t of_rank1, const char* rank) {
    const RunFiles files = run_files((scratch / folder).string(), "20260101000000");
    const RunFiles of_rank = run_files((scratch / folder / rank).string(), "20260101000000");
    fs::create_directories(of_rank.directory);
    fs::copy_file(golden("cases/single_unsupported/npu_details.csv"), of_rank.details);
    journal::Writer writer = journal::Writer::create(
        files.journal, R"({"program":"msrun","recordings":[{"rank":"rank0"},{"rank":"rank1"}],"fingerprint":{}})");
    writer.append(encode(RankCalls{0, "rank0", {{0, 1}}, {}}));
    writer.append(encode(RankCalls{1, "rank1", {{1, 1}}, {{0, "Torch.exp.7"}}}));
    for (std::uint32_t task = 0; task < 2; ++task) {
      ApiResult result;
      result.task = task;
      result.name = task == 0 ? "rank0:Torch.exp.7" : "rank1:Torch.exp.3";
      result.inputs = task == 0 ? of_rank0 : of_rank1;
      result.tested_on = task == 0 ? TestedOn::simulated : TestedOn::hardware;
      writer.append(encode(result));
    }
    writer.close();
    return of_rank.details;
  };
  const std::string rank0 = details("a", 1, 2, "rank0");
  const std::string rank1 = details("b", 1, 2, "rank1");
  EXPECT_THAT(input_differences(rank0, details("c", 1, 3, "rank0")), IsEmpty());
  EXPECT_EQ(input_differences(rank0, rank1), "1 of 1 calls, the first by name is Torch.exp.7");
  EXPECT_TRUE(was_simulated(rank0));
  EXPECT_FALSE(was_simulated(rank1));
}

// What it says of the NPU's file with a change in it.
Finished one_changed(const TemporaryDirectory& scratch, const std::function<void(std::string&)>& change) {
  std::string text = read_file(golden("npu_details.csv"));
  change(text);
  std::ofstream(scratch / "npu.csv") << text;
  return run_tool("api_precision_compare", arguments(scratch / "npu.csv", golden("gpu_details.csv"), scratch / "out"),
                  scratch.path());
}

TEST(ApiPrecisionCompareInputs, WithNothingInCommonAreNoSuccess) {
  const TemporaryDirectory scratch;
  const Finished titles = one_changed(scratch, [](std::string& text) { text.erase(text.find('\n') + 1); });
  EXPECT_EQ(titles.exit_code, 1) << titles.err;
  EXPECT_THAT(titles.out, HasSubstr("Nothing was compared"));
}

TEST(ApiPrecisionCompareInputs, NumbersThatCannotBeReadAreTold) {
  const TemporaryDirectory scratch;
  for (const char* word : {"\"0,5\"", "#VALUE!", "10%"}) {
    const Finished run = one_changed(scratch, [&](std::string& text) {
      const std::string number = ",0.45000000000000,";  // the root mean square error of the first row
      const std::size_t at = text.find(number);
      ASSERT_NE(at, std::string::npos);
      text.replace(at + 1, number.size() - 2, word);
    });
    EXPECT_EQ(run.exit_code, 0) << word;
    EXPECT_THAT(run.err,
                HasSubstr("2 outputs have values that are no numbers, so that what needs these is SKIP; the first is "))
        << word;
  }
}

TEST(ApiPrecisionCompareInputs, OfWhichNoOutputCanBeJudgedAreNoSuccess) {
  const TemporaryDirectory scratch;
  const Finished run = one_changed(scratch, [](std::string& text) {
    // Line feeds alone stand within Messages.
    text.erase(text.find("\r\n", text.find("\r\n") + 2) + 2);
    const std::string number = ",0.45000000000000,";  // the root mean square error of the first row
    const std::size_t at = text.find(number);
    ASSERT_NE(at, std::string::npos);
    text.replace(at + 1, number.size() - 2, "\"0,45\"");
  });
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nothing was compared: every output that both files have is SKIP"));
}

TEST(ApiPrecisionCompareInputs, LinesMayEndWithCarriageReturns) {
  const TemporaryDirectory scratch;
  const Finished run = one_changed(scratch, [](std::string& text) {
    std::erase(text, '\r');
    std::ranges::replace(text, '\n', '\r');
  });
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const Finished usual = one_changed(scratch, [](std::string&) {});
  const auto counts = [](const Finished& finished) { return finished.out.substr(0, finished.out.find("Result:")); };
  EXPECT_EQ(counts(run), counts(usual));
}

TEST(ApiPrecisionCompareInputs, OtherSeparatorsAreNamed) {
  const TemporaryDirectory scratch;
  for (const auto& [separator, name] : {std::pair(';', "semicolons"), {'\t', "tabs"}}) {
    const Finished run =
        one_changed(scratch, [&, c = separator](std::string& text) { std::ranges::replace(text, ',', c); });
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("its fields are separated by " + std::string(name) + ", not by commas"));
  }
}

TEST(ApiPrecisionCompareInputs, ThatAreOneFileAreTold) {
  const TemporaryDirectory scratch;
  const std::string file = golden("npu_details.csv");
  const Finished run = run_tool("api_precision_compare", arguments(file, file, scratch / "out"), scratch.path());
  EXPECT_THAT(run.err, HasSubstr("the NPU file and the GPU file are the same one"));
  const Finished two =
      run_tool("api_precision_compare", arguments(file, golden("gpu_details.csv"), scratch / "out"), scratch.path());
  EXPECT_THAT(two.err, Not(HasSubstr("the same one")));
}

}  // namespace
}  // namespace msrun::api_precision_compare
