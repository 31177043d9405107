// tensor_compare: files of cases and what is wrong with them, tensor files and how their bits are understood, and the
// executable's output and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/error.h"
#include "kernels/compare/details_csv.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/torch/pt_file.h"
#include "tests/support/msrun_process.h"
#include "tests/support/npy_file.h"
#include "tests/support/test_paths.h"
#include "tools/tensor_compare/cases.h"
#include "tools/tensor_compare/command.h"

namespace msrun::tensor_compare {
namespace {

using msrun::testing::Finished;
using msrun::testing::programs;
using msrun::testing::read_file;
using msrun::testing::Rows;
using msrun::testing::run_tool;
using msrun::testing::TemporaryDirectory;
using msrun::testing::write_file;
using msrun::testing::write_npy;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

const std::string golden_cases = testing::test_data("/metrics_golden.json");

Tensor vector(DType dtype, const std::vector<double>& values) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from<double>(DType::float64, shape, values).to(dtype);
}

Rows rows_of(const std::string& csv) {
  CsvReader reader(csv);
  Rows rows;
  std::vector<std::string> row;
  while (reader.next(row)) rows.push_back(row);
  return rows;
}

std::string error_of(const std::string& json) {
  try {
    parse_cases("FILE", json);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Cases, NamesWhatIsWrongWithAFile) {
  EXPECT_THAT(error_of("[{"), StartsWith("FILE is not JSON: "));
  EXPECT_EQ(error_of("{}"), "FILE holds no list of cases");
  EXPECT_EQ(error_of("[7]"), "FILE, case 1: it is not an object");
  EXPECT_EQ(error_of(R"([{"name": "a"}])"), "FILE, case 1 (a): the key api_name is missing");
  EXPECT_EQ(error_of(R"([{"name": "a", "api_name": "x", "kind": "graph"}])"),
            "FILE, case 1 (a): kind is neither tensor nor structure: graph");

  Json good = {{"name", "a"},  {"kind", "tensor"},    {"api_name", "softmax"},     {"bench_dtype", "float32"},
               {"shape", {1}}, {"bench", "AACAPw=="}, {"device_dtype", "float16"}, {"device", "ADw="}};
  EXPECT_EQ(error_of(Json::array({good}).dump()), "no error");
  const auto with = [&](const char* key, const Json& value) {
    Json bad = good;
    bad[key] = value;
    return error_of(Json::array({good, bad}).dump());
  };
  EXPECT_THAT(error_of("[{\"a\": \xFF"), StartsWith("FILE is not JSON: line 1, column 8: "));
  const std::string head = R"([{"name": "a", "api_name": "x", "kind": "structure", "bench_value": {"t": "int", "v": )";
  const std::string tail = R"(}, "device_value": {"t": "none"}}])";
  EXPECT_EQ(error_of(head + "\"3\"" + tail),
            "FILE, case 1 (a): v holds no value of type int, or there is no such type");
  EXPECT_EQ(error_of(head + std::string(300, '[') + std::string(300, ']') + tail),
            "FILE, case 1 (a): v holds no value of type int, or there is no such type");
  // Deeper than the stack reaches.
  EXPECT_EQ(error_of(head + std::string(1'000'000, '[') + std::string(1'000'000, ']') + tail),
            "FILE: values are nested too deeply");
  std::string many = "[{\"0\":0";
  for (int i = 1; i <= 20'000; ++i) many += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(error_of(many + "}]"), "FILE: an object has more than 20000 members");
  EXPECT_EQ(with("bench_dtype", "float3"), "FILE, case 2 (a): bench_dtype is no known dtype: float3");
  EXPECT_EQ(with("bench", "AACAPw=!"), "FILE, case 2 (a): bench is not base64");
  EXPECT_EQ(with("device", "AACAPw=="), "FILE, case 2 (a): device holds 4 bytes, which is not (1,) of float16");
  EXPECT_EQ(with("shape", {1, "2"}), "FILE, case 2 (a): shape is not a list of whole numbers");
  EXPECT_THAT(with("shape", {-1}), StartsWith("FILE, case 2 (a): shape: "));
  EXPECT_THAT(with("shape", {1LL << 40, 1LL << 40}), StartsWith("FILE, case 2 (a): shape: "));
  EXPECT_EQ(with("forced_standard", "fourth"), "FILE, case 2 (a): forced_standard is no known standard: fourth");
  EXPECT_EQ(with("input_fp8", 1), "FILE, case 2 (a): input_fp8 is neither true nor false");

  std::string nested = R"({"t": "int", "v": 1})";
  for (int i = 0; i < 100; ++i) nested = R"({"t": "list", "v": [)" + nested + "]}";
  EXPECT_EQ(error_of(R"([{"name": "a", "kind": "structure", "api_name": "x", "bench_value": )" + nested +
                     R"(, "device_value": {"t": "none"}}])"),
            "FILE, case 1 (a): values are nested too deeply");
  EXPECT_THROW(read_cases("/none.json"), UserError);
}

// What the test of the golden file checks is what the tool prints.
TEST(TensorCompare, PrintsOneRowPerCase) {
  const TemporaryDirectory scratch;
  std::ifstream file(golden_cases);
  const Json expected = Json::parse(file);
  for (const std::string policy : {"per_api", "current"}) {
    const Finished run = run_tool(
        "tensor_compare", {"--cases", golden_cases, "--standard", policy, "--compat", "msprobe"}, scratch.path());
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Rows rows = rows_of(run.out);
    ASSERT_GT(rows.size(), 1U);
    const std::vector<std::string>& titles = rows.front();
    ASSERT_EQ(titles.size(), 23U);
    EXPECT_EQ(titles.front(), "Name");
    std::size_t at = 1;
    const auto check = [&](const Json& test, const Json& cells, const Json& verdict) {
      ASSERT_LT(at, rows.size());
      const std::vector<std::string>& row = rows[at++];
      ASSERT_EQ(row.size(), titles.size());
      EXPECT_EQ(row[0], test["name"].get<std::string>());
      EXPECT_EQ(row[21], verdict["status"].get<std::string>()) << row[0];
      EXPECT_EQ(row[22], verdict["message"].get<std::string>()) << row[0];
      for (std::size_t i = 1; i < 21; ++i) {
        EXPECT_EQ(row[i] != " ", cells.contains(titles[i])) << row[0] << ' ' << titles[i] << ' ' << row[i];
      }
    };
    for (const Json& test : expected) {
      if (test["kind"] == "structure") {
        for (const Json& row : test["rows"]) check(test, row["expected"], row);
      } else {
        const bool differs = policy == "per_api" && test.contains("expected_per_api");
        check(test, test[differs ? "expected_per_api" : "expected"], test);
      }
    }
    EXPECT_EQ(at, rows.size());
  }
}

// Worked example 2 of precision_metrics.md 13.
// A spreadsheet would run such a cell.
TEST(TensorCompare, NamesInCsvAreNoFormulas) {
  const TemporaryDirectory scratch;
  write_npy(scratch / "a.npy", vector(DType::float32, {1, 2}));
  write_npy(scratch / "=cmd|calc!A0.npy", vector(DType::float32, {1, 2}));
  const Finished run = run_tool("tensor_compare", {scratch / "a.npy", scratch / "=cmd|calc!A0.npy"}, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n_cmd|calc!A0,torch.float32,"));
  const Finished named = run_tool(
      "tensor_compare", {scratch / "a.npy", scratch / "a.npy", "--api", "@SUM(1)", "--format", "csv"}, scratch.path());
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("\n_SUM(1),torch.float32,"));
}

TEST(TensorCompare, TellsOfANameThatNoApiHas) {
  const TemporaryDirectory scratch;
  const std::string a = scratch / "a.npy";
  write_npy(a, vector(DType::float32, {1, 2}));
  const auto said = [&](const char* api) {
    return run_tool("tensor_compare", {a, a, "--api", api}, scratch.path()).err;
  };
  EXPECT_THAT(said("relue"), HasSubstr("--api: there is no API relue"));
  EXPECT_THAT(said("Functional.relue.3"), HasSubstr("did you mean relu"));
  EXPECT_EQ(said("relu"), "");
  EXPECT_EQ(said("Torch.matmul.3"), "");
}

TEST(TensorCompare, AReaderThatHasGoneAwayChangesNoExitCode) {
  const TemporaryDirectory scratch;
  const std::string a = scratch / "a.npy";
  write_npy(a, vector(DType::float32, {1, 2}));
  // The file says that nobody reads any more.
  const std::string command = "cd '" + scratch.path().string() + "' && { while [ ! -e gone ]; do sleep 0.01; done; '" +
                              programs() +
                              "/tensor_compare' a.npy a.npy; echo $? > code; } | { exec 0<&-; touch gone; }";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(scratch / "code"), "0\n");
}

TEST(TensorCompare, PrintsTheDetailsRowOfTwoFiles) {
  const TemporaryDirectory scratch;
  const std::string a = scratch / "a.npy";
  const std::string b = scratch / "Functional.softmax.0.forward.output.0.npy";
  write_npy(a, vector(DType::float32, {1, 2, 3, 4}));
  write_npy(b, vector(DType::float16, {1.01, 2, 3, 4}));
  const Finished run = run_tool("tensor_compare", {a, b}, scratch.path());
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out,
            "API Name," + details_titles(pytorch_columns(), false) +
                "Functional.softmax.0.forward.output.0,torch.float32,torch.float16,\"(4,)\",0.99999846452807,"
                "0.009765625,1.00000000000000,0.75000000000000, , ,0.25000000000000,0.00488299560356,0,0.009765624,"
                "0.002441406, , , , , , ,warning,\"\n"
                "Relative error is greater than 0.001, consider as warning, skip other check and set to SPACE.\n"
                "\"\r\n");

  const Finished table = run_tool("tensor_compare", {a, b, "--format", "table", "-precision=3"}, scratch.path());
  EXPECT_THAT(table.out, HasSubstr("Benchmark (A)               " + a + ", float32 (4,)\n"));
  EXPECT_THAT(table.out, HasSubstr("Device (B)                  " + b + ", float16 (4,)\n"));
  EXPECT_THAT(table.out, HasSubstr("API                         softmax (from the file name)\n"));
  EXPECT_THAT(table.out, HasSubstr("Dual-1000                   0.750\n"));
  EXPECT_THAT(table.out, HasSubstr("Status                      warning\n"));
  EXPECT_THAT(table.out, Not(HasSubstr("ULP")));

  // matmul has the ULP standard, unless every float has the benchmark standard.
  const Finished matmul = run_tool("tensor_compare", {a, b, "--api", "matmul", "--titles", "en"}, scratch.path());
  EXPECT_EQ(rows_of(matmul.out).at(1).at(0), "matmul");
  EXPECT_EQ(rows_of(matmul.out).at(0).at(18), "Max ULP Error");
  EXPECT_EQ(rows_of(matmul.out).at(1).at(18), "10.0");
  const Finished current =
      run_tool("tensor_compare", {a, b, "--api", "Torch.matmul.3", "--standard", "current"}, scratch.path());
  EXPECT_EQ(rows_of(current.out).at(1).at(18), " ");

  EXPECT_EQ(run_tool("tensor_compare", {a, b, "--fail-on", "error"}, scratch.path()).exit_code, 0);
  EXPECT_EQ(run_tool("tensor_compare", {a, b, "--fail-on", "warning"}, scratch.path()).exit_code, 1);
}

TEST(TensorCompare, OfNothingIsNoSuccess) {
  const TemporaryDirectory scratch;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }";
  header.resize(118 - 1, ' ');
  header += '\n';
  const std::string path = scratch / "empty.npy";
  write_file(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header);
  const Finished run = run_tool("tensor_compare", {path, path, "--fail-on", "error"}, scratch.path());
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_THAT(run.err, HasSubstr("nothing was compared: neither tensor has an element"));
  // Nor are cases of which none could be compared, but some of which others could.
  std::ifstream file(golden_cases);
  Json skipped = Json::array();
  Json some = Json::array();
  for (const Json& test : Json::parse(file)) {
    if (test["kind"] != "tensor") continue;
    if (test["status"] == "SKIP") skipped.push_back(test);
    if (test["status"] == "SKIP" || some.empty() || test["status"] == "pass") some.push_back(test);
  }
  ASSERT_FALSE(skipped.empty());
  const std::string cases = scratch / "cases.json";
  const std::vector<std::string> as_upstream{"--cases", cases, "--standard", "current", "--compat", "msprobe"};
  write_file(cases, skipped.dump());
  const Finished none = run_tool("tensor_compare", as_upstream, scratch.path());
  EXPECT_EQ(none.exit_code, 1) << none.err;
  EXPECT_THAT(none.err, HasSubstr("nothing was compared: every row of " + cases + " is SKIP"));
  write_file(cases, some.dump());
  EXPECT_EQ(run_tool("tensor_compare", as_upstream, scratch.path()).exit_code, 0);
}

std::string two_byte_npy(const std::vector<std::uint16_t>& bits, const std::string& descr) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + std::to_string(bits.size()) + ",), }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  return bytes.append(reinterpret_cast<const char*>(bits.data()), 2 * bits.size());
}

TEST(TensorCompare, UnderstandsBitsThatNumpyHasNoNameFor) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "x.npy";
  for (const char* descr : {"<u2", "|V2"}) {
    write_file(path, two_byte_npy({0x3F80, 0xC020}, descr));
    const Side side = read_side(path, std::nullopt);
    EXPECT_EQ(side.tensor.dtype(), DType::bfloat16);
    EXPECT_EQ(side.tensor.item(1), -2.5);
    EXPECT_EQ(side.note, path + " holds uint16, taken for the bits of bfloat16.");
    EXPECT_EQ(read_side(path, DType::bfloat16).note, "");
    EXPECT_EQ(read_side(path, DType::float16).tensor.dtype(), DType::float16);
  }
  write_npy(path,
            Tensor::from<std::int16_t>(DType::int16, std::vector<std::int64_t>{1}, std::vector<std::int16_t>{0x3F80}));
  EXPECT_EQ(read_side(path, DType::bfloat16).tensor.item(), 1);
  write_npy(path,
            Tensor::from<std::uint8_t>(DType::uint8, std::vector<std::int64_t>{1}, std::vector<std::uint8_t>{0x3C}));
  EXPECT_EQ(read_side(path, DType::float8_e5m2).tensor.item(), 1);
  EXPECT_EQ(read_side(path, std::nullopt).tensor.dtype(), DType::uint8);

  write_npy(path, vector(DType::float32, {1, 1.0009765625}));
  const Side rounded = read_side(path, DType::bfloat16);
  EXPECT_EQ(rounded.tensor.item(1), 1);
  EXPECT_EQ(rounded.note, path + " holds float32, converted to bfloat16, which changed 1 values.");
  write_npy(path, vector(DType::float32, {1, 2}));
  EXPECT_EQ(read_side(path, DType::bfloat16).note, path + " holds float32, converted to bfloat16.");
  EXPECT_THROW(read_side(path, DType::complex64), UserError);

  const std::string pt = scratch / "x.pt";
  write_pt(pt, vector(DType::bfloat16, {1, 2}));
  EXPECT_EQ(read_side(pt, std::nullopt).tensor.dtype(), DType::bfloat16);
}

TEST(TensorCompare, TakesTheApiFromADumpsFileName) {
  EXPECT_EQ(api_of_file("a/Functional.linear.0.forward.output.0.pt"), "linear");
  EXPECT_EQ(api_of_file("Torch.linalg.inv.12.backward.output.0.npy"), "linalg.inv");
  EXPECT_EQ(api_of_file("device.npy"), "");
  EXPECT_EQ(api_of_file("my.forward.npy"), "");
}

TEST(TensorCompare, SaysWhatIsWrong) {
  const TemporaryDirectory scratch;
  const std::string a = scratch / "a.npy";
  write_npy(a, vector(DType::float32, {1}));
  const auto message = [&](const std::vector<std::string>& arguments) {
    const Finished run = run_tool("tensor_compare", arguments, scratch.path());
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_THAT(message({a}), StartsWith("tensor_compare: two files are needed, the benchmark's first"));
  EXPECT_EQ(message({a, "/none.npy"}), "tensor_compare: The file path /none.npy does not exist.\n");
  EXPECT_EQ(message({a, a, "--device-dtype", "float3"}), "tensor_compare: --device-dtype is no known dtype: float3\n");
  EXPECT_EQ(message({a, a, "--standard", "old"}),
            "tensor_compare: --standard must be one of per_api, current, not old\n");
  EXPECT_EQ(message({a, a, "--precision", "21"}),
            "tensor_compare: --precision must be a number from 0 to 20, not 21\n");
  EXPECT_EQ(message({a, a, "--api", "a.b.c.d.e"}), "tensor_compare: API name a.b.c.d.e has not been adapted.\n");
  EXPECT_THAT(message({a, a, "--nonsense"}), HasSubstr("nonsense"));
  const std::string none = scratch / "none.json";
  write_file(none, "[]");
  EXPECT_EQ(message({"--cases", none}), "tensor_compare: There are no cases in " + none + ".\n");
  EXPECT_EQ(message({"--cases", golden_cases, a}), "tensor_compare: --cases takes no further files\n");
  EXPECT_THAT(run_tool("tensor_compare", {"-h"}, scratch.path()).out, HasSubstr("the first is the benchmark"));
}

}  // namespace
}  // namespace msrun::tensor_compare
