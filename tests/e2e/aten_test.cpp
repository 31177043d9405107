// Calls of type Aten carry the overload in their name, which is not part of the operator's.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/msrun_process.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

TEST(Aten, OverloadsAreThoseOfTheOperator) {
  const TemporaryDirectory scratch;
  const std::string tensor =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3, 4], "Max": 1.0, "Min": -1.0})";
  const auto entry = [](const std::string& name, const std::string& arguments) {
    return "\"" + name + R"(.forward": {"input_args": [)" + arguments + R"(], "input_kwargs": {}, "output": []})";
  };
  write_file(scratch / "dump.json",
             R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {)" +
                 entry("Aten.add.Tensor.0", tensor + ", " + tensor) + ", " + entry("Aten.relu.default.0", tensor) +
                 ", " + entry("Aten.relu.1", tensor) + ", " + entry("Aten.no_such_operator.default.0", tensor) + "}}");
  write_file(scratch / "config.json", R"({"acc_check": {"black_list": ["relu"]}})");

  const auto rows_of = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"-api_info", (scratch / "dump.json").string(), "-o", (scratch / out).string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = msrun(arguments, scratch.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& row : read_csv(only_file(scratch / out, "accuracy_checking_result"))) rows[row.at(0)] = row;
    return rows;
  };
  const auto rows = rows_of("out", {});
  for (const char* name : {"Aten.add.Tensor.0", "Aten.relu.default.0", "Aten.relu.1"}) {
    EXPECT_EQ(rows.at(name).at(1), "pass") << name;
  }
  EXPECT_THAT(rows.at("Aten.no_such_operator.default.0").at(3), HasSubstr("not support for acc_check"));
  const auto without = rows_of("listed", {"-config", (scratch / "config.json").string()});
  EXPECT_EQ(without.at("Aten.relu.default.0").at(1), "SKIP");
  EXPECT_EQ(without.at("Aten.add.Tensor.0").at(1), "pass");
}

}  // namespace
}  // namespace msrun::testing
