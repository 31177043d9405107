// Recordings of the older api_accuracy_checker: -forward and -backward in place of -api_info.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Arguments as the older tool wrote them: of a tensor in a file it recorded nothing but the path.
Json older(const Json& value, const std::string& data_directory) {
  if (!value.is_structured()) return value;
  if (value.contains("data_name")) {
    return {{"type", "torch.Tensor"},
            {"datapath", data_directory + value["data_name"].get<std::string>()},
            {"requires_grad", value.value("requires_grad", false)}};
  }
  Json result = value;
  for (Json& item : result) item = older(item, data_directory);
  return result;
}

class Att : public Untouched {
 protected:
  // The files of the older tool that hold the calls of a dump.json.
  void convert(const std::string& name, const std::string& data_directory = "forward_real_data/") {
    const Json whole = Json::parse(read_file(dump(name)));
    Json forward = Json::object();
    Json backward = Json::object();
    for (const auto& [entry, content] : whole["data"].items()) {
      const std::size_t end = entry.rfind('.');
      const std::size_t first = entry.find('.');
      const std::size_t index = entry.rfind('.', end - 1);
      std::string key = entry.substr(0, end);
      key[first] = key[index] = '*';
      if (entry.substr(end) == ".forward") {
        forward[key] = {{"args", older(content["input_args"], data_directory)},
                        {"kwargs", older(content["input_kwargs"], data_directory)}};
      } else {
        backward[key] = older(content["input"], data_directory);
      }
    }
    write_file(forward_, forward.dump());
    write_file(backward_, backward.dump());
  }

  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> result{"-forward", forward_, "-backward", backward_};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  static std::string csvs(const fs::path& directory) {
    return read_file(only_file(directory, "accuracy_checking_result_")) +
           read_file(only_file(directory, "accuracy_checking_details_"));
  }

  void expect_files_of_the_dump(const std::string& name, const std::vector<std::string>& arguments) {
    // The older files hold no results.
    ASSERT_EQ(msrun({"-api_info", dump(name), "-o", scratch_ / "today", "--backend", "sim"}, scratch_.path()).exit_code,
              0);
    const Finished run = msrun(arguments, scratch_.path());
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
    EXPECT_EQ(csvs(out()), csvs(scratch_ / "today"));
  }

  std::string forward_ = scratch_ / "forward_info_1.json";
  std::string backward_ = scratch_ / "backward_info_1.json";
};

TEST_F(Att, GivesTheFilesOfTheSameDump) {
  convert("vit_fp32");
  expect_files_of_the_dump("vit_fp32", words({"-o", out()}));
}

TEST_F(Att, EveryCommandTakesIt) {
  convert("cnn_fp32");
  for (const char* command : {"run_ut", "multi_run_ut", "acc_check", "multi_acc_check"}) {
    const std::string directory = scratch_ / command;
    std::vector<std::string> arguments = words({"-o", directory});
    arguments.insert(arguments.begin(), command);
    ASSERT_EQ(msrun(arguments, scratch_.path()).exit_code, 0) << command;
    EXPECT_EQ(csvs(directory), csvs(scratch_ / "run_ut")) << command;
  }
}

TEST_F(Att, RealDataLieBesideTheFiles) {
  convert("zoo_tensor_small");
  fs::create_directory_symlink(dump("zoo_tensor_small").parent_path() / "dump_tensor_data",
                               scratch_ / "forward_real_data");
  expect_files_of_the_dump("zoo_tensor_small", words({"-o", out()}));
}

TEST_F(Att, RealDataLieWhereTheFlagSays) {
  convert("zoo_tensor_small");
  fs::create_directory(scratch_ / "elsewhere");
  fs::create_directory_symlink(dump("zoo_tensor_small").parent_path() / "dump_tensor_data",
                               scratch_ / "elsewhere" / "forward_real_data");
  expect_files_of_the_dump("zoo_tensor_small", words({"-o", out(), "-real_data_path", scratch_ / "elsewhere"}));
}

TEST_F(Att, RealDataHaveAbsolutePaths) {
  fs::copy(dump("zoo_tensor_small").parent_path() / "dump_tensor_data", scratch_ / "forward_real_data",
           fs::copy_options::recursive);
  convert("zoo_tensor_small", scratch_ / "forward_real_data/");
  expect_files_of_the_dump("zoo_tensor_small", words({"-o", out()}));
}

// Elsewhere they are read only if that is meant.
TEST_F(Att, RealDataWithAbsolutePathsElsewhereAreRefused) {
  const fs::path folder = dump("zoo_tensor_small").parent_path();
  convert("zoo_tensor_small", folder / "dump_tensor_data/");
  EXPECT_EQ(msrun(words({"-o", scratch_ / "refused"}), scratch_.path()).exit_code, 1);
  const Rows rows = read_csv(only_file(scratch_ / "refused", "accuracy_checking_result_"));
  EXPECT_EQ(rows.at(1).at(1), "SKIP");
  EXPECT_THAT(rows.at(1).at(3), HasSubstr(" lies outside the folder of the dump and is not read."));
  expect_files_of_the_dump("zoo_tensor_small", words({"-o", out(), "--allow-outside-data"}));
  EXPECT_EQ(msrun(words({"-o", scratch_ / "named", "-real_data_path", folder}), scratch_.path()).exit_code, 0);
  EXPECT_EQ(csvs(scratch_ / "named"), csvs(out()));
}

TEST_F(Att, RealDataThatAreMissingAreSkips) {
  convert("zoo_tensor_small");
  const Finished run = msrun(words({"-o", out()}), scratch_.path());
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nothing was checked"));
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  ASSERT_GT(rows.size(), 1U);
  EXPECT_EQ(rows[1].at(1), "SKIP");
  EXPECT_THAT(rows[1].at(3), HasSubstr("forward_real_data/"));
}

TEST_F(Att, WithoutBackwardOnlyForwardsAreChecked) {
  convert("cnn_fp32");
  const Finished run = msrun({"-forward", forward_, "-o", out()}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("No -backward file is given"));
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  ASSERT_EQ(rows.size(), 51U);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].at(2), " ") << rows[i].at(0);
}

TEST_F(Att, ContinuesWithCsvPath) {
  convert("cnn_fp32");
  ASSERT_EQ(msrun(words({"-o", out()}), scratch_.path()).exit_code, 0);
  const std::string whole = csvs(out());
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  // The journal holds all; the CSVs are made again from it.
  write_file(result, read_file(result).substr(0, 400));
  const Finished again = msrun(words({"-csv_path", result}), scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("50 of 50 calls were finished"));
  EXPECT_EQ(csvs(out()), whole);
  // Without the journal what the CSVs hold is finished, the rest is checked.
  const std::string text = read_file(result);
  write_file(result, text.substr(0, text.find("\r\n", text.size() / 2) + 2));
  fs::remove(only_file(out(), "accuracy_checking_2"));
  const Finished imported = msrun(words({"-csv_path", result}), scratch_.path());
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_EQ(csvs(out()), whole);
  expect_refused({"-api_info", dump("vit_fp32"), "-csv_path", result}, {"cannot be continued", "dump"});
  // One file may have moved, the other is taken from the journal.
  const Finished moved = msrun({"-forward", forward_, "-csv_path", result}, scratch_.path());
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("From the journal: -backward " + backward_));
}

TEST_F(Att, AStoppedRunSaysHowToGoOn) {
  convert("cnn_fp32");
  Process run(words({"-o", out(), "--sim-fault", "Functional.conv2d.0=hang"}), scratch_.path());
  ASSERT_TRUE(eventually(20, [&] { return !children(run.pid()).empty(); }));
  run.signal(SIGINT);
  ASSERT_TRUE(eventually(10, [&] { return run.out().find("press Ctrl-C again") != std::string::npos; }));
  run.signal(SIGINT);
  ASSERT_TRUE(eventually(10, [&] { return !run.running(); }));
  const Finished finished = run.wait();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.out, HasSubstr("-forward " + forward_ + " -backward " + backward_));
}

TEST_F(Att, FilesThatCannotBeUsed) {
  convert("cnn_fp32");
  const std::string missing = scratch_ / "missing.json";
  const auto refused = [&](const std::string& forward, const std::string& backward,
                           const std::vector<std::string>& parts) {
    expect_refused({"-forward", forward, "-backward", backward, "-o", out()}, parts);
  };
  refused(missing, backward_, {missing, "does not exist"});
  refused(forward_, missing, {missing, "does not exist"});
  refused(backward_, forward_, {backward_, "no object with args and kwargs"});
  refused(forward_, forward_, {forward_, "no list of gradients"});
  refused(dump("cnn_fp32"), backward_, {dump("cnn_fp32"), "'task'"});
  const std::string broken = write_dump(read_file(backward_).substr(0, 300));
  refused(forward_, broken, {broken, "line 1", "end of the file"});
  refused(write_dump(""), backward_, {"is empty"});
  refused(write_dump("[]"), backward_, {"top level must be an object"});
  const std::string foreign = write_dump(R"({"Torch*sin*77": []})");
  refused(forward_, foreign, {foreign, "'Torch.sin.77'", forward_, "not of one recording"});
  expect_refused(words({"-o", out(), "-real_data_path", missing}), {"-real_data_path", missing});
  expect_refused({"-backward", backward_, "-o", out()}, {"-backward needs -forward"});
}

TEST_F(Att, OneBadEntryIsASkipAndAnEntryWithoutPartnerAWarning) {
  convert("cnn_fp32");
  Json forward = Json::parse(read_file(forward_));
  Json backward = Json::parse(read_file(backward_));
  forward["Torch*sin*0"] = {{"args", 7}};
  forward["Torch*cos*0"] = forward["Functional*relu*0"];
  backward["Torch*cos*0"] = 5;
  backward["Torch*tan*3"] = Json::array();
  write_file(forward_, forward.dump());
  write_file(backward_, backward.dump());
  const Finished run = msrun(words({"-o", out()}), scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("have no forward entry in " + forward_));
  EXPECT_THAT(run.out, HasSubstr("'Torch.tan.3'"));
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  EXPECT_EQ(rows.at(rows.size() - 2),
            (std::vector<std::string>{"Torch.sin.0", "SKIP", "SKIP", "args must be a list, found a number."}));
  EXPECT_EQ(rows.back(),
            (std::vector<std::string>{"Torch.cos.0", "pass", "SKIP", "The entry must be a list, found a number."}));
}

}  // namespace
}  // namespace msrun::testing
