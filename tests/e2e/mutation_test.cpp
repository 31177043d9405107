// The calls of the sample dumps, changed at random: shapes and dtypes, arguments dropped, doubled, swapped and replaced
// by extremes. Whatever comes of it is a result or a SKIP with a reason; no runner may die of it. MSRUN_MUTATION_SEED
// gives other changes than those of every test run.
#include <gmock/gmock.h>

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Json = nlohmann::ordered_json;

struct Call {
  std::string name;
  Json forward;
  Json backward;  // null if there is none
};

// Tensor files are of no use to changed shapes.
void drop_files(Json& node) {
  if (node.is_object()) node.erase("data_name");
  if (!node.is_structured()) return;
  for (Json& child : node) drop_files(child);
}

std::vector<Call> recorded_calls() {
  std::vector<Call> calls;
  for (const char* name :
       {"cnn_fp32", "llama_bf16", "moe_bf16", "vit_fp32", "zoo_stat", "zoo_tensor_small", "npu_fused_synth_bf16"}) {
    // Bare NaN and Infinity, which the parser of the tests does not know, occur as statistics only.
    const std::string text = std::regex_replace(read_file(dump(name)), std::regex(": (NaN|-?Infinity)"), ": null");
    Json data = Json::parse(text)["data"];
    drop_files(data);
    for (const auto& [entry, content] : data.items()) {
      if (!entry.ends_with(".forward") || entry.find("Module") != std::string::npos) continue;
      const std::string base = entry.substr(0, entry.rfind('.'));
      calls.push_back({base, content, data.value(base + ".backward", Json())});
    }
  }
  return calls;
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  bool chance(int percent) { return static_cast<int>(below(100)) < percent; }

  void mutate(Call& call) {
    const std::size_t changes = 1 + (chance(40) ? below(3) : 0);
    for (std::size_t i = 0; i < changes; ++i) {
      Json& kwargs = call.forward["input_kwargs"];
      if (chance(70) || !kwargs.is_object()) {
        chance(30) ? change_list(call.forward["input_args"]) : change_leaf(call.forward["input_args"]);
      } else if (chance(60) && call.backward.is_object()) {
        chance(30) ? change_list(call.backward["input"]) : change_leaf(call.backward["input"]);
      } else if (!kwargs.empty() && chance(70)) {
        change_leaf(kwargs);
      } else {
        kwargs[one_of<std::string>({"dim", "keepdim", "dtype", "out", "p", "eps", "size", "nonsense"})] = scalar();
      }
    }
  }

 private:
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  std::int64_t extreme() {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
    return one_of<std::int64_t>({0, 1, -1, 2, 3, -2, 7, 100, 1'000'000, 1LL << 31, (1LL << 31) - 1, -(1LL << 31),
                                 1LL << 32, 1LL << 40, 1LL << 62, largest, smallest});
  }
  std::int64_t size() {
    return one_of<std::int64_t>({0, 1, 2, 3, 5, 8, 33, 1000, -1, -5, 1LL << 31, 1LL << 40, 1LL << 62});
  }
  double number() { return one_of({0.0, -1.0, 1.0, 0.5, 1e300, -1e300, 1e-300, 3.7}); }
  std::string dtype() {
    return "torch." + one_of<std::string>({"float32", "float16", "bfloat16", "float64", "int64", "int32", "int8",
                                           "uint8", "bool", "complex64", "float8_e4m3fn", "nonsense"});
  }

  Json tensor() {
    std::vector<std::int64_t> shape;
    for (std::size_t rank = below(6); rank > 0; --rank) shape.push_back(static_cast<std::int64_t>(below(4)));
    return {{"type", "torch.Tensor"},     {"dtype", dtype()}, {"shape", shape}, {"Max", 1.0}, {"Min", -1.0},
            {"requires_grad", chance(50)}};
  }
  Json scalar() {
    switch (below(6)) {
      case 0:
        return {{"type", "float"}, {"value", number()}};
      case 1:
        return {{"type", "str"}, {"value", one_of<std::string>({"mean", "none", "", "xyz", "i,j->ij", "same"})}};
      case 2:
        return {{"type", "bool"}, {"value", chance(50)}};
      case 3:
        return nullptr;
      case 4:
        return Json::array({extreme(), extreme()});
      default:
        return {{"type", "int"}, {"value", extreme()}};
    }
  }

  void change_list(Json& list) {
    if (!list.is_array()) return;
    const std::size_t at = list.empty() ? 0 : below(list.size());
    const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
    switch (list.empty() ? 3 : below(5)) {
      case 0:
        list.erase(at);
        break;
      case 1:
        list.insert(place, Json(list[at]));
        break;
      case 2:
        std::swap(list[at], list[below(list.size())]);
        break;
      case 3:
        list.push_back(chance(50) ? tensor() : scalar());
        break;
      default:
        list[at] = chance(50) ? tensor() : scalar();
    }
  }

  // Everything that is one argument, or an element of one.
  static void collect_leaves(Json& node, std::vector<Json*>& leaves) {
    if (node.is_array() || (node.is_object() && !node.contains("type"))) {
      for (Json& child : node) collect_leaves(child, leaves);
    } else {
      leaves.push_back(&node);
    }
  }

  void change_leaf(Json& tree) {
    std::vector<Json*> leaves;
    collect_leaves(tree, leaves);
    if (leaves.empty()) return change_list(tree);
    Json& leaf = *leaves[below(leaves.size())];
    if (leaf.is_object() && leaf.contains("shape")) return change_tensor(leaf);
    Json& value = leaf.is_object() && leaf.contains("value") ? leaf["value"] : leaf;
    if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_number_integer()) {
      value = extreme();
    } else if (value.is_number()) {
      value = number();
    } else {
      leaf = scalar();
    }
  }

  void change_tensor(Json& spec) {
    Json& shape = spec["shape"];
    const std::size_t at = shape.empty() ? 0 : below(shape.size());
    switch (below(7)) {
      case 0:
        spec["dtype"] = dtype();
        break;
      case 1:
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int64_t>(below(4)));
        break;
      case 2:
        spec["Max"] = number();
        spec["Min"] = extreme();
        break;
      case 3:
        spec["requires_grad"] = chance(50);
        break;
      case 4:
        if (!shape.empty()) shape.erase(at);
        break;
      case 5:
        if (!shape.empty()) std::swap(shape[at], shape[below(shape.size())]);
        break;
      default:
        if (!shape.empty()) shape[at] = size();
    }
  }

  std::mt19937 random_;
};

class Mutations : public Untouched {};

TEST_F(Mutations, OfRecordedCallsNeverKillARunner) {
  const char* given = std::getenv("MSRUN_MUTATION_SEED");
  const std::uint32_t seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : 1;
  SCOPED_TRACE("MSRUN_MUTATION_SEED=" + std::to_string(seed));
  const std::vector<Call> calls = recorded_calls();
  ASSERT_GT(calls.size(), 300U);
  Mutator mutator(seed);
  Json data;
  constexpr int count = 1000;
  for (int i = 0; i < count; ++i) {
    Call call = calls[mutator.below(calls.size())];
    mutator.mutate(call);
    const std::string name = call.name.substr(0, call.name.rfind('.') + 1) + std::to_string(i);
    data[name + ".forward"] = call.forward;
    if (!call.backward.is_null()) data[name + ".backward"] = call.backward;
  }
  const std::string path = write_dump(dump_text(""));
  Json root = Json::parse(read_file(path));
  root["data"] = data;
  write_file(path, root.dump());

  const Finished run =
      msrun({"-api_info", path, "-o", out(), "-n", "2", "--task-timeout", "20", "--memory", "300M"}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr(" died"))) << run.out;
  const Rows result = read_csv(only_file(out(), "accuracy_checking_result_"));
  ASSERT_EQ(result.size(), count + 1U);
  int passed = 0;
  for (std::size_t i = 1; i < result.size(); ++i) {
    const auto& row = result[i];
    passed += row.at(1) == "pass" ? 1 : 0;
    if (row.at(1) != "SKIP" && row.at(2) != "SKIP") continue;
    // An internal error is a bug, though it harms nobody else.
    EXPECT_THAT(row.back(), Not(HasSubstr("Internal error")))
        << data[row[0] + ".forward"] << data.value(row[0] + ".backward", Json());
    EXPECT_FALSE(row.back().empty()) << row[0];
    EXPECT_THAT(row.back(), Not(HasSubstr("died while running"))) << data[row[0] + ".forward"];
  }
  // The changes are small: what they leave sound is still checked.
  EXPECT_GT(passed, count / 20);
}

}  // namespace
}  // namespace msrun::testing
