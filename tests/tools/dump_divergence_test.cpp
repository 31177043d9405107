// The first divergence: the recordings in pairs with their known answers, and faults planted into them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "tests/tools/dump_compare_planted.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

Json read_json(const fs::path& path) { return Json::parse(read_file(path)); }

// What the search says of two paths.
Json divergence_of(const std::string& target, const std::string& golden, const std::vector<std::string>& options = {},
                   Finished* finished = nullptr) {
  const TemporaryDirectory scratch;
  const std::string out = (scratch.path() / "out").string();
  std::vector<std::string> words{"-tp", target, "-gp", golden, "-o", out, "--first-divergence"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished run = run_tool("dump_compare", words, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  if (finished != nullptr) *finished = run;
  return read_json(only_file(scratch.path() / "out", "first_divergence_"));
}

TEST(FirstDivergence, IsThatOfTheRecordingsInPairs) {
  const Rows expected = read_csv(compare_data("expected_ours/first_divergence.csv"));
  for (std::size_t r = 1; r < expected.size(); ++r) {
    const std::vector<std::string>& row = expected[r];
    const std::string below = row[0] + (row[0] == "08_two_ranks" ? "/step0" : "");
    const Json found = divergence_of(compare_data(below + "/target"), compare_data(below + "/golden"));
    if (row[3] == "none") {
      EXPECT_EQ(found["verdict"], "none") << row[0] << found["first"].dump();
      continue;
    }
    EXPECT_EQ(found["verdict"], "found") << row[0];
    if (found["verdict"] != "found") continue;
    EXPECT_EQ(found["first"]["call"], row[2]) << row[0];
    EXPECT_EQ(found["first"]["rank"].dump(), row[1]) << row[0];
    EXPECT_EQ(found["first"]["kind"], row[3]) << row[0];
  }
}

TEST(FirstDivergence, ThereIsNoneInEqualRecordings) {
  for (const char* pair : {"01_stat_fp32", "02_stat_bf16_backward", "03_tensor_fp32", "06_md5", "09_mix_modules"}) {
    const std::string path = compare_data(std::string(pair) + "/target");
    EXPECT_EQ(divergence_of(path, path)["verdict"], "none") << pair;
  }
}

TEST(FirstDivergence, IsNoCallThatDrawsNumbers) {
  struct Case {
    const char* call;
    Json named;
    bool random;
  };
  const auto share = [](const char* name, double value) { return Json{{name, {{"type", "float"}, {"value", value}}}}; };
  const Json trains{{"training", {{"type", "bool"}, {"value", true}}}};
  for (const Case& one :
       {Case{"Functional.scaled_dot_product_attention.0.forward", share("dropout_p", 0.1), true},
        Case{"Functional.scaled_dot_product_attention.0.forward", share("dropout_p", 0), false},
        Case{"NPU.npu_fusion_attention.0.forward", share("keep_prob", 0.9), true},
        Case{"NPU.npu_fusion_attention.0.forward", share("keep_prob", 1), false},
        Case{"Functional.multi_head_attention_forward.0.forward", share("dropout_p", 0.1), true},
        Case{"Functional.rrelu.0.forward", trains, true}, Case{"Functional.rrelu.0.forward", Json::object(), false},
        Case{"Functional.gumbel_softmax.0.forward", Json::object(), true},
        Case{"Torch.poisson.0.forward", Json::object(), true}, Case{"Tensor.cauchy_.0.forward", Json::object(), true},
        Case{"Tensor.log_normal_.0.forward", Json::object(), true},
        Case{"Torch.exp.0.forward", Json::object(), false}}) {
    ComparedDumps dumps;
    for (const std::string side : {"target", "golden"}) {
      const Json input = recorded_tensor(1.5, -1, 0.25, 2);
      Json call = recorded_call({input, input, input},
                                {side == "target" ? recorded_tensor(3, -2, 0.5, 4) : recorded_tensor(2, -3, 0.1, 3.5)});
      call["input_kwargs"] = one.named;
      dumps.write(side, {{one.call, call}});
    }
    const Json found =
        divergence_of((dumps.folder() / "target/dump.json").string(), (dumps.folder() / "golden/dump.json").string());
    EXPECT_EQ(found["verdict"], one.random ? "random" : "found") << one.call << one.named;
  }
}

// A share that is given by its place among the arguments.
TEST(FirstDivergence, KnowsArgumentsByTheirPlaces) {
  ComparedDumps dumps;
  for (const std::string side : {"target", "golden"}) {
    const Json input = recorded_tensor(1.5, -1, 0.25, 2);
    const Json share{{"type", "float"}, {"value", 0.1}};
    dumps.write(side, {{"Functional.scaled_dot_product_attention.0.forward",
                        recorded_call({input, input, input, nullptr, share},
                                      {recorded_tensor(3, -2, side == "target" ? 0.5 : 0.1, 4)})}});
  }
  EXPECT_EQ(divergence_of((dumps.folder() / "target/dump.json").string(),
                          (dumps.folder() / "golden/dump.json").string())["verdict"],
            "random");
}

TEST(FirstDivergence, CountsForTheExitCodeAlthoughAllRowsPass) {
  // The table does not judge the gap of a backward call whose forward call was not recorded.
  const auto dump = [](double sign) {
    const Json wrong = recorded_tensor(sign > 0 ? 3 : 1, sign > 0 ? -1 : -3, sign, 4);
    return Json{{"Torch.exp.0.backward", recorded_call({recorded_tensor(1, 1, 1, 2)}, {wrong})}};
  };
  ComparedDumps dumps;
  dumps.write("target", dump(-1));
  dumps.write("golden", dump(1));
  for (const char* level : {"warning", "error"}) {
    const Finished run = dumps.run({"--first-divergence", "--fail-on", level});
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_THAT(run.out, HasSubstr("First divergence: rank 0, Torch.exp.0.backward\n"));
    EXPECT_THAT(run.out, HasSubstr("0 error, 0 warning"));
    EXPECT_THAT(run.out, HasSubstr("do not agree, although no row of the table is an error"));
  }
  EXPECT_EQ(dumps.run({"--first-divergence"}).exit_code, 0);
  EXPECT_EQ(dumps.run({"--fail-on", "warning"}).exit_code, 0);
  dumps.write("target", dump(1));
  const Finished same = dumps.run({"--first-divergence", "--fail-on", "warning"});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.out, ::testing::Not(HasSubstr("although")));
}

TEST(FirstDivergence, TheConsoleHasTheLineThatChecksTheCall) {
  Finished run;
  divergence_of(compare_data("01_stat_fp32/target/dump.json"), compare_data("01_stat_fp32/golden/dump.json"), {}, &run);
  EXPECT_THAT(run.out, HasSubstr("First divergence: rank 0, Functional.silu.0.forward\n"));
  EXPECT_THAT(run.out, HasSubstr("target/dump.json --only Functional.silu.0\n"));
}

// A kind of recording, and the plants that are tried in it.
struct Kind {
  const char* name;
  const char* golden;
  int ranks;
  double noise;
  double least_right;  // share of the plants
  bool tensors = false;
};

// How many plants of each kind are tried, and from which seed on: more of them than time allows here with
// MSRUN_PLANTS and MSRUN_FIRST_PLANT.
std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class PlantedDivergences : public ::testing::TestWithParam<Kind> {};

// tensors: folder with those that the dumps are made of; empty if they have none.
void write_ranks(const fs::path& folder, std::vector<Json> ranks, const std::string& tensors = "") {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const fs::path below = ranks.size() > 1 ? folder / ("rank" + std::to_string(r)) : folder;
    fs::create_directories(below);
    if (!tensors.empty()) write_tensors(ranks[r], tensors, below / "dump_tensor_data");
    std::ofstream(below / "dump.json") << ranks[r].dump();
  }
}

TEST_P(PlantedDivergences, AreNamedFirst) {
  const Kind& kind = GetParam();
  std::vector<Json> golden;
  for (int r = 0; r < kind.ranks; ++r) {
    const std::string rank = kind.ranks > 1 ? "/rank" + std::to_string(r) : "";
    golden.push_back(read_json(compare_data(kind.golden + rank + "/dump.json")));
  }
  const TemporaryDirectory scratch;
  const std::string tensors = kind.tensors ? compare_data(kind.golden + std::string("/dump_tensor_data")) : "";
  const std::string recorded = compare_data(kind.golden);
  int plants = 0;
  int right = 0;
  std::string wrong;
  const std::uint64_t first = number_in("MSRUN_FIRST_PLANT", 1000);
  const std::uint64_t count = number_in("MSRUN_PLANTS", 50);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Plant how;
    how.seed = seed;
    how.noise = kind.noise;
    how.inserted = seed % 5 == 1 || seed % 5 == 4;
    how.deleted = seed % 5 == 2;
    how.reordered = seed % 5 == 3;
    how.renamed = seed % 5 == 4;
    how.before_all_reduce = kind.ranks > 1 && seed % 2 == 0;
    if (kind.tensors) how.wrong = std::array{Wrong::scaled, Wrong::element, Wrong::order}[seed % 3];
    const Planted planted = plant(golden, how);
    fs::remove_all(scratch.path() / "target");
    write_ranks(scratch.path() / "target", planted.ranks, tensors);
    const Json found = divergence_of((scratch.path() / "target").string(), recorded);
    ++plants;
    if (found["verdict"] == "found" && found["first"]["call"] == planted.call &&
        found["first"]["rank"] == planted.rank) {
      ++right;
    } else {
      wrong += "\nseed " + std::to_string(seed) + ": rank " + std::to_string(planted.rank) + " " + planted.call +
               ", not " + (found["first"].is_null() ? found["verdict"].dump() : found["first"]["call"].dump());
    }
    how.fault = false;
    fs::remove_all(scratch.path() / "target");
    write_ranks(scratch.path() / "target", plant(golden, how).ranks, tensors);
    const Json sound = divergence_of((scratch.path() / "target").string(), recorded);
    EXPECT_EQ(sound["verdict"], "none") << "seed " << seed << sound["first"].dump();
  }
  EXPECT_GE(right, kind.least_right * plants) << wrong;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedDivergences,
                         ::testing::Values(Kind{"Float32Statistics", "01_stat_fp32/golden", 1, 2e-7, 1},
                                           Kind{"Bfloat16Statistics", "02_stat_bf16_backward/golden", 1, 4e-3, 0.95},
                                           Kind{"Checksums", "06_md5/golden", 1, 0, 1},
                                           Kind{"Tensors", "03_tensor_fp32/golden", 1, 2e-7, 1, true},
                                           Kind{"TwoRanks", "08_two_ranks/step0/golden", 2, 2e-7, 1},
                                           Kind{"Modules", "09_mix_modules/golden", 1, 2e-7, 1}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(OverflowCheck, NamesTheCallOfTheRecordings) {
  const Rows expected = read_csv(compare_data("expected_ours/overflow.csv"));
  for (std::size_t r = 1; r < expected.size(); ++r) {
    const std::vector<std::string>& row = expected[r];
    const TemporaryDirectory scratch;
    const Finished run =
        run_tool("overflow_check",
                 {"-i", compare_data("11_overflow/" + row[0] + "/step0"), "-o", (scratch.path() / "out").string()},
                 scratch.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    if (row[2].empty()) {
      EXPECT_EQ(run.out, "Cannot find any anomaly node, no need to generate analyze file.\n");
      continue;
    }
    EXPECT_THAT(run.out, HasSubstr("First NaN or infinity: rank " + row[1] + ", " + row[2])) << row[0];
    const std::string text = read_file(only_file(scratch.path() / "out", "anomaly_analyze_"));
    EXPECT_THAT(text, HasSubstr("\"op_name\": \"" + row[2] + "\"")) << row[0];
    EXPECT_EQ(text.find("\"source\": \"input\"") != std::string::npos, row[0] == "in_first_input") << row[0];
  }
}

// What overflow_check says of one of the recordings: the line on the console, and the document ("" without one).
std::pair<std::string, std::string> overflow_of(const std::string& name) {
  const TemporaryDirectory scratch;
  const Finished run = run_tool(
      "overflow_check", {"-i", compare_data("11_overflow/" + name + "/step0"), "-o", (scratch.path() / "out").string()},
      scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const fs::path file = fs::exists(scratch.path() / "out") ? only_file(scratch.path() / "out", "anomaly_analyze_") : "";
  return {run.out, file.empty() ? "" : read_file(file)};
}

TEST(OverflowCheckRepairs, B34aNodesOfARankAreNotLostWhereTwoGroupsCommunicate) {
  EXPECT_THAT(overflow_of("two_groups").first, HasSubstr("First NaN or infinity: rank 3, Torch.log.0.forward\n"));
}

TEST(OverflowCheckRepairs, B34bACallWhoseResultIsNotCommunicatedIsFound) {
  EXPECT_THAT(overflow_of("between_not_fed").first, HasSubstr("rank 1, Torch.log.0.forward\n"));
}

TEST(OverflowCheckRepairs, B34cNestedOutputsAreLookedAt) {
  EXPECT_THAT(overflow_of("nested_output").first, HasSubstr("rank 0, Torch.split.0.forward\n"));
}

TEST(OverflowCheckRepairs, B34dListsAmongPositionalArgumentsAreRead) {
  EXPECT_THAT(overflow_of("list_argument").first, HasSubstr("rank 0, Torch.add.0.forward\n"));
}

TEST(OverflowCheckRepairs, B34fNanOfTheDataNamesTheCallThatSeesIt) {
  const auto [line, document] = overflow_of("in_first_input");
  EXPECT_THAT(line, HasSubstr("rank 0, Torch.add.0.forward (already in its input)\n"));
  EXPECT_THAT(document, HasSubstr("\"source\": \"input\""));
}

// Two ranks that each compute, then hand one tensor from rank 0 to rank 1 as the arguments say, then compute.
std::vector<Json> hand_over(const Json& arguments) {
  const Json good = recorded_tensor(1, 1, 1, 2);
  Json bad = good;
  bad["Max"] = "inf";
  const auto call = [&](const Json& input, const Json& output) { return recorded_call({input}, {output}); };
  const auto communication = [&](const Json& tensor) {
    Json entry = call(tensor, tensor);
    entry["input_kwargs"] = arguments;
    return entry;
  };
  std::vector<Json> ranks;
  ranks.push_back(
      {{"task", "statistics"},
       {"framework", "mindspore"},
       {"data", {{"Torch.exp.0.forward", call(good, bad)}, {"Distributed.broadcast.0.forward", communication(bad)}}}});
  ranks.push_back({{"task", "statistics"},
                   {"framework", "mindspore"},
                   {"data",
                    {{"Torch.sin.0.forward", call(good, good)},
                     {"Distributed.broadcast.0.forward", communication(good)},
                     {"Torch.log.0.forward", call(good, bad)}}}});
  return ranks;
}

// B34e: ranks in group_src as in src; B34h: the layer of a connected call counts for what follows; B34i: stack.json and
// construct.json may be missing, and MindSpore is read like PyTorch.
TEST(OverflowCheckRepairs, B34eB34hB34iGroupRanksLayersAndMissingFiles) {
  for (const char* key : {"src", "group_src"}) {
    const TemporaryDirectory scratch;
    std::vector<Json> ranks = hand_over({{key, {{"type", "int"}, {"value", 0}}}});
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::string text = ranks[r].dump();
      for (std::size_t at = text.find("\"inf\""); at != std::string::npos; at = text.find("\"inf\"")) {
        text.replace(at, 5, "Infinity");
      }
      const fs::path folder = scratch.path() / "step0" / ("rank" + std::to_string(r));
      fs::create_directories(folder);
      std::ofstream(folder / "dump.json") << text;
    }
    const Finished run =
        run_tool("overflow_check", {"-i", (scratch.path() / "step0").string(), "-o", (scratch.path() / "out").string()},
                 scratch.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("First NaN or infinity: rank 0, Torch.exp.0.forward\n")) << key;
    EXPECT_EQ(run.out.find("Calls as early"), std::string::npos) << run.out;
  }
}

TEST(OverflowCheckRepairs, B34gFoldersWithoutRanksOrCallsAreErrors) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(run_tool("overflow_check", {"-i", scratch.path().string()}, scratch.path()).exit_code, 2);
  fs::create_directories(scratch.path() / "rank0");
  std::ofstream(scratch.path() / "rank0" / "dump.json") << R"({"task":"statistics","data":{}})";
  EXPECT_EQ(run_tool("overflow_check", {"-i", scratch.path().string()}, scratch.path()).exit_code, 2);
}

// What was not looked at may hold the first NaN.
TEST(OverflowCheck, NamesTheRanksThatWereNotSearched) {
  const TemporaryDirectory scratch;
  const Json sound = recorded_tensor(1, 1, 1, 2);
  Json nan = sound;
  nan["Max"] = "NaN";
  Json bare = sound;
  for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) bare.erase(statistic);
  const auto run = [&](const Json& first, const Json& second) {
    for (const auto& [rank, output] : {std::pair("rank0", &first), {"rank3", &second}}) {
      fs::create_directories(scratch.path() / rank);
      const Json data{{"Torch.exp.0.forward", recorded_call({*output == bare ? bare : sound}, {*output})}};
      std::ofstream(scratch.path() / rank / "dump.json")
          << Json{{"task", "statistics"}, {"framework", "pytorch"}, {"data", data}};
    }
    return run_tool("overflow_check", {"-i", scratch.path(), "-o", scratch.path() / "out"}, scratch.path());
  };
  EXPECT_THAT(run(sound, sound).out, HasSubstr("Cannot find any anomaly node, no need"));
  const Finished partly = run(sound, bare);
  EXPECT_EQ(partly.exit_code, 1);
  EXPECT_EQ(partly.out,
            "Cannot find any anomaly node in the ranks that could be searched.\n"
            "Not searched, for want of statistics: rank 3.\n");
  const Finished found = run(nan, bare);
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("First NaN or infinity: rank 0"));
  EXPECT_TRUE(found.out.ends_with("\nNot searched, for want of statistics: rank 3.\n")) << found.out;
}

TEST(OverflowCheck, RefusesFoldersWithoutCalls) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(run_tool("overflow_check", {"-i", scratch.path().string()}, scratch.path()).exit_code, 2);
  fs::create_directories(scratch.path() / "rank0");
  std::ofstream(scratch.path() / "rank0" / "dump.json") << R"({"task":"statistics","data":{}})";
  const Finished run = run_tool("overflow_check", {"-i", scratch.path().string()}, scratch.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("No APIs found"));
}

// The causal mask of a model has finite values whose sum, and sum of squares, float32 cannot hold. The recorder writes
// infinities as texts here, which the JSON library of the tests has no other way to write.
TEST(OverflowCheck, TakesNoSumThatOverflowedOverFiniteValuesForAnInfinity) {
  const TemporaryDirectory scratch;
  const Json sound = recorded_tensor(1, 1, 1, 2);
  const auto first_of = [&](const Json& full) {
    Json nan = sound;
    for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) nan[statistic] = "NaN";
    const Json data{{"Torch.full.0.forward", recorded_call({}, {full})},
                    {"Torch.triu.0.forward", recorded_call({full}, {full})},
                    {"Torch.exp.0.forward", recorded_call({sound}, {nan})}};
    fs::remove_all(scratch.path() / "step0");
    write_ranks(scratch.path() / "step0", {{{"task", "statistics"}, {"data", data}}});
    return run_tool("overflow_check", {"-i", (scratch.path() / "step0").string()}, scratch.path()).out;
  };
  const auto with = [](Json tensor, const Json& mean, const Json& norm) {
    tensor["Mean"] = mean;
    tensor["Norm"] = norm;
    return tensor;
  };
  constexpr double lowest = -3.4028234663852886e38;
  const Json mask = recorded_tensor(lowest, lowest, 0, 0, {64, 64});
  EXPECT_THAT(first_of(with(mask, "-Infinity", "Infinity")), HasSubstr("rank 0, Torch.exp.0.forward\n"));
  EXPECT_THAT(first_of(with(recorded_tensor(2e19, 0, 0, 0), 1e19, "Infinity")), HasSubstr("Torch.exp.0.forward\n"));
  // The norm of a float16 tensor is a float16.
  const Json half = recorded_tensor(60000, 60000, 0, 0, {2, 2}, "torch.float16");
  EXPECT_THAT(first_of(with(half, 60000, "Infinity")), HasSubstr("Torch.exp.0.forward\n"));
  // NaN comes from no sum of one sign, an infinity from no small values, nor one of the other sign.
  EXPECT_THAT(first_of(with(mask, "NaN", "Infinity")), HasSubstr("Torch.full.0.forward\n"));
  EXPECT_THAT(first_of(with(mask, "Infinity", "Infinity")), HasSubstr("Torch.full.0.forward\n"));
  EXPECT_THAT(first_of(with(sound, 1, "Infinity")), HasSubstr("Torch.full.0.forward\n"));
  EXPECT_THAT(first_of(with(sound, "Infinity", 2)), HasSubstr("Torch.full.0.forward\n"));
}

TEST(OverflowCheck, SaysWhatItCouldNotLookAt) {
  const TemporaryDirectory scratch;
  const Json sound = recorded_call({recorded_tensor(1, 1, 1, 2)}, {recorded_tensor(1, 1, 1, 2)});
  Json empty = sound;
  for (const char* key : {"input_args", "output"}) {
    for (const char* statistic : {"Max", "Min", "Mean", "Norm"}) empty[key][0][statistic] = nullptr;
  }
  const auto check = [&](const Json& first, const Json& second) {
    std::vector<Json> ranks;
    for (const Json& call : {first, second}) {
      ranks.push_back({{"task", "statistics"}, {"data", {{"Torch.exp.0.forward", call}}}});
    }
    fs::remove_all(scratch.path() / "step0");
    write_ranks(scratch.path() / "step0", ranks);
    return run_tool("overflow_check", {"-i", (scratch.path() / "step0").string()}, scratch.path());
  };
  for (const Json& blank : {empty, Json("text")}) {
    const Finished some = check(sound, blank);
    EXPECT_EQ(some.exit_code, 1) << some.err;
    EXPECT_THAT(some.err, HasSubstr("rank 1: nothing could be looked at"));
    EXPECT_THAT(some.out, HasSubstr("Not searched, for want of statistics: rank 1.\n"));
    const Finished none = check(blank, blank);
    EXPECT_EQ(none.exit_code, 1) << none.err;
    EXPECT_THAT(none.out, HasSubstr("Nothing could be looked at"));
  }
  EXPECT_THAT(check(sound, "text").err, HasSubstr("rank 1: 1 entries are no objects"));
}

}  // namespace
}  // namespace msrun::testing
