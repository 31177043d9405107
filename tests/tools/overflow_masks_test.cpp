// Infinities and memory that are meant do not keep overflow_check from naming what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const Json ones = recorded_tensor(1, 1, 1, 2);

Json of(const std::string& word) {
  Json tensor = ones;
  for (const char* key : {"Max", "Min", "Mean", "Norm"}) tensor[key] = word;
  return tensor;
}

// What the command says of a recording of these calls.
std::string said_of(const Json& data) {
  ComparedDumps dumps;
  dumps.write("target", data);
  return run_tool("overflow_check", {"-i", dumps.folder() / "target", "-o", dumps.folder() / "found"}, dumps.folder())
      .out;
}

Json mask() {
  return recorded_call({{{"type", "list"}, {"value", {2, 2}}}, {{"type", "float"}, {"value", "-inf"}}}, {of("-inf")});
}

TEST(OverflowMasks, AnInfinityThatACallIsGivenHidesNoLaterNan) {
  const std::string said = said_of({{"Torch.full.0.forward", mask()},
                                    {"Torch.triu.0.forward", recorded_call({of("-inf")}, {of("-inf")})},
                                    {"Torch.log.0.forward", recorded_call({ones}, {of("nan")})}});
  EXPECT_THAT(said, HasSubstr("First NaN or infinity: rank 0, Torch.log.0.forward"));
}

TEST(OverflowMasks, ANanThatComesOfAMaskIsNamed) {
  const std::string said = said_of(
      {{"Torch.full.0.forward", mask()}, {"Torch.softmax.0.forward", recorded_call({of("-inf")}, {of("nan")})}});
  EXPECT_THAT(said, HasSubstr("First NaN or infinity: rank 0, Torch.softmax.0.forward"));
}

TEST(OverflowMasks, AnInfinityOfTheOtherSignIsNotTheGivenOne) {
  Json call = mask();
  call["output"][0] = of("inf");
  EXPECT_THAT(said_of({{"Torch.full.0.forward", call}, {"Torch.log.0.forward", recorded_call({ones}, {of("nan")})}}),
              HasSubstr("First NaN or infinity: rank 0, Torch.full.0.forward"));
}

TEST(OverflowMasks, MemoryThatNobodyHasWrittenIsNoOverflow) {
  for (const char* call :
       {"Tensor.new_empty.0.forward", "Tensor.new_empty_strided.0.forward", "Torch.empty_like.0.forward"}) {
    const std::string said = said_of(
        {{call, recorded_call({ones}, {of("nan")})}, {"Torch.log.0.forward", recorded_call({ones}, {of("nan")})}});
    EXPECT_THAT(said, HasSubstr("First NaN or infinity: rank 0, Torch.log.0.forward")) << call;
    EXPECT_THAT(said, Not(HasSubstr("empty"))) << call;
  }
}

}  // namespace
}  // namespace msrun::testing
