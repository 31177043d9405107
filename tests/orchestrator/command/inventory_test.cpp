// The coverage of the inventory that `msrun --list-apis` prints.
#include "orchestrator/command/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/inventory/inventory.h"
#include "kernels/inventory/listed_names.h"
#include "orchestrator/command/config.h"
#include "orchestrator/command/list_apis.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Inventory, IsCompleteAndSorted) {
  std::array<int, 3> priorities{};
  std::string previous;
  for (const InventoryOperator& entry : inventory()) {
    EXPECT_LT(previous, entry.canonical);
    previous = entry.canonical;
    ++priorities.at(static_cast<std::size_t>(entry.priority));
  }
  EXPECT_EQ(inventory().size(), 535U);
  EXPECT_EQ(priorities, (std::array<int, 3>{154, 242, 139}));
}

TEST(Inventory, CoverageDoesNotShrink) {
  const Coverage coverage = measure_coverage();
  EXPECT_THAT(coverage.missing, IsEmpty());
  EXPECT_EQ(coverage.operators, 535);
  EXPECT_EQ(coverage.covered, 535);
  EXPECT_EQ(coverage.by_priority, (std::array<int, 3>{154, 242, 139}));
  EXPECT_LE(coverage.always_skipped, 48);
}

TEST(Inventory, IsPrintedWithTheApis) {
  const Coverage coverage = measure_coverage();
  EXPECT_THAT(list_apis_text(), HasSubstr("\n" + std::to_string(coverage.covered) +
                                          " of 535 operators of the pre-check's inventory (P0 154, P1 "));
}

TEST(Inventory, IsPrintedAsJson) {
  const nlohmann::json json = nlohmann::json::parse(list_apis_json());
  const std::vector<ApiListing> listed = list_apis();
  ASSERT_EQ(json["apis"].size(), listed.size());
  std::size_t names = 0;
  for (const auto& [type, count] : json["names"].items()) names += count.get<std::size_t>();
  EXPECT_EQ(names, listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    EXPECT_EQ(json["apis"][i]["name"], listed[i].type + "." + listed[i].api);
    EXPECT_EQ(json["apis"][i]["operator"], listed[i].canonical);
    EXPECT_EQ(json["apis"][i].contains("skipped"), is_always_skipped(listed[i].type, listed[i].api));
  }
  EXPECT_EQ(json["inventory"]["operators"], 535);
  EXPECT_EQ(json["inventory"]["covered"], measure_coverage().covered);
}

// docs/operators.md tells the reason of each.
TEST(Inventory, SkippedOperatorsAreDocumented) {
  std::ifstream file(testing::source_root() + "/docs/operators.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(page.empty());
  for (const ApiListing& entry : list_apis()) {
    if (find_canonical(entry.canonical)->traits().uncheckable.empty()) continue;
    EXPECT_THAT(page, HasSubstr("`" + entry.canonical + "`"));
  }
}

// Names that are built in as quantised, but have no reference here.
TEST(Inventory, QuantisedOperatorsHaveAReferenceOrAreDocumented) {
  const std::string page = testing::read_file(testing::source_root() + "/docs/operators.md");
  const std::vector<std::string> names = Config().quantization_api_list;
  EXPECT_EQ(names.size(), 3U);
  for (const std::string& name : names) {
    if (find_operator("NPU", name) == nullptr) {
      EXPECT_THAT(page, HasSubstr("`" + name + "`"));
    }
  }
}

// The newest recorder writes the last segment of a name alone: Torch.inv_ex.0 of torch.linalg.inv_ex.
TEST(Inventory, NamesOfInnerModulesAreKnownWithoutTheirModule) {
  std::size_t inner = 0;
  for (const ApiListing& entry : list_apis()) {
    const std::size_t dot = entry.api.rfind('.');
    if (dot == std::string::npos) continue;
    ++inner;
    EXPECT_NE(find_operator(entry.type, entry.api.substr(dot + 1)), nullptr) << entry.type << ' ' << entry.api;
  }
  EXPECT_GT(inner, 30U);
}

// msProbe knows all that are executed here, but for a few methods that only older recorders write, and others besides.
TEST(Inventory, ListsMayNameWhatMsProbeKnows) {
  for (const char* name : {"relu", "linalg.norm", "npu_rms_norm", "npu_dynamic_quant", "npu_grouped_matmul",
                           "empty_with_format", "npu_format_cast", "__getitem__"}) {
    EXPECT_TRUE(is_listed_name(name)) << name;
  }
  for (const char* name : {"all_reduce", "relu relu6", "Functional.relu", ""})
    EXPECT_FALSE(is_listed_name(name)) << name;
  std::string type;
  std::set<std::string> unlisted;
  for (const InventoryOperator& entry : inventory()) {
    std::istringstream words(entry.names);
    for (std::string word; words >> word;) {
      if (word.ends_with(':')) {
        type = word;
        continue;
      }
      if (word.ends_with(';')) word.pop_back();
      const bool counts = type == "Functional:" || type == "Tensor:" || type == "Torch:" || type == "NPU:";
      if (counts && !is_listed_name(word)) unlisted.insert(word);
    }
  }
  EXPECT_THAT(unlisted, ::testing::ElementsAre("copy_", "is_contiguous", "item", "numel", "size", "tolist", "type"));
}

TEST(Inventory, SkippedOperatorsSayWhy) {
  EXPECT_NE(find_canonical("coalesce")->traits().uncheckable, "");
  EXPECT_EQ(find_canonical("relu")->traits().uncheckable, "");
  Tape tape;
  const Var x = tape.constant(Tensor::scalar(DType::float32, 1));
  // Whatever the arguments, the reason comes before any complaint about them.
  for (const Dict& keywords : {Dict{}, Dict{{"no_such_keyword", x}}}) {
    for (const List& args : {List{}, List{x, List{x}, 2.0}, List{List{x}, x}}) {
      try {
        find_operator("Tensor", "coalesce")->call(args, keywords, tape);
        FAIL();
      } catch (const SkipError& error) {
        EXPECT_STREQ(error.what(), "coalesce belongs to sparse tensors, which a dump cannot describe.");
      }
    }
  }
}

}  // namespace
}  // namespace msrun
