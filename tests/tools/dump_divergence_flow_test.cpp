// The first divergence where the flow of data decides: wide tensors that half precision went into, calls that are
// missing, and calls that read something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <utility>

#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// Infinity as Python writes it; nlohmann's null would be no statistic.
std::string python_json(const Json& dump) {
  std::string text;
  const std::function<void(const Json&)> append = [&](const Json& node) {
    if (node.is_number_float() && std::isinf(node.get<double>())) {
      text += node.get<double>() > 0 ? "Infinity" : "-Infinity";
    } else if (node.is_structured()) {
      text += node.is_object() ? '{' : '[';
      bool first = true;
      for (const auto& [key, value] : node.items()) {
        if (!std::exchange(first, false)) text += ',';
        if (node.is_object()) text += Json(key).dump() + ":";
        append(value);
      }
      text += node.is_object() ? '}' : ']';
    } else {
      text += node.dump();
    }
  };
  append(dump);
  return text;
}

Json find_divergence(const Json& target, const Json& golden) {
  ComparedDumps dumps;
  dumps.write("target", target);
  dumps.write("golden", golden);
  const Finished run = dumps.run({"--first-divergence"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(read_file(only_file(dumps.folder() / "out", "first_divergence_")));
}

// All statistics of a tensor of that size times a factor.
Json tensor(double size, const std::string& dtype = "torch.float32", const std::vector<int>& shape = {8, 24}) {
  return recorded_tensor(size, -0.7 * size, 0.1 * size, 3 * size, shape, dtype);
}

Json backward_call(const Json& gradient, const Json& result) {
  return {{"input", Json::array({gradient})}, {"output", Json::array({result})}};
}

// The head of a model in bfloat16 whose loss is computed in float32. noise: of the logits, by rounding in bfloat16;
// loss and gradient: what the loss and its gradient are off by.
Json head(double noise, double loss, double gradient) {
  const Json half = tensor(2 + 2 * noise, "torch.bfloat16");
  const Json wide = tensor(2 + 2 * noise);
  const Json value = recorded_tensor(3 * loss, 3 * loss, 3 * loss, 3 * loss, {});
  const Json one = recorded_tensor(1, 1, 1, 1, {});
  Json data;
  data["Functional.linear.0.forward"] = recorded_call({tensor(1, "torch.bfloat16", {8, 16})}, {half});
  data["Tensor.float.0.forward"] = recorded_call({half}, {wide});
  data["Functional.cross_entropy.0.forward"] = recorded_call({wide}, {value});
  data["Functional.cross_entropy.0.backward"] = backward_call(one, tensor(0.2 * gradient));
  data["Tensor.float.0.backward"] = backward_call(tensor(0.2 * gradient), tensor(0.2 * gradient, "torch.bfloat16"));
  return data;
}

TEST(FirstDivergence, RoundingInHalfPrecisionIsNotBlamedOnTheWideTensorsBehindIt) {
  const Json found = find_divergence(head(0.003, 1.002, 1.004), head(0, 1, 1));
  EXPECT_EQ(found["verdict"], "none") << found["first"].dump();
}

TEST(FirstDivergence, AWrongCallBehindHalfPrecisionIsFound) {
  const Json loss = find_divergence(head(0.003, 1.9, 1.004), head(0, 1, 1));
  EXPECT_EQ(loss["first"]["call"], "Functional.cross_entropy.0.forward") << loss.dump();
  const Json gradient = find_divergence(head(0.003, 1.002, 1.9), head(0, 1, 1));
  EXPECT_EQ(gradient["first"]["call"], "Functional.cross_entropy.0.backward") << gradient.dump();
}

TEST(FirstDivergence, WideTensorsThatAreEqualBehindHalfPrecisionAreJudgedAsSuch) {
  const Json found = find_divergence(head(0, 1.004, 1), head(0, 1, 1));
  EXPECT_EQ(found["first"]["call"], "Functional.cross_entropy.0.forward") << found.dump();
}

// A mean of squares in float32 of tensors in bfloat16, whose smallest square is all rounding.
Json mean_of_squares(double noise, double mean) {
  const Json half = tensor(2, "torch.bfloat16");
  const Json squares = recorded_tensor(4, 0.0005 * (1 - noise), 1, 30, {8, 24});
  Json data;
  data["Functional.linear.0.forward"] = recorded_call({tensor(1, "torch.bfloat16", {8, 16})}, {half});
  data["Tensor.float.0.forward"] = recorded_call({half}, {tensor(2)});
  data["Tensor.pow.0.forward"] = recorded_call({tensor(2)}, {squares});
  data["Tensor.mean.0.forward"] = recorded_call({squares}, {tensor(mean, "torch.float32", {8, 1})});
  return data;
}

TEST(FirstDivergence, SmallExtremesBehindHalfPrecisionHideNoFault) {
  const Json found = find_divergence(mean_of_squares(0.2, 2), mean_of_squares(0, 1));
  EXPECT_EQ(found["first"]["call"], "Tensor.mean.0.forward") << found.dump();
}

// Scores of attention, with or without the call that masks them.
Json attention(bool masked) {
  const Json scores = tensor(2);
  const Json hidden = recorded_tensor(2, -10000, -3000, 60000, {8, 24});
  Json data;
  data["Torch.matmul.0.forward"] = recorded_call({tensor(1, "torch.float32", {8, 4})}, {scores});
  if (masked) data["Tensor.masked_fill.0.forward"] = recorded_call({scores}, {hidden});
  const double size = masked ? 0.5 : 0.9;
  data["Functional.softmax.0.forward"] = recorded_call({masked ? hidden : scores}, {tensor(size)});
  data["Torch.matmul.1.forward"] = recorded_call({tensor(size)}, {tensor(3 * size, "torch.float32", {8, 4})});
  return data;
}

TEST(FirstDivergence, ACallThatIsMissingIsNamedByTheReaderOfWhatItWouldHaveMade) {
  const Json found = find_divergence(attention(false), attention(true));
  EXPECT_EQ(found["first"]["call"], "Functional.softmax.0.forward") << found.dump();
  EXPECT_EQ(found["first"]["kind"], "region");
  EXPECT_EQ(found["first"]["golden_call"], "Tensor.masked_fill.0.forward");
}

// A product of the first or of the second of two equally shaped results.
Json choice(bool second) {
  const Json one = tensor(1, "torch.float32", {4, 4});
  const Json other = tensor(5, "torch.float32", {4, 4});
  Json data;
  data["Torch.exp.0.forward"] = recorded_call({tensor(0.5, "torch.float32", {4, 4})}, {one});
  data["Torch.square.0.forward"] = recorded_call({tensor(2, "torch.float32", {4, 4})}, {other});
  data["Torch.relu.0.forward"] = recorded_call({second ? other : one}, {second ? other : one});
  data["Torch.tanh.0.forward"] =
      recorded_call({second ? other : one}, {tensor(second ? 0.9 : 0.7, "torch.float32", {4, 4})});
  return data;
}

TEST(FirstDivergence, ACallThatReadsAnotherResultIsTheSource) {
  const Json found = find_divergence(choice(true), choice(false));
  EXPECT_EQ(found["first"]["call"], "Torch.relu.0.forward") << found.dump();
  EXPECT_EQ(found["first"]["kind"], "source");
}

// Dropout, whose backward call has no arguments that say how much is dropped.
Json dropout(double share, double gradient) {
  Json data;
  data["Functional.dropout.0.forward"] = recorded_call(
      {tensor(1), {{"type", "float"}, {"value", share}}, {{"type", "bool"}, {"value", true}}}, {tensor(1)});
  data["Functional.dropout.0.backward"] = backward_call(tensor(0.3), tensor(0.3 * gradient));
  return data;
}

TEST(FirstDivergence, GradientsOfDropoutAreRandomOnlyWhereElementsAreDropped) {
  EXPECT_EQ(find_divergence(dropout(0, 2), dropout(0, 1))["verdict"], "found");
  EXPECT_EQ(find_divergence(dropout(0.5, 2), dropout(0.5, 1))["verdict"], "random");
}

// One rank sends a tensor to another. buffer: what the receiving one holds before; received: what it has then.
std::vector<Json> pipeline(double buffer, double received) {
  const Json peer{{"type", "int"}, {"value", 1}};
  const Json source{{"type", "int"}, {"value", 0}};
  Json first;
  first["Torch.exp.0.forward"] = recorded_call({tensor(1)}, {tensor(2)});
  first["Distributed.send.0.forward"] = recorded_call({tensor(2)}, {});
  first["Distributed.send.0.forward"]["input_kwargs"]["dst"] = peer;
  Json second;
  second["Distributed.recv.0.forward"] = recorded_call({tensor(buffer)}, {tensor(received)});
  second["Distributed.recv.0.forward"]["input_kwargs"]["src"] = source;
  second["Tensor.copy_.0.forward"] = recorded_call({tensor(3 * buffer), tensor(received)}, {tensor(received)});
  second["Torch.tanh.0.forward"] = recorded_call({tensor(received)}, {tensor(received / 3)});
  return {first, second};
}

void write_ranks(const fs::path& folder, const std::vector<Json>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const fs::path rank = folder / ("rank" + std::to_string(r));
    fs::create_directories(rank);
    const Json dump{{"task", "statistics"}, {"level", "L1"}, {"framework", "pytorch"}, {"data", ranks[r]}};
    std::ofstream(rank / "dump.json") << python_json(dump);
  }
}

Json divergence_of_ranks(const std::vector<Json>& target, const std::vector<Json>& golden) {
  const TemporaryDirectory scratch;
  write_ranks(scratch / "target", target);
  write_ranks(scratch / "golden", golden);
  const Finished run =
      run_tool("dump_compare",
               {"-tp", scratch / "target", "-gp", scratch / "golden", "-o", scratch / "out", "--first-divergence"},
               scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(read_file(only_file(scratch / "out", "first_divergence_")));
}

TEST(FirstDivergence, WhatABufferHeldBeforeIsNoInput) {
  const Json sound = divergence_of_ranks(pipeline(70, 2), pipeline(40, 2));
  EXPECT_EQ(sound["verdict"], "none") << sound["first"].dump();
  const Json wrong = divergence_of_ranks(pipeline(70, 3), pipeline(40, 2));
  EXPECT_EQ(wrong["first"]["call"], "Distributed.recv.0.forward") << wrong.dump();
  EXPECT_EQ(wrong["first"]["kind"], "communication");
}

TEST(OverflowCheck, WhatABufferHeldBeforeIsNoInput) {
  const auto first_of = [](double buffer, double received) {
    const TemporaryDirectory scratch;
    write_ranks(scratch / "step0", pipeline(buffer, received));
    const Finished run = run_tool("overflow_check", {"-i", scratch / "step0", "-o", scratch / "out"}, scratch.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(first_of(infinity, 2), HasSubstr("Cannot find any anomaly node"));
  EXPECT_THAT(first_of(infinity, infinity), HasSubstr("rank 1, Distributed.recv.0.forward"));
}

// A chain of calls, each of which reads what the one before made, and a last one.
Json chain(const std::string& last_name, const Json& last_outputs) {
  Json data;
  for (int i = 0; i < 6; ++i) {
    data["Torch.a." + std::to_string(i) + ".forward"] = recorded_call({tensor(i + 1)}, {tensor(i + 2)});
  }
  if (!last_name.empty()) {
    data[last_name] = recorded_call({tensor(7)}, {});
    data[last_name]["output"] = last_outputs;
  }
  return data;
}

TEST(FirstDivergence, ALastCallThatIsNoCounterpartByItsNameOrShapeIsJudgedByItsPlace) {
  const Json golden = chain("Functional.y.0.forward", Json::array({tensor(8)}));
  for (const Json& target : {chain("Functional.x.0.forward", Json::array({tensor(400)})),
                             chain("Functional.y.0.forward", Json::array({tensor(8, "torch.float32", {4})})),
                             chain("Functional.y.0.forward", Json::array({tensor(8), tensor(8)})),
                             chain("Functional.y.0.forward", Json::array())}) {
    const Json found = find_divergence(target, golden);
    EXPECT_EQ(found["verdict"], "found") << found.dump();
    EXPECT_EQ(found["first"]["kind"], "region");
    EXPECT_EQ(found["first"]["golden_call"], "Functional.y.0.forward");
  }
  const Json renamed = find_divergence(chain("Functional.x.0.forward", Json::array({tensor(8)})), golden);
  EXPECT_EQ(renamed["verdict"], "none") << renamed.dump();
}

TEST(FirstDivergence, WhatOtherLastCallsMakeInTheEndIsNoDivergence) {
  Json target = chain("Functional.x.0.forward", Json::array({tensor(400)}));
  target["Functional.z.0.forward"] = recorded_call({tensor(400)}, {tensor(8)});
  const Json found = find_divergence(target, chain("Functional.y.0.forward", Json::array({tensor(8)})));
  EXPECT_EQ(found["verdict"], "none") << found.dump();
}

TEST(FirstDivergence, TheOnlyCallOfAnotherShapeIsFound) {
  const Json golden{{"Torch.a.0.forward", recorded_call({tensor(1)}, {tensor(2)})}};
  for (const auto& outputs : {std::vector<Json>{tensor(2, "torch.float32", {4})}, {tensor(2), tensor(2)}, {}}) {
    const Json found = find_divergence({{"Torch.a.0.forward", recorded_call({tensor(1)}, outputs)}}, golden);
    EXPECT_EQ(found["verdict"], "found") << found.dump();
  }
}

TEST(FirstDivergence, ACallThatTheUserPairedIsJudgedByItsPartner) {
  ComparedDumps dumps;
  const auto write = [&](const char* side, const char* one, const char* other, double last) {
    Json data = chain(one, Json::array({tensor(8, "torch.float32", {4})}));
    data[other] = recorded_call({tensor(8, "torch.float32", {4})}, {tensor(last, "torch.float32", {4})});
    dumps.write(side, data);
  };
  write("target", "Functional.x.0.forward", "Functional.p.0.forward", 9);
  dumps.write("golden", chain("Functional.y.0.forward", Json::array({tensor(8)})));
  const auto map = [&](const std::string& text) {
    std::ofstream(dumps.folder() / "map.yaml") << text;
    const Finished run = dumps.run({"--first-divergence", "-dm", (dumps.folder() / "map.yaml").string()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  const std::string out =
      map("Functional.x.0.forward.input.0: Functional.y.0.forward.input.0\n"
          "Functional.x.0.forward.output.0: Functional.y.0.forward.output.0\n");
  EXPECT_THAT(out, HasSubstr("First divergence: rank 0, Functional.x.0.forward\n"));
}

TEST(FirstDivergence, NothingIsSaidOfRecordingsWhoseMappingCannotBeRead) {
  ComparedDumps dumps;
  for (const char* side : {"target", "golden"}) dumps.write(side, chain("", Json::array()));
  std::ofstream(dumps.folder() / "map.yaml") << "a: [1\n";
  for (const char* file : {"map.yaml", "missing.yaml"}) {
    const Finished run = dumps.run({"--first-divergence", "-dm", (dumps.folder() / file).string()});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.out, Not(HasSubstr("First divergence")));
    EXPECT_FALSE(fs::exists(dumps.folder() / "out"));
  }
}

TEST(FirstDivergence, NoneSaysWhatWasNotComparedAndThatTheTableHasErrors) {
  const auto outcome = [](const Json& target, const Json& golden) {
    ComparedDumps dumps;
    dumps.write("target", target);
    dumps.write("golden", golden);
    const Finished run = dumps.run({"--first-divergence"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("First divergence: none"));
    EXPECT_THAT(run.out, Not(HasSubstr("agree within rounding")));
    return run.out;
  };
  const Json longer = chain("Functional.y.0.forward", Json::array({tensor(8)}));
  EXPECT_THAT(outcome(chain("", {}), longer),
              HasSubstr("no counterpart: 0 calls of the target and 1 call of the golden recording."));
  EXPECT_THAT(outcome(longer, chain("", {})),
              HasSubstr("no counterpart: 1 call of the target and 0 calls of the golden recording."));
  EXPECT_THAT(outcome(longer, longer), Not(HasSubstr("counterpart")));
  Json other = longer;
  other["Functional.y.0.forward"]["output"][0]["dtype"] = "torch.int32";
  EXPECT_THAT(outcome(other, longer), HasSubstr("The recordings do not agree"));
}

// What overflow_check warns of in ranks that are folders of these names, and the end of its line on what it found.
Finished overflow_in(const std::vector<std::pair<std::string, Json>>& folders) {
  const TemporaryDirectory scratch;
  for (const auto& [name, data] : folders) {
    const fs::path folder = scratch.path() / "step0" / name;
    fs::create_directories(folder);
    const Json dump{{"task", "statistics"}, {"framework", "pytorch"}, {"data", data}};
    std::ofstream(folder / "dump.json") << python_json(dump);
  }
  const Finished run = run_tool("overflow_check", {"-i", scratch / "step0", "-o", scratch / "out"}, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run;
}

TEST(OverflowCheck, SaysWhichParticipantsOfACommunicationAreNotThere) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto reduce = [&](const std::vector<int>& group) {
    Json data;
    data["Distributed.all_reduce.0.forward"] = recorded_call({tensor(1)}, {tensor(infinity)});
    data["Distributed.all_reduce.0.forward"]["input_kwargs"]["group"] = {{"type", "torch.ProcessGroup"},
                                                                         {"group_ranks", group}};
    return data;
  };
  const Json sound{{"Torch.exp.0.forward", recorded_call({tensor(1)}, {tensor(2)})}};
  EXPECT_THAT(overflow_in({{"rank0", reduce({0, 1, 2})}, {"rank1", reduce({0, 1, 2})}}).err,
              HasSubstr("rank 2 is not there, and it may come from there"));
  EXPECT_THAT(overflow_in({{"rank0", reduce({0, 1})}, {"rank1", sound}}).err, HasSubstr("rank 1 has no such call"));
  EXPECT_THAT(overflow_in({{"rank0", reduce({0, 1})}, {"rank1", reduce({0, 1})}}).err, Not(HasSubstr("may come")));
  EXPECT_THAT(overflow_in({{"rank1", pipeline(2, infinity)[1]}}).err, HasSubstr("rank 0 is not there"));
}

TEST(OverflowCheck, NamesWhatLooksLikeARankAndIsNotTaken) {
  const Json sound{{"Torch.exp.0.forward", recorded_call({tensor(1)}, {tensor(2)})}};
  for (const char* name : {"rank01", "rank_1", "Rank1", "proc123", "."}) {
    const std::string warning = overflow_in({{"rank0", sound}, {name, sound}}).err;
    EXPECT_THAT(warning, HasSubstr(std::string(name) == "." ? "step0/dump.json takes no part"
                                                            : "step0/" + std::string(name) + " takes no part"));
  }
  EXPECT_EQ(overflow_in({{"rank0", sound}, {"rank1", sound}}).err, "");
  EXPECT_EQ(overflow_in({{"proc123", sound}}).err, "");
  EXPECT_EQ(overflow_in({{"pid123", sound}}).err, "");
  EXPECT_THAT(overflow_in({{"rank0", sound}, {"pid123", sound}}).err, HasSubstr("step0/pid123 takes no part"));
}

}  // namespace
}  // namespace msrun::testing
