// Which recording, and which entry of it, op_generate takes a call from.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/tools/op_generate_support.h"

namespace msrun::op_generate {
namespace {

using testing::Finished;
using ::testing::HasSubstr;

class OpGenerateInputs : public OpGenerateTest {
 protected:
  static std::string recording(const std::string& entries) {
    return R"({"task": "statistics", "framework": "pytorch", "data": {)" + entries + "}}";
  }
  static std::string exp_of(const std::string& shape) {
    return R"("Torch.exp.0.forward": )" + forward(tensor("float32", shape, "1", "0"));
  }
};

TEST_F(OpGenerateInputs, EntriesThatOccurAgainAreTold) {
  const std::string dump = scratch_.write("dump.json", recording(exp_of("[2]") + "," + exp_of("[3]")));
  const Finished made = run({"--api", "Torch.exp.0", "-i", dump, "-o", scratch_.file("o")});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("that occur again, the later in place of the earlier: 1; the first is "
                                  "'Torch.exp.0.forward'"));
}

TEST_F(OpGenerateInputs, TwoDataAreRefusedAsByThePreCheck) {
  const std::string dump =
      scratch_.write("dump.json", R"({"task": "statistics", "data": {)" + exp_of("[2]") + R"(}, "data": {}})");
  const Finished refused = run({"--api", "Torch.exp.0", "-i", dump, "-o", scratch_.file("o")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the key data occurs twice"));
}

}  // namespace
}  // namespace msrun::op_generate
