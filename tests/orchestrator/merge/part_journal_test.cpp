#include "orchestrator/merge/part_journal.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::TemporaryDirectory;

PartJournal part_begun_in(const std::string& folder) {
  PartJournal part;
  part.path = "out/part.journal";
  part.metadata = nlohmann::ordered_json::parse(
      R"({"arguments": [["-api_info", "dump.json"], ["-config", "config.json"], ["--python", "evil.sh"], ["--only", "dump.json"], ["--seed", "7"], ["--shard", "1/2"]]})");
  part.metadata["working_directory"] = folder;
  return part;
}

TEST(PartJournal, TheCommandOfAShardNamesFilesThatAreThere) {
  const TemporaryDirectory begun_in;
  begun_in.write("dump.json", "{}");
  EXPECT_EQ(shard_command(part_begun_in(begun_in.path().string()), "msrun", 2, 2),
            "msrun -api_info " + begun_in.file("dump.json") + " --only dump.json --seed 7 --shard 2/2 -o out");
}

TEST(PartJournal, TheCommandOfAShardKeepsPathsOfThisFolder) {
  EXPECT_EQ(shard_command(part_begun_in(std::filesystem::current_path().string()), "msrun", 2, 2),
            "msrun -api_info dump.json --only dump.json --seed 7 --shard 2/2 -o out");
}

TEST(PartJournal, ItsCommandsNameNoProgramOfTheJournal) {
  const PartJournal part = part_begun_in(std::filesystem::current_path().string());
  EXPECT_EQ(command_like(part, "msrun", false), "msrun -api_info dump.json --seed 7");
  EXPECT_EQ(given_again(part), (std::vector<std::string>{"-config", "--python"}));
}

}  // namespace
}  // namespace msrun
