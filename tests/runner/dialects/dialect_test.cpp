// The table of dialects, and PyTorch's rules about names. Its files are tested with those who write them.
#include "runner/dialects/dialect.h"

#include <gtest/gtest.h>

namespace msrun {
namespace {

TEST(Dialects, AreFoundByAnySpelling) {
  EXPECT_EQ(find_dialect("pytorch"), &pytorch_dialect());
  EXPECT_EQ(find_dialect("pt"), &pytorch_dialect());
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
    EXPECT_EQ(refusal("Torch." + api + ".0"), "API " + api + " in black list or not in white list. SKIP.");
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
  EXPECT_EQ(pytorch_dialect().tensor_folder("/no/such/dump.json", {}), "/no/such/dump_tensor_data");
  EXPECT_EQ(pytorch_dialect().tensor_folder("dump.json", {}), "dump_tensor_data");
}

TEST(PyTorchDialect, NamesTheFolderOfErrorData) {
  EXPECT_EQ(pytorch_dialect().error_data_folder("20260102030405"), "ut_error_data20260102030405");
}

}  // namespace
}  // namespace msrun
