// Which part of a recording a process is to check, from the command line or from its launcher.
#include "orchestrator/command/sharing_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/error_of.h"

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

struct Parsed {
  Shard shard;
  std::vector<std::string> notices;
};

Parsed parse(const std::string& text, const Variables& variables = {}) {
  Parsed parsed;
  parsed.shard = parse_shard(
      text,
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
      },
      parsed.notices);
  return parsed;
}

std::string refusal(const std::string& text, const Variables& variables = {}) {
  return error_of<UserError>([&] { parse(text, variables); });
}

TEST(Shard, IsCountedFromOne) {
  EXPECT_EQ(parse("1/1").shard, (Shard{1, 1}));
  EXPECT_EQ(parse("3/8").shard, (Shard{3, 8}));
  EXPECT_THAT(parse("3/8").notices, IsEmpty());
  for (const char* text : {"", "3", "0/8", "9/8", "1/0", "/8", "3/", "a/b", "-1/8", "3/8/2", "1/1000001", "auto"}) {
    EXPECT_THAT(refusal(text), HasSubstr("must be K/N")) << text;
  }
}

TEST(Shard, OfALauncherIsToldAloud) {
  const Parsed slurm = parse("env", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(slurm.shard, (Shard{1, 4}));
  EXPECT_THAT(slurm.notices, ElementsAre(AllOf(HasSubstr("SLURM_PROCID=0"), HasSubstr("part 1 of 4"))));
  EXPECT_EQ(parse("env", {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).shard, (Shard{4, 4}));
  EXPECT_EQ(parse("env", {{"RANK", "7"}, {"WORLD_SIZE", "16"}}).shard, (Shard{8, 16}));
}

// mpirun in a batch script of Slurm gives all its processes the number of the batch script.
TEST(Shard, OfTheInnerLauncherCounts) {
  const Parsed parsed = parse(
      "env",
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(parsed.shard, (Shard{3, 4}));
  EXPECT_THAT(parsed.notices, ElementsAre(HasSubstr("part 3 of 4"), HasSubstr("says otherwise")));
}

TEST(Shard, OfALauncherThatTellsHalfOfItIsRefused) {
  EXPECT_THAT(refusal("env"), HasSubstr("srun or mpirun"));
  EXPECT_THAT(refusal("env", {{"RANK", "0"}}), HasSubstr("RANK=0, WORLD_SIZE= does not say"));
  EXPECT_THAT(refusal("env", {{"SLURM_NTASKS", "4"}}), HasSubstr("SLURM_PROCID=, SLURM_NTASKS=4 does not say"));
  EXPECT_THAT(refusal("env", {{"RANK", "4"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK=4"));
  EXPECT_THAT(refusal("env", {{"RANK", "x"}, {"WORLD_SIZE", "4"}}), HasSubstr("RANK=x"));
  EXPECT_THAT(refusal("env", {{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE=0"));
}

// What is left over from something else says nothing against the launcher that counts.
TEST(Shard, OfALauncherCountsWhateverOthersHaveLeft) {
  const Parsed garbage =
      parse("env", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"RANK", "garbage"}, {"WORLD_SIZE", "7"}});
  EXPECT_EQ(garbage.shard, (Shard{2, 4}));
  EXPECT_THAT(garbage.notices, ElementsAre(HasSubstr("part 2 of 4"), HasSubstr("RANK=garbage, WORLD_SIZE=7 says")));
  // In an allocation of Slurm, but not started by srun.
  const Parsed allocated = parse("env", {{"SLURM_NTASKS", "8"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(allocated.shard, (Shard{1, 2}));
  EXPECT_THAT(refusal("env", {{"SLURM_PROCID", "x"}, {"SLURM_NTASKS", "4"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("SLURM_PROCID=x"));
}

Options options_of(std::vector<const char*> words) {
  words.insert(words.begin(), {"msrun", "-api_info", "dump.json"});
  return std::get<Options>(parse_command_line(static_cast<int>(words.size()), words.data()));
}

TEST(Sharing, IsAskedFor) {
  EXPECT_FALSE(options_of({}).shard);
  EXPECT_EQ(options_of({"--shard", "2/3"}).shard, (Shard{2, 3}));
  const Options steal = options_of({"--steal", "--leases", "7", "--lease-timeout", "2.5s"});
  EXPECT_TRUE(steal.steal);
  EXPECT_EQ(steal.leases, 7U);
  EXPECT_EQ(steal.lease_timeout, 2.5);
  EXPECT_FALSE(steal.node.empty());
}

TEST(Sharing, RefusesWhatDoesNotGoTogether) {
  const auto refused = [](std::vector<const char*> words) {
    return error_of<UserError>([&] { options_of(std::move(words)); });
  };
  EXPECT_THAT(refused({"--shard", "1/2", "--steal"}), HasSubstr("exclude each other"));
  EXPECT_THAT(refused({"--leases", "4"}), HasSubstr("needs --steal"));
  EXPECT_THAT(refused({"--lease-timeout", "4"}), HasSubstr("needs --steal"));
  EXPECT_THAT(refused({"--steal", "--lease-timeout", "0"}), HasSubstr("--lease-timeout"));
  EXPECT_THAT(refused({"--steal", "--leases", "0"}), HasSubstr("--leases"));
  EXPECT_THAT(refused({"--shard", "1/2", "--layout", "att"}), HasSubstr("--layout att"));
  const std::vector<const char*> overflow{"msrun", "run_overflow_check", "-api_info", "dump.json", "--shard", "1/2"};
  EXPECT_THAT(error_of<UserError>([&] { parse_command_line(static_cast<int>(overflow.size()), overflow.data()); }),
              HasSubstr("--shard"));
}

TEST(Sharing, IsInTheLinesThatContinueARun) {
  EXPECT_THAT(resume_command(options_of({"--shard", "2/3"}), "a.csv"), HasSubstr("--shard 2/3"));
  EXPECT_THAT(resume_command(options_of({"--steal", "--leases", "7", "--lease-timeout", "2.5"}), "a.csv"),
              HasSubstr("--steal --leases 7 --lease-timeout 2.5"));
}

}  // namespace
}  // namespace msrun
