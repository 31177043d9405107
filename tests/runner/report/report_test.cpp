// The page of a run, made from its journal.
#include "runner/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runner/report/call_details.h"
#include "runner/report/call_rows.h"
#include "runner/report/command_lines.h"
#include "runner/report/redaction.h"
#include "tests/runner/report/support.h"

namespace msrun::report {
namespace {

using ::testing::AllOf;
using testing::failed_result;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::report_metadata;
using testing::sound_result;
using testing::suspicious_result;
using testing::TemporaryDirectory;

std::string page_of(const std::vector<std::string>& records, std::size_t calls, bool share = false,
                    const nlohmann::ordered_json& metadata = {}) {
  const TemporaryDirectory scratch;
  const auto path = testing::write_journal(scratch / "accuracy_checking_20261121071535.journal",
                                           metadata.empty() ? report_metadata(calls) : metadata, records);
  return report_page(*journal::open_source(path), "20261121071535", {share});
}

nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(Report, SaysInOneSentenceWhatTheRunComesTo) {
  const auto sentence = [](const std::string& page) {
    const std::size_t at = page.find("id=\"conclusion\"");
    const std::size_t begin = page.find('>', at) + 1;
    return page.substr(begin, page.find("</p>", begin) - begin);
  };
  EXPECT_EQ(
      sentence(page_of({encode(sound_result(0, "Torch.add.0")), encode(sound_result(1, "Torch.add.1"))}, 2)),
      "No call is suspicious: all 2 calls that were checked agree with the benchmark, as far as rounding allows.");
  EXPECT_EQ(sentence(page_of({encode(sound_result(0, "Torch.add.0")), encode(suspicious_result(1, "Torch.mul.0"))}, 2)),
            "1 of 2 checked calls is suspicious, in 1 API; look at Torch.mul.0 first: Opposite signs: every wrong "
            "element.");
  EXPECT_EQ(
      sentence(page_of({encode(sound_result(0, "Torch.add.0")), encode(failed_result(1, "Torch.mul.0", "x"))}, 3)),
      "No call is suspicious: the one call that was checked agrees with the benchmark, as far as rounding allows. "
      "1 call failed to run. The run is not complete: 1 call has no result yet.");
  EXPECT_EQ(sentence(page_of({}, 0)), "Nothing was checked.");
}

// A batch that is gone leaves neither a damaged nor a torn byte.
TEST(Report, TellsOfBatchesThatAreLost) {
  const TemporaryDirectory scratch;
  const auto path = scratch / "accuracy_checking_20261121071535.journal";
  std::array<std::uintmax_t, 3> ends{};
  journal::Writer writer = journal::Writer::create(path, report_metadata(2).dump());
  for (std::uint32_t task = 0; task < ends.size(); ++task) {
    writer.append(encode(sound_result(task, "Torch.add." + std::to_string(task))));
    writer.flush();
    ends.at(task) = std::filesystem::file_size(path);
  }
  writer.close_unsynced();
  const auto damage = [&] {
    const std::string page = report_page(*journal::open_source(path), "20261121071535", {});
    const std::size_t at = page.find("of the journal ");
    return at == std::string::npos ? std::string() : page.substr(at, page.find('<', at) - at);
  };
  EXPECT_EQ(damage(), "");
  const std::string bytes = testing::read_file(path);
  testing::write_file(path, bytes.substr(0, ends[0]) + bytes.substr(ends[1]));
  EXPECT_EQ(damage(), "of the journal 1 batch is missing by number");
  testing::write_file(path, bytes.substr(0, ends[0]) + bytes.substr(ends[1]) + "torn");
  EXPECT_EQ(damage(), "of the journal 4 bytes at the end are torn, 1 batch is missing by number");
}

// What others check is not missing.
TEST(Report, OfAPartIsCompleteWithItsCalls) {
  nlohmann::ordered_json metadata = report_metadata(134);
  metadata["fingerprint"]["shard"] = "1/3";
  metadata["shard_calls"] = 2;
  const std::vector<std::string> records{encode(sound_result(0, "Torch.add.0")),
                                         encode(sound_result(5, "Torch.add.5"))};
  EXPECT_THAT(
      page_of(records, 134, false, metadata),
      AllOf(HasSubstr("Only part 1/3 was to be checked here: 2 of 134 calls."), Not(HasSubstr("not complete"))));
  EXPECT_THAT(page_of({records.front()}, 134, false, metadata),
              HasSubstr("The run is not complete: 1 call has no result yet."));
  metadata["fingerprint"]["shard"] = "stolen";
  metadata.erase("shard_calls");
  EXPECT_THAT(page_of(records, 134, false, metadata),
              AllOf(HasSubstr("Only what one process took of the leases was to be checked here: 2 of 134 calls."),
                    Not(HasSubstr("not complete"))));
}

TEST(Report, PutsTheWorstCallsFirstAndGivesEachApiItsPlace) {
  ApiResult warning = suspicious_result(0, "Torch.add.0");
  warning.forward = warning.forward_rows.front().status = Status::warning;
  const nlohmann::json data =
      data_of(page_of({encode(warning), encode(suspicious_result(1, "Torch.mul.0")),
                       encode(sound_result(2, "Torch.mul.1")), encode(suspicious_result(3, "Torch.mul.2"))},
                      4));
  EXPECT_EQ(data["groups"], nlohmann::json::parse("[[1, 3], [0]]"));
  EXPECT_EQ(data["rows"]["standing"], "ssps");
  EXPECT_TRUE(data["details"].contains("1"));
}

// Whatever became of a call, its metrics are told as long as there is room.
TEST(Report, TellsHowLargeEveryErrorIs) {
  ApiResult explained = suspicious_result(0, "Torch.add.0");
  explained.beyond_rounding = false;
  explained.rounding_only = true;
  DetailsRow& row = explained.forward_rows.front();
  row.beyond_rounding = false;
  row.rounding_only = true;
  row.difference.reset();
  row[Metric::max_relative_error] = Cell::fp64(0.03);
  row.message = "Cosine similarity is less than 0.99\nExplained by rounding: at most 0.49 of their error bound.\n";
  ApiResult constant = sound_result(1, "Torch.mul.0");
  constant.weak_evidence = WeakEvidence::constant;
  // An error is no pass that proves little.
  ApiResult both = explained;
  both.task = 2;
  both.name = "Torch.sub.0";
  both.weak_evidence = WeakEvidence::constant;
  const nlohmann::json data = data_of(page_of({encode(explained), encode(constant), encode(both)}, 3));
  EXPECT_EQ(data["rows"]["standing"], "rmr");
  const nlohmann::json& details = data["details"]["0"];
  EXPECT_EQ(details["reason"][0], "Explained by rounding: at most 0.49 of their error bound.");
  EXPECT_EQ(details["rows"][0]["metrics"][1], nlohmann::json::parse(R"(["Max Absolute Error", "7.25", "< 0.001", 0])"));
  EXPECT_EQ(details["inputs"].size(), 1U);
  EXPECT_EQ(data["details"]["1"]["rows"][0]["metrics"][0][0], "Cosine Similarity");
  const std::string errors = data["rows"]["errors"];
  EXPECT_EQ(errors.size(), 12U);
  EXPECT_EQ(errors.substr(4, 4), "....");
  const std::string shared = data_of(page_of({encode(explained)}, 1, true))["rows"]["errors"];
  EXPECT_EQ(shared, ".." + errors.substr(2, 2));
}

TEST(Report, NamesWhatIsWrongWhereNoElementsAreCounted) {
  ApiResult result = suspicious_result(0, "Torch.add.0");
  DetailsRow& row = result.forward_rows.front();
  row.difference.reset();
  row.message = "\nNot explained by rounding: the result has the dtype bfloat16 in place of float32.\n";
  EXPECT_EQ(call_details(result, 0.0001, Redaction(false, {}))["rows"][0]["finding"],
            "the result has the dtype bfloat16 in place of float32.");
}

TEST(Report, HasFactsInWords) {
  nlohmann::ordered_json metadata = report_metadata(1);
  metadata["csv"] = {{"english_titles", false}, {"precision", 14}};
  metadata["recordings"] = {{{"rank", "rank0"}, {"calls", 3}}, {{"rank", "rank1"}, {"calls", 4}}};
  const std::string page = page_of({encode(sound_result(0, "Torch.add.0"))}, 1, false, metadata);
  EXPECT_THAT(page, HasSubstr("<dt>CSV</dt><dd>english titles no, precision 14</dd>"));
  EXPECT_THAT(page, HasSubstr("<dd>rank rank0, calls 3; rank rank1, calls 4</dd>"));
}

TEST(Report, NamesTheMetricThatFailedItsLimitAndValue) {
  const ApiResult result = suspicious_result(0, "Torch.add.0");
  const nlohmann::json details = call_details(result, 0.0001, Redaction(false, {}));
  const nlohmann::json expected = nlohmann::json::parse(
      R"([["Cosine Similarity", "0.9812", "> 0.99", 1], ["Max Absolute Error", "7.25", "< 0.001", 0]])");
  EXPECT_EQ(details["rows"][0]["metrics"], expected);
  EXPECT_EQ(details["output"], "forward.output.0");
  EXPECT_EQ(details["reason"][1], "Opposite signs: every wrong element.");
  EXPECT_EQ(details["rows"][0]["difference"]["picture"][1], "####++++");
  EXPECT_EQ(details["inputs"][0], nlohmann::json::parse(R"j(["args.0", "float32", "(2, 8)", "-4.242e+05 … 3.25"])j"));
}

TEST(Report, EscapesHostileNames) {
  const std::string hostile = "Torch.</script><img src=x onerror=alert(1)>.0";
  const std::string page = page_of({encode(suspicious_result(0, hostile))}, 1);
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_EQ(data_of(page)["rows"]["odd"].size(), 0U);
  EXPECT_EQ(data_of(page)["rows"]["apis"][0], "Torch.</script><img src=x onerror=alert(1)>");
  // Bytes that are no text.
  EXPECT_THAT(page_of({encode(suspicious_result(0, "Torch.\xFF.0"))}, 1), HasSubstr("\xEF\xBF\xBD"));
}

TEST(Report, ToBeSharedHasNoPathsHostNamesAndValues) {
  nlohmann::ordered_json metadata = report_metadata(3);
  metadata["host"] = "node17.cluster";
  metadata["python"] = "/opt/somewhere/bin/python3";
  ApiResult failed = failed_result(
      1, "Torch.mul.0", "The file /data/secret/with space/x.pt on node17.cluster holds 31337 elements: dim 271828.");
  const std::vector<std::string> records{encode(suspicious_result(0, "Torch.add.0")), encode(failed),
                                         encode(DeathNote{5, 0, "killed in /data/other/run", false, {}})};
  const std::string full = page_of(records, 2, false, metadata);
  const std::string shared = page_of(records, 2, true, metadata);
  for (const char* secret :
       {"secret", "somewhere", "node17", "31337", "271828", "4.242e+05", "3.25\"", "7.25", "somebody", "/data"}) {
    EXPECT_THAT(shared, Not(HasSubstr(secret))) << secret;
  }
  EXPECT_THAT(full, HasSubstr("/data/secret/dump.json"));
  EXPECT_THAT(full, HasSubstr("7.25"));
  // What is left says what is wrong, and where.
  EXPECT_THAT(shared, HasSubstr("Torch.add"));
  EXPECT_THAT(shared, HasSubstr("Opposite signs"));
  EXPECT_THAT(shared, HasSubstr("####++++"));
  EXPECT_THAT(shared, HasSubstr("(2, 8)"));
  EXPECT_THAT(shared, HasSubstr("msrun -api_info FILE --backend sim"));
}

TEST(CommandLines, NameWhatTheRunWasGivenSoThatTheyRunInAnyFolder) {
  const nlohmann::ordered_json header{{"working_directory", "/home/it's me"}};
  EXPECT_EQ(absolute_command("msrun -api_info ../dump.json --backend sim --sim-fault 'a b=nan'", header),
            "msrun -api_info /home/dump.json --backend sim --sim-fault 'a b=nan'");
  EXPECT_EQ(absolute_command("./msrun -api_info 'it'\\''s/b c.json' --backend plugin:./x.so --python python3", header),
            "'/home/it'\\''s me/msrun' -api_info '/home/it'\\''s me/it'\\''s/b c.json' --backend "
            "'plugin:/home/it'\\''s me/x.so' --python python3");
  EXPECT_EQ(absolute_command("msrun -forward a.json -backward /b.json", {}), "msrun -forward a.json -backward /b.json");
}

TEST(Redaction, LeavesNamesAndDtypesAlone) {
  const Redaction redaction(true, {"/data/with space/dump.json"});
  EXPECT_EQ(redaction.text("see /a/b.txt: Torch.add.0 has float16, 12 of 16 differ."),
            "see [file]: Torch.add.0 has float16, 12 of 16 differ.");
  EXPECT_EQ(redaction.text("'/data/with space/dump.json' is gone"), "'[file]' is gone");
  EXPECT_EQ(redaction.reason("dim 5 of float16 is -1.5e-3 in Torch.add.12"),
            "dim [number] of float16 is -[number]-[number] in Torch.add.12");
  EXPECT_EQ(redaction.command("/opt/msrun -api_info 'a b.json' --sim-fault 'Torch.*=hf32' --seed 3"),
            "msrun -api_info FILE --sim-fault 'Torch.*=hf32' --seed 3");
  EXPECT_EQ(Redaction(false, {}).reason("/a 5"), "/a 5");
}

TEST(CallRows, KeepNamesThatAreNoApiAndIndex) {
  const Redaction redaction(false, {});
  CallRows rows(redaction);
  for (const char* name : {"Torch.add.0", "Torch.add.1", "Torch.add.5", "Torch.add.007", "alone", ""}) {
    ApiResult result = sound_result(0, name);
    rows.add(result, Standing::pass);
  }
  const nlohmann::json json = nlohmann::json::parse(rows.json());
  EXPECT_EQ(json["index"], nlohmann::json::parse("[0, 0, 3, 0, 0, 0]"));
  EXPECT_EQ(json["odd"], nlohmann::json::parse(R"({"3": "Torch.add.007", "4": "alone", "5": ""})"));
}

TEST(CallRows, TellRanksApartFromApis) {
  const Redaction redaction(false, {});
  CallRows rows(redaction);
  for (const char* name : {"step0/rank0:Torch.add.0", "step0/rank1:Torch.add.0", "step0/rank1:Torch.add.1", "odd"}) {
    ApiResult result = sound_result(0, name);
    rows.add(result, Standing::pass);
  }
  const nlohmann::json json = nlohmann::json::parse(rows.json());
  EXPECT_EQ(json["apis"], nlohmann::json::parse(R"(["Torch.add", "odd"])"));
  EXPECT_EQ(json["ranks"], nlohmann::json::parse(R"(["step0/rank0", "step0/rank1", ""])"));
  EXPECT_EQ(json["rank"], nlohmann::json::parse("[0, 1, 1, 2]"));
  EXPECT_EQ(json["index"], nlohmann::json::parse("[0, -1, 0, 0]"));
}

TEST(Report, CountsAnApiOfSeveralRanksOnce) {
  const std::string page = page_of(
      {encode(suspicious_result(0, "rank0:Torch.add.0")), encode(suspicious_result(1, "rank1:Torch.add.0"))}, 2);
  EXPECT_THAT(page, HasSubstr("2 checked calls are suspicious, in 1 API;"));
}

TEST(Report, TellsOfResultsThatAreNotCounted) {
  nlohmann::ordered_json metadata = report_metadata(1);
  metadata["kept"] = 3;
  std::vector<std::string> records{encode(sound_result(0, "Torch.add.0")), encode(sound_result(1, "Torch.mul.0")),
                                   encode(sound_result(2, "Torch.mul.1")), encode(suspicious_result(3, "Torch.exp.0"))};
  EXPECT_THAT(page_of(records, 1, false, metadata),
              HasSubstr("3 calls of the earlier run are not counted, 1 of them an error"));
  EXPECT_THAT(page_of({encode(sound_result(0, "Torch.add.0"))}, 1), Not(HasSubstr("of the earlier run")));
}

TEST(Report, ToBeSharedNamesNoFolderOfARank) {
  const std::vector<std::string> records{encode(suspicious_result(0, "alice_secret/rank0:Torch.add.0")),
                                         encode(suspicious_result(1, "bob/rank1:Torch.add.0")),
                                         encode(suspicious_result(2, "carol/rank1:Torch.add.0")),
                                         encode(failed_result(3, "dave:Torch.mul.0", "The tensors of dave are gone."))};
  const std::string shared = page_of(records, 4, true);
  for (const char* folder : {"alice", "bob", "carol", "dave"}) EXPECT_THAT(shared, Not(HasSubstr(folder))) << folder;
  EXPECT_EQ(data_of(shared)["rows"]["ranks"], nlohmann::json::parse(R"(["rank0", "rank #2", "rank #3", "rank #4"])"));
  EXPECT_THAT(page_of(records, 4), HasSubstr("alice_secret/rank0"));
}

TEST(Report, TellsWhoWasBusyWhenAndWhoDied) {
  std::vector<std::string> records{start_note()};
  for (std::uint32_t task = 0; task < 8; ++task)
    records.push_back(encode(sound_result(task, "Torch.add." + std::to_string(task))));
  DeathNote death{1'764'000'000'020'000, 1, "killed by signal 11 (SIGSEGV)", false, {}};
  death.calls.push_back({8, 1, 1'764'000'000'010'000, true, true});
  records.push_back(encode(death));
  records.push_back(start_note());
  ApiResult last = sound_result(8, "Torch.mul.0");
  last.run = {0, 1'764'000'900'000'000, 1000};
  records.push_back(encode(last));
  const nlohmann::json timeline = data_of(page_of(records, 9))["timeline"];
  ASSERT_EQ(timeline["sessions"].size(), 2U);
  EXPECT_EQ(timeline["lanes"].size(), 4U);
  EXPECT_EQ(timeline["bars"].size(), 9U);
  ASSERT_EQ(timeline["deaths"].size(), 1U);
  EXPECT_EQ(timeline["deaths"][0][3], "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(timeline["deaths"][0][5], nlohmann::json::parse("[[8, 3, 10000, 1, 1]]"));
  // Journals of before there were times have none.
  ApiResult old = sound_result(0, "Torch.add.0");
  old.run = {};
  EXPECT_TRUE(data_of(page_of({encode(old)}, 1))["timeline"].is_null());
}

TEST(Report, OfSuspiciousCallsWithoutEndStaysSmall) {
  std::vector<std::string> records;
  for (std::uint32_t task = 0; task < 20'000; ++task) {
    ApiResult result = suspicious_result(task, "Torch.api" + std::to_string(task % 7) + "." + std::to_string(task / 7));
    result.forward_rows.front().message += "Its number is " + std::to_string(task) + ".\n";
    records.push_back(encode(result));
  }
  const std::string page = page_of(records, 20'000);
  EXPECT_LT(page.size(), 4'000'000U);
  const nlohmann::json data = data_of(page);
  // The worst of every API is told in full.
  for (const nlohmann::json& group : data["groups"]) {
    EXPECT_TRUE(data["details"].contains(std::to_string(group[0].get<int>())));
  }
  EXPECT_LT(data["details"].size(), 20'000U);
}

TEST(CallResults, AreTheSameAsTheyAreAndAsBytes) {
  CallResults results;
  const auto name = [](std::uint32_t task, const char* run) { return "Torch.add." + std::to_string(task) + run; };
  results.resize(4 * CallResults::most_plain);
  for (std::uint32_t task = 0; task < 2 * CallResults::most_plain; ++task) {
    results.put(suspicious_result(2 * task, name(2 * task, "")));
    if (task % 700 == 3) results.put(sound_result(2 * task, name(2 * task, "again")));
  }
  std::size_t counted = 0;
  results.visit_outlines([&](const ApiResult& result) {
    EXPECT_EQ(result.task, 2 * counted);
    EXPECT_EQ(result.name, name(result.task, counted % 700 == 3 ? "again" : ""));
    ++counted;
  });
  EXPECT_EQ(counted, 2 * CallResults::most_plain);
  EXPECT_FALSE(results.has(1));
  results.visit(0, [](const ApiResult& result) { EXPECT_TRUE(result.forward_rows.front().difference.has_value()); });
  results.visit(6, [](const ApiResult& result) { EXPECT_EQ(result.forward, Status::pass); });
}

TEST(Report, OfAnotherProgramsJournalIsRefused) {
  EXPECT_THROW(page_of({}, 0, false, {{"program", "other"}}), UserError);
}

}  // namespace
}  // namespace msrun::report
