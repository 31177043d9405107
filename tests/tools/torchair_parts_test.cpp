// The parts of torchair_compare: graph texts, fused names, numbers as text, metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/compare/metrics/dump_metrics.h"
#include "kernels/io/graph_engine/ge_graph.h"
#include "tests/support/few_threads.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tools/common/ordered_work.h"
#include "tools/torchair_compare/op_names.h"
#include "tools/torchair_compare/row.h"
#include "tools/torchair_compare/token_files.h"

namespace msrun::torchair {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FewThreads;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::sanitized;

GeGraph graph_of(const std::string& text) {
  const testing::TemporaryDirectory scratch;
  testing::write_file(scratch / "graph.txt", text);
  InputFile file((scratch / "graph.txt").string());
  return read_ge_graph(file);
}

TEST(GeGraph, KeepsWhatAComparisonNeeds) {
  const GeGraph graph = graph_of(R"(name: "graph_1"
op {
  name: "a"
  type: "Data"
}
op {
  name: "b"
  input: "a:0"
  input: ""
  attr { key: "_fx_tensor_name" value { s: "of the operator, not of an output" } }
  output_desc {
    name: "y"
    attr { key: "_fx_tensor_name" value { s: "n-aten.x.OUTPUT.0" } }
    attr { key: "other" value { list { s: "_fx_tensor_name" } } }
  }
  output_desc { attr { value { s: "m.OUTPUT.1" } key: "_fx_tensor_name" } }
}
attr { key: "_fx_tensor_name" value { i: 3 } }
)");
  EXPECT_EQ(graph.damage, "");
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(graph.ops[0].type, "Data");
  EXPECT_EQ(graph.ops[1].line, 6U);
  EXPECT_THAT(graph.ops[1].inputs, ElementsAre("a:0", ""));
  EXPECT_THAT(graph.ops[1].fx_names, ElementsAre("n-aten.x.OUTPUT.0", "m.OUTPUT.1"));
  EXPECT_EQ(graph.find("b"), &graph.ops[1]);
  EXPECT_EQ(graph.find("c"), nullptr);
}

TEST(GeGraph, BracesAndColonsInTextsAreText) {
  const GeGraph graph = graph_of(
      "op { name: \"a\" attr { key: \"k\" value { s: \"x: y { \\\"z\\\" }\" } } }\n"
      "op { name: \"b {\" }");
  EXPECT_EQ(graph.damage, "");
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(graph.ops[1].name, "b {");
}

TEST(GeGraph, AcceptsEverySpelling) {
  const GeGraph graph = graph_of(
      "# comment {\n"
      "op < name: 'a' \"\\142\\x63\\n\" input: [\"x:0\", 'y:-1'], id: -3 f: 1.5e-7 b: true; >\n"
      "op: { output_desc: [ { attr { key: \"_fx_tensor_name\" value < s: \"n\" > } }, < > ] }"
      "[com.example.extension]: 3");
  EXPECT_EQ(graph.damage, "");
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_EQ(graph.ops[0].name, "abc\n");
  EXPECT_THAT(graph.ops[0].inputs, ElementsAre("x:0", "y:-1"));
  EXPECT_THAT(graph.ops[1].fx_names, ElementsAre("n"));
}

TEST(GeGraph, NamesThePlaceOfDamageAndKeepsWhatIsBefore) {
  const std::string good = "op { name: \"a\" }\n";
  for (const std::string& bad :
       {std::string("op { name: \"b"), std::string("}"), std::string("op { name \"b\" }"), std::string("op { name: }"),
        std::string("op {"), std::string("{ }"), std::string("op { name: \"b\" >"), std::string("op : : {"),
        std::string("word"), std::string("\x01"), std::string("op { name: \"line\nend\" }")}) {
    const GeGraph graph = graph_of(good + bad);
    EXPECT_THAT(graph.damage, HasSubstr("is damaged in line ")) << bad;
    ASSERT_EQ(graph.ops.size(), 1U) << bad;
  }
}

TEST(GeGraph, DeepNestingAndHugeTextsTakeBoundedMemory) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "op {";
  EXPECT_THAT(graph_of(deep).damage, HasSubstr("too many blocks"));
  const GeGraph graph = graph_of("op { name: \"a\" t { data: \"" + std::string(5 << 20, 'x') + "\" } type: \"T\" }");
  EXPECT_EQ(graph.damage, "");
  EXPECT_EQ(graph.ops.at(0).type, "T");
}

TEST(GeGraph, NodeKeysLoseTheOutput) {
  EXPECT_EQ(fx_node_key("add_1-aten.add.Tensor.OUTPUT.0"), "add_1-aten.add.Tensor");
  EXPECT_EQ(fx_node_key("add_1-aten.add.Tensor.OUTPUT.12"), "add_1-aten.add.Tensor");
  EXPECT_EQ(fx_node_key("add_1-aten.add.Tensor.INPUT.0"), "add_1-aten.add.Tensor.INPUT.0");
  EXPECT_EQ(fx_node_key("plain"), "plain");
}

std::vector<std::string> split(const std::vector<std::string>& ops, const std::string& name,
                               const std::vector<std::string>& dumped = {}) {
  GeGraph graph;
  for (const std::string& op : ops) {
    graph.by_name.emplace(op, graph.ops.size());
    GeGraphOp item;
    item.name = op;
    graph.ops.push_back(item);
  }
  OpNames names(graph);
  for (const std::string& other : dumped) names.add_dumped(other);
  std::vector<std::string> parts;
  for (const std::size_t place : names.split(name)) parts.push_back(graph.ops[place].name);
  return parts;
}

TEST(OpNames, LongestOperatorsFirst) {
  EXPECT_THAT(split({"Mul_1", "Mul_10", "Add_11", "Relu_12"}, "Mul_10Add_11Relu_12"),
              ElementsAre("Mul_10", "Add_11", "Relu_12"));
  EXPECT_THAT(split({"Mul_10"}, "Mul_10"), ElementsAre("Mul_10"));
  EXPECT_THAT(split({"Add_2"}, "Add_2xyz"), ElementsAre("Add_2"));
  EXPECT_THAT(split({"Add_2"}, "xAdd_2"), IsEmpty());
  EXPECT_THAT(split({}, "a"), IsEmpty());
  EXPECT_THAT(split({"a"}, ""), IsEmpty());
}

TEST(OpNames, AnotherDumpedNameEndsTheSearch) {
  EXPECT_THAT(split({"Mul", "Add"}, "MulAdd", {"MulAdd"}), ElementsAre("Mul", "Add"));
  EXPECT_THAT(split({"Mul", "Add"}, "MulAddX", {"MulAdd"}), IsEmpty());
  EXPECT_THAT(split({"Mul", "Add"}, "MulAddX", {"MulAdd", "MulAddX"}), IsEmpty());
  EXPECT_THAT(split({"Mul", "MulAdd"}, "MulAddX", {"MulAdd"}), ElementsAre("MulAdd"));
}

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

TEST(RowText, NumbersReadAsPythonPrintsThem) {
  EXPECT_EQ(number_text(1), "1.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
  EXPECT_EQ(number_text(0.1F), "0.10000000149011612");
  EXPECT_EQ(number_text(1e-4), "0.0001");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(9.298324584960938e-06), "9.298324584960938e-06");
  EXPECT_EQ(number_text(123456.75), "123456.75");
  EXPECT_EQ(number_text(1e15), "1000000000000000.0");
  EXPECT_EQ(number_text(1e16), "1e+16");
  EXPECT_EQ(number_text(1.5e300), "1.5e+300");
  EXPECT_EQ(number_text(-5e-324), "-5e-324");
  EXPECT_EQ(number_text(0.00012345), "0.00012345");
  EXPECT_EQ(number_text(100), "100.0");
  EXPECT_EQ(number_text(INFINITY), "inf");
  EXPECT_EQ(number_text(-INFINITY), "-inf");
}

TEST(RowText, ReportsHave46ColumnsOr24) {
  const auto commas = [](const std::string& text) { return std::count(text.begin(), text.end(), ','); };
  EXPECT_EQ(commas(report_header(Columns::all)), 45);
  EXPECT_EQ(commas(report_header(Columns::legacy)), 23);
  const RowText text = row_text(Row{});
  EXPECT_EQ(commas(text.documented + text.before + "0" + text.behind), 46);  // one of them in the quoted Data Name
}

DumpMetrics metrics_of(const std::vector<float>& golden, const std::vector<float>& mine) {
  DumpPairAccumulator accumulator;
  for (std::size_t first = 0; first < golden.size(); first += DumpPairAccumulator::capacity) {
    const std::size_t count = std::min(DumpPairAccumulator::capacity, golden.size() - first);
    std::copy_n(golden.begin() + static_cast<std::ptrdiff_t>(first), count, accumulator.golden_space().begin());
    std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(first), count, accumulator.my_space().begin());
    accumulator.add(count);
  }
  return accumulator.finish();
}

// The worked values of torchair.md 8.
TEST(DumpMetrics, WorkedValues) {
  struct Worked {
    std::vector<float> golden;
    std::vector<float> mine;
    double cosine, max_rel, mean_rel, max_abs, mean_abs, kl, rel_euc;
  };
  const double inf = INFINITY;
  const std::vector<Worked> worked{
      {{1, 2, 3, 4},
       {1, 2.002F, 2.99F, 4},
       0.9999986399,
       0.0033333301544189453,
       0.0010833442211151123,
       0.009999990463256836,
       0.003000020980834961,
       9.663403034210205e-06,
       0.0018619003240019083},
      {{1, 10, 100},
       {1.001F, 9.95F, 100.4F},
       0.9999996057,
       0.004999995231628418,
       0.00333336996845901,
       0.40000152587890625,
       0.1503339260816574,
       0,
       0.004010952543467283},
      {{0, 1e-8F, -5}, {1e-3F, 2e-8F, -5}, 0.99999998, 0, 0, 0, 0, 1.5459954738616943e-07, 0.00020000000949949026},
      {{0, 0}, {0, 0}, 1, 0, 0, 0, 0, 0, 0},
      {{0, 0}, {1, 0}, 0, 0, 0, 0, 0, 0.12011446058750153, 0},
      {{2}, {-2}, -1, 2, 2, 4, 4, 0, 2},
      {{1e38F, 1}, {-3e38F, 1}, -1, 4, 2, inf, inf, 3.0000000054977558e+38, NAN},
  };
  for (const Worked& w : worked) {
    const DumpMetrics m = metrics_of(w.golden, w.mine);
    EXPECT_NEAR(m.cosine, w.cosine, 2e-10);
    EXPECT_EQ(m.max_relative_error, w.max_rel);
    EXPECT_NEAR(m.mean_relative_error, w.mean_rel, 1e-9 + 1e-6 * w.mean_rel);
    EXPECT_EQ(m.max_absolute_error, w.max_abs);
    if (std::isfinite(w.mean_abs)) {
      EXPECT_NEAR(m.mean_absolute_error, w.mean_abs, 1e-9 + 1e-6 * w.mean_abs);
    } else {
      EXPECT_EQ(m.mean_absolute_error, w.mean_abs);
    }
    EXPECT_NEAR(m.kl_divergence, w.kl, 1e-6 + 1e-4 * w.kl);
    if (std::isnan(w.rel_euc)) {
      EXPECT_TRUE(std::isnan(m.relative_euclidean_distance));
    } else {
      EXPECT_NEAR(m.relative_euclidean_distance, w.rel_euc, 1e-9 + 1e-6 * w.rel_euc);
    }
  }
  EXPECT_EQ(metrics_of({0, 0}, {1, 0}).only_golden_zero, 1);
  EXPECT_EQ(metrics_of({0, 0, 1}, {1, 0, 1}).within_thousandth, 2.0 / 3);
}

// Against the definitions, in float64, for lengths around those of blocks and vectors.
TEST(DumpMetrics, LargeTensorsFollowTheDefinitions) {
  std::mt19937 generator(7);
  std::normal_distribution<float> values(0.5F, 3);
  std::normal_distribution<float> errors(0, 0.01F);
  for (const std::size_t size : {1UL, 15UL, 16UL, 17UL, 1023UL, 1024UL, 1025UL, 16383UL, 16384UL, 16385UL, 50001UL}) {
    std::vector<float> golden(size);
    std::vector<float> mine(size);
    for (std::size_t i = 0; i < size; ++i) {
      golden[i] = i % 11 == 3 ? 0.0F : values(generator) + static_cast<float>(i) * 1e-4F;
      mine[i] = i % 7 == 2 ? golden[i] : golden[i] + errors(generator);
    }
    double gg = 0, mm = 0, gm = 0, dd = 0, largest = 0, max_rel = 0, sum_rel = 0, sum_abs = 0, sum_golden = 0;
    double golden_top = -INFINITY, my_top = -INFINITY;
    std::int64_t thousandth = 0, five = 0, zero = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double g = golden[i], m = mine[i];
      gg += g * g, mm += m * m, gm += g * m, dd += (m - g) * (m - g), sum_golden += g;
      largest = std::max(largest, std::abs(m - g));
      golden_top = std::max(golden_top, g), my_top = std::max(my_top, m);
      const float error = std::abs(mine[i] / golden[i] - 1.0F);
      const bool counts = std::abs(golden[i]) > 1.1920929e-07F;
      if (counts) {
        max_rel = std::max<double>(max_rel, error);
        sum_rel += error;
        sum_abs += std::abs(mine[i] - golden[i]);
      }
      const float unmasked = counts ? error : mine[i] == golden[i] ? 0.0F : INFINITY;
      thousandth += unmasked < 0.001F, five += unmasked < 0.005F;
      zero += !counts && std::abs(mine[i]) > 1.1920929e-07F;
    }
    double golden_weights = 0, my_weights = 0, kl = 0;
    for (std::size_t i = 0; i < size; ++i) {
      golden_weights += std::exp(golden[i] - golden_top);
      my_weights += std::exp(mine[i] - my_top);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double log_p = golden[i] - golden_top - std::log(golden_weights);
      const double log_q = mine[i] - my_top - std::log(my_weights);
      kl += std::exp(log_p) * (log_p - log_q);
    }
    const auto n = static_cast<double>(size);
    const DumpMetrics r = metrics_of(golden, mine);
    EXPECT_NEAR(r.cosine, gm / std::sqrt(gg * mm), 1e-10) << size;
    EXPECT_EQ(r.max_relative_error, max_rel) << size;
    EXPECT_NEAR(r.mean_relative_error, sum_rel / n, 1e-7 * sum_rel / n + 1e-12) << size;
    EXPECT_NEAR(r.mean_absolute_error, sum_abs / n, 1e-7 * sum_abs / n + 1e-12) << size;
    EXPECT_NEAR(r.euclidean_distance, std::sqrt(dd), 1e-12 * std::sqrt(dd)) << size;
    EXPECT_NEAR(r.relative_euclidean_distance, std::sqrt(dd / gg), 1e-7 * std::sqrt(dd / gg)) << size;
    EXPECT_EQ(r.max_difference, largest) << size;
    EXPECT_EQ(r.within_thousandth, static_cast<double>(thousandth) / n) << size;
    EXPECT_EQ(r.within_five_thousandths, static_cast<double>(five) / n) << size;
    EXPECT_EQ(r.only_golden_zero, zero) << size;
    EXPECT_NEAR(r.kl_divergence, std::max(kl, 0.0), 1e-8 + 1e-5 * kl) << size;
    EXPECT_EQ(r.golden.max, *std::max_element(golden.begin(), golden.end()));
    EXPECT_EQ(r.mine.min, *std::min_element(mine.begin(), mine.end()));
    EXPECT_NEAR(r.golden.mean, sum_golden / n, 1e-7 * std::abs(sum_golden / n) + 1e-12);
    EXPECT_NEAR(r.golden.l2_norm, std::sqrt(gg), 1e-12 * std::sqrt(gg));
  }
}

TEST(DumpMetrics, WhatIsNotFiniteIsFoundAnywhere) {
  for (const std::size_t at : {0UL, 15UL, 16UL, 1024UL, 20000UL}) {
    std::vector<float> golden(20001, 1.0F);
    std::vector<float> mine(20001, 1.0F);
    mine[at] = NAN;
    DumpMetrics result = metrics_of(golden, mine);
    EXPECT_TRUE(result.golden.finite);
    EXPECT_FALSE(result.mine.finite);
    EXPECT_TRUE(std::isnan(result.mine.max));
    EXPECT_TRUE(std::isnan(result.mine.min));
    golden[at] = -INFINITY;
    result = metrics_of(golden, mine);
    EXPECT_FALSE(result.golden.finite);
    EXPECT_EQ(result.golden.min, -INFINITY);
    EXPECT_EQ(result.golden.max, 1);
    EXPECT_EQ(result.golden.mean, -INFINITY);
  }
  EXPECT_EQ(metrics_of({}, {}).golden.count, 0);
}

// Wherever they lie, they change nothing but their count.
TEST(DumpMetrics, EqualNonFiniteElementsAreElementsWithoutAnError) {
  std::mt19937 generator(11);
  std::normal_distribution<float> values(0, 3);
  for (const std::size_t size : {1UL, 16UL, 1000UL, 1025UL, 20001UL}) {
    std::vector<float> golden(size);
    std::vector<float> mine(size);
    std::vector<float> golden_rest;
    std::vector<float> my_rest;
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < size; ++i) {
      golden[i] = values(generator);
      mine[i] = golden[i] * (i % 5 == 0 ? 1.001F : 1.0F);
      if (i % 7 == 0) {
        golden[i] = mine[i] = i % 3 == 0 ? NAN : i % 2 == 0 ? INFINITY : -INFINITY;
        ++equal;
      } else {
        golden_rest.push_back(golden[i]);
        my_rest.push_back(mine[i]);
      }
    }
    const DumpMetrics result = metrics_of(golden, mine);
    const DumpMetrics rest = metrics_of(golden_rest, my_rest);
    const auto n = static_cast<double>(size);
    const auto finite = static_cast<double>(golden_rest.size());
    EXPECT_EQ(result.equal_not_finite, equal) << size;
    EXPECT_EQ(result.unequal_not_finite, 0) << size;
    EXPECT_FALSE(result.golden.finite);
    EXPECT_NEAR(result.cosine, golden_rest.empty() ? 1 : rest.cosine, 1e-10) << size;
    EXPECT_EQ(result.max_relative_error, rest.max_relative_error) << size;
    EXPECT_EQ(result.max_difference, rest.max_difference) << size;
    EXPECT_NEAR(result.euclidean_distance, rest.euclidean_distance, 1e-12 * rest.euclidean_distance) << size;
    EXPECT_NEAR(result.kl_divergence, rest.kl_divergence, 1e-7) << size;
    EXPECT_NEAR(result.mean_relative_error, rest.mean_relative_error * finite / n, 1e-9) << size;
    EXPECT_NEAR(result.within_thousandth, (rest.within_thousandth * finite + static_cast<double>(equal)) / n, 1e-12)
        << size;
    mine[0] = 1;
    EXPECT_EQ(metrics_of(golden, mine).unequal_not_finite, 1) << size;
  }
}

TEST(TokenFiles, PlacesOfFxTensorsAreNumbers) {
  const testing::TemporaryDirectory scratch;
  for (const char* name :
       {"n-t.INPUT.10.1.npy", "n-t.INPUT.2.1.npy", "n-t.INPUT.0.10.1.npy", "n-t.INPUT.0.9.1.npy", "n-t.OUTPUT.0.5.npy",
        "n-t.INPUT.2.9_min_max.npy", "n-t.OUTPUT.0.5_min_max.npy", "odd.npy", "n-t.INPUT.x.1.npy"}) {
    testing::write_file(scratch / name, "");
  }
  std::vector<std::string> warnings;
  Messages messages(false, false, [&](const std::string& text) { warnings.push_back(text); });
  const FxToken token = read_fx_token({0, {scratch.path().string()}}, messages);
  ASSERT_EQ(token.size(), 1U);
  std::vector<std::string> inputs;
  for (const FxTensorFile& file : token.at("n-t").inputs) inputs.push_back(file.path.substr(file.path.rfind('/') + 1));
  // Of a place the newest file counts.
  EXPECT_THAT(inputs, ElementsAre("n-t.INPUT.0.9.1.npy", "n-t.INPUT.0.10.1.npy", "n-t.INPUT.2.9_min_max.npy",
                                  "n-t.INPUT.10.1.npy"));
  ASSERT_EQ(token.at("n-t").outputs.size(), 1U);
  EXPECT_FALSE(token.at("n-t").outputs[0].converted);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("INPUT.x"), HasSubstr("odd.npy")));
}

TEST(Messages, OfManyWarningsOfAKindFiveArePrintedAndTheOthersCounted) {
  const auto printed = [](bool details) {
    std::string text;
    Messages messages(false, details, [&](const std::string& part) { text += part; });
    for (int i = 0; i < 12; ++i) messages.warning("odd files", "The file " + std::to_string(i) + " is odd.");
    messages.warning("late ranks", "Rank 3 is late.");
    messages.warning("late ranks", "Rank 3 is late.");
    messages.warning("The end is near.");
    messages.count_further_warnings();
    messages.count_further_warnings();
    return text;
  };
  const std::string few = printed(false);
  EXPECT_THAT(few, HasSubstr("warning: The file 4 is odd.\n"));
  EXPECT_THAT(few, Not(HasSubstr("The file 5")));
  EXPECT_THAT(few,
              HasSubstr("is odd.\ntorchair_compare: warning: Rank 3 is late.\ntorchair_compare: warning: The end"));
  EXPECT_THAT(few, ::testing::EndsWith("The end is near.\n"
                                       "torchair_compare: warning: and 7 more odd files (--verbose names all)\n"));
  EXPECT_THAT(printed(true), AllOf(HasSubstr("The file 11 is odd."), Not(HasSubstr("more"))));
}

TEST(DumpTree, TokensAreNumbersThatFit) {
  const testing::TemporaryDirectory scratch;
  const testing::fs::path model = scratch / "20260105101501/0/graph_7_0/1";
  for (const char* token : {"10", "2", "x", "9223372036854775808", "18446744073709551617"}) {
    testing::fs::create_directories(model / token);
    testing::write_file(model / token / "file", "");
  }
  Messages messages(false, false, [](const std::string&) {});
  const std::vector<DumpGroup> groups = find_ge_groups(scratch.path().string(), messages);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].graph, 7U);
  ASSERT_EQ(groups[0].tokens().size(), 2U);
  EXPECT_EQ(groups[0].tokens()[0].token, 10);  // in the order of the paths
  ASSERT_NE(groups[0].find(2), nullptr);
  EXPECT_THAT(groups[0].find(2)->paths, ElementsAre((model / "2").string()));
  EXPECT_EQ(groups[0].find(-1), nullptr);
}

TEST(OrderedWork, ResultsComeInOrder) {
  std::vector<int> taken;
  OrderedWork<int, int> work(
      4, 8,
      [] {
        return [](const int& item) {
          std::this_thread::sleep_for(std::chrono::microseconds(item % 7 * 100));
          return item * 2;
        };
      },
      [&](int&& result) { taken.push_back(result); });
  for (int i = 0; i < 500; ++i) work.add(i);
  work.finish();
  ASSERT_EQ(taken.size(), 500U);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i * 2);
}

TEST(OrderedWork, IsDoneWithAsManyThreadsAsThereAre) {
  if (sanitized) GTEST_SKIP() << "a sanitizer has reserved the addresses";
  for (const std::size_t threads : {0, 1}) {
    const FewThreads few(threads);
    std::vector<int> taken;
    OrderedWork<int, int> work(
        4, 8, [] { return [](const int& item) { return item * 2; }; }, [&](int&& result) { taken.push_back(result); });
    for (int i = 0; i < 50; ++i) work.add(i);
    work.finish();
    ASSERT_EQ(taken.size(), 50U);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i * 2);
  }
}

TEST(OrderedWork, AnErrorEndsTheWork) {
  OrderedWork<int, int> work(
      3, 4,
      [] {
        return [](const int& item) {
          if (item == 5) throw std::runtime_error("five");
          return item;
        };
      },
      [](int&&) {});
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) work.add(i);
        work.finish();
      },
      std::runtime_error);
}

}  // namespace
}  // namespace msrun::torchair
