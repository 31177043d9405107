// What a run may take and write, whatever a recording asks for: memory, work, stacks, core dumps, the length of texts;
// and which constants of small values it judges by.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/zip.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

using Json = nlohmann::ordered_json;

Json tensor(const std::vector<std::int64_t>& shape, const std::string& dtype = "torch.float32") {
  return {{"type", "torch.Tensor"}, {"dtype", dtype}, {"shape", shape}, {"Max", 1.0}, {"Min", -1.0},
          {"requires_grad", false}};
}
Json integer(std::int64_t value) { return {{"type", "int"}, {"value", value}}; }
Json entry(const std::vector<Json>& args, const Json& kwargs = Json::object()) {
  return {{"input_args", args}, {"input_kwargs", kwargs}, {"output", Json::array()}};
}

class Limited : public Untouched {
 protected:
  using Row = std::vector<std::string>;
  std::map<std::string, Row> run(const Json& calls, const std::vector<std::string>& more = {}) {
    Json root = Json::parse(dump_text(""));
    for (const auto& [name, content] : calls.items()) root["data"][name + ".forward"] = content;
    std::vector<std::string> arguments{"-api_info", write_dump(root.dump()), "-o", out(), "--task-timeout", "120"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    finished_ = msrun(arguments, scratch_.path());
    std::map<std::string, Row> rows;
    const Rows table = read_csv(only_file(out(), "accuracy_checking_result_"));
    bool checked = false;
    for (std::size_t i = 1; i < table.size(); ++i) {
      rows[table[i].at(0)] = table[i];
      checked = checked || table[i].at(1) != "SKIP";
    }
    EXPECT_EQ(finished_.exit_code, checked ? exit_completed : exit_fail_on) << finished_.out << finished_.err;
    return rows;
  }

  Finished finished_;
};

TEST_F(Limited, ForeignTextIsShort) {
  const std::string text(3 << 20, 'x');
  Json odd = tensor({2});
  odd["type"] = "type of " + text;
  const auto rows = run({{"Functional.relu.0", entry({tensor({2}, "torch." + text)})},
                         {"Functional.relu.1", entry({odd})},
                         {"Functional.relu.2", entry({tensor({2})}, {{text, integer(1)}})},
                         {"Functional.interpolate.0", entry({tensor({1, 1, 4}), integer(8)}, {{"mode", text}})},
                         {"Functional." + text + ".0", entry({tensor({2})})},
                         {"Functional.relu.last", entry({tensor({2})})}},
                        {"--message-format", "json"});
  ASSERT_EQ(rows.size(), 6U);
  for (const auto& [name, row] : rows) {
    EXPECT_LE(name.size(), longest_foreign_text);
    if (name == "Functional.relu.last") continue;
    EXPECT_EQ(row.at(1), "SKIP") << name;
    EXPECT_LE(row.back().size(), longest_foreign_text);
  }
  EXPECT_EQ(rows.at("Functional.relu.last").at(1), "pass");
  for (const char* name : {"Functional.relu.0", "Functional.relu.1", "Functional.relu.2", "Functional.interpolate.0"}) {
    EXPECT_THAT(rows.at(name).back(), AllOf(HasSubstr("xxx... (3145"), EndsWith(" bytes)"))) << name;
  }
  for (const char* file : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
    EXPECT_LT(fs::file_size(only_file(out(), file)), 32U << 10);
  }
  EXPECT_LT(finished_.out.size() + finished_.err.size(), 64U << 10);
}

TEST_F(Limited, ANulEndsNoMessage) {
  const std::string text = "a" + std::string(1, '\0') + "b";
  const std::string shown =
      "a\u2400"
      "b";
  Json odd = tensor({2});
  odd["type"] = text;
  const auto rows = run({{"Functional.relu.0", entry({tensor({2}, text)})},
                         {"Functional.relu.1", entry({odd})},
                         {"Functional.relu.2", entry({tensor({2})}, {{text, integer(1)}})},
                         {"Functional.interpolate.0", entry({tensor({1, 1, 4}), integer(8)}, {{"mode", text}})}});
  for (const auto& [name, row] : rows) EXPECT_THAT(row.back(), HasSubstr(shown)) << name;
  EXPECT_THAT(rows.at("Functional.relu.1").back(), EndsWith(" is not supported."));
}

TEST_F(Limited, WorkIsInProportionToTheTensors) {
  const std::int64_t wide = 1'000'000;
  const std::int64_t side = 1'400;
  const Json line = tensor({1, 1, 32});
  const Json kernel = tensor({1, 1, wide});
  const auto rows = run(
      {{"Functional.conv1d.0", entry({line, kernel, nullptr, integer(1), integer(10 * wide)})},
       {"Functional.conv_transpose1d.0", entry({tensor({2, 2, 128}), tensor({2, 2, wide})})},
       {"Functional.avg_pool2d.0", entry({tensor({1, 1, side, side}), integer(side), integer(1), integer(side / 2)})},
       {"Functional.max_pool2d.0", entry({tensor({1, 1, 64, 64}), integer(3), integer(1), integer(1)})},
       {"Functional.conv2d.0", entry({tensor({1, 3, 8, 8}), tensor({8, 3, 3, 3}), nullptr, integer(1), integer(1)})},
       {"Functional.conv_transpose2d.0", entry({tensor({1, 8, 4, 4}), tensor({8, 4, 2, 2}), nullptr, integer(2)})}},
      {"--memory", "2G"});
  for (const char* name : {"Functional.conv1d.0", "Functional.conv_transpose1d.0", "Functional.avg_pool2d.0"}) {
    EXPECT_EQ(rows.at(name).at(1), "SKIP") << name;
    EXPECT_THAT(rows.at(name).back(), AllOf(HasSubstr("out of all proportion"), Not(HasSubstr("died")))) << name;
  }
  EXPECT_EQ(rows.at("Functional.max_pool2d.0").at(1), "pass");
  EXPECT_EQ(rows.at("Functional.conv2d.0").at(1), "pass");
  EXPECT_EQ(rows.at("Functional.conv_transpose2d.0").at(1), "pass");
}

TEST_F(Limited, SizesOutOfAllProportionAreSkippedWithTheReason) {
  const Json line = tensor({1, 1, 4});
  const Json plane = tensor({1, 1, 4, 4});
  const Json huge = Json::array({integer(std::int64_t{1} << 62), integer(std::int64_t{1} << 62)});
  const auto rows =
      run({{"Functional.pad.0", entry({line, Json::array({integer(1'000'000'000), integer(0)})})},
           {"Functional.pad.1", entry({line, Json::array({integer(std::int64_t{1} << 61), integer(0)})})},
           {"Functional.interpolate.0", entry({plane, Json::array({integer(1'000'000), integer(1'000'000)})})},
           {"Functional.interpolate.1", entry({plane, huge})},
           {"Functional.interpolate.2", entry({plane, nullptr, {{"type", "float"}, {"value", 1e300}}})},
           {"Functional.interpolate.3", entry({plane, integer(8)})}},
          {"--memory", "2G"});
  for (const char* name : {"Functional.pad.0", "Functional.interpolate.0"}) {
    EXPECT_EQ(rows.at(name).at(1), "SKIP") << name;
    EXPECT_THAT(rows.at(name).back(), HasSubstr("of memory that --memory allows: a tensor of ")) << name;
  }
  for (const char* name : {"Functional.interpolate.1", "Functional.interpolate.2"}) {
    EXPECT_EQ(rows.at(name).at(1), "SKIP") << name;
    EXPECT_THAT(rows.at(name).back(), HasSubstr(" is out of all proportion to the input (1, 1, 4, 4).")) << name;
    EXPECT_LT(rows.at(name).back().size(), 200U) << name;
  }
  EXPECT_EQ(rows.at("Functional.pad.1").at(1), "SKIP");
  EXPECT_THAT(rows.at("Functional.pad.1").back(), Not(HasSubstr("died")));
  EXPECT_EQ(rows.at("Functional.interpolate.3").at(1), "pass");
}

// A tensor file of one element that says it is a tensor of any shape.
void write_repeated(const std::string& path, std::int64_t elements) {
  const auto text = [](const std::string& word) {
    return "X" + std::string(1, static_cast<char>(word.size())) + std::string(3, '\0') + word;
  };
  std::string count = "\x8A\x08";
  for (int i = 0; i < 8; ++i) count += static_cast<char>((elements >> (8 * i)) & 0xFF);
  const std::string zero("K\0", 2);
  const std::string pickle =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n((" +
      text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x01tQ" + zero + "(" + count + "t(" +
      zero +
      "t\x89"
      "ccollections\nOrderedDict\n)RtR.";
  const std::string data(4, '\0');
  OutputFile file(path);
  ZipWriter zip(file, 0xFFFFFFFF);
  zip.add("x/data.pkl", std::as_bytes(std::span(pickle)));
  zip.add("x/data/0", std::as_bytes(std::span(data)));
  zip.finish();
  file.close();
}

TEST_F(Limited, AFileDoesNotGrowBeyondWhatTheDumpSays) {
  fs::create_directories(scratch_ / "dump_tensor_data");
  write_repeated(scratch_.file("dump_tensor_data/large.pt"), 500'000'000);
  write_repeated(scratch_.file("dump_tensor_data/right.pt"), 6);
  Json large = tensor({6});
  Json right = large;
  large["data_name"] = "large.pt";
  right["data_name"] = "right.pt";
  Json root = Json::parse(dump_text(""));
  root["task"] = "tensor";
  root["dump_data_dir"] = scratch_.file("dump_tensor_data");
  root["data"]["Functional.relu.0.forward"] = entry({large});
  root["data"]["Functional.relu.1.forward"] = entry({right});
  write_file(scratch_ / "dump.json", root.dump());
  const Finished run = msrun({"-api_info", scratch_ / "dump.json", "-o", out(), "--backend", "sim"}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  EXPECT_EQ(rows.at(1).at(1), "SKIP");
  EXPECT_THAT(rows.at(1).back(), HasSubstr("describes a tensor (500000000,) that repeats its elements"));
  EXPECT_EQ(rows.at(2).at(1), "pass");
  EXPECT_LT(run.peak, std::uint64_t{1} << 30);
}

// The exit code of a shell command, whose output goes to the file.
int shell(const std::string& command, const fs::path& output) {
  const std::string line = "bash -c '" + command + "' > " + output.string() + " 2>&1";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Limited, ASmallStackIsAClearLine) {
  if (sanitized) GTEST_SKIP() << "a sanitizer needs more before the program begins";
  const std::string arguments =
      " -api_info " + dump("zoo_stat").string() + " -o " + out().string() + " --only Torch.matmul.*";
  // Kibibytes; below some 16 the loader of programs itself has not enough.
  for (const int limit : {32, 128}) {
    const fs::path output = scratch_ / "output";
    const std::string prefix = "ulimit -s " + std::to_string(limit) + "; ";
    EXPECT_EQ(shell(prefix + programs() + "/msrun" + arguments, output), exit_usage);
    EXPECT_THAT(read_file(output),
                AllOf(HasSubstr("msrun: the stack is limited to " + std::to_string(limit) + " KiB"), EndsWith("\n")));
    for (const char* tool : {"api_precision_compare", "code_mapping", "op_generate", "tensor_compare",
                             "torchair_compare", "torchair_convert"}) {
      EXPECT_EQ(shell(prefix + programs() + "/" + tool + " --version", output), exit_usage) << tool;
    }
    EXPECT_FALSE(fs::exists(out()));
  }
  // What the user may raise again is raised, and threads have stacks of their own size.
  EXPECT_EQ(shell("ulimit -S -s 64; " + programs() + "/msrun" + arguments, scratch_ / "output"), 0)
      << read_file(scratch_ / "output");
}

std::string core_limit(pid_t process) {
  std::ifstream limits("/proc/" + std::to_string(process) + "/limits");
  for (std::string line; std::getline(limits, line);) {
    if (line.starts_with("Max core file size")) return line;
  }
  return {};
}

TEST_F(Limited, ACrashLeavesNoCoreUnlessAskedFor) {
  rlimit core{};
  getrlimit(RLIMIT_CORE, &core);
  if (core.rlim_max == 0) GTEST_SKIP() << "core dumps are forbidden here";
  const InheritedLimit as_much_as_possible(RLIMIT_CORE, core.rlim_max);
  for (const bool wanted : {false, true}) {
    std::vector<std::string> arguments{"-api_info", dump("zoo_stat"), "-o", out(), "--sim-fault", "*=hang"};
    if (wanted) arguments.emplace_back("--core-dumps");
    const Process run(arguments, scratch_.path());
    std::string limit;
    EXPECT_TRUE(eventually(60, [&] {
      for (const auto& [pid, name] : children(run.pid())) {
        if (name.starts_with("msrun-dev")) limit = core_limit(pid);
      }
      std::istringstream words(limit);
      std::string soft;
      for (int i = 0; i < 5; ++i) words >> soft;
      return !limit.empty() && (soft == "0") != wanted;
    })) << limit;
  }
}

TEST_F(Limited, LimitsOfSmallValuesAreChosenAndKept) {
  const auto arguments = [&](const char* folder, const std::vector<std::string>& more) {
    std::vector<std::string> words{"-api_info", dump("llama_bf16"),     "--only",     "Functional.silu.*",
                                   "--only",    "Functional.softmax.*", "--standard", "current",
                                   "-o",        scratch_ / folder};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const char* limits : {"current", "documented"}) {
    const Finished run = msrun(arguments(limits, {"--limits", limits}), scratch_.path());
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  }
  ASSERT_EQ(msrun(arguments("default", {}), scratch_.path()).exit_code, 0);
  const auto details = [&](const char* folder) {
    return read_file(only_file(scratch_ / folder, "accuracy_checking_details_"));
  };
  EXPECT_EQ(details("default"), details("current"));
  EXPECT_NE(details("documented"), details("current"));

  const fs::path csv = only_file(scratch_ / "documented", "accuracy_checking_result_");
  const Finished other = msrun(arguments("documented", {"--limits", "current", "-csv_path", csv}), scratch_.path());
  EXPECT_EQ(other.exit_code, exit_usage);
  EXPECT_THAT(other.err, HasSubstr("limits (\"documented\" then, \"current\" now)"));
  EXPECT_EQ(msrun(arguments("documented", {"--limits", "documented", "-csv_path", csv}), scratch_.path()).exit_code, 0);
  EXPECT_EQ(msrun(arguments("documented", {"-csv_path", csv}), scratch_.path()).exit_code, 0);
}

}  // namespace
}  // namespace msrun::testing
