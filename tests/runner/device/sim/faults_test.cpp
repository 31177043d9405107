// The table of faults: names, parameters, and what is refused with which words.
#include "runner/device/sim/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"

namespace msrun {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using Kind = SimFault::Kind;

std::string refusal(const std::string& text) {
  return error_of<UserError>([&] { parse_sim_fault(text); });
}

TEST(SimFaults, EveryRowIsWhole) {
  std::set<std::string_view> names;
  std::set<Kind> kinds;
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(kinds.insert(kind.kind).second) << kind.name;
    EXPECT_FALSE(kind.effect.empty() || kind.effect.ends_with('.')) << kind.name;
    EXPECT_EQ(kind.parameter.empty(), kind.read == nullptr) << kind.name;
    EXPECT_FALSE(kind.arithmetic != nullptr && kind.damage != nullptr) << kind.name;
    SimFault fault;
    fault.kind = kind.kind;
    EXPECT_EQ(&kind_of(fault), &kind);
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(Kind::out_of_memory) + 1);
}

TEST(SimFaults, ArePatternAndName) {
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    if (kind.read != nullptr) continue;
    const SimFault fault = parse_sim_fault("Torch.m*.[0-9]=" + std::string(kind.name));
    EXPECT_EQ(fault.pattern, "Torch.m*.[0-9]");
    EXPECT_EQ(fault.kind, kind.kind);
    EXPECT_EQ(refusal("*=" + std::string(kind.name) + "=3"),
              "--sim-fault *=" + std::string(kind.name) + "=3: " + std::string(kind.name) + " takes no parameter.");
  }
  EXPECT_EQ(parse_sim_fault("a=b=hf32").pattern, "a=b");
}

TEST(SimFaults, TakeParameters) {
  const SimFault scaled = parse_sim_fault("Torch.*=scale=1.001");
  EXPECT_EQ(scaled.pattern, "Torch.*");
  EXPECT_EQ(scaled.kind, Kind::scaled);
  EXPECT_EQ(scaled.factor, 1.001);
  EXPECT_EQ(parse_sim_fault("*=scale=-2e-3").factor, -2e-3);
  EXPECT_EQ(parse_sim_fault("a=b=scale=0").pattern, "a=b");
  const SimFault core = parse_sim_fault("*=wrong-core=4/32");
  EXPECT_EQ(core.kind, Kind::wrong_core);
  EXPECT_EQ(core.every, 4);
  EXPECT_EQ(core.blocks, 32);
  EXPECT_EQ(parse_sim_fault("*=wrong-once").chance, 0);
  EXPECT_EQ(parse_sim_fault("*=wrong-once=0.25").chance, 0.25);
  EXPECT_EQ(parse_sim_fault("*=wrong-once=1").chance, 1);
  EXPECT_EQ(parse_sim_fault("*=wrong-on-device=12").device, 12);
  EXPECT_EQ(parse_sim_fault("*=slow=0.25").seconds, 0.25);
}

TEST(SimFaults, SayWhatAParameterMustBe) {
  for (const char* wrong : {"", "=", "=x", "=nan", "=inf", "=1.0x", "=1e999", "= 1"}) {
    EXPECT_THAT(refusal(std::string("*=scale") + wrong),
                HasSubstr("expected scale=FACTOR; every element is multiplied by the factor, a finite number"))
        << wrong;
  }
  for (const char* wrong : {"", "=4", "=/", "=4/", "=/4", "=0/4", "=5/4", "=-1/4", "=1/65537", "=1.5/3", "=1/2/3"}) {
    EXPECT_THAT(refusal(std::string("*=wrong-core") + wrong), HasSubstr("expected wrong-core=K/N; every K-th of N"))
        << wrong;
  }
}

TEST(SimFaults, SayWhatAChanceAndADeviceMustBe) {
  for (const char* wrong : {"=", "=0", "=-0.1", "=1.01", "=nan", "=x"}) {
    EXPECT_THAT(refusal(std::string("*=wrong-once") + wrong), HasSubstr("expected wrong-once[=P]; as wrong-element"))
        << wrong;
  }
  for (const char* wrong : {"", "=", "=-1", "=1.5", "=x", "=99999999999"}) {
    EXPECT_THAT(refusal(std::string("*=wrong-on-device") + wrong), HasSubstr("expected wrong-on-device=ID")) << wrong;
  }
  for (const char* wrong : {"", "=", "=0", "=-1", "=nan", "=3601", "=1s"}) {
    EXPECT_THAT(refusal(std::string("*=slow") + wrong), HasSubstr("expected slow=SECONDS")) << wrong;
  }
}

TEST(SimFaults, UnknownOnesAreRefusedWithThoseThereAre) {
  for (const char* text : {"", "=", "nonsense", "Torch.*=nonsense", "=hang", "=scale=1", "*=nonsense=3", "scale=1"}) {
    const std::string said = refusal(text);
    EXPECT_THAT(said, HasSubstr("--sim-fault " + std::string(text) + ": expected PATTERN=FAULT"));
    for (const SimFaultKind& kind : sim_fault_kinds()) EXPECT_THAT(said, HasSubstr(std::string(kind.name)));
    EXPECT_THAT(said, HasSubstr("scale=FACTOR"));
  }
}

}  // namespace
}  // namespace msrun
