// Where in the model calls are: what is read beside the recording, and what the page makes of it.
#include "runner/report/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/report/report.h"
#include "tests/runner/report/support.h"

namespace msrun::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::report_metadata;
using testing::sound_result;
using testing::TemporaryDirectory;

// A layer whose weight a call reads, and one whose weight no call reads.
constexpr const char* dump = R"({"task": "statistics", "data": {
  "Functional.linear.0.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2],
                                                  "Max": 1.5, "Min": -1, "Mean": 0, "Norm": 2}], "output": []},
  "Module.net.up.Linear.forward.0": {"input_args": [], "parameters": {"weight": {
    "type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2], "Max": 1.5, "Min": -1, "Mean": 0, "Norm": 2}}},
  "Tensor.index_select.0.forward": {"input_args": [], "output": []},
  "Module.net.dec.GRU.forward.0": {"input_args": [], "parameters": {"weight": {
    "type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 2], "Max": 2.5, "Min": -1, "Mean": 0, "Norm": 2}}}
}})";

constexpr const char* construct = R"({
  "Functional.linear.0.forward": "Module.net.up.Linear.forward.0",
  "Module.net.up.Linear.forward.0": "Module.net.Net.forward.0",
  "Torch.add.0.forward": ["Module.net.Net.forward.0", 0],
  "Module.net.rnn.LSTM.forward.0": "Module.net.Net.forward.0",
  "Module.net.rnn.LSTM.forward.1": "Module.net.Net.forward.0",
  "Tensor.to.0.forward": "Module.net.rnn.LSTM.forward.1",
  "Tensor.index_select.0.forward": "Module.net.dec.GRU.forward.0",
  "Module.net.dec.GRU.forward.0": "Module.net.Net.forward.0",
  "Tensor.to.0.forward": "Module.net.rnn.LSTM.forward.1",
  "Module.net.Net.forward.0": null,
  "Torch.mul.0.forward": null})";

constexpr const char* stack = R"j({
  "0": [["Functional.linear.0.forward"],
        ["File /usr/lib/python3/dist-packages/torch/nn/modules/linear.py, line 114, in forward, \n return F.linear(x)",
         "File /home/somebody/net.py, line 21, in forward, \n h = self.up(x)"]],
  "1": [["Torch.add.0.forward"], ["a frame of another form"]]
})j";

class PlacesOfARun : public ::testing::Test {
 protected:
  // The page of a run of these calls, whose recording is in the folder.
  std::string page(const std::string& api_info, bool share = false, const std::string& rank = {}) {
    nlohmann::ordered_json metadata = report_metadata(4);
    metadata["api_info"] = api_info;
    const std::string front = rank.empty() ? "" : rank + ":";
    const auto path = testing::write_journal(
        scratch_ / "accuracy_checking_20261121071535.journal", metadata,
        {encode(sound_result(0, front + "Functional.linear.0")), encode(sound_result(1, front + "Torch.add.0")),
         encode(sound_result(2, front + "Torch.mul.0")),
         encode(skip_result(3, front + "Tensor.to.0", "It converts.", Outcome::skipped_by_rule))});
    std::string page = report_page(*journal::open_source(path), "20261121071535", {share});
    std::filesystem::remove(path);
    return page;
  }
  static nlohmann::json data_of(const std::string& page) {
    constexpr std::string_view begin = "id=\"data\">";
    const std::size_t at = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  void record(const std::string& folder, const char* modules = construct, const char* lines = stack) {
    std::filesystem::create_directories(scratch_.path() / folder);
    scratch_.write(folder + "/dump.json", dump);
    if (modules != nullptr) scratch_.write(folder + "/construct.json", modules);
    if (lines != nullptr) scratch_.write(folder + "/stack.json", lines);
  }

  TemporaryDirectory scratch_;
};

TEST_F(PlacesOfARun, AreModulesAndLinesOfTheUsersSource) {
  record("dump/step0/proc1");
  for (const auto& given : {scratch_ / "dump/step0/proc1/dump.json", scratch_ / "dump"}) {
    const nlohmann::json data = data_of(page(given));
    const auto text = [&](const char* texts, const char* column, std::size_t row) {
      // Of few texts the last of three letters tells which it is.
      const char digit = data["rows"][column].get<std::string>().at(3 * row + 2);
      return data["rows"][texts].at(static_cast<std::size_t>(digit - '0')).get<std::string>();
    };
    EXPECT_EQ(text("modules", "module", 0), "net.up.Linear");
    EXPECT_EQ(text("modules", "module", 1), "net.Net");
    EXPECT_EQ(text("modules", "module", 2), "");
    EXPECT_EQ(text("lines", "line", 0), "/home/somebody/net.py:21 in forward: h = self.up(x)");
    EXPECT_EQ(text("lines", "line", 1), "a frame of another form");
    EXPECT_EQ(text("lines", "line", 2), "");
    EXPECT_EQ(data["unrecorded"], nlohmann::json::parse(R"([["net.rnn.LSTM", 2, 0], ["net.dec.GRU", 1, 1]])"));
  }
}

TEST_F(PlacesOfARun, AreThoseOfEveryRank) {
  record("dump/step0/rank0");
  record("dump/step0/rank1", R"({"Torch.add.0.forward": "Module.other.Other.forward.0"})", nullptr);
  const nlohmann::json data = data_of(page(scratch_ / "dump", false, "step0/rank1"));
  EXPECT_EQ(data["rows"]["modules"][1], "other.Other");
  EXPECT_FALSE(data["rows"].contains("lines"));
}

TEST_F(PlacesOfARun, ThatAreNotKnownAreToldOf) {
  record("nothing", nullptr, nullptr);
  record("damaged", "{\"a", stack);
  record("level1", "{}", stack);
  const auto fact_of = [&](const std::string& folder) {
    const std::string text = page(scratch_ / folder / "dump.json");
    const std::size_t at = text.find("<dt>Modules and lines</dt><dd>");
    return at == std::string::npos ? std::string() : text.substr(at + 30, text.find("</dd>", at) - at - 30);
  };
  EXPECT_EQ(fact_of("nothing"), "not known for all calls: there is no construct.json beside the recording");
  EXPECT_THAT(fact_of("damaged"), HasSubstr("construct.json"));
  EXPECT_THAT(fact_of("level1"), HasSubstr("the recording has no modules, which level mix would record"));
  EXPECT_EQ(fact_of("gone"), "not known for all calls: the folder of the recording is not there");
}

TEST_F(PlacesOfARun, AreLeftOutForOthers) {
  record("dump");
  EXPECT_THAT(page(scratch_ / "dump/dump.json"), HasSubstr("net.rnn.LSTM"));
  const std::string shared = page(scratch_ / "dump/dump.json", true);
  EXPECT_THAT(shared, Not(HasSubstr("net.rnn.LSTM")));
  EXPECT_THAT(shared, Not(HasSubstr("net.py")));
}

}  // namespace
}  // namespace msrun::report
