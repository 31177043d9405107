// The plan made from small dumps: pairing, names, filters, order, bad entries. One test a rule of
// planning, hence longer than other files.
#include "orchestrator/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "kernels/api/call_codec.h"
#include "kernels/base/error.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    options_.refusal = [](const Dialect& /*dialect*/, const std::string& name) {
      return Refusal{name.starts_with("Distributed.") ? "API " + name + " not support for acc_check. SKIP." : ""};
    };
  }

  Plan plan(const std::string& data) {
    const std::filesystem::path path = directory_ / "dump.json";
    std::ofstream(path) << R"({"framework":"pytorch","dump_data_dir":null,"data":)" << data << "}";
    return Plan::read(path.string(), options_);
  }

  static std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> result;
    for (std::uint32_t task = 0; task < plan.size(); ++task) result.emplace_back(plan.view().name(task));
    return result;
  }

  static std::string tensor(const std::string& shape, double max = 1, double mean = 0.5) {
    return R"({"type":"torch.Tensor","dtype":"torch.float32","shape":)" + shape + R"(,"Max":)" + std::to_string(max) +
           R"(,"Min":0,"Mean":)" + std::to_string(mean) + R"(,"Norm":1,"requires_grad":true})";
  }
  static std::string forward(const std::string& args) {
    return R"({"input_args":[)" + args + R"(],"input_kwargs":{},"output":[]})";
  }
  static std::string backward(const std::string& grads) { return R"({"input":[)" + grads + R"(],"output":[]})"; }

  testing::TemporaryDirectory directory_;
  PlanOptions options_;
};

TEST_F(PlanTest, DirectionIsTheLastSegment) {
  const Plan result = plan(R"({"Functional.multi_head_attention_forward.0.forward":)" + forward(tensor("[2]")) +
                           R"(,"Functional.multi_head_attention_forward.0.backward":)" + backward(tensor("[2]")) +
                           R"(,"Torch.forward_x.0.backward":)" + backward(tensor("[2]")) + R"(,"Torch.a.0.fwd":{}})");
  EXPECT_THAT(names(result), ElementsAre("Functional.multi_head_attention_forward.0"));
  EXPECT_GT(result.view().tasks[0].grad_size, 0U);
  EXPECT_THAT(result.warnings(),
              ElementsAre(HasSubstr("Torch.a.0.fwd"), HasSubstr("the first is 'Torch.forward_x.0'")));
}

TEST_F(PlanTest, OfAnotherFrameworkIsRefused) {
  const auto refusal = [&](const std::string& text) -> std::string {
    const std::filesystem::path path = directory_ / "dump.json";
    std::ofstream(path) << text;
    try {
      Plan::read(path.string(), options_);
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal(R"({"data":{},"framework":"Jax"})"),
              HasSubstr("dump.json: Unsupported framework in api_info: jax"));
  EXPECT_EQ(refusal(R"({"framework":"PyTorch","data":{}})"), "");
  EXPECT_EQ(refusal(R"({"framework":"pytorch","data":{},"framework":"pt"})"), "");
  EXPECT_EQ(refusal(R"({"framework":"pt","data":{}})"), "");
  EXPECT_EQ(refusal(R"({"data":{}})"), "");
}

TEST_F(PlanTest, TensorsTellTheFrameworkOfOldDumps) {
  const std::filesystem::path path = directory_ / "dump.json";
  const std::string entry = R"({"input_args":[{"type":"mindspore.Tensor","dtype":"Float32","shape":[2]}]})";
  std::ofstream(path) << R"({"task":"statistics","data":{"Mint.add.0.forward":)" << entry << "}}";
  const Plan plan = Plan::read(path.string(), options_);
  EXPECT_EQ(&plan.dialect(), &mindspore_dialect());
  ASSERT_EQ(plan.warnings().size(), 1U);
  EXPECT_THAT(plan.warnings()[0], HasSubstr("JSON parsing error in framework field:"));
  // Where not even these tell it, the user may.
  std::ofstream(path) << R"({"task":"statistics","data":{}})";
  options_.framework = "mindspore";
  EXPECT_EQ(&Plan::read(path.string(), options_).dialect(), &mindspore_dialect());
}

TEST_F(PlanTest, MindSporeCallsStandWhereTheirFirstEntryDoes) {
  const std::filesystem::path path = directory_ / "dump.json";
  std::ofstream(path) << R"({"framework":"mindspore","task":"statistics","data":{"Mint.exp.0.backward":)" +
                             backward("") + R"(,"Mint.sin.0.forward":)" + forward("") + R"(,"Mint.exp.0.forward":)" +
                             forward("") + R"(,"Mint.cos.0.backward":)" + backward("") + R"(,"Cell.a.forward.0":{}}})";
  const Plan result = Plan::read(path.string(), options_);
  EXPECT_THAT(names(result), ElementsAre("Mint.exp.0", "Mint.sin.0", "Mint.cos.0"));
  EXPECT_FALSE(result.view().tasks[0].lone_backward);
  EXPECT_GT(result.view().tasks[0].grad_size, 0U);
  EXPECT_TRUE(result.view().tasks[2].lone_backward);
  EXPECT_THAT(std::string(result.view().skip_reason(2)), HasSubstr("input is not a dict"));
  EXPECT_EQ(result.contents().calls, 3U);
  EXPECT_TRUE(result.warnings().empty());
  EXPECT_EQ(result.contents().left_out_by_type.at("Cell"), 1U);
}

TEST_F(PlanTest, BackwardMayComeFirst) {
  const Plan result = plan(R"({"Torch.exp.0.backward":)" + backward(tensor("[4]")) + R"(,"Torch.exp.0.forward":)" +
                           forward(tensor("[4]")) + R"(,"Torch.exp.1.forward":)" + forward(tensor("[4]")) + "}");
  EXPECT_THAT(names(result), ElementsAre("Torch.exp.0", "Torch.exp.1"));
  EXPECT_GT(result.view().tasks[0].grad_size, 0U);
  EXPECT_EQ(result.view().tasks[1].grad_size, 0U);
}

TEST_F(PlanTest, LaterDuplicateWinsAtTheFirstPosition) {
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.sin.0.forward":)" +
                           forward(tensor("[4]")) + R"(,"Torch.exp.0.forward":)" + forward(tensor("[7]")) + "}");
  EXPECT_THAT(names(result), ElementsAre("Torch.exp.0", "Torch.sin.0"));
  const ApiCall call = decode_call(result.view().call(0));
  EXPECT_THAT((*call.args.at(0).get<std::shared_ptr<const TensorSpec>>())->shape, ElementsAre(7));
  ASSERT_EQ(result.warnings().size(), 1U);
  EXPECT_THAT(result.warnings()[0],
              HasSubstr("occur again, the later in place of the earlier: 1; the first is 'Torch.exp.0'"));
}

TEST_F(PlanTest, ALaterBackwardWinsAsWell) {
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.exp.0.backward":)" +
                           backward(tensor("[4]")) + R"(,"Torch.exp.0.backward":)" + backward(tensor("[7]")) + "}");
  EXPECT_THAT(result.warnings(), ElementsAre(HasSubstr("in place of the earlier: 1; the first is 'Torch.exp.0'")));
}

TEST_F(PlanTest, BackwardsWithoutAForwardAreTold) {
  const std::string entries = R"({"Torch.sin.1.backward":)" + backward(tensor("[4]")) + R"(,"Torch.exp.0.forward":)" +
                              forward(tensor("[4]")) + R"(,"Torch.cos.0.backward":)" + backward(tensor("[4]")) +
                              R"(,"Torch.exp.0.backward":)" + backward(tensor("[4]")) +
                              R"(,"Torch.\u0001.0.forward":)" + forward(tensor("[4]")) +
                              R"(,"Torch.\u0001.0.backward":)" + backward(tensor("[4]")) + "}";
  const Plan all = plan(entries);
  EXPECT_THAT(all.warnings(), ElementsAre(AllOf(HasSubstr("Backward entries that have no forward entry in "),
                                                HasSubstr(" and are left out: 2; the first is 'Torch.sin.1'"))));
  options_.except = {"Torch.sin.*"};
  EXPECT_THAT(plan(entries).warnings(), ElementsAre(HasSubstr("left out: 1; the first is 'Torch.cos.0'")));
  options_.except = {};
  options_.only = {"Torch.exp.0", "Torch.cos.0"};
  const Plan some = plan(entries);
  EXPECT_THAT(some.warnings(), ElementsAre(HasSubstr("left out: 1; the first is 'Torch.cos.0'")));
  EXPECT_THAT(some.unmet_patterns(), ElementsAre(HasSubstr("no call matches Torch.cos.0")));
  options_.only = {"Torch.exp.0"};
  EXPECT_THAT(plan(entries).warnings(), IsEmpty());
}

TEST_F(PlanTest, ExtremaThatAreNoNumbersAreTold) {
  const auto with = [&](const std::string& max, const std::string& more) {
    return forward(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[4],"Min":0,"Max":)" + max + more + "}");
  };
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + with("1", "") + R"(,"Torch.exp.1.forward":)" +
                           with("Infinity", "") + R"(,"Torch.exp.2.forward":)" + with("NaN", "") +
                           R"(,"Torch.exp.3.forward":)" + with("Infinity", R"(,"Max_except_inf_nan":2)") +
                           R"(,"Torch.exp.4.forward":)" + with("Infinity", R"(,"data_name":"a.pt")") + "}");
  EXPECT_THAT(result.warnings(), ElementsAre(HasSubstr("NaN or infinite: 2; the first is 'Torch.exp.1'")));
}

TEST_F(PlanTest, BadEntriesAndUnsupportedTypesAreSkippedWithAReason) {
  const Plan result =
      plan(R"({"Distributed.all_reduce.0.forward":)" + forward(tensor("[2]")) +
           R"(,"Torch.exp.0.forward":{"input_args":7},"Torch.sin.0.forward":)" + forward(tensor("[2]")) + "}");
  EXPECT_EQ(result.view().skip_reason(0), "API Distributed.all_reduce.0 not support for acc_check. SKIP.");
  EXPECT_THAT(std::string(result.view().skip_reason(1)), HasSubstr("input_args"));
  EXPECT_EQ(result.view().skip_reason(2), "");
  EXPECT_THAT(result.order(std::vector<bool>(3), false), ElementsAre(2U));
}

TEST_F(PlanTest, FormulaNamesStopTheRun) {
  for (const char* name : {"=a", "a;=b", "+x", "-x", "@a", "\\uff1da"}) {
    const std::string data = std::string(R"({")") + name + R"(.0.forward":)" + forward(tensor("[2]")) + "}";
    EXPECT_THROW(plan(data), UserError) << name;
  }
  EXPECT_EQ(
      plan(R"({"a-b.c.0.forward":)" + forward(tensor("[2]")) + R"(,"a;b.c.0.forward":)" + forward(tensor("[2]")) + "}")
          .size(),
      2U);
}

TEST_F(PlanTest, OrderIsByFallingCostOrByDump) {
  const Plan result =
      plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.exp.1.forward":)" +
           forward(tensor("[4000,4000]")) + R"(,"Torch.exp.2.forward":)" + forward(tensor("[400]")) + "}");
  EXPECT_THAT(result.order(std::vector<bool>(3), false), ElementsAre(1U, 2U, 0U));
  EXPECT_THAT(result.order(std::vector<bool>(3), true), ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(result.order({true, false, true}, false), ElementsAre(1U));
  EXPECT_GT(result.view().tasks[1].memory, 16'000'000U * 4);
}

TEST_F(PlanTest, OnlySelectsByPattern) {
  options_.only = {"Torch.s*.0"};
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.sin.0.forward":)" +
                           forward(tensor("[4]")) + R"(,"Torch.sin.1.forward":)" + forward(tensor("[4]")) + "}");
  EXPECT_THAT(names(result), ElementsAre("Torch.sin.0"));
}

TEST_F(PlanTest, FilterDropsRepeatedCalls) {
  options_.filter_duplicates = true;
  const std::string data = R"({"Torch.add.0.forward":)" + forward(tensor("[4]", 1)) + R"(,"Torch.add.1.forward":)" +
                           forward(tensor("[4]", 2)) + R"(,"Torch.add.2.forward":)" + forward(tensor("[4]", 1, 0.25)) +
                           R"(,"Torch.cat.0.forward":)" + forward("[" + tensor("[4]") + "]") +
                           R"(,"Torch.cat.1.forward":)" + forward("[" + tensor("[4]") + "," + tensor("[4]") + "]") +
                           "}";
  const Plan intent = plan(data);
  EXPECT_THAT(names(intent), ElementsAre("Torch.add.0", "Torch.cat.0", "Torch.cat.1"));
  ASSERT_EQ(intent.repeated().size(), 1U);
  EXPECT_EQ(intent.repeated()[0].kept, "Torch.add.0");
  EXPECT_THAT(intent.repeated()[0].left_out, ElementsAre("Torch.add.1", "Torch.add.2"));
  // msProbe's rule: the mean still counts, nested lists do not (measured, acc_check_pytorch.md 5.5).
  options_.filter_compat = true;
  EXPECT_THAT(names(plan(data)), ElementsAre("Torch.add.0", "Torch.add.2", "Torch.cat.0"));
}

// msProbe compares what was recorded: every object that is an argument itself counts, whatever becomes of it here, and
// of tensors also the checksum. A plain list does not.
TEST_F(PlanTest, FilterOfMsProbeComparesWhatWasRecorded) {
  options_.filter_duplicates = true;
  options_.filter_compat = true;
  const auto two = [&](const std::string& first, const std::string& second) {
    return names(plan(R"({"Tensor.view.0.forward":)" + forward(first) + R"(,"Tensor.view.1.forward":)" +
                      forward(second) + "}"))
        .size();
  };
  const auto size = [](const char* value) { return tensor("[4]") + R"(,{"type":"torch.Size","value":)" + value + "}"; };
  EXPECT_EQ(two(size("[2,2]"), size("[4,1]")), 2U);
  EXPECT_EQ(two(size("[2,2]"), size("[2,2]")), 1U);
  const auto format = [](const char* value) {
    return tensor("[4]") + R"(,{"type":"torch.memory_format","format":")" + value + R"("})";
  };
  EXPECT_EQ(two(format("torch.channels_last"), format("torch.contiguous_format")), 2U);
  EXPECT_EQ(two(tensor("[4]") + R"(,{"type":"NoneType"})", tensor("[4]")), 2U);
  EXPECT_EQ(two(tensor("[4]") + ",null", tensor("[4]")), 1U);
  EXPECT_EQ(two(tensor("[4]") + ",[2,2]", tensor("[4]") + ",[4,1]"), 1U);
  const auto hashed = [](const char* md5) {
    return std::string(R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[4],"md5":")") + md5 + R"("})";
  };
  EXPECT_EQ(two(hashed("6d3c0b0f"), hashed("11111111")), 2U);
  EXPECT_EQ(two(R"({"type":"int","value":1})", R"({"value":1.0,"type":"int"})"), 1U) << "as Python compares them";
}

// The statistics of gradients are no difference either; msProbe's rule does not look at gradients at all.
TEST_F(PlanTest, FilterComparesGradientsWithoutStatistics) {
  options_.filter_duplicates = true;
  const auto entry = [](const std::string& name, const std::string& gradient) {
    return "\"" + name + R"(.forward":)" + forward(tensor("[4]")) + ",\"" + name + R"(.backward":)" +
           backward(gradient);
  };
  const std::string data = "{" + entry("Torch.exp.0", tensor("[4]", 1, 0.5)) + "," +
                           entry("Torch.exp.1", tensor("[4]", 2, 0.25)) + "," + entry("Torch.exp.2", tensor("[4,1]")) +
                           R"(,"Torch.exp.3.forward":)" + forward(tensor("[4]")) + "}";
  EXPECT_THAT(names(plan(data)), ElementsAre("Torch.exp.0", "Torch.exp.2", "Torch.exp.3"));
  options_.filter_compat = true;
  EXPECT_THAT(names(plan(data)), ElementsAre("Torch.exp.0"));
}

// Counted by a reading of the rules that shares no code with msrun's (acc_check_pytorch.md 5.5 and DEV-7).
TEST_F(PlanTest, FilterLeavesOutOfSampleRecordingsWhatTheRulesSay) {
  struct Sample {
    const char* name;
    std::size_t repeated;
    std::size_t repeated_for_compat;
  };
  constexpr auto samples = std::to_array<Sample>({{"cnn_fp32", 26, 10},
                                                  {"llama_bf16", 52, 1},
                                                  {"llama_bf16_mix", 53, 1},
                                                  {"llama_bf16_tensor", 0, 0},
                                                  {"llama_fp32", 80, 5},
                                                  {"moe_bf16", 21, 10},
                                                  {"unet_fp32", 19, 2},
                                                  {"vit_fp32", 36, 0},
                                                  {"zoo_stat", 2, 1}});
  options_.refusal = [](const Dialect& /*dialect*/, const std::string& /*name*/) { return Refusal{}; };
  options_.filter_duplicates = true;
  for (const bool compat : {false, true}) {
    options_.filter_compat = compat;
    for (const Sample& sample : samples) {
      const Plan result = Plan::read(testing::test_data("/dumps/") + sample.name + "/dump.json", options_);
      std::size_t left_out = 0;
      for (const RepeatedCall& call : result.repeated()) left_out += call.left_out.size();
      EXPECT_EQ(left_out, compat ? sample.repeated_for_compat : sample.repeated) << sample.name << compat;
      EXPECT_EQ(result.size() + left_out, result.contents().calls) << sample.name;
    }
  }
}

TEST_F(PlanTest, WarnsOfGradientsThatTensorsCannotHave) {
  const auto flagged = [](const char* dtype) {
    return R"({"type":"torch.Tensor","dtype":")" + std::string(dtype) +
           R"(","shape":[4],"Max":1,"Min":0,"requires_grad":true})";
  };
  const auto recording = [&](const char* dtype) {
    return R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.abs.0.forward":)" +
           forward(flagged(dtype)) + "}";
  };
  EXPECT_THAT(plan(recording("torch.int64")).warnings(),
              ElementsAre(::testing::HasSubstr("with requires_grad on tensors that are not floating, which is not "
                                               "heeded: 1; the first is 'Torch.abs.0'.")));
  EXPECT_THAT(plan(recording("torch.bfloat16")).warnings(), ::testing::IsEmpty());
}

TEST_F(PlanTest, TellsWhatTheRecordingHolds) {
  const std::string module = R"("Module.fc.Linear.forward.0":)" + forward(tensor("[4]"));
  const Plan modules = plan("{" + module + "}");
  EXPECT_EQ(modules.contents().entries, 1U);
  EXPECT_EQ(modules.contents().modules, 1U);
  EXPECT_EQ(modules.contents().calls, 0U);
  options_.only = {"Torch.sin.*"};
  const Plan mixed = plan("{" + module + R"(,"Torch.exp.0.forward":)" + forward(tensor("[4]")) + "}");
  EXPECT_EQ(mixed.contents().calls, 1U);
  EXPECT_EQ(mixed.size(), 0U);
  EXPECT_FALSE(mixed.contents().only_checksums);
  options_.only = {};
  const std::string checksum =
      R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[4],"requires_grad":true,"md5":"6d3c0b0f"})";
  EXPECT_TRUE(plan(R"({"Torch.exp.0.forward":)" + forward(checksum) + "}").contents().only_checksums);
  // Of a tensor of one number some recorders write that in place of a sum.
  const std::string loss = R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[],"md5":2.75})";
  EXPECT_TRUE(plan(R"({"Torch.exp.0.forward":)" + forward(loss) + "}").contents().only_checksums);
  EXPECT_FALSE(
      plan(R"({"Torch.exp.0.forward":)" + forward(checksum + "," + tensor("[4]")) + "}").contents().only_checksums);
  EXPECT_FALSE(
      plan(R"({"Torch.arange.0.forward":)" + forward(R"({"type":"int","value":4})") + "}").contents().only_checksums);
}

// Whether calls overflowed was recorded, and no values of tensors: what has none is checked all the same.
TEST_F(PlanTest, RefusesWhatWasRecordedWithoutValues) {
  const std::string bare = R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[4],"requires_grad":true})";
  const std::string data = R"({"Torch.exp.0.forward":)" + forward(bare) + R"(,"Torch.arange.0.forward":)" +
                           forward(R"({"type":"int","value":4})") + "}";
  const auto read = [&](const std::string& task) {
    const std::filesystem::path path = directory_ / "dump.json";
    std::ofstream(path) << R"({"data":)" << data << R"(,"task":")" << task << R"("})";
    return Plan::read(path.string(), options_);
  };
  const Plan flags = read("nan_check");
  EXPECT_THAT(flags.view().skip_reason(0), ::testing::HasSubstr("The task nan_check records no values"));
  EXPECT_FALSE(flags.view().tasks[0].skip_by_rule);
  EXPECT_EQ(flags.view().skip_reason(1), "");
  EXPECT_THAT(flags.warnings(), ElementsAre(::testing::HasSubstr("1 calls are not checkable")));
  EXPECT_EQ(read("statistics").view().skip_reason(0), "");
  options_.upstream_errors = true;
  EXPECT_EQ(read("nan_check").view().skip_reason(0), "");
}

// What results have is recorded, however they are nested, and is no part of the fingerprint.
TEST_F(PlanTest, KeepsTheFormsOfResults) {
  const auto with_output = [&](const std::string& output) {
    return plan(R"({"Torch.exp.0.forward":{"input_args":[)" + tensor("[4]") + R"(],"input_kwargs":{},"output":)" +
                output + "}}");
  };
  const std::string inner = R"({"type":"torch.Tensor","dtype":"torch.int64","shape":[],"Max":1,"Min":1})";
  const Plan nested = with_output("[" + tensor("[2,3]") + ",[null," + inner + R"(],{"key":)" + inner +
                                  R"(},{"type":"int","value":3}])");
  std::string_view encoded = nested.view().output_forms(0);
  const Value decoded = decode_value(encoded);
  const List& forms = *decoded.get<List>();
  ASSERT_EQ(forms.size(), 5U);
  EXPECT_EQ(recorded_tensor(forms, 0)->dtype, "torch.float32");
  EXPECT_EQ(recorded_tensor(forms, 0)->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(forms[1].is_none());
  EXPECT_EQ(recorded_tensor(forms, 2)->dtype, "torch.int64");
  EXPECT_NE(recorded_tensor(forms, 3), nullptr);
  EXPECT_TRUE(forms[4].is_none());
  EXPECT_EQ(with_output("[" + tensor("[7]") + "]").fingerprint(), with_output("[" + tensor("[4]") + "]").fingerprint());
  EXPECT_EQ(with_output("null").view().output_forms(0), "");
  EXPECT_EQ(with_output(R"([{"dtype":"torch.float32","shape":[2,"x"]}])").view().output_forms(0), "");
}

TEST_F(PlanTest, FingerprintIsOfTheContent) {
  const std::string data = R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + "}";
  const std::uint64_t first = plan(data).fingerprint();
  EXPECT_EQ(plan(data).fingerprint(), first);
  EXPECT_NE(plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[5]")) + "}").fingerprint(), first);
}

TEST_F(PlanTest, StreamWordsFollowTheDump) {
  options_.stream_words = true;
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.exp.0.backward":)" +
                           backward(tensor("[4]")) + R"(,"Torch.exp.1.forward":)" + forward(tensor("[3]")) +
                           R"(,"Torch.exp.2.forward":)" + forward(tensor("[3]")) + "}");
  EXPECT_EQ(result.view().tasks[0].stream_word, 0U);
  EXPECT_EQ(result.view().tasks[1].stream_word, 8U);
  EXPECT_EQ(result.view().tasks[2].stream_word, 11U);
}

// The two files of the older tool.
class AttPlanTest : public PlanTest {
 protected:
  std::string write(const char* name, const std::string& text) const {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  Plan plan_pair(const std::string& forward, const std::string& backward) const {
    return Plan::read_att(write("forward_info_7.json", forward),
                          backward.empty() ? "" : write("backward_info_7.json", backward), options_);
  }
  std::string refusal(const std::string& forward, const std::string& backward) const {
    try {
      plan_pair(forward, backward);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  }
  static std::string call(const std::string& args) { return R"({"args":[)" + args + R"(],"kwargs":{}})"; }
};

TEST_F(AttPlanTest, PairsByNameInTheOrderOfTheForwardFile) {
  const Plan result =
      plan_pair(R"({"Torch*exp*0":)" + call(tensor("[4]")) + R"(,"Tensor*__add__*3":)" + call(tensor("[2]")) +
                    R"(,"Functional_conv2d_1_forward":)" + call(tensor("[2]")) + R"(,"Torch.linalg.norm.0":)" +
                    call(tensor("[2]")) + "}",
                R"({"Functional_conv2d_1_backward":[)" + tensor("[2]") + R"(],"Torch*exp*0":[)" + tensor("[4]") + "]}");
  EXPECT_THAT(names(result),
              ElementsAre("Torch.exp.0", "Tensor.__add__.3", "Functional.conv2d.1", "Torch.linalg.norm.0"));
  EXPECT_GT(result.view().tasks[0].grad_size, 0U);
  EXPECT_EQ(result.view().tasks[1].grad_size, 0U);
  EXPECT_GT(result.view().tasks[2].grad_size, 0U);
  EXPECT_THAT(result.warnings(), ::testing::IsEmpty());
  EXPECT_FALSE(result.real_data());
}

TEST_F(AttPlanTest, IsThePlanOfTheSameDump) {
  const Plan old_form =
      plan_pair(R"({"Torch*exp*0":)" + call(tensor("[4]")) + "}", R"({"Torch*exp*0":[)" + tensor("[4]") + "]}");
  const Plan dump = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.exp.0.backward":)" +
                         backward(tensor("[4]")) + "}");
  EXPECT_EQ(old_form.fingerprint(), dump.fingerprint());
  const Plan forward_alone = plan_pair(R"({"Torch*exp*0":)" + call(tensor("[4]")) + "}", "");
  EXPECT_EQ(forward_alone.size(), 1U);
  EXPECT_NE(forward_alone.fingerprint(), dump.fingerprint());
}

TEST_F(AttPlanTest, FiltersAndListsApply) {
  options_.only = {"Torch.*"};
  const Plan result =
      plan_pair(R"({"Torch*exp*0":)" + call(tensor("[4]")) + R"(,"Tensor*add*0":)" + call(tensor("[4]")) + "}",
                R"({"Tensor*add*0":[)" + tensor("[4]") + "]}");
  EXPECT_THAT(names(result), ElementsAre("Torch.exp.0"));
  // What --only leaves out is in the forward file all the same.
  EXPECT_THAT(result.warnings(), ::testing::IsEmpty());
}

TEST_F(AttPlanTest, EntriesWithoutPartnerAreNamed) {
  const Plan result = plan_pair(R"({"Torch*exp*0":)" + call(tensor("[4]")) + "}",
                                R"({"Torch*exp*0":[)" + tensor("[4]") + R"(],"Torch*sin*5":[)" + tensor("[4]") + "]}");
  ASSERT_EQ(result.warnings().size(), 1U);
  EXPECT_THAT(result.warnings()[0], HasSubstr("left out: 1;"));
  EXPECT_THAT(result.warnings()[0], HasSubstr("have no forward entry in "));
  EXPECT_THAT(result.warnings()[0], HasSubstr("forward_info_7.json"));
  EXPECT_THAT(result.warnings()[0], HasSubstr("'Torch.sin.5'"));
}

TEST_F(AttPlanTest, FilesThatAreNoPairAreRefused) {
  const std::string good_forward = R"({"Torch*exp*0":)" + call(tensor("[4]")) + "}";
  const std::string good_backward = R"({"Torch*exp*0":[)" + tensor("[4]") + "]}";
  const std::string other_backward = R"({"Torch*sin*1":[)" + tensor("[4]") + "]}";
  EXPECT_EQ(refusal(good_forward, good_backward), "accepted");
  const std::string mixed_up = refusal(good_backward, good_forward);
  EXPECT_THAT(mixed_up, HasSubstr("forward_info_7.json: entry 'Torch.exp.0' is no object with args and kwargs"));
  EXPECT_THAT(refusal(good_forward, good_forward),
              HasSubstr("backward_info_7.json: entry 'Torch.exp.0' is no list of gradients"));
  const std::string mismatch = refusal(good_forward, other_backward);
  EXPECT_THAT(mismatch, HasSubstr("backward_info_7.json: entry 'Torch.sin.1'"));
  EXPECT_THAT(mismatch, HasSubstr("forward_info_7.json"));
  EXPECT_THAT(refusal(R"({"task":"statistics","data":{}})", ""), HasSubstr("entry 'task'"));
  EXPECT_THAT(refusal(good_forward, "[1"), HasSubstr("backward_info_7.json"));
}

TEST_F(AttPlanTest, FilesOfTensorsTakeNoRandomNumbers) {
  options_.stream_words = true;
  const std::string file = R"({"type":"torch.Tensor","datapath":"forward_real_data/x.pt","requires_grad":true})";
  const Plan result =
      plan_pair(R"({"Torch*exp*0":)" + call(file + "," + tensor("[4]")) + R"(,"Torch*exp*1":)" + call(file) + "}", "");
  EXPECT_TRUE(result.real_data());
  EXPECT_EQ(result.view().tasks[1].stream_word, 4U);
}

TEST_F(PlanTest, ForwardOnlyLeavesTheBackwardOut) {
  options_.forward_only = true;
  const Plan result = plan(R"({"Torch.exp.0.forward":)" + forward(tensor("[4]")) + R"(,"Torch.exp.0.backward":)" +
                           backward(tensor("[4]")) + "}");
  EXPECT_EQ(result.view().tasks[0].grad_size, 0U);
}

}  // namespace
}  // namespace msrun
