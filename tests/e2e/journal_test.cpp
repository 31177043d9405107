// msrun journal: what it says about journals of finished, running, damaged and foreign making.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "tests/support/test_paths.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalCommand : public Unfinished {
 protected:
  fs::path run_whole(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", out()};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(msrun(words, scratch_.path()).exit_code, 0);
    return journal();
  }
  json as_json(const fs::path& path) {
    const Finished shown = msrun({"journal", path, "--json"}, scratch_.path());
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    json object = json::parse(shown.out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << shown.out;
    return object;
  }
};

TEST_F(JournalCommand, ShowsAFinishedRun) {
  const fs::path path = run_whole();
  const auto before = snapshot(out());
  const Finished shown = msrun({"journal", path}, scratch_.path());
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, IsEmpty());
  EXPECT_THAT(shown.out, AllOf(HasSubstr(path.string()), HasSubstr(dump("llama_bf16").string() + ", 84 calls"),
                               HasSubstr("seed 1234 (per-api)"), HasSubstr("84 of 84 finished: pass 36, warning 48"),
                               HasSubstr("device "), HasSubstr("format 3"), HasSubstr("Damage        none"),
                               HasSubstr("Writer        none")));
  EXPECT_EQ(snapshot(out()), before) << "it only looks";
}

TEST_F(JournalCommand, GivesTheSameAsJson) {
  const fs::path path = run_whole();
  const json object = as_json(path);
  EXPECT_EQ(object["journal"], path.string());
  EXPECT_EQ(object["format_version"], 3);
  EXPECT_EQ(object["calls"], 84);
  EXPECT_EQ(object["results"], 84);
  EXPECT_EQ(object["counts"], json({{"pass", 36},
                                    {"warning", 48},
                                    {"error", 0},
                                    {"skip", 0},
                                    {"failed_to_run", 0},
                                    {"skipped_by_rule", 0},
                                    {"not_checkable", 0},
                                    {"simulated", 84},
                                    {"suspicious", 0},
                                    {"rounding_only", 48},
                                    {"proves_little", 0},
                                    {"unsteady", 0},
                                    {"devices_differ", 0},
                                    {"varying_as_declared", 0}}));
  std::size_t on_devices = 0;
  for (const json& device : object["devices"]) on_devices += device["results"].get<std::size_t>();
  EXPECT_EQ(on_devices, 84U);
  EXPECT_EQ(object["metadata"]["api_info"], dump("llama_bf16").string());
  EXPECT_EQ(object["metadata"]["backend"], "sim");
  EXPECT_EQ(object["bytes"]["disk"], fs::file_size(path));
  EXPECT_GT(object["bytes"]["uncompressed"], object["bytes"]["disk"]);
  EXPECT_LE(object["time"]["begun"].get<double>(), object["time"]["first_result"].get<double>());
  EXPECT_LE(object["time"]["first_result"].get<double>(), object["time"]["last_result"].get<double>());
  EXPECT_TRUE(object["writer"].is_null());
}

// A row that a glance explains, one that measured terms explain, and one that no rule does.
TEST_F(JournalCommand, TellsHowAVerdictWasMade) {
  const fs::path path = run_whole({"--sim-fault", "Functional.linear.0=wrong-element"});
  const auto why = [&](const std::string& call) {
    const Finished told = msrun({"journal", path, "--why", call}, scratch_.path());
    EXPECT_EQ(told.exit_code, 0) << told.err;
    return told.out;
  };
  EXPECT_THAT(why("Functional.linear.0"), AllOf(HasSubstr("Functional.linear.0\n  forward.output.0  torch.bfloat16"),
                                                HasSubstr(", suspicious\n"), HasSubstr("\n    last place "),
                                                HasSubstr("\n    typical sums "), HasSubstr("No rule explains it.")));
  EXPECT_THAT(why("Functional.linear.1"), AnyOf(HasSubstr("at a glance"), HasSubstr("Explained by: last place")));
  const Finished none = msrun({"journal", path, "--why", "Functional.linear.777"}, scratch_.path());
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no result of Functional.linear.777"));
  EXPECT_EQ(msrun({"journal", path, "--why", "Functional.linear.0", "--json"}, scratch_.path()).exit_code, 2);
}

TEST_F(JournalCommand, FindsTheJournalOfACsv) {
  const fs::path path = run_whole();
  for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
    EXPECT_EQ(as_json(only_file(out(), prefix))["journal"], path.string());
  }
  fs::remove(path);
  expect_refused({"journal", only_file(out(), "accuracy_checking_result_")},
                 {"has no journal beside it", path.filename().string()});
  fs::copy_file(only_file(out(), "accuracy_checking_result_"), out() / "mine.csv");
  expect_refused({"journal", out() / "mine.csv"}, {"not named like a CSV of acc_check"});
}

// The lines hold what the CSVs hold.
TEST_F(JournalCommand, ExportsEveryResult) {
  const fs::path path = run_whole({"--titles", "en"});
  const Finished exported = msrun({"journal", path, "--export", "-"}, scratch_.path());
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const Rows results = read_csv(only_file(out(), "accuracy_checking_result_"));
  const Rows details = read_csv(only_file(out(), "accuracy_checking_details_"));
  const std::vector<std::string>& titles = details.at(0);
  std::istringstream lines(exported.out);
  std::string line;
  std::size_t row = 1;
  std::size_t details_row = 1;
  while (std::getline(lines, line)) {
    const json result = json::parse(line);
    ASSERT_LT(row, results.size());
    EXPECT_EQ(result["name"], results[row][0]);
    EXPECT_EQ(result["forward"], results[row][1]);
    EXPECT_EQ(result["backward"].is_null() ? " " : result["backward"].get<std::string>(), results[row][2]);
    ++row;
    for (const json& output : result["rows"]) {
      ASSERT_LT(details_row, details.size());
      const std::vector<std::string>& cells = details[details_row++];
      EXPECT_EQ(result["name"].get<std::string>() + "." + output["direction"].get<std::string>() + ".output." +
                    std::to_string(output["output"].get<int>()),
                cells[0]);
      EXPECT_EQ(output["bench_dtype"], cells[1]);
      EXPECT_EQ(output["device_dtype"], cells[2]);
      EXPECT_EQ(output["shape"], cells[3]);
      EXPECT_EQ(output["status"], cells[cells.size() - 2]);
      EXPECT_EQ(output["message"], cells.back());
      const bool is_explained = cells.back().find("Explained by ") != std::string::npos;
      const json& judgement = output["judgement"];
      EXPECT_EQ(!judgement.is_null() && judgement["explained"].get<bool>() && output["status"] != "pass", is_explained);
      for (std::size_t column = 4; column + 2 < cells.size(); ++column) {
        const auto metric = output["metrics"].find(titles[column]);
        if (metric == output["metrics"].end()) {
          EXPECT_EQ(cells[column], " ");
        } else if (metric->is_number()) {
          // A float32 is printed with as many digits as it needs.
          const double value = std::stod(cells[column]);
          EXPECT_NEAR(metric->get<double>(), value, 1e-13 + 1e-6 * std::abs(value)) << titles[column];
        } else {
          EXPECT_EQ(*metric, cells[column]);
        }
      }
    }
  }
  EXPECT_EQ(row, results.size());
  EXPECT_EQ(details_row, details.size());

  const fs::path file = scratch_ / "results.jsonl";
  const Finished to_file = msrun({"journal", path, "--export", file}, scratch_.path());
  EXPECT_EQ(to_file.exit_code, 0);
  EXPECT_THAT(to_file.out, AllOf(HasSubstr("84 of 84 finished"), HasSubstr("84 results to " + file.string())));
  EXPECT_EQ(read_file(file), exported.out);
}

TEST_F(JournalCommand, ExportsIntoAPipeAndLeavesItAPipe) {
  const fs::path path = run_whole();
  const fs::path pipe = scratch_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string command = "wc -l < " + pipe.string() + " > " + (scratch_ / "lines").string() + " & " + programs() +
                              "/msrun journal " + path.string() + " --export " + pipe.string() + " && wait";
  EXPECT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  EXPECT_EQ(read_file(scratch_ / "lines"), "84\n");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(JournalCommand, DoesNotMindAReaderThatGoesAway) {
  const fs::path path = run_whole();
  const std::string command =
      programs() + "/msrun journal " + path.string() + " --export - 2>&1 > >(head -c 10 > /dev/null); test $? = 0";
  EXPECT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
}

TEST_F(JournalCommand, NamesTheWriterOfARunThatGoesOn) {
  const auto run = busy_run();
  const json object = as_json(journal());
  EXPECT_EQ(object["writer"]["pid"], run->pid());
  EXPECT_THAT(object["writer"]["command"].get<std::string>(), HasSubstr("-api_info"));
  EXPECT_GE(object["results"].get<int>(), 80);
  EXPECT_LT(object["results"].get<int>(), 84);
  EXPECT_TRUE(run->running()) << "looking disturbed the run";
  // Nor did it take the lock away from it.
  EXPECT_EQ(resume(only_file(out(), "accuracy_checking_result_")).exit_code, 2);
  run->signal(SIGKILL);
  run->wait();
  EXPECT_TRUE(as_json(journal())["writer"].is_null());
}

TEST_F(JournalCommand, CountsWhatWasRunAgainOnce) {
  run_whole({"--retries", "0", "--sim-fault", "Functional.silu.*=crash"});
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  ASSERT_EQ(resume(result, {"--retry-skip"}).exit_code, 0);
  const json object = as_json(result);
  EXPECT_EQ(object["results"], 84);
  EXPECT_EQ(object["replaced"], 2);
  EXPECT_EQ(object["counts"]["skip"], 0);
}

TEST_F(JournalCommand, TellsWhatIsDamaged) {
  const fs::path path = run_whole();
  const std::string bytes = read_file(path);
  write_file(path, bytes + "the start of a batch");
  EXPECT_EQ(as_json(path)["damage"]["torn_bytes"], 20);
  EXPECT_THAT(msrun({"journal", path}, scratch_.path()).out,
              HasSubstr("20 bytes at the end are torn: the calls recorded there run again with -csv_path"));

  // In the payload of the first batch.
  std::string flipped = bytes;
  const std::size_t first = bytes.find("\xF7\x4A\x46\x8B");
  ASSERT_NE(first, std::string::npos);
  flipped[first + 30] = static_cast<char>(flipped[first + 30] ^ 1);
  write_file(path, flipped);
  const json object = as_json(path);
  EXPECT_EQ(object["damage"]["damaged_regions"], 1);
  EXPECT_GT(object["damage"]["damaged_bytes"].get<int>(), 24);
  EXPECT_THAT(msrun({"journal", path, "--export", "-"}, scratch_.path()).err,
              HasSubstr(" bytes in 1 place are damaged, 1 batch is missing by number.\n"));
}

TEST_F(JournalCommand, RefusesWhatIsNoJournal) {
  const fs::path path = run_whole();
  std::string newer = read_file(path);
  newer[8] = 9;
  const fs::path directory = scratch_ / "files";
  fs::create_directory(directory);
  fs::create_directory(scratch_ / "none");
  write_file(directory / "empty.journal", "");
  write_file(directory / "foreign.journal", "PK\x03\x04 not one of ours");
  write_file(directory / "newer.journal", newer);
  write_file(directory / "cut.journal", read_file(path).substr(0, 40));
  expect_refused({"journal", directory / "empty.journal"}, {"empty.journal is empty"});
  expect_refused({"journal", directory / "foreign.journal"}, {"foreign.journal is not a journal"});
  expect_refused({"journal", directory / "newer.journal"}, {"newer.journal has journal format 9"});
  expect_refused({"journal", directory / "cut.journal"}, {"cut.journal is damaged: it ends inside its header"});
  expect_refused({"journal", directory / "missing.journal"}, {"missing.journal", "No such file"});
  expect_refused({"journal", scratch_ / "none"}, {"holds no journal of a run"});
  expect_refused({"journal"}, {"needs the journal of a run"});
  expect_refused({"journal", path, "--csv"}, {"unknown option --csv"});
  expect_refused({"journal", path, "--export"}, {"--export needs a value"});
  expect_refused({"journal", path, "--json", "--export", "-"}, {"exclude each other"});
  const std::string result = only_file(out(), "accuracy_checking_result_");
  const std::string before = read_file(result);
  const std::string around = (fs::path(path).parent_path() / "x" / ".." / fs::path(path).filename()).string();
  expect_refused({"journal", path, "--export", path}, {"would overwrite the journal"});
  expect_refused({"journal", path, "--export", around}, {"would overwrite the journal"});
  expect_refused({"journal", path, "--export", result}, {"would overwrite the result file " + result});
  write_file(directory / "dump.json", "kept");
  expect_refused({"journal", path, "--export", directory / "dump.json"}, {"would overwrite the recording"});
  EXPECT_EQ(read_file(result), before);
  expect_refused({"journal", path, "--export", directory / "no" / "such.jsonl"}, {"cannot be created"});
}

TEST_F(JournalCommand, ShowsAllOfADirectory) {
  const fs::path first = run_whole();
  ASSERT_EQ(msrun({"-api_info", dump("vit_fp32"), "-o", out()}, scratch_.path()).exit_code, 0);
  const Finished shown = msrun({"journal", out()}, scratch_.path());
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("84 of 84 finished"), HasSubstr("55 of 55 finished")));

  const json array = json::parse(msrun({"journal", out(), first, "--json"}, scratch_.path()).out, nullptr, false);
  ASSERT_TRUE(array.is_array());
  ASSERT_EQ(array.size(), 2U) << "each once";
  std::set<int> calls;
  for (const json& object : array) calls.insert(object["calls"].get<int>());
  EXPECT_EQ(calls, (std::set<int>{55, 84}));

  const Finished exported = msrun({"journal", out(), "--export", scratch_ / "all.jsonl"}, scratch_.path());
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  std::istringstream lines(read_file(scratch_ / "all.jsonl"));
  std::string line;
  std::map<std::string, int> results;
  while (std::getline(lines, line)) ++results[json::parse(line)["journal"].get<std::string>()];
  EXPECT_EQ(results[first.string()], 84);
  EXPECT_EQ(results.size(), 2U);

  // One that is none spoils nothing but the exit code.
  write_file(out() / "bad.journal", "");
  const Finished rest = msrun({"journal", out()}, scratch_.path());
  EXPECT_EQ(rest.exit_code, 2);
  EXPECT_THAT(rest.err, HasSubstr("bad.journal is empty"));
  EXPECT_THAT(rest.out, HasSubstr("55 of 55 finished"));
}

// Whole batches that were dropped, doubled or exchanged have good checksums, but numbers.
TEST_F(JournalCommand, SeesWhatBecameOfWholeBatches) {
  const auto run = busy_run();
  run->signal(SIGKILL);
  run->wait();
  const fs::path path = journal();
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const std::string bytes = read_file(path);
  std::vector<std::size_t> begins;
  for (std::size_t at = bytes.find("\xF7\x4A\x46\x8B"); at != std::string::npos;) {
    begins.push_back(at);
    // Its header says how long it is.
    std::uint32_t size = 0;
    for (int i = 3; i >= 0; --i)
      size = size << 8 | static_cast<unsigned char>(bytes[at + 4 + static_cast<std::size_t>(i)]);
    at += 32 + size;
    if (at >= bytes.size()) break;
  }
  ASSERT_GE(begins.size(), 4U);
  const auto frame = [&](std::size_t i) {
    return bytes.substr(begins[i], (i + 1 < begins.size() ? begins[i + 1] : bytes.size()) - begins[i]);
  };
  const std::string head = bytes.substr(0, begins[0]);
  write_file(path, head + frame(1) + frame(0) + bytes.substr(begins[2]));
  EXPECT_EQ(as_json(path)["damage"]["displaced_batches"], 1);
  write_file(path, bytes + frame(1));
  EXPECT_EQ(as_json(path)["damage"]["repeated_batches"], 1);
  write_file(path, head + frame(0) + bytes.substr(begins[2]));
  EXPECT_EQ(as_json(path)["damage"]["missing_batches"], 1);
  EXPECT_EQ(as_json(path)["damage"]["damaged_regions"], 0);
  EXPECT_THAT(msrun({"journal", path}, scratch_.path()).out,
              HasSubstr("1 batch is missing by number: the calls recorded there run again"));

  const Finished finished = resume(result);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("1 batch is missing by number; the calls recorded there are checked again."));
  expect_as_if_undisturbed();
}

}  // namespace
}  // namespace msrun::testing
