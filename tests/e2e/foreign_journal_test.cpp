// Journals that no run has written: a journal is data, whose header decides neither what runs nor what is written.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "journal/file.h"
#include "journal/reader.h"
#include "journal/writer.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class ForeignJournal : public Untouched {
 protected:
  // The result file of a run whose journal has this header in place of its own.
  std::string result_with(const std::function<std::string(const ordered_json& own)>& header) {
    const Finished run =
        msrun({"-api_info", dump("llama_fp32"), "--only", "Torch.matmul.0", "-o", out()}, scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const fs::path path = only_journal(out());
    const std::string own = journal::read_header(*journal::open_source(path)).metadata;
    fs::remove(path);
    journal::Writer::create(path, header(ordered_json::parse(own))).flush();
    return only_file(out(), "accuracy_checking_result_");
  }
  std::string result_with_option(const ordered_json& option) {
    return result_with([&](ordered_json own) {
      own["arguments"].push_back(option);
      return own.dump();
    });
  }
};

TEST_F(ForeignJournal, WritesNoFile) {
  const fs::path file = scratch_ / "precious";
  write_file(file, "kept");
  for (const ordered_json& option :
       {ordered_json{"--junit", file}, ordered_json{"-o", scratch_.path()},
        ordered_json{"--seed", "1", "--junit", file}, ordered_json{"-d", "0", "--junit=" + file.string()},
        ordered_json{"--junit=" + file.string()}}) {
    fs::remove_all(out());
    const std::string csv = result_with_option(option);
    const Finished refused = msrun({"-csv_path", csv}, scratch_.path());
    EXPECT_EQ(refused.exit_code, 2) << option << refused.out;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(".journal: its header holds "), HasSubstr("forged")));
    EXPECT_EQ(read_file(file), "kept");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"shrink", "--api", "Torch.matmul.0", "-i", csv, "-o", scratch_ / "small"},
             {"merge", out(), "-o", scratch_ / "merged"}}) {
      EXPECT_EQ(msrun(words, scratch_.path()).exit_code, 2) << words[0] << option;
    }
    EXPECT_EQ(read_file(file), "kept");
  }
}

TEST_F(ForeignJournal, PrintsNoHelp) {
  for (const ordered_json& option :
       {ordered_json{"--help"}, ordered_json{"--version"}, ordered_json{"--list-apis"}, ordered_json{"--no-such"},
        ordered_json{"--seed", 1}, ordered_json("--seed"), ordered_json(ordered_json::array())}) {
    fs::remove_all(out());
    const Finished refused = msrun({"-csv_path", result_with_option(option)}, scratch_.path());
    EXPECT_EQ(refused.exit_code, 2) << option << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(".journal: its header holds "));
  }
}

// What copies, compares or prints JSON calls itself for each level, and the stack ends.
TEST_F(ForeignJournal, MayNestAsDeepAsItLikes) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* key : {"arguments", "fingerprint", "command", "csv", "merged", "recordings"}) {
    fs::remove_all(out());
    const std::string csv = result_with([&](ordered_json own) {
      own.erase(key);
      std::string text = own.dump();
      text.back() = ',';
      return text + "\"" + key + "\":" + deep + "}";
    });
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"journal", csv},
             {"journal", csv, "--json"},
             {"journal", csv, "--export", "-"},
             {"-csv_path", csv},
             {"merge", out(), "-o", scratch_ / "merged"},
             {"report", csv},
             {"diff", csv, csv},
             {"shrink", "--api", "Torch.matmul.0", "-i", csv, "-o", scratch_ / "small"}}) {
      const Finished finished = msrun(words, scratch_.path());
      EXPECT_LT(finished.exit_code, 4) << key << " " << words[0] << " " << finished.err;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
