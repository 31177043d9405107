#include "orchestrator/output/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <utility>

#include "orchestrator/output/csv_titles.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::read_file;
using testing::TemporaryDirectory;

ApiResult call(const std::string& name, Status forward, std::optional<Status> backward, std::string message = {}) {
  ApiResult result;
  result.name = name;
  result.forward = forward;
  result.backward = backward;
  result.message = std::move(message);
  return result;
}

std::string result_row(const ApiResult& result) {
  std::string row;
  pytorch_dialect().append_result(row, result, false);
  return row;
}

std::string details_rows(const ApiResult& result, int precision) {
  std::string rows;
  pytorch_dialect().append_details(rows, result, precision);
  return rows;
}

ResultSource only(ApiResult result) {
  return [result = std::move(result), given = false]() mutable -> const ApiResult* {
    return std::exchange(given, true) ? nullptr : &result;
  };
}

// As the last rewrite of a run writes them.
void write_in_order(const RunFiles& files, const CsvStyle& style, const std::vector<ApiResult>& results) {
  std::size_t at = 0;
  write_csv_files(Folder(files.directory), files, style,
                  [&] { return at < results.size() ? &results[at++] : nullptr; });
}

ApiResult relu() {
  ApiResult result = call("Functional.relu.0", Status::pass, Status::pass);
  DetailsRow row(pytorch_columns());
  row.bench_dtype = "torch.float64";
  row.device_dtype = "torch.float32";
  row.shape = "(2, 3)";
  for (const Metric metric :
       {Metric::max_abs_error, Metric::error_balance, Metric::rmse, Metric::small_value_error_ratio,
        Metric::max_relative_error, Metric::mean_relative_error}) {
    row[metric] = Cell::fp64(0);
  }
  row[Metric::cosine] = Cell::fp64(1);
  row.message = "\nMax abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n";
  result.forward_rows = {row};
  row.message = "";
  result.backward_rows = {row};
  return result;
}

// The measured sample of acc_check_pytorch.md 9.6.
TEST(CsvBytes, ResultRowsOfTheMeasuredSample) {
  const std::string no_support = "API Distributed.all_reduce.0 not support for acc_check. SKIP.";
  EXPECT_EQ(result_row(call("Functional.relu.0", Status::pass, Status::pass)), "Functional.relu.0,pass,pass\r\n");
  EXPECT_EQ(result_row(call("Distributed.all_reduce.0", Status::skip, Status::skip, no_support)),
            "Distributed.all_reduce.0,SKIP,SKIP," + no_support + "\r\n");
  EXPECT_EQ(result_row(call("Torch.chunk.0", Status::pass, Status::skip, "Multiple backward is not supported.")),
            "Torch.chunk.0,pass,SKIP,Multiple backward is not supported.\r\n");
  EXPECT_EQ(result_row(call("Tensor.argmax.0", Status::pass, std::nullopt)), "Tensor.argmax.0,pass, \r\n");
  EXPECT_EQ(result_row(call("Torch.repeat_interleave.0", Status::pass, Status::skip,
                            "This API does not have backward input data, skip backward.")),
            "Torch.repeat_interleave.0,pass,SKIP,\"This API does not have backward input data, skip backward.\"\r\n");
  EXPECT_EQ(result_row(call("Torch.mul.1", Status::skip, Status::skip,
                            "Data info Min: None , Max: None, info type must be int or float.")),
            "Torch.mul.1,SKIP,SKIP,\"Data info Min: None , Max: None, info type must be int or float.\"\r\n");
  EXPECT_EQ(result_row(call("Torch.add.0", Status::error, std::nullopt, "not written")), "Torch.add.0,error, \r\n");
  EXPECT_EQ(result_row(call("Torch.add.0", Status::warning, Status::error, "no")), "Torch.add.0,warning,error\r\n");
}

TEST(CsvBytes, DetailsRowsOfTheMeasuredSample) {
  const std::string zero = "0.00000000000000";
  const std::string numbers = "torch.float64,torch.float32,\"(2, 3)\",1.00000000000000," + zero + ", , , , ," + zero +
                              "," + zero + "," + zero + "," + zero + "," + zero + ", , , , , , ,pass,";
  EXPECT_EQ(details_rows(relu(), 14),
            "Functional.relu.0.forward.output.0," + numbers +
                "\"\nMax abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n\"\r\n"
                "Functional.relu.0.backward.output.0," +
                numbers + "\r\n");
}

TEST(CsvBytes, SkippedApi) {
  const ApiResult result =
      skip_result(3, "Tensor.to.0", "API to in black list or not in white list. SKIP.", Outcome::not_checkable);
  EXPECT_EQ(result_row(result), "Tensor.to.0,SKIP,SKIP,API to in black list or not in white list. SKIP.\r\n");
  EXPECT_EQ(
      details_rows(result, 14),
      "Tensor.to.0.forward.output.0, , , , , , , , , , , , , , , , , , , , ,SKIP,API to in black list or not in white "
      "list. SKIP.\r\n");
}

TEST(CsvBytes, DropoutHasNoDetails) {
  EXPECT_EQ(details_rows(call("Functional.dropout.0", Status::pass, Status::pass), 14), "");
}

TEST(CsvBytes, Headers) {
  EXPECT_EQ(result_header(pytorch_dialect()),
            "\xEF\xBB\xBF"
            "API name,Forward Test Success,Backward Test Success,Message\r\n");
  const std::string golden = read_file(testing::test_data("/acc_check_csv/details.csv"));
  EXPECT_EQ(details_header(pytorch_dialect(), false), golden.substr(0, golden.find('\n') + 1));
  EXPECT_THAT(details_header(pytorch_dialect(), true),
              HasSubstr("API Name,Bench Dtype,DEVICE Dtype,Shape,Cosine Similarity,"));
}

TEST(CsvBytes, QuotingIsMinimal) {
  const auto field = [](std::string_view text) {
    std::string out;
    append_csv_field(out, text);
    return out;
  };
  EXPECT_EQ(field(""), "");
  EXPECT_EQ(field("a b"), "a b");
  EXPECT_EQ(field("a;b'c"), "a;b'c");
  EXPECT_EQ(field("a,b"), "\"a,b\"");
  EXPECT_EQ(field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(field("a\rb"), "\"a\rb\"");
}

TEST(CsvBytes, TheMessageOfAWarningOrErrorIsItsReason) {
  const auto row_of = [](const ApiResult& result) {
    std::string row;
    pytorch_dialect().append_result(row, result, true);
    return row;
  };
  ApiResult result = relu();
  EXPECT_EQ(row_of(result), "Functional.relu.0,pass,pass\r\n");
  result.forward = result.forward_rows[0].status = Status::warning;
  result.forward_rows[0].message = "upstream's text\nNot explained by rounding: 1 of 6.\nA cause.\n";
  EXPECT_EQ(row_of(result),
            "Functional.relu.0,warning,pass,Suspicious: forward.output.0: Not explained by rounding: 1 of 6. A "
            "cause.\r\n");
  EXPECT_EQ(result_row(result), "Functional.relu.0,warning,pass\r\n");
  result.tested_on = TestedOn::simulated;
  result.rounding_only = true;
  EXPECT_THAT(row_of(result), HasSubstr(",Rounding: forward.output.0: Not explained by rounding: 1 of 6. A cause. "
                                        "(simulated device; no NPU or GPU was tested)\r\n"));
  // What was read back from a file stays as it is.
  result.message = "Suspicious: text";
  EXPECT_EQ(row_of(result), "Functional.relu.0,warning,pass,Suspicious: text\r\n");
}

TEST(CsvFilesTest, GrowsAndIsRewrittenInOrder) {
  const TemporaryDirectory folder;
  const CsvStyle without_reasons{.with_reasons = false};
  const RunFiles files = run_files(folder.path(), "20260102030405");
  CsvFiles csv = CsvFiles::create(Folder(files.directory), files, without_reasons);
  const ApiResult first = relu();
  const ApiResult second = call("Torch.topk.0", Status::error, std::nullopt);
  csv.append(only(second));
  csv.append(only(first));
  EXPECT_EQ(read_file(files.result), result_header(pytorch_dialect()) + result_row(second) + result_row(first));
  EXPECT_EQ(read_file(files.details), details_header(pytorch_dialect(), false) + details_rows(first, 14));

  write_in_order(files, without_reasons, {first, second});
  EXPECT_EQ(read_file(files.result), result_header(pytorch_dialect()) + result_row(first) + result_row(second));
  CsvFiles::open(Folder(files.directory), files, without_reasons)
      .append(only(call("Torch.add.0", Status::pass, std::nullopt)));
  EXPECT_EQ(read_file(files.result),
            result_header(pytorch_dialect()) + result_row(first) + result_row(second) + "Torch.add.0,pass, \r\n");
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(CsvFilesTest, EnglishTitlesAndPrecision) {
  const TemporaryDirectory folder;
  const RunFiles files = run_files(folder.path(), "20260102030405");
  CsvFiles csv = CsvFiles::create(Folder(files.directory), files, {.precision = 2, .english_titles = true});
  csv.append(only(relu()));
  EXPECT_EQ(read_file(files.details), details_header(pytorch_dialect(), true) + details_rows(relu(), 2));
  write_in_order(files, {.precision = 2, .english_titles = true}, {relu()});
  EXPECT_EQ(read_file(files.details), details_header(pytorch_dialect(), true) + details_rows(relu(), 2));
  EXPECT_THAT(details_rows(relu(), 2), HasSubstr(",1.00,0.00, ,"));
}

TEST(CsvFilesTest, NeverOverwrites) {
  const TemporaryDirectory folder;
  const RunFiles files = run_files(folder.path(), "20260102030405");
  folder.write("accuracy_checking_result_20260102030405.csv", "precious");
  EXPECT_THAT(error_of<UserError>([&] { CsvFiles::create(Folder(files.directory), files, {}); }),
              HasSubstr("accuracy_checking_result_20260102030405.csv already exists"));
  EXPECT_EQ(read_file(files.result), "precious");
  EXPECT_THAT(folder.names(), ElementsAre("accuracy_checking_result_20260102030405.csv"));
}

TEST(CsvFilesTest, OpenAppends) {
  const TemporaryDirectory folder;
  const RunFiles files = run_files(folder.path(), "20260102030405");
  CsvFiles::create(Folder(files.directory), files, {}).append(only(relu()));
  CsvFiles::open(Folder(files.directory), files, {}).append(only(relu()));
  EXPECT_EQ(read_file(files.result), result_header(pytorch_dialect()) + result_row(relu()) + result_row(relu()));
  EXPECT_THAT(error_of<WriteError>([&] { CsvFiles::open(Folder(folder.path()), run_files(folder.path(), "1"), {}); }),
              HasSubstr("_1.csv"));
}

// The limit on the size of files stands for a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(CsvFilesTest, FullDiskLeavesWholeRowsAndNamesTheFile) {
  const TemporaryDirectory folder;
  const RunFiles files = run_files(folder.path(), "20260102030405");
  CsvFiles csv = CsvFiles::create(Folder(files.directory), files, {});
  csv.append(only(relu()));
  const std::string details = read_file(files.details);
  const std::string result = read_file(files.result);
  std::string text;
  {
    const FullDisk full(details.size() + 10);
    text = error_of<WriteError>([&] { csv.append(only(relu())); });
  }
  EXPECT_THAT(text, HasSubstr(files.details + " cannot be written: File too large"));
  EXPECT_EQ(read_file(files.details), details);
  EXPECT_EQ(read_file(files.result), result);

  {
    const FullDisk full(100);
    text = error_of<WriteError>([&] { write_in_order(files, {}, {relu()}); });
  }
  EXPECT_THAT(text, HasSubstr(files.details));
  EXPECT_EQ(read_file(files.details), details);
  EXPECT_EQ(folder.names().size(), 2U);
  csv.append(only(relu()));
  EXPECT_EQ(read_file(files.result), result + result_row(relu()));
}

std::vector<std::vector<std::string>> rows_of(std::string_view text, std::size_t* torn = nullptr) {
  CsvReader reader(text);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  while (reader.next(row)) rows.push_back(row);
  if (torn != nullptr) *torn = reader.torn_bytes();
  return rows;
}

TEST(CsvReaderTest, ReadsWhatRfc4180Allows) {
  EXPECT_THAT(rows_of(""), IsEmpty());
  EXPECT_THAT(rows_of("\xEF\xBB\xBF"
                      "a,b\r\n"),
              ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(rows_of("a,b\nc,d\r\n"), ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  EXPECT_THAT(rows_of("\"a,\"\"b\"\"\r\nc\",,\" \"\r\n"), ElementsAre(ElementsAre("a,\"b\"\r\nc", "", " ")));
  EXPECT_THAT(rows_of("a\"b,\r\n"), ElementsAre(ElementsAre("a\"b", "")));
  EXPECT_THAT(rows_of("\r\n"), ElementsAre(ElementsAre("")));
}

TEST(CsvReaderTest, DropsATornLastRow) {
  std::size_t torn = 0;
  EXPECT_THAT(rows_of("a,b\r\nc,d", &torn), ElementsAre(ElementsAre("a", "b")));
  EXPECT_EQ(torn, 3U);
  EXPECT_THAT(rows_of("a,b\r\n\"c\r\n", &torn), ElementsAre(ElementsAre("a", "b")));
  EXPECT_EQ(torn, 4U);
  EXPECT_THAT(rows_of("a,b\r\nc\r", &torn), ElementsAre(ElementsAre("a", "b")));
  EXPECT_EQ(torn, 2U);
  rows_of("a,b\r\n", &torn);
  EXPECT_EQ(torn, 0U);
}

TEST(CsvReaderTest, KeepsALastRowWithoutLineEndWhereThatIsAsked) {
  const auto rows_of_any = [](std::string_view text) {
    CsvReader reader(text, LastRow::may_lack_line_end);
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> row;
    while (reader.next(row)) rows.push_back(row);
    return std::pair(rows, reader.torn_bytes());
  };
  EXPECT_THAT(rows_of_any("a,b\r\nc,d"), Pair(ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")), 0U));
  EXPECT_THAT(rows_of_any("a,\"b\""), Pair(ElementsAre(ElementsAre("a", "b")), 0U));
  EXPECT_THAT(rows_of_any("a,b\r\nc,\"d"), Pair(ElementsAre(ElementsAre("a", "b")), 4U));
  EXPECT_THAT(rows_of_any("a\n"), Pair(ElementsAre(ElementsAre("a")), 0U));
}

std::string rendered_result(const std::vector<ApiResult>& results) {
  std::string text = result_header(pytorch_dialect());
  for (const ApiResult& result : results) text += result_row(result);
  return text;
}

std::string rendered_details(const std::vector<ApiResult>& results) {
  std::string text = details_header(pytorch_dialect(), false);
  for (const ApiResult& result : results) text += details_rows(result, 14);
  return text;
}

// tests/data/acc_check_csv: a run of msProbe over a dump with fused operators (acc_check of its newest release).
TEST(CsvImport, FilesOfMsprobeComeBackByteForByte) {
  const std::string result = testing::test_data("/acc_check_csv/result.csv");
  const std::string details = testing::test_data("/acc_check_csv/details.csv");
  const ImportedCsv imported = import_csv(result, details, CsvStyle{.precision = 14});
  EXPECT_THAT(imported.notes, IsEmpty());
  EXPECT_GT(imported.results.size(), 10U);
  EXPECT_EQ(rendered_result(imported.results), read_file(result));
  EXPECT_EQ(rendered_details(imported.results), read_file(details));
}

TEST(CsvImport, EveryCutOfTheFilesKeepsWholeCalls) {
  const TemporaryDirectory folder;
  const std::string golden_result = read_file(testing::test_data("/acc_check_csv/result.csv"));
  const std::string details = testing::test_data("/acc_check_csv/details.csv");
  const ImportedCsv all =
      import_csv(testing::test_data("/acc_check_csv/result.csv"), details, CsvStyle{.precision = 14});
  for (std::size_t size = 0; size <= golden_result.size(); size += 7) {
    const ImportedCsv part =
        import_csv(folder.write("r.csv", golden_result.substr(0, size)), details, CsvStyle{.precision = 14});
    ASSERT_LE(part.results.size(), all.results.size());
    for (std::size_t i = 0; i < part.results.size(); ++i) {
      ASSERT_EQ(result_row(part.results[i]), result_row(all.results[i]));
      ASSERT_EQ(details_rows(part.results[i], 14), details_rows(all.results[i], 14));
    }
  }
}

TEST(CsvImport, BlankLinesSayNothing) {
  const TemporaryDirectory folder;
  const std::string result = read_file(testing::test_data("/acc_check_csv/result.csv"));
  const std::string details = read_file(testing::test_data("/acc_check_csv/details.csv"));
  const ImportedCsv imported = import_csv(folder.write("r.csv", result + "\r\n\n"),
                                          folder.write("d.csv", details + "\n"), CsvStyle{.precision = 14});
  EXPECT_THAT(imported.notes, IsEmpty());
  EXPECT_EQ(rendered_result(imported.results), result);
  EXPECT_EQ(rendered_details(imported.results), details);
}

// A pass has no Message, and was computed by the same device.
TEST(CsvImport, OneMessageTellsThatTheDeviceWasSimulated) {
  const TemporaryDirectory folder;
  const std::string wrong =
      "Torch.exp.0,error, ,Suspicious: forward.output.0: wrong (simulated device; no NPU or GPU was tested)\r\n";
  const auto simulated = [&](const std::string& rows) {
    const ImportedCsv imported =
        import_csv(folder.write("r.csv", result_header(pytorch_dialect()) + rows),
                   folder.write("d.csv", details_header(pytorch_dialect(), true)), CsvStyle{.precision = 14});
    std::size_t count = 0;
    for (const ApiResult& result : imported.results) count += result.tested_on == TestedOn::simulated ? 1 : 0;
    return count;
  };
  const std::string skip = result_row(skip_result(0, "Torch.add.0", "x", Outcome::not_checkable));
  EXPECT_EQ(simulated(result_row(relu()) + wrong + skip), 2U);
  EXPECT_EQ(simulated(result_row(relu()) + skip), 0U);
}

TEST(CsvImport, OrphansAndRepeatedRowsAreDroppedAndReported) {
  const TemporaryDirectory folder;
  ApiResult again = relu();
  again.forward_rows[0].message = "second run";
  const ApiResult orphan = skip_result(0, "Torch.add.0", "x", Outcome::not_checkable);
  const std::string result = folder.write(
      "r.csv", result_header(pytorch_dialect()) + result_row(relu()) + result_row(again) + "Torch.mul.0,pa");
  const std::string details = folder.write("d.csv", details_header(pytorch_dialect(), true) + details_rows(relu(), 14) +
                                                        details_rows(orphan, 14) + details_rows(again, 14));
  const ImportedCsv imported = import_csv(result, details, CsvStyle{.precision = 14});
  ASSERT_EQ(imported.results.size(), 1U);
  EXPECT_EQ(details_rows(imported.results[0], 14), details_rows(again, 14));
  EXPECT_THAT(imported.notes, ElementsAre(result + ": the last row is torn, its 14 bytes were dropped.",
                                          result + ": 1 row of a call that has a later row was dropped.",
                                          details + ": 1 row of calls without a result row was dropped."));
}

// As a power loss may leave it.
TEST(CsvImport, AnEmptyDetailsFileIsReported) {
  const TemporaryDirectory folder;
  const std::string skip = result_row(skip_result(0, "Torch.add.0", "x", Outcome::not_checkable));
  const std::string title = result_header(pytorch_dialect());
  for (const std::string& text : {std::string(), details_header(pytorch_dialect(), true)}) {
    const std::string details = folder.write("d.csv", text);
    const ImportedCsv imported =
        import_csv(folder.write("r.csv", title + result_row(relu()) + skip), details, CsvStyle{.precision = 14});
    EXPECT_EQ(imported.results.size(), 2U);
    EXPECT_THAT(imported.notes, ElementsAre(details + " has no row, so that nothing but the result file tells of the "
                                                      "calls in it."));
    // Calls that were not checked have none to lose.
    EXPECT_THAT(import_csv(folder.write("r.csv", title + skip), details, CsvStyle{.precision = 14}).notes,
                ::testing::IsEmpty());
  }
}

TEST(CsvImport, ForeignFilesAreRefusedWithFileAndRow) {
  const TemporaryDirectory folder;
  const std::string good_result = folder.write("r.csv", result_header(pytorch_dialect()) + result_row(relu()));
  const std::string good_details =
      folder.write("d.csv", details_header(pytorch_dialect(), false) + details_rows(relu(), 14));
  const auto refused = [&](const std::string& result, const std::string& details) {
    return error_of<UserError>([&] { import_csv(result, details, CsvStyle{.precision = 14}); });
  };
  EXPECT_EQ(refused(good_result, good_details), "");
  EXPECT_EQ(refused(good_details, good_details), good_details + ", row 1: this is not the title row of a result file");
  EXPECT_EQ(refused(good_result, good_result), good_result + ", row 1: this is not the title row of a details file");
  const std::string bad = folder.write("b.csv", result_header(pytorch_dialect()) + "Torch.add.0,good, \r\n");
  EXPECT_EQ(refused(bad, good_details), bad + ", row 2: 'good' is not a status");
  const std::string narrow = folder.write("n.csv", result_header(pytorch_dialect()) + "Torch.add.0,pass\r\n");
  EXPECT_EQ(refused(narrow, good_details), narrow + ", row 2: it has 2 fields in place of 3 or 4");
  std::string rows = details_rows(relu(), 14);
  rows.replace(rows.find("1.0000"), 1, "x");
  const std::string no_number = folder.write("x.csv", details_header(pytorch_dialect(), false) + rows);
  EXPECT_EQ(refused(good_result, no_number), no_number + ", row 2: 'x.00000000000000' is not a number");
  const std::string short_row = folder.write("s.csv", details_header(pytorch_dialect(), false) + "a,b\r\n");
  EXPECT_EQ(refused(good_result, short_row), short_row + ", row 2: it has 2 fields in place of 23");
  EXPECT_THAT(refused(folder.file("none"), good_details), HasSubstr("does not exist"));
}

TEST(CsvImport, NumbersBeyondDoubleAreRefusedNotReadAsZero) {
  const TemporaryDirectory folder;
  const std::string result = folder.write("r.csv", result_header(pytorch_dialect()) + result_row(relu()));
  std::string rows = details_rows(relu(), 14);
  rows.replace(rows.find("1.00000000000000"), 16, "1e999");
  const std::string details = folder.write("d.csv", details_header(pytorch_dialect(), false) + rows);
  EXPECT_EQ(error_of<UserError>([&] { import_csv(result, details, CsvStyle{.precision = 14}); }),
            details + ", row 2: '1e999' is not a number");
}

TEST(CsvImport, NamesMayLookLikeRowNames) {
  const TemporaryDirectory folder;
  ApiResult strange = relu();
  strange.name = "Torch.x.forward.output.0";
  strange.backward = Status::pass;
  strange.backward_rows = strange.forward_rows;
  const std::string result = folder.write("r.csv", result_header(pytorch_dialect()) + result_row(strange));
  const std::string details =
      folder.write("d.csv", details_header(pytorch_dialect(), false) + details_rows(strange, 14));
  const ImportedCsv imported = import_csv(result, details, CsvStyle{.precision = 14});
  EXPECT_THAT(imported.notes, IsEmpty());
  EXPECT_EQ(rendered_details(imported.results), read_file(details));
}

TEST(CsvImport, CellsOfEveryKindPrintAgainAsTheyWere) {
  const TemporaryDirectory folder;
  ApiResult result = relu();
  auto& cells = result.forward_rows[0].cells;
  cells = {Cell::fp64(123456.789),
           Cell::fp32(9.970572e-06F),
           Cell::fp32(1e16F),
           Cell::fp16(0.009766),
           Cell::integer(0),
           Cell::fp64(-0.0),
           Cell::fp32(-0.0),
           Cell::fp64(0.0 / 0.0),
           Cell::fp32(123456790.0F),
           Cell::fp64(1e20),
           Cell::fp32(0.0001F),
           Cell::integer(-12),
           Cell{},
           Cell::fp16(65504),
           Cell::fp64(1e308),
           Cell::fp32(3.4028235e38F),
           Cell::fp64(-1.0 / 0.0)};
  const std::string r = folder.write("r.csv", result_header(pytorch_dialect()) + result_row(result));
  const std::string d = folder.write("d.csv", details_header(pytorch_dialect(), false) + details_rows(result, 14));
  EXPECT_EQ(rendered_details(import_csv(r, d, CsvStyle{.precision = 14}).results), read_file(d));
}

}  // namespace
}  // namespace msrun
