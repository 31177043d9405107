// The parts of graph: how values become texts, how parameters are read, which stack is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/io/json/json_reader.h"
#include "tests/support/few_threads.h"
#include "tests/support/sanitized.h"
#include "tools/graph/side_reader.h"
#include "tools/graph/tasks.h"
#include "tools/graph/text.h"
#include "tools/graph/tree.h"

namespace msrun::graph {
namespace {

using ::testing::ElementsAre;
using testing::FewThreads;
using testing::sanitized;

std::string real(double value, Dialect dialect) {
  std::string text;
  append_real(text, value, dialect);
  return text;
}

TEST(GraphText, RealsHaveSixDecimalsInVis) {
  const auto vis = [](double value) { return real(value, Dialect::vis); };
  EXPECT_EQ(vis(0.9254775643348694), "0.925478");
  EXPECT_EQ(vis(15), "15.0");
  EXPECT_EQ(vis(-0.5), "-0.5");
  EXPECT_EQ(vis(0), "0.0");
  EXPECT_EQ(vis(3e-07), "3.000000e-07");
  EXPECT_EQ(vis(0.0001), "0.0001");
  EXPECT_EQ(vis(1e16), "1.000000e+16");
  EXPECT_EQ(vis(123456789012.3456789), "123456789012.34567") << "six decimals, shortest text that reads back";
  EXPECT_EQ(vis(std::nan("")), "nan");
  EXPECT_EQ(vis(-INFINITY), "-inf");
}

TEST(GraphText, RealsAreShortestInTheDatabase) {
  EXPECT_EQ(real(0.9254775643348694, Dialect::db), "0.9254775643348694");
  EXPECT_EQ(real(3e-07, Dialect::db), "3e-07");
  EXPECT_EQ(real(15, Dialect::db), "15.0");
}

TEST(GraphText, TextsLoseQuotesAndLongDecimals) {
  Side side;
  const auto shown = [&](std::string_view text, Dialect dialect) {
    std::string out;
    append_value(out, side, text_value(side.texts.shared(text)), dialect);
    return out;
  };
  EXPECT_EQ(shown("<class 'int'>", Dialect::vis), "\"<class int>\"");
  EXPECT_EQ(shown("None and None", Dialect::vis), "\"null and null\"");
  EXPECT_EQ(shown("89.99999843420915%", Dialect::vis), "\"89.999998%\"");
  EXPECT_EQ(shown("89.99999843420915%", Dialect::db), "\"89.999998%\"");
  EXPECT_EQ(shown("1.23456789e-05%", Dialect::vis), "\"1.234568e-05%\"");
  EXPECT_EQ(shown("1.23456789e-05%", Dialect::db), "\"1.23456789e-05%\"");
  EXPECT_EQ(shown("x 1.23456789 y", Dialect::vis), "\"x 1.234568 y\"");
  EXPECT_EQ(shown("1.234567", Dialect::vis), "\"1.234567\"");
  EXPECT_EQ(shown("torch.float32", Dialect::vis), "\"torch.float32\"");
}

TEST(GraphText, JsonIsAsciiAsPythonWritesIt) {
  std::string out;
  append_json(out, "\"\\\n\t\r\b\f\x01\x7f \xC3\xA4 \xF0\x9F\x98\x80 \xFF");
  EXPECT_EQ(out, R"("\"\\\n\t\r\b\f\u0001\u007f \u00e4 \ud83d\ude00 \ufffd")");
}

Side side_of(std::string_view construct, std::string_view stack, std::string_view dump) {
  Side side;
  read_construct("construct.json", memory_source(construct), side);
  read_stacks("stack.json", memory_source(stack), side);
  read_dump("dump.json", memory_source(dump), OverflowRules::repaired, side);
  return side;
}

TEST(GraphSide, ParametersAreFlattenedInTheDocumentedOrder) {
  const Side side = side_of(R"({"Torch.a.0.forward": null})", "{}", R"({"task": "statistics", "data": {
    "Torch.a.0.forward": {
      "output": [{"type": "torch.Tensor", "dtype": "d", "shape": [1], "data_name": "Torch.a.0.forward.output.0.pt"}],
      "parameters": {"weight": {"type": "torch.Tensor", "dtype": "d", "shape": []}},
      "input_kwargs": {"dim": {"type": "int", "value": 1}},
      "input_args": [[null, {"type": "slice", "value": [1, 2, 3]}], [], {"type": "torch.Size", "value": [2, 3]}]}}})");
  std::vector<std::string> names;
  const Entry& entry = side.entries.at(0);
  for (std::uint32_t i = entry.first; i < entry.last; ++i) {
    names.push_back(side.name_of(entry, side.parameters[i]) + (side.parameters[i].output ? " out" : ""));
  }
  EXPECT_THAT(names, ElementsAre("Torch.a.0.forward.input.0.0", "Torch.a.0.forward.input.0.1",
                                 "Torch.a.0.forward.input.2", "Torch.a.0.forward.input.dim",
                                 "Torch.a.0.forward.output.0 out", "Torch.a.0.forward.parameters.weight"));
  const auto text = [&](std::uint32_t place, Role role) {
    return side.value_text(side.role(side.parameters[entry.first + place], role));
  };
  EXPECT_EQ(text(1, Role::shape), "(3,)");
  EXPECT_EQ(text(2, Role::shape), "[2, 3]");
  EXPECT_EQ(text(3, Role::dtype), "<class 'int'>");
  EXPECT_EQ(text(3, Role::norm), "1");
  EXPECT_EQ(text(3, Role::md5), "83dcefb7");
  EXPECT_EQ(text(5, Role::data_name), "-1");
}

TEST(GraphTasks, PiecesAreTakenInOrder) {
  for (const std::size_t threads : {1, 2, 7}) {
    for (const std::size_t places : {1, 3, 14}) {
      std::vector<std::size_t> held(places);
      std::vector<std::size_t> taken;
      OrderedSteps work;
      work.make = [&](std::size_t number, std::size_t place) { held[place] = number + 1; };
      work.take = [&](std::size_t number, std::size_t place) {
        EXPECT_EQ(held[place], number + 1);
        taken.push_back(number);
      };
      for_each_in_order(200, threads, places, work);
      ASSERT_EQ(taken.size(), 200U);
      EXPECT_TRUE(std::ranges::is_sorted(taken));
    }
  }
}

// A pool of processes or addresses that is used up makes the work slower and nothing else.
TEST(GraphTasks, AreDoneWithAsManyThreadsAsThereAre) {
  if (sanitized) GTEST_SKIP() << "a sanitizer has reserved the addresses";
  for (const std::size_t helpers : {0, 1}) {
    const FewThreads few(helpers);
    std::atomic<std::size_t> done{0};
    for_each_task(50, 8, [&](std::size_t) { ++done; });
    EXPECT_EQ(done, 50U);
    std::size_t taken = 0;
    OrderedSteps work;
    work.make = [](std::size_t, std::size_t) {};
    work.take = [&](std::size_t number, std::size_t) { EXPECT_EQ(number, taken++); };
    for_each_in_order(50, 8, 4, work);
    EXPECT_EQ(taken, 50U);
  }
}

TEST(GraphTasks, AFaultInOrderedWorkEndsIt) {
  for (const bool in_make : {false, true}) {
    for (const std::size_t threads : {1, 4}) {
      std::size_t taken = 0;
      OrderedSteps work;
      const auto fail_at = [](std::size_t number) {
        if (number == 20) throw std::runtime_error("twenty");
      };
      work.make = [&](std::size_t number, std::size_t) {
        if (in_make) fail_at(number);
      };
      work.take = [&](std::size_t number, std::size_t) {
        if (!in_make) fail_at(number);
        ++taken;
      };
      EXPECT_THROW(for_each_in_order(1000, threads, 8, work), std::runtime_error);
      EXPECT_LE(taken, 20U);
    }
  }
}

TEST(GraphStack, SimplifiedStacksNameTheLineInTheModel) {
  const Side side = side_of(
      R"({"Module.layer3.0.bn2.BatchNorm2d.forward.0": null, "Functional.relu.0.forward": null,
          "Functional.relu.0.backward": null, "Functional.gelu.0.backward": null})",
      R"json({"Module.layer3.0.bn2.BatchNorm2d.forward.0": ["File torch.py", "File m.py, \n out = self.bn2(x)", "main()"],
          "Functional.relu.0.forward": ["in op, \n return FunctionalOPTemplate(name)", "out = relu(x)", "main()"]})json",
      R"({"task": "statistics", "data": {}})");
  const Tree tree = build_tree(side, false, [](const std::string&) {});
  const auto shown = [&](std::string_view name, bool complete) {
    const Stack stack = shown_stack(side, tree.nodes[tree.find(name)], complete);
    std::vector<std::string> lines;
    for (std::uint32_t i = 0; i < stack.count; ++i) lines.emplace_back(side.text(side.frames[stack.first + i]));
    return lines;
  };
  EXPECT_THAT(shown("Module.layer3.0.bn2.BatchNorm2d.forward.0", false),
              ElementsAre("File m.py, \n out = self.bn2(x)"));
  EXPECT_THAT(shown("Functional.relu.0.forward", false), ElementsAre("out = relu(x)"));
  EXPECT_THAT(shown("Functional.relu.0.backward", false), ElementsAre("out = relu(x)"));
  EXPECT_EQ(shown("Functional.relu.0.backward", true).size(), 3U);
  EXPECT_TRUE(tree.nodes[tree.find("Functional.gelu.0.backward")].lost_stack);
}

}  // namespace
}  // namespace msrun::graph
