// The table of dialects, PyTorch's rules about names, and MindSpore's about names, rows and files. Its files are tested
// with those who write them.
#include "runner/dialects/dialect.h"
#include "kernels/compare/policies/column_sets.h"

#include <gmock/gmock.h>

#include "kernels/base/error.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

TEST(Dialects, AreFoundByAnySpelling) {
  EXPECT_EQ(find_dialect("pytorch"), &pytorch_dialect());
  EXPECT_EQ(find_dialect("pt"), &pytorch_dialect());
  EXPECT_EQ(find_dialect("mindspore"), &mindspore_dialect());
  EXPECT_EQ(find_dialect("ms"), &mindspore_dialect());
  EXPECT_EQ(find_dialect("mindtorch"), &mindtorch_dialect());
  EXPECT_EQ(find_dialect("PyTorch"), nullptr);
  EXPECT_EQ(find_dialect(""), nullptr);
  for (const Dialect* dialect : dialects()) {
    for (const std::string_view spelling : dialect->spellings()) EXPECT_EQ(find_dialect(spelling), dialect);
    EXPECT_EQ(find_columns(dialect->columns().id()), &dialect->columns());
  }
}

TEST(PyTorchDialect, RefusesCallsByRule) {
  const auto refusal = [](const std::string& name, bool listed = true) {
    return pytorch_dialect().check_refusal(name, [&](std::string_view) { return listed; }).reason;
  };
  EXPECT_EQ(refusal("Functional.relu.0"), "");
  EXPECT_EQ(refusal("Torch.linalg.inv.0"), "");
  EXPECT_EQ(refusal("Distributed.all_reduce.0"), "API Distributed.all_reduce.0 not support for acc_check. SKIP.");
  EXPECT_EQ(refusal("MindSpeed.relu.0"), "API MindSpeed.relu.0 not support for acc_check. SKIP.");
  EXPECT_EQ(refusal("relu.0"), "API relu.0 not support for acc_check. SKIP.");
  EXPECT_EQ(refusal("Torch.no_such_api.0"), "API Torch.no_such_api.0 not support for acc_check. SKIP.");
  EXPECT_EQ(refusal("Functional.relu.0", false), "API relu in black list or not in white list. SKIP.");
  EXPECT_EQ(refusal("Torch.no_such_api.0", false), "API no_such_api in black list or not in white list. SKIP.");
  for (const std::string api :
       {"to", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_with_format"}) {
    EXPECT_TRUE(pytorch_dialect().is_never_run(api));
    // The documented words speak of the user's lists, which may have nothing to do with it.
    const Refusal never = pytorch_dialect().check_refusal("Torch." + api + ".0", [](std::string_view) { return true; });
    EXPECT_EQ(never.reason, "API " + api + " in black list or not in white list. SKIP.");
    EXPECT_EQ(never.plain,
              "API " + api + " is not checked: it converts, or returns memory that nobody has written. SKIP.");
  }
  EXPECT_FALSE(pytorch_dialect().is_never_run("relu"));
}

TEST(PyTorchDialect, TellsRulesFromOperatorsThatNobodyKnows) {
  const auto by_rule = [](const std::string& name, bool listed = true) {
    return pytorch_dialect().check_refusal(name, [&](std::string_view) { return listed; }).by_rule;
  };
  EXPECT_TRUE(by_rule("Distributed.all_reduce.0"));
  EXPECT_TRUE(by_rule("Torch.empty.0"));
  EXPECT_TRUE(by_rule("Torch.no_such_api.0", false));
  EXPECT_FALSE(by_rule("Torch.no_such_api.0"));
  EXPECT_FALSE(by_rule("relu.0"));
  EXPECT_TRUE(pytorch_dialect().overflow_refusal("NPU.npu_rms_norm.0").by_rule);
  EXPECT_FALSE(pytorch_dialect().overflow_refusal("Torch.no_such_api.0").by_rule);
}

TEST(PyTorchDialect, HasOtherRulesForTheOverflowCheck) {
  const Dialect& dialect = pytorch_dialect();
  EXPECT_EQ(dialect.overflow_refusal("Functional.relu.0").reason, "");
  EXPECT_EQ(dialect.overflow_refusal("NPU.npu_rms_norm.0").reason,
            "NPU api is not supported for overflow check. SKIP.");
  EXPECT_EQ(dialect.overflow_refusal("Torch.no_such_api.0").reason,
            "API Torch.no_such_api.0 not support for overflow check. SKIP.");
  EXPECT_TRUE(dialect.is_outside_of_overflow_check("NPU.npu_rms_norm.0"));
  EXPECT_TRUE(dialect.is_outside_of_overflow_check("Distributed.all_reduce.0"));
  EXPECT_FALSE(dialect.is_outside_of_overflow_check("Functional.relu.0"));
}

TEST(PyTorchDialect, SaysInTheResultFileWhyADirectionIsSkipped) {
  ApiResult result;
  result.forward = Status::pass;
  result.backward = Status::skip;
  EXPECT_EQ(pytorch_dialect().result_message(result), "");
  result.backward_rows.emplace_back().message = "backward";
  EXPECT_EQ(pytorch_dialect().result_message(result), "backward");
  result.forward_rows.emplace_back().message = "forward";
  EXPECT_EQ(pytorch_dialect().result_message(result), "backward");
  result.forward = Status::skip;
  EXPECT_EQ(pytorch_dialect().result_message(result), "forward");
}

TEST(PyTorchDialect, LooksForTensorsBesideTheDump) {
  EXPECT_EQ(pytorch_dialect().tensor_folder("/no/such/dump.json", {}).path, "/no/such/dump_tensor_data");
  EXPECT_EQ(pytorch_dialect().tensor_folder("dump.json", {}).path, "dump_tensor_data");
}

TEST(PyTorchDialect, NamesTheFolderOfErrorData) {
  EXPECT_EQ(pytorch_dialect().error_data_folder("20260102030405", true), "ut_error_data20260102030405");
}

TEST(MindSporeDialect, ChecksTheNamesOfItsFramework) {
  const auto checked = [](const Dialect& dialect, const std::string& entry) {
    return !dialect.dump().leaves_out(entry);
  };
  const Dialect& mindspore = mindspore_dialect();
  for (const std::string entry : {"Mint.add.0.forward", "MintFunctional.relu.1.backward", "Tensor.add_.0.forward",
                                  "Functional.flash_attention_score.0.forward", "Mint.special.log1p.0.forward"}) {
    EXPECT_TRUE(checked(mindspore, entry)) << entry;
  }
  for (const std::string entry :
       {"Functional.relu.0.forward", "Primitive.conv2d.Conv2d.0.forward", "Cell.fc.Dense.forward.0", "Mint.add.forward",
        "Tensor.__add__.0.forward", "Tensor.exp.0.forward", "Torch.add.0.forward", "NPU.npu_swiglu.0.forward"}) {
    EXPECT_FALSE(checked(mindspore, entry)) << entry;
  }
  const Dialect& mindtorch = mindtorch_dialect();
  for (const std::string entry : {"Torch.add.0.forward", "Functional.relu.0.forward", "Tensor.exp.0.forward"}) {
    EXPECT_TRUE(checked(mindtorch, entry)) << entry;
  }
  for (const std::string entry : {"Mint.add.0.forward", "NPU.npu_rms_norm.0.forward", "Distributed.send.0.forward"}) {
    EXPECT_FALSE(checked(mindtorch, entry)) << entry;
  }
}

TEST(MindSporeDialect, RefusesInUpstreamsWords) {
  const auto refusal = [](const std::string& name, bool listed = true) {
    return mindspore_dialect().check_refusal(name, [&](std::string_view) { return listed; }).reason;
  };
  EXPECT_EQ(refusal("Mint.add.0"), "");
  EXPECT_EQ(refusal("Mint.special.log1p.0"), "") << "torch has it under this name";
  EXPECT_EQ(refusal("Mint.no_such_api.0"), "[msprobe] Api Accuracy Checker something wrong with api: ");
  EXPECT_EQ(refusal("Mint.special.no_such_api.0"), "[msprobe] Api Accuracy Checker get wrong value: ");
  EXPECT_EQ(refusal("Mint.a.b.c.0"), "[msprobe] Api Accuracy Checker get wrong value: ");
  EXPECT_EQ(refusal("Mint.add.0", false), "API add in black list or not in white list. SKIP.");
}

DumpHeader header(const std::string& task, const std::string& folder = "") {
  DumpHeader result;
  result.task = task;
  result.dump_data_dir = folder;
  return result;
}

TEST(MindSporeDialect, TakesTensorsFromFilesByTheTask) {
  const auto problem = [](const DumpHeader& of) -> std::string {
    try {
      mindspore_dialect().has_tensor_files(of);
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_FALSE(mindspore_dialect().has_tensor_files(header("statistics", "./data")));
  EXPECT_TRUE(mindspore_dialect().has_tensor_files(header("tensor", "./data")));
  const std::string begin = "[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: ";
  EXPECT_EQ(problem(header("")), begin + "task field in api_info.json is missing");
  EXPECT_EQ(problem(header("overflow")),
            begin + "task field in api_info.json is not accepted value: ('tensor', 'statistics')");
  EXPECT_EQ(problem(header("tensor")), begin + "dump_data_dir field in api_info.json is missing");
  // No folder of tensors: what was recorded are statistics.
  DumpHeader empty = header("tensor");
  empty.empty_data_dir = true;
  EXPECT_FALSE(mindspore_dialect().has_tensor_files(empty));
  DumpHeader number;
  number.task_is_no_text = true;
  EXPECT_EQ(problem(number), begin + "task field in api_info.json is not accepted type: <class 'str'>");
}

TEST(MindSporeDialect, LooksForTensorsBesideTheDumpFirst) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_directories(folder / "dump" / "data");
  const std::filesystem::path recording = folder / "dump" / "dump.json";
  EXPECT_EQ(mindspore_dialect().tensor_folder(recording, header("tensor", "./data")).path,
            recording.parent_path() / "./data");
  EXPECT_EQ(mindspore_dialect().tensor_folder(recording, header("tensor", "/tmp")).within.front(),
            std::filesystem::canonical(recording.parent_path()));
  EXPECT_EQ(mindspore_dialect().tensor_folder(recording, header("tensor", "/tmp")).path, "/tmp");
  // One rule for what lies outside.
  EXPECT_EQ(mindspore_dialect().tensor_folder(recording, header("tensor", "./data")).within,
            pytorch_dialect().tensor_folder(recording, header("tensor", "./data")).within);
}

TEST(MindSporeDialect, WritesRowsAsUpstream) {
  ApiResult result;
  result.name = "Mint.add.0";
  result.forward = Status::error;
  DetailsRow failed(mindspore_columns());
  failed.bench_dtype = failed.device_dtype = "Float32";
  failed.shape = "(2, 3)";
  failed[Metric::cosine] = Cell::fp64(1);
  failed[Metric::max_abs_error] = Cell::fp64(0.05);
  failed[Metric::max_relative_error] = Cell::fp64(1e-5);
  failed.status = Status::error;
  failed.message = "first \nNot explained by rounding: ...\n";
  DetailsRow nothing(mindspore_columns());
  nothing.status = Status::skip;
  result.forward_rows = {nothing, failed};
  result.backward = Status::skip;
  result.backward_rows = {nothing};
  result.backward_rows[0].message = "reason";
  result.message = mindspore_dialect().result_message(result);
  std::string text;
  mindspore_dialect().append_result(text, result, true);
  EXPECT_EQ(text, "Mint.add.0,error,SKIP,first reason\r\n");
  text.clear();
  mindspore_dialect().append_details(text, result, 14);
  EXPECT_EQ(text, "Mint.add.0.forward.output.0,Float32,Float32,\"(2, 3)\",1.0,0.05,1e-05,error,first \r\n");
}

TEST(MindSporeDialect, SaysOfAPassWhatWasNotCompared) {
  ApiResult result;
  result.name = "Mint.max.0";
  result.forward = Status::pass;
  DetailsRow row(mindspore_columns());
  row.status = Status::pass;
  row.message = "\nThe device gave 1 results, the benchmark 2: 1 are compared.\n";
  result.forward_rows = {row};
  result.message = mindspore_dialect().result_message(result);
  std::string text;
  mindspore_dialect().append_result(text, result, true);
  EXPECT_EQ(text, "Mint.max.0,pass,,\"The device gave 1 results, the benchmark 2: 1 are compared.\"\r\n");
  text.clear();
  mindspore_dialect().append_details(text, result, 14);
  EXPECT_THAT(text, ::testing::HasSubstr("The device gave 1 results"));
}

TEST(MindSporeDialect, SkipsTheDirectionsThatWereRecorded) {
  const auto row = [](bool has_forward, bool has_backward, Outcome outcome, const char* reason = "why") {
    ApiResult result = skip_result(0, "Mint.add.0", reason, outcome);
    mindspore_dialect().complete_skip(result, has_forward, has_backward);
    std::string text;
    mindspore_dialect().append_result(text, result, true);
    mindspore_dialect().append_details(text, result, 14);
    return text;
  };
  EXPECT_EQ(row(true, false, Outcome::not_checkable), "Mint.add.0,SKIP,,why\r\n");
  EXPECT_EQ(row(true, true, Outcome::not_checkable), "Mint.add.0,SKIP,SKIP,why\r\n");
  EXPECT_EQ(row(true, true, Outcome::not_checkable, "[msprobe] why"),
            "Mint.add.0,SKIP,SKIP,[msprobe] why[msprobe] why\r\n");
  EXPECT_EQ(row(false, true, Outcome::not_checkable), "Mint.add.0,,SKIP,why\r\n");
  EXPECT_EQ(row(true, true, Outcome::failed_to_run), "Mint.add.0,SKIP,SKIP,why\r\n");
}

TEST(MindSporeDialect, NamesTheFolderOfErrorData) {
  EXPECT_EQ(mindspore_dialect().error_data_folder("20260102030405", false), "error_data");
  EXPECT_EQ(mindspore_dialect().error_data_folder("20260102030405", true), "ut_error_data20260102030405");
}

}  // namespace
}  // namespace msrun
