// Dumps in which single entries are bad: each of them is a SKIP row with the reason, every other call is checked, and
// the run ends with exit code 0.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Json = nlohmann::ordered_json;

Json tensor(const std::vector<std::int64_t>& shape, const std::string& dtype = "torch.float32", const Json& min = -1.0,
            const Json& max = 1.0) {
  return {{"type", "torch.Tensor"}, {"dtype", dtype}, {"shape", shape}, {"Max", max}, {"Min", min},
          {"requires_grad", false}};
}

Json tensor_of_shape(const Json& shape) {
  Json result = tensor({});
  result["shape"] = shape;
  return result;
}

Json entry(const std::vector<Json>& args) {
  return {{"input_args", args}, {"input_kwargs", Json::object()}, {"output", Json::array()}};
}
Json integer(std::int64_t value) { return {{"type", "int"}, {"value", value}}; }

class BadEntries : public Untouched {
 protected:
  // Runs a dump of these entries, named without ".forward", among good ones; the result rows by name.
  std::map<std::string, std::vector<std::string>> run(const Json& entries, const std::vector<std::string>& more = {}) {
    Json data;
    data["Functional.relu.first.forward"] = entry({tensor({2, 3})});
    for (const auto& [name, content] : entries.items()) data[name + ".forward"] = content;
    data["Functional.relu.last.forward"] = entry({tensor({2, 3})});
    const Json root{
        {"task", "statistics"}, {"level", "L1"}, {"framework", "pytorch"}, {"dump_data_dir", nullptr}, {"data", data}};
    return run_text(root.dump(), more);
  }

  std::map<std::string, std::vector<std::string>> run_text(const std::string& text,
                                                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"-api_info", write_dump(text), "-o", out(), "--task-timeout", "120"};
    if (std::find(more.begin(), more.end(), "--memory") == more.end())
      arguments.insert(arguments.end(), {"--memory", "512M"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = msrun(arguments, scratch_.path());
    output_ = finished.out;
    errors_ = finished.err;
    EXPECT_EQ(finished.exit_code, exit_code_) << finished.out << finished.err;
    EXPECT_THAT(finished.out, Not(HasSubstr("died")));
    expect_only_result_files();
    std::map<std::string, std::vector<std::string>> rows;
    const Rows table = read_csv(only_file(out(), "accuracy_checking_result_"));
    for (std::size_t i = 1; i < table.size(); ++i) rows[table[i].at(0)] = table[i];
    for (const char* good : {"Functional.relu.first", "Functional.relu.last"}) {
      if (rows.contains(good)) {
        EXPECT_EQ(rows[good].at(1), "pass");
      }
    }
    return rows;
  }

  int exit_code_ = 0;  // that is expected
  std::string output_;
  std::string errors_;
};

#define EXPECT_SKIP(rows, name, reason)                                                                        \
  do {                                                                                                         \
    ASSERT_TRUE((rows).contains(name)) << (name);                                                              \
    EXPECT_EQ((rows).at(name).at(1), "SKIP") << (name);                                                        \
    EXPECT_THAT((rows).at(name).back(), AllOf(HasSubstr(reason), Not(HasSubstr("Internal error")))) << (name); \
  } while (false)

TEST_F(BadEntries, OfTheWrongForm) {
  Json good = entry({tensor({2})});
  Json no_output = good;
  no_output.erase("output");
  Json no_kwargs = good;
  no_kwargs.erase("input_kwargs");
  const auto rows = run({{"Functional.relu.0", 3},
                         {"Functional.relu.1", nullptr},
                         {"Functional.relu.2", Json::array()},
                         {"Functional.relu.3", Json::object()},
                         {"Functional.relu.4", {{"input_args", 3}, {"input_kwargs", Json::object()}}},
                         {"Functional.relu.5", {{"input_args", Json::array()}, {"input_kwargs", "x"}}},
                         {"Functional.relu.6", entry({Json::object()})},
                         {"Functional.relu.7", entry({Json{{"type", "nonsense"}}})},
                         {"Functional.relu.8", entry({Json{{"type", "int"}}})},
                         {"Functional.relu.9", no_output},
                         {"Functional.relu.10", no_kwargs}});
  EXPECT_SKIP(rows, "Functional.relu.0", "must be an object, found a number");
  EXPECT_SKIP(rows, "Functional.relu.1", "must be an object, found null");
  EXPECT_SKIP(rows, "Functional.relu.2", "must be an object, found an array");
  EXPECT_SKIP(rows, "Functional.relu.3", "missing the argument 'input'");
  EXPECT_SKIP(rows, "Functional.relu.4", "input_args must be a list");
  EXPECT_SKIP(rows, "Functional.relu.5", "input_kwargs must be an object");
  EXPECT_SKIP(rows, "Functional.relu.6", "input_args[0] was not recorded");
  EXPECT_SKIP(rows, "Functional.relu.7", "Type nonsense of input_args[0]");
  EXPECT_SKIP(rows, "Functional.relu.8", "input_args[0] has no value");
  EXPECT_EQ(rows.at("Functional.relu.9").at(1), "pass");
  EXPECT_EQ(rows.at("Functional.relu.10").at(1), "pass");
}

TEST_F(BadEntries, TensorsThatCannotBe) {
  const std::int64_t huge = std::int64_t{1} << 62;
  Json no_shape = tensor({2});
  no_shape.erase("shape");
  const auto rows = run({{"Functional.relu.0", entry({tensor({-1, 3})})},
                         {"Functional.relu.1", entry({tensor({huge})})},
                         {"Functional.relu.2", entry({tensor({1 << 30, 1 << 30, 4})})},
                         {"Functional.relu.3", entry({tensor({5'000'000'000})})},
                         {"Functional.relu.4", entry({tensor_of_shape(Json::array({9'300'000'000'000'000'000U}))})},
                         {"Functional.relu.5", entry({tensor(std::vector<std::int64_t>(17, 1))})},
                         {"Functional.relu.6", entry({tensor({huge, huge, huge, huge, 0})})},
                         {"Functional.relu.7", entry({tensor({2}, "torch.nonsense")})},
                         {"Functional.relu.8", entry({tensor_of_shape(Json::array({1.5}))})},
                         {"Functional.relu.9", entry({tensor_of_shape("x")})},
                         {"Functional.relu.10", entry({no_shape})},
                         {"Functional.relu.11", entry({tensor({2}, "torch.float32", "x", Json::array())})},
                         {"Functional.relu.12", entry({tensor({2}, "torch.complex64")})},
                         {"Functional.relu.13", entry({tensor({0, huge})})},
                         {"Functional.relu.14", entry({tensor({1 << 20, 0})})}});
  EXPECT_SKIP(rows, "Functional.relu.0", "negative size");
  EXPECT_SKIP(rows, "Functional.relu.1", "too many elements");
  EXPECT_SKIP(rows, "Functional.relu.2", "too many elements");
  EXPECT_SKIP(rows, "Functional.relu.3", "more than the 512 MiB of memory that --memory allows");
  EXPECT_SKIP(rows, "Functional.relu.4", "must be a list of integers");
  EXPECT_SKIP(rows, "Functional.relu.5", "more than 16 dimensions");
  EXPECT_SKIP(rows, "Functional.relu.6", "too many elements");
  EXPECT_SKIP(rows, "Functional.relu.7", "torch.nonsense");
  EXPECT_SKIP(rows, "Functional.relu.8", "input_args[0].shape must be a list of integers");
  EXPECT_SKIP(rows, "Functional.relu.9", "input_args[0].shape must be a list of integers");
  EXPECT_SKIP(rows, "Functional.relu.10", "without shape");
  EXPECT_SKIP(rows, "Functional.relu.11", "Min");
  EXPECT_SKIP(
      rows, "Functional.relu.12",
      "Statistics do not tell which values a complex tensor had (torch.complex64): record with the task tensor.");
  EXPECT_SKIP(rows, "Functional.relu.13", "has no elements, but its other sizes are more than can be walked");
  EXPECT_EQ(rows.at("Functional.relu.14").at(1), "pass");
}

TEST_F(BadEntries, ArgumentsThatDoNotFit) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const Json image = tensor({1, 2, 8, 8});
  const Json filter = tensor({4, 2, 3, 3});
  const Json indices = tensor({2, 3}, "torch.int64", -5, 500);
  const auto rows = run({
      {"Functional.conv2d.0", entry({image, filter, nullptr, integer(0)})},
      {"Functional.conv2d.1", entry({image, filter, nullptr, integer(1), integer(huge)})},
      {"Functional.conv2d.2", entry({image, filter, nullptr, integer(1), integer(-1)})},
      {"Functional.conv2d.3", entry({image, filter, nullptr, integer(1), integer(0), integer(1), integer(0)})},
      {"Functional.conv2d.4", entry({image, tensor({4, 3, 3, 3})})},
      {"Functional.conv2d.5", entry({tensor({8}), filter})},
      {"Functional.max_pool2d.0", entry({image, integer(-3)})},
      {"Functional.max_pool2d.1", entry({image, integer(3), integer(0)})},
      {"Functional.adaptive_avg_pool2d.0", entry({image, Json::array({integer(2147483647), integer(3)})})},
      {"Functional.pad.0", entry({image, Json::array({integer(2147483647), integer(0)})})},
      {"Functional.pad.1", entry({image, Json::array({integer(huge), integer(huge)})})},
      {"Functional.interpolate.0", entry({image, Json::array({integer(1 << 30), integer(1 << 30)})})},
      {"Functional.embedding.0", entry({indices, tensor({4, 4})})},
      {"Torch.gather.0", entry({tensor({2, 3}), integer(1), indices})},
      {"Torch.index_select.0", entry({tensor({2, 3}), integer(0), tensor({2}, "torch.int64", 7, 9)})},
      {"Tensor.view.0", entry({tensor({2, 3}), integer(7)})},
      {"Tensor.reshape.0", entry({tensor({2, 3}), integer(-1), integer(-1)})},
      {"Tensor.repeat.0", entry({tensor({2, 3}), integer(huge), integer(2)})},
      {"Tensor.expand.0", entry({tensor({1}), integer(huge)})},
      {"Functional.one_hot.0", entry({tensor({4}, "torch.int64", 0, 3), integer(huge)})},
      {"Functional.one_hot.1", entry({tensor({4}, "torch.int64", 0, 3), integer(2000000000)})},
      {"Torch.arange.0", entry({integer(huge)})},
      {"Torch.zeros.0", entry({integer(std::int64_t{1} << 33)})},
      {"Torch.full.0", entry({Json::array({integer(huge)}), 1.0})},
      {"Torch.eye.0", entry({integer(1 << 30)})},
      {"Torch.tril_indices.0", entry({integer(huge), integer(1)})},
      {"Torch.matmul.0", entry({tensor({2, 3}), tensor({4, 5})})},
      {"Torch.matmul.1", entry({tensor({1 << 20, 0}), tensor({0, 1 << 20})})},
      {"Torch.cumsum.0", entry({tensor({huge, 0}), integer(1)})},
      {"Torch.add.0", entry({tensor({2, 3}), tensor({4})})},
      {"Torch.cat.0", entry({Json::array({tensor({2, 3}), tensor({4})}), integer(0)})},
      {"Torch.sum.0", entry({tensor({2, 3}), integer(5)})},
      {"Functional.relu.0", entry({Json("text")})},
      {"Functional.relu.1", entry({tensor({2}), tensor({2}), tensor({2})})},
  });
  EXPECT_EQ(rows.size(), 36U);
  for (const auto& [name, row] : rows) {
    if (name.ends_with("first") || name.ends_with("last")) continue;
    EXPECT_EQ(row.at(1), "SKIP") << name;
    EXPECT_THAT(row.back(), AllOf(Not(IsEmpty()), Not(HasSubstr("Internal error")))) << name;
  }
  EXPECT_SKIP(rows, "Functional.one_hot.1", "--memory");
  EXPECT_SKIP(rows, "Functional.adaptive_avg_pool2d.0", "--memory");
  EXPECT_SKIP(rows, "Torch.index_select.0", "out of");
}

// The call alone takes the memory of several: it is run again with all of it and passes.
TEST_F(BadEntries, OutputsFarBeyondTheEstimateGetAllTheMemory) {
  const auto rows =
      run({{"Tensor.repeat.0", entry({tensor({1}), integer(20'000'000)})}}, {"-n", "8", "--memory", "700M"});
  EXPECT_EQ(rows.at("Tensor.repeat.0").at(1), "pass") << rows.at("Tensor.repeat.0").back();
}

TEST_F(BadEntries, NamesThatOccurTwice) {
  const std::string good = entry({tensor({2, 3})}).dump();
  const auto rows = run_text(dump_text("\"Functional.relu.0.forward\": 3, \"Functional.relu.1.forward\": " + good +
                                       ", \"Functional.relu.0.forward\": " + good));
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at("Functional.relu.0").at(1), "pass");
  EXPECT_THAT(output_,
              HasSubstr("that occur again, the later in place of the earlier: 1; the first is 'Functional.relu.0'"));
}

TEST_F(BadEntries, NamesThatAreNoNames) {
  const Json good = entry({tensor({2, 3})});
  const auto rows = run({{std::string("Functional.relu\0.0", 18), good},
                         {"Functional.relu.1\x1b[2J", good},
                         {"Functional.relu\n.2", good},
                         {"../../Functional.relu.3", good},
                         {"relu", good},
                         {"..", good},
                         {"Functional." + std::string(5000, 'r') + ".4", good}});
  EXPECT_SKIP(rows, "Functional.relu_.0", "control characters");
  EXPECT_SKIP(rows, "Functional.relu.1_[2J", "control characters");
  EXPECT_SKIP(rows, "Functional.relu_.2", "control characters");
  EXPECT_SKIP(rows, "../../Functional.relu.3", "not support");
  EXPECT_SKIP(rows, "relu", "not support");
  EXPECT_SKIP(rows, "..", "not support");
  for (const fs::directory_entry& file : fs::directory_iterator(out())) {
    const std::string text = read_file(file.path());
    if (file.path().extension() == ".csv") {
      EXPECT_EQ(text.find('\x1b'), std::string::npos);
      EXPECT_EQ(text.find('\0'), std::string::npos);
    }
  }
}

// Names become parts of file names; no file may land outside.
// U+202E turns what follows it around, U+200B shows nothing: both names would be read as that of another call.
TEST_F(BadEntries, NamesWithCharactersThatNobodySees) {
  const std::string turned = "Functional.relu.0\u202E";
  const std::string hidden = "Functional.re\u200Blu.1";
  const auto rows = run({{turned, entry({tensor({2})})}, {hidden, entry({tensor({2})})}},
                        {"--summary", "--sim-fault", "Functional.relu.0*=wrong-element"});
  EXPECT_TRUE(rows.contains(turned));
  EXPECT_TRUE(rows.contains(hidden));
  EXPECT_THAT(output_, HasSubstr("  error    Functional.relu.0⟨U+202E⟩\n"));
  EXPECT_THAT(output_, HasSubstr("--only $'Functional.relu.0\\342\\200\\256'"));
  EXPECT_THAT(output_, HasSubstr("        1  Functional.re⟨U+200B⟩lu.1: "));
  const std::string page = read_file(only_file(out(), "accuracy_checking_report_"));
  EXPECT_THAT(page, HasSubstr("Functional.relu.0⟨U+202E⟩"));
  for (const std::string& text : {output_, errors_, page}) {
    for (const char* unseen : {"\u202E", "\u200B"}) EXPECT_EQ(text.find(unseen), std::string::npos);
  }
}

TEST_F(BadEntries, NamesThatLeadOutOfTheDirectoryForTensors) {
  fs::create_directory(scratch_ / "data");
  fs::create_directory(scratch_ / "escaped");
  write_file(scratch_ / "config.json",
             R"({"acc_check": {"error_data_path": ")" + (scratch_ / "data").string() + "\"}}");
  const auto before = snapshot(scratch_ / "escaped");
  run({{"Functional.relu.0/../../../escaped/x", entry({tensor({2, 3})})},
       {"Functional.relu./" + (scratch_ / "escaped/y").string(), entry({tensor({2, 3})})},
       {"Functional.relu." + std::string(400, 'z'), entry({tensor({2, 3})})}},
      {"-save_error_data", "-config", scratch_ / "config.json", "--sim-fault", "Functional.relu.[0/z]*=wrong-block"});
  EXPECT_TRUE(before == snapshot(scratch_ / "escaped"));
  int files = 0;
  for (const fs::directory_entry& directory : fs::directory_iterator(scratch_ / "data")) {
    for (const fs::directory_entry& file : fs::directory_iterator(directory)) {
      EXPECT_TRUE(file.is_regular_file());
      EXPECT_THAT(file.path().filename().string(), EndsWith(".pt"));
      ++files;
    }
  }
  EXPECT_EQ(files, 6);  // an input and two outputs of each call that does not pass
}

// The verdict is there although the tensors could not be written, and with space again these are saved.
TEST_F(BadEntries, TensorsThatCannotBeSaved) {
  write_file(scratch_ / "config.json", R"({"acc_check": {"error_data_path": ")" + scratch_.path().string() + "\"}}");
  exit_code_ = 3;
  std::map<std::string, std::vector<std::string>> rows;
  {
    // Room for the few rows and their journal, not for a tensor.
    const InheritedLimit disk(RLIMIT_FSIZE, 20000);
    rows =
        run({{"Functional.relu.0", entry({tensor({100, 100})})}},
            {"-save_error_data", "-config", scratch_ / "config.json", "--sim-fault", "Functional.relu.0=wrong-block"});
  }
  EXPECT_EQ(rows.at("Functional.relu.0").at(1), "error");
  const fs::path folder = only_file(scratch_.path(), "ut_error_data");
  const std::string problem = "The tensors could not be saved in " + folder.string() + ": ";
  EXPECT_THAT(rows.at("Functional.relu.0").at(3), HasSubstr(problem));
  EXPECT_THAT(output_, HasSubstr("[WARNING] Functional.relu.0: " + problem));
  EXPECT_THAT(output_, HasSubstr("[ERROR] The tensors of 1 call that were to be kept could not be saved in " +
                                 folder.string() + ": Functional.relu.0."));
  EXPECT_TRUE(fs::is_empty(folder)) << "a part of a file is left";

  const fs::path csv = only_file(out(), "accuracy_checking_result_");
  const Finished continued = msrun({"-csv_path", csv, "-config", scratch_ / "config.json"}, scratch_.path());
  EXPECT_EQ(continued.exit_code, 0) << continued.out << continued.err;
  EXPECT_THAT(continued.out, HasSubstr("1 calls whose tensors could not be saved run again."));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);
  const Rows table = read_csv(csv);
  EXPECT_EQ(table.size(), 4U);
  for (const auto& row : table) EXPECT_THAT(row.back(), Not(HasSubstr("could not be saved")));
}

TEST_F(BadEntries, TensorFilesThatCannotBeRead) {
  fs::copy(dump("zoo_tensor_small").parent_path(), scratch_ / "recorded", fs::copy_options::recursive);
  const fs::path recorded = scratch_ / "recorded/dump.json";
  const auto check = [&](const std::string& directory) {
    const Finished finished = msrun({"-api_info", recorded, "-o", scratch_ / directory, "-n", "2"}, scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    std::map<std::string, std::vector<std::string>> rows;
    const Rows table = read_csv(only_file(scratch_ / directory, "accuracy_checking_result_"));
    for (std::size_t i = 1; i < table.size(); ++i) rows[table[i].at(0)] = table[i];
    return rows;
  };
  const auto whole = check("whole");
  // The first argument of a call that passes.
  const auto first_file_of = [&](std::size_t number) -> std::pair<std::string, fs::path> {
    const Json data = Json::parse(read_file(recorded))["data"];
    for (const auto& [name, content] : data.items()) {
      if (!name.ends_with(".forward")) continue;
      const std::string call = name.substr(0, name.rfind('.'));
      if (whole.at(call).at(1) == "SKIP" || content["input_args"].empty() ||
          !content["input_args"][0].contains("data_name"))
        continue;
      if (number-- == 0)
        return {call,
                scratch_ / "recorded/dump_tensor_data" / content["input_args"][0]["data_name"].get<std::string>()};
    }
    throw std::runtime_error("too few calls with tensor files");
  };
  const auto [missing_call, missing] = first_file_of(0);
  const auto [torn_call, torn] = first_file_of(1);
  const auto [foreign_call, foreign] = first_file_of(2);
  fs::remove(missing);
  write_file(torn, read_file(torn).substr(0, fs::file_size(torn) / 2));
  write_file(foreign, "hello");
  const auto broken = check("broken");
  EXPECT_EQ(broken.size(), whole.size());
  for (const auto& [name, row] : broken) {
    if (name == missing_call) {
      EXPECT_SKIP(broken, name, missing.filename().string());
    } else if (name == torn_call) {
      EXPECT_SKIP(broken, name, torn.filename().string());
    } else if (name == foreign_call) {
      EXPECT_SKIP(broken, name, foreign.filename().string());
    } else {
      EXPECT_EQ(row, whole.at(name));
    }
  }
}

}  // namespace
}  // namespace msrun::testing
