// The rule and the files of the old layout, held to what the old tool wrote for the same pairs of outputs.
#include "runner/dialects/att.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

double number(const Json& value) {
  if (value.is_string()) return std::stod(value.get<std::string>());
  return value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
}

Tensor tensor_of(const Json& spec) {
  const auto shape = spec["shape"].get<std::vector<std::int64_t>>();
  Tensor wide(DType::float64, shape);
  auto* values = wide.mutable_data<double>();
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    if (spec.contains("fill")) {
      const std::string index = std::to_string(i);
      values[i] = number(spec["at"].contains(index) ? spec["at"][index] : spec["fill"]);
    } else {
      values[i] = number(spec["data"][static_cast<std::size_t>(i)]);
    }
  }
  return wide.to(*parse_dtype(spec["dtype"].get<std::string>()));
}

// Lists and tuples are one here.
Value value_of(const Json& spec) {
  if (spec.is_object() && spec.contains("dtype")) return tensor_of(spec);
  if (spec.is_object() && spec.contains("tuple")) return value_of(spec["tuple"]);
  if (spec.is_object()) {
    Dict dict;
    for (const auto& [key, item] : spec["dict"].items()) dict.emplace_back(key, value_of(item));
    return dict;
  }
  if (spec.is_array()) {
    List list;
    for (const Json& item : spec) list.push_back(value_of(item));
    return list;
  }
  if (spec.is_boolean()) return spec.get<bool>();
  if (spec.is_number_integer()) return spec.get<std::int64_t>();
  if (spec.is_number()) return spec.get<double>();
  if (spec.is_string()) return spec.get<std::string>();
  return None{};
}

ApiResult judged(const Json& pair, const Dialect& dialect) {
  const std::string recorded = pair["name"].get<std::string>();
  std::string name = recorded;
  std::ranges::replace(name, '*', '.');
  MaterialisedCall call;
  call.name = name;
  call.parts = *ApiName::parse(name);
  // Most of the names are of no API: what is compared depends on no more than that the operator has nothing special.
  const Operator* op = find_operator(call.parts.type, call.parts.api);
  if (op == nullptr) op = find_operator("Torch", "add");
  const CompareOptions options;
  const ComparedCall of{*op, call, options};
  ApiResult result;
  try {
    Comparison forward = dialect.compare_outputs(of, value_of(pair["bench"]), value_of(pair["device"]));
    result.forward = forward.status;
    result.forward_rows = std::move(forward.rows);
    if (pair.contains("bench_grad")) {
      const Value bench = value_of(pair["bench_grad"]);
      const Value device = value_of(pair["device_grad"]);
      auto backward = dialect.compare_gradients(of, *bench.get<List>(), *device.get<List>());
      if (backward) result.backward = backward->status;
      if (backward) result.backward_rows = std::move(backward->rows);
    }
  } catch (const SkipError& error) {
    result = skip_result(0, name, error.what(), Outcome::not_checkable);
  }
  result.name = recorded;
  return result;
}

// The lines of a file that belong to one call.
using Lines = std::map<std::string, std::string>;

std::string call_of(const std::string& line) {
  const std::string name = line.substr(0, line.find(','));
  const std::size_t direction = std::min(name.find(".forward."), name.find(".backward."));
  return name.substr(0, direction);
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines[call_of(line)] += line + "\n";
  return lines;
}

struct Files {
  Lines result;
  Lines details;
};

Files written(const Dialect& dialect) {
  std::string result = dialect.result_header();
  std::string details = dialect.details_header(false);
  for (const Json& pair : Json::parse(read_file(test_data("/att/pairs/pairs.json")))) {
    const ApiResult judgement = judged(pair, dialect);
    dialect.append_result(result, judgement, false);
    dialect.append_details(details, judgement, 14);
  }
  return {lines_of(result), lines_of(details)};
}

Files expected(const std::string& folder) {
  const std::string path = test_data("/att/pairs/" + folder + "/");
  return {lines_of(read_file(path + "accuracy_checking_result.csv")),
          lines_of(read_file(path + "accuracy_checking_details.csv"))};
}

// The calls of which either file has other lines.
std::set<std::string> differences(const Files& a, const Files& b) {
  std::set<std::string> names;
  for (const auto& [left, right] : {std::pair(&a.result, &b.result), {&a.details, &b.details}}) {
    for (const auto& [name, lines] : *left) {
      const auto found = right->find(name);
      if (found == right->end() || found->second != lines) names.insert(name);
    }
    for (const auto& [name, lines] : *right) {
      if (!left->contains(name)) names.insert(name);
    }
  }
  return names;
}

// A list against a tuple: values of msrun are lists.
const std::set<std::string> of_python{"Torch*type*0"};

TEST(AttLayout, RawIsWhatTheOldToolWrote) {
  const Files files = written(att_dialect(true));
  EXPECT_EQ(differences(files, expected("expected")), of_python);
  EXPECT_EQ(files.result.size(), 88U);
}

TEST(AttLayout, DiffersFromTheOldToolsFilesByItsRepairsAlone) {
  const Files files = written(att_dialect(false));
  std::set<std::string> repaired{"Torch*brain*0",    "Torch*brain*1",
                                 "Torch*brain*2",    "Torch*nan_both*0",
                                 "Torch*inf_both*0", "Torch*shape*0",
                                 "Torch*shape*1",    "Torch*empty*0",
                                 "Torch*empty*1",    "Torch*int8*0",
                                 "Torch*int16*0",    "Torch*dict*1",
                                 "Torch*type*1",     "Functional*feature_dropout*0"};
  repaired.insert(of_python.begin(), of_python.end());
  EXPECT_EQ(differences(files, expected("expected_true_cosine")), repaired);

  const auto row = [&](const char* name) { return files.result.at(name); };
  EXPECT_EQ(row("Torch*brain*0"), "Torch*brain*0,True,N/A\r\n");
  EXPECT_EQ(row("Torch*brain*2"), "Torch*brain*2,False,N/A\r\n");
  EXPECT_EQ(row("Torch*nan_both*0"), "Torch*nan_both*0,True,N/A\r\n");
  EXPECT_EQ(row("Torch*inf_both*0"), "Torch*inf_both*0,True,N/A\r\n");
  EXPECT_EQ(row("Torch*inf_device*0"), "Torch*inf_device*0,False,N/A\r\n");
  EXPECT_EQ(row("Torch*shape*0"), "Torch*shape*0,False,N/A\r\n");
  EXPECT_EQ(row("Torch*empty*0"), "Torch*empty*0,True,N/A\r\n");
  EXPECT_EQ(row("Torch*empty*1"), "Torch*empty*1,True,N/A\r\n");
  EXPECT_EQ(row("Torch*int8*0"), "Torch*int8*0,True,N/A\r\n");
  EXPECT_EQ(row("Torch*dict*1"), "Torch*dict*1,False,N/A\r\n");
  EXPECT_EQ(row("Functional*feature_dropout*0"), "Functional*feature_dropout*0,True,N/A\r\n");
  EXPECT_THAT(files.details.at("Torch*brain*0"), HasSubstr("This indicator is not used to evaluate bfloat16 data"));
  EXPECT_THAT(files.details.at("Torch*shape*0"), HasSubstr("Shape of bench and npu outputs don't match. bench: ("));
  EXPECT_THAT(files.details.at("Torch*empty*0"), HasSubstr(",N/A,output is empty,"));
  EXPECT_THAT(files.details.at("Torch*type*1"), HasSubstr(".output.0,N/A,N/A,N/A,N/A,bench and npu output type"));
  EXPECT_THAT(files.details.at("Torch*nan_both*0"), HasSubstr(",1.00000000000000,,0.00000000000000,,"));
}

TEST(AttLayout, SkipsByTypeAndFormOfTheName) {
  const auto refusal = [](const std::string& name, bool listed = true) {
    return att_dialect(false).check_refusal(name, [&](std::string_view) { return listed; });
  };
  EXPECT_EQ(refusal("Torch.add.0").reason, "");
  EXPECT_EQ(refusal("NPU.npu_rotary_mul.0").reason, "Type NPU is not supported.");
  EXPECT_EQ(refusal("Torch.add").reason, "The name is not of the form Type*api*index.");
  EXPECT_FALSE(refusal("NPU.npu_rotary_mul.0").by_rule);
  // What the lists leave out has no row.
  EXPECT_TRUE(refusal("Torch.add.0", false).by_rule);
  ApiResult left_out = skip_result(0, "Torch.add.0", "left out", Outcome::skipped_by_rule);
  std::string text;
  att_dialect(false).append_result(text, left_out, false);
  att_dialect(false).append_details(text, left_out, 14);
  EXPECT_EQ(text, "");
}

TEST(AttLayout, KeepsTheVerdictOfAForwardWhoseBackwardCannotRun) {
  ApiResult result;
  result.name = "Torch*add*3";
  result.forward = Status::pass;
  result.backward = Status::skip;
  result.message = "no gradient";
  const auto row = [&](bool raw) {
    std::string text;
    att_dialect(raw).append_result(text, result, false);
    return text;
  };
  EXPECT_EQ(row(false), "Torch*add*3,True,SKIP,no gradient\r\n");
  EXPECT_EQ(row(true), "Torch*add*3,SKIP,SKIP,no gradient\r\n");
}

TEST(AttLayout, ComparesTensorsThatAreArgumentsByThemselvesFirst) {
  MaterialisedCall call;
  const Tensor one = Tensor::full(DType::float32, {}, 1);
  call.args = {List{one, one}, one, std::int64_t{3}, one};
  call.kwargs = {{"weight", one}};
  const List all{None{}, Tensor::full(DType::float32, {}, 2), None{}, Tensor::full(DType::float32, {}, 4),
                 Tensor::full(DType::float32, {}, 5)};
  const auto places = [&](bool raw) {
    std::string text;
    for (const Value& gradient : att_dialect(raw).compared_gradients(call, all, raw)) {
      const Tensor* tensor = gradient.get<Tensor>();
      text += tensor == nullptr ? "-" : std::to_string(static_cast<int>(tensor->data<float>()[0]));
    }
    return text;
  };
  EXPECT_EQ(places(true), "-4");
  EXPECT_EQ(places(false), "-425");
}

// att_layout.md 5.
TEST(AttLayout, RaisesEachTensorByWhatCameBeforeIt) {
  const auto raised = [](const std::vector<DType>& dtypes) {
    MaterialisedCall call;
    call.raises_one_by_one = true;
    for (const DType dtype : dtypes) call.args.push_back(Tensor::full(dtype, {}, 1));
    const RaisePlan plan = plan_raise(call, ordinary_traits);
    std::vector<DType> result;
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      result.push_back(raised_dtype(dtypes[i], plan, i));
    }
    return result;
  };
  using enum DType;
  using Dtypes = std::vector<DType>;
  EXPECT_EQ(raised({float32, float32}), (Dtypes{float64, float64}));
  EXPECT_EQ(raised({float16, float32}), (Dtypes{float32, float32}));
  EXPECT_EQ(raised({float32, float16}), (Dtypes{float64, float32}));
  EXPECT_EQ(raised({bfloat16, float32, bfloat16}), (Dtypes{float32, float32, float32}));
  EXPECT_EQ(raised({float32, float64}), (Dtypes{float64, float64}));
  EXPECT_EQ(raised({int64, float16}), (Dtypes{int64, float32}));
}

}  // namespace
}  // namespace msrun::testing
