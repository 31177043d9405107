// Every fault of the simulated device shows in a run of a sample recording as changed outputs, the same ones on any
// number of threads, and what computing a call again can tell is told.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runner/device/sim/faults.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Faults : public Untouched {
 protected:
  struct Row {
    std::vector<std::string> metrics;
    std::string message;
  };
  using RowsByName = std::map<std::string, Row>;

  RowsByName rows_of(const std::string& recording, const std::vector<std::string>& more,
                     const std::string& threads = "2") {
    const fs::path directory = scratch_ / ("run" + std::to_string(++runs_));
    std::vector<std::string> words{"-api_info", dump(recording), "-n", threads, "--backend", "sim", "-o", directory};
    words.insert(words.end(), more.begin(), more.end());
    const Finished run = msrun(words, scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    RowsByName rows;
    const Rows text = read_csv(only_file(directory, "accuracy_checking_details_"));
    for (std::size_t i = 1; i < text.size(); ++i) {
      const auto& row = text[i];
      rows[row.at(0)] = {{row.begin() + 4, row.begin() + 22}, row.at(22)};
    }
    return rows;
  }

  // Rows whose metrics or Status a fault changes, those of them that rounding does not explain, and of these those
  // whose Message holds the reason.
  struct Found {
    int changed = 0;
    int suspicious = 0;
    int named = 0;
    std::vector<std::string> names;
  };
  static Found compare(const RowsByName& clean, const RowsByName& faulty, const std::string& reason = "") {
    Found found;
    for (const auto& [name, row] : faulty) {
      if (row.metrics == clean.at(name).metrics) continue;
      ++found.changed;
      found.names.push_back(name);
      if (row.message.find("Not explained by rounding") == std::string::npos) continue;
      ++found.suspicious;
      if (!reason.empty() && row.message.find(reason) != std::string::npos) ++found.named;
    }
    return found;
  }

  void expect_every_one_to_change(const std::string& recording) {
    // Two of a kind, for faults that show in a later call: accusing a call takes as long as thirty evaluations of it.
    const std::vector<std::string> some{"--only",
                                        "Torch.matmul.[01],Functional.linear.0,Functional.softmax.0,Torch.rsqrt.[01]"};
    const RowsByName clean = rows_of(recording, some);
    ASSERT_FALSE(clean.empty());
    for (const SimFaultKind& kind : sim_fault_kinds()) {
      if (kind.kind >= SimFault::Kind::slow || kind.kind == SimFault::Kind::flush_subnormals) continue;
      // A half type has no float32 operands that could be rounded.
      if (kind.kind == SimFault::Kind::hf32_inputs && recording == "llama_bf16") continue;
      const std::string parameter = kind.kind == SimFault::Kind::scaled            ? "=1.01"
                                    : kind.kind == SimFault::Kind::wrong_core      ? "=2/8"
                                    : kind.kind == SimFault::Kind::wrong_on_device ? "=0"
                                                                                   : "";
      std::vector<std::string> words = some;
      words.insert(words.end(), {"--sim-fault", "*=" + std::string(kind.name) + parameter});
      const Found found = compare(clean, rows_of(recording, words));
      EXPECT_GT(found.changed, 0) << recording << " " << kind.name;
      for (const std::string& name : found.names) {
        const bool is_gradient = name.find(".backward.") != std::string::npos;
        EXPECT_TRUE(is_gradient || kind.reach != FaultReach::first_float_gradient) << kind.name << " " << name;
      }
    }
  }

 private:
  int runs_ = 0;
};

TEST_F(Faults, EveryOneThatEndsChangesOutputsInFloat32) { expect_every_one_to_change("llama_fp32"); }

TEST_F(Faults, EveryOneThatEndsChangesOutputsInBfloat16) { expect_every_one_to_change("llama_bf16"); }

TEST_F(Faults, ThreadsChangeNothing) {
  std::vector<std::string> words;
  const std::vector<std::string> faults{"Torch.matmul.*=stale",
                                        "Functional.linear.0=missing-gradient-term",
                                        "Functional.linear.1=uninitialised",
                                        "Functional.silu.*=acc-bf16",
                                        "Tensor.__mul__.*=wrong-core=3/7",
                                        "Functional.softmax.*=dropped-term",
                                        "Torch.rsqrt.*=round-to-zero",
                                        "Tensor.mean.*=round-to-zero"};
  for (const std::string& fault : faults) words.insert(words.end(), {"--sim-fault", fault});
  const auto on = [&](const std::string& threads) { return rows_of("llama_bf16", words, threads); };
  const RowsByName one = on("1");
  EXPECT_GT(compare(rows_of("llama_bf16", {}), one).changed, 10);
  EXPECT_EQ(compare(one, on("4")).changed, 0);
}

TEST_F(Faults, OfArithmeticAreNamedAfterComputingTheCallAgain) {
  const RowsByName clean = rows_of("llama_fp32", {});
  for (const auto& [fault, reason] : std::map<std::string, std::string>{
           {"acc-bf16", "Errors are those of bfloat16 accumulation: computed so, the call gives this result."},
           {"dropped-term", "One of K products is missing: computed without the last, the call gives this result."}}) {
    const Found found = compare(clean, rows_of("llama_fp32", {"--sim-fault", "*=" + fault}), reason);
    EXPECT_GE(found.suspicious, 30) << fault;
    EXPECT_GE(10 * found.named, 9 * found.suspicious) << fault;
  }
}

TEST_F(Faults, AreListed) {
  const Finished text = msrun({"--list-faults"}, scratch_.path());
  const json listed = json::parse(msrun({"--list-faults", "--json"}, scratch_.path()).out);
  std::size_t place = 0;
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    EXPECT_THAT(text.out, HasSubstr("\n  " + std::string(kind.name)));
    EXPECT_EQ(listed["faults"][place]["name"], kind.name);
    EXPECT_EQ(listed["faults"][place++]["effect"], kind.effect);
  }
  EXPECT_EQ(listed["faults"].size(), place);
}

TEST_F(Faults, AParameterThatIsNoneIsRefused) {
  const std::vector<std::string> run{"-api_info", dump("vit_fp32"), "-o", out(), "--sim-fault"};
  for (const auto& [fault, said] :
       std::map<std::string, std::string>{{"*=scale", "--sim-fault *=scale: expected scale=FACTOR"},
                                          {"*=wrong-core=9/8", "--sim-fault *=wrong-core=9/8: expected wrong-core=K/N"},
                                          {"*=stale=1", "--sim-fault *=stale=1: stale takes no parameter."}}) {
    std::vector<std::string> words = run;
    words.push_back(fault);
    expect_refused(words, {said});
  }
}

}  // namespace
}  // namespace msrun::testing
