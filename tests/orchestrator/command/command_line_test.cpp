// One test for every option or rule of the command line, hence longer than other files.
#include "orchestrator/command/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/device/backends/backends.h"
#include "tests/support/error_of.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ParsedCommandLine parse_any(std::vector<const char*> words) {
  words.insert(words.begin(), "msrun");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

Options parse(const std::vector<const char*>& words) { return std::get<Options>(parse_any(words)); }

Options parse_with_input(std::vector<const char*> words) {
  words.insert(words.begin(), {"-api_info", "dump.json"});
  return parse(words);
}

std::string usage_error(const std::vector<const char*>& words) {
  return error_of<UserError>([&] { parse_any(words); });
}

std::string usage_error_with_input(std::vector<const char*> words) {
  words.insert(words.begin(), {"-api_info", "dump.json"});
  return usage_error(words);
}

TEST(CommandLine, PlainFormIsMultiAccCheck) {
  const Options options = parse({"-api_info", "dump.json", "-n", "32", "-d", "0", "1", "2", "3"});
  EXPECT_EQ(options.command, Command::multi_acc_check);
  EXPECT_EQ(options.api_info, "dump.json");
  EXPECT_EQ(options.threads, 32);
  EXPECT_THAT(options.devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(options.notices, IsEmpty());
}

TEST(CommandLine, Defaults) {
  const Options options = parse_with_input({});
  EXPECT_EQ(options.out_path, "./");
  EXPECT_EQ(options.threads, 8);
  EXPECT_THAT(options.devices, ElementsAre(0));
  EXPECT_EQ(options.backend, "auto");
  EXPECT_FALSE(options.seed);
  EXPECT_EQ(options.seed_mode, SeedMode::per_api);
  EXPECT_EQ(options.standard, Policy::per_api);
  EXPECT_EQ(options.memory.bytes, 0U);
  EXPECT_DOUBLE_EQ(options.memory.share, 0.8);
  EXPECT_EQ(options.fail_on, FailOn::never);
  EXPECT_EQ(options.summary, std::nullopt);
  EXPECT_FALSE(options.filter_api || options.save_error_data || options.jit_compile || options.compat_msprobe ||
               options.english_titles || options.filter_compat || options.list_apis);
}

TEST(CommandLine, EveryCommandAndAlias) {
  EXPECT_EQ(parse({"multi_acc_check", "-api_info", "d"}).command, Command::multi_acc_check);
  EXPECT_EQ(parse({"multi_run_ut", "-api_info", "d"}).command, Command::multi_acc_check);
  EXPECT_EQ(parse({"acc_check", "-api_info", "d"}).command, Command::acc_check);
  EXPECT_EQ(parse({"run_ut", "-api_info", "d"}).command, Command::acc_check);
  EXPECT_EQ(parse({"run_overflow_check", "-api_info", "d"}).command, Command::run_overflow_check);
}

TEST(CommandLine, LeadingFramework) {
  const Options options = parse({"-f", "pytorch", "run_ut", "-api_info", "d"});
  EXPECT_EQ(options.framework, "pytorch");
  EXPECT_EQ(options.command, Command::acc_check);
  EXPECT_FALSE(options.filter_api);
  EXPECT_EQ(parse({"-f", "MindSpore", "-api_info", "d"}).framework, "mindspore");
  EXPECT_THAT(usage_error({"-f", "paddle", "run_ut", "-api_info", "d"}), HasSubstr("pytorch or mindspore"));
  EXPECT_TRUE(parse({"-f", "-api_info", "d"}).filter_api);
}

// Each spelling, with one and two dashes, with the value as the next word and after '='.
class FlagSpelling : public ::testing::TestWithParam<std::pair<const char*, std::string Options::*>> {};

TEST_P(FlagSpelling, TakesItsValue) {
  const auto& [spelling, member] = GetParam();
  for (const std::string dashes : {"-", "--"}) {
    const std::string flag = dashes + spelling;
    std::vector<const char*> words{flag.c_str(), "a b.json"};
    const std::string joined = flag + "=a b.json";
    std::vector<const char*> joined_words{joined.c_str()};
    const bool is_input = member == &Options::api_info || member == &Options::forward;
    const bool is_legacy = member == &Options::backward || member == &Options::real_data_path;
    for (auto* list : {&words, &joined_words}) {
      if (!is_input) list->insert(list->end(), {is_legacy ? "-forward" : "-api_info", "dump.json"});
      EXPECT_EQ(parse(*list).*member, "a b.json") << list->front();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FlagSpelling,
    ::testing::Values(std::pair{"api_info", &Options::api_info}, std::pair{"api_info_file", &Options::api_info},
                      std::pair{"out_path", &Options::out_path}, std::pair{"csv_path", &Options::csv_path},
                      std::pair{"result_csv_path", &Options::csv_path}, std::pair{"config", &Options::config_path},
                      std::pair{"config_path", &Options::config_path}, std::pair{"forward", &Options::forward},
                      std::pair{"forward_input_file", &Options::forward}, std::pair{"backward", &Options::backward},
                      std::pair{"backward_input_file", &Options::backward},
                      std::pair{"real_data_path", &Options::real_data_path}));

TEST(CommandLine, SwitchesInBothSpellings) {
  for (const char* flag : {"-f", "-filter_api", "--filter_api"}) EXPECT_TRUE(parse_with_input({flag}).filter_api);
  for (const char* flag : {"-j", "-jit_compile", "--jit_compile"}) EXPECT_TRUE(parse_with_input({flag}).jit_compile);
  for (const char* flag : {"-save_error_data", "--save_error_data", "--save-error-data"}) {
    EXPECT_TRUE(parse_with_input({flag}).save_error_data);
  }
  for (const char* flag : {"-filter-compat", "--filter-compat", "--filter_compat"}) {
    EXPECT_TRUE(parse_with_input({"-f", flag}).filter_compat);
  }
  EXPECT_EQ(parse_with_input({"--summary"}).summary, true);
  EXPECT_EQ(parse_with_input({"--no-summary"}).summary, false);
}

// Those who ask for the files of another tool get these alone.
TEST(CommandLine, AReportIsWantedUnlessTheFilesAreAnotherTools) {
  EXPECT_TRUE(wants_report(parse_with_input({})));
  EXPECT_FALSE(wants_report(parse_with_input({"--no-report"})));
  for (const char* tool : {"--compat=msprobe", "--compat=att", "--layout=att"}) {
    EXPECT_FALSE(wants_report(parse_with_input({tool}))) << tool;
    EXPECT_TRUE(wants_report(parse_with_input({tool, "--report"}))) << tool;
  }
  // The run that continues does as the one that began.
  EXPECT_THAT(resume_command(parse_with_input({"--no-report"}), "r.csv"), HasSubstr(" --no-report "));
}

TEST(CommandLine, ThreadsAndDevicesInBothSpellings) {
  EXPECT_EQ(parse_with_input({"-n", "3"}).threads, 3);
  EXPECT_EQ(parse_with_input({"-n3"}).threads, 3);
  EXPECT_EQ(parse_with_input({"-n=3"}).threads, 3);
  EXPECT_EQ(parse_with_input({"-num_splits", "3"}).threads, 3);
  EXPECT_EQ(parse_with_input({"--num_splits=3"}).threads, 3);
  EXPECT_EQ(parse_with_input({"-o", "x"}).out_path, "x");
  EXPECT_EQ(parse_with_input({"-o="}).out_path, "./");
  EXPECT_EQ(parse_with_input({"-o", ""}).out_path, "./");
  EXPECT_THAT(parse_with_input({"-d", "5"}).devices, ElementsAre(5));
  EXPECT_THAT(parse_with_input({"-device", "5", "1"}).devices, ElementsAre(5, 1));
  EXPECT_THAT(parse_with_input({"--device=5"}).devices, ElementsAre(5));
  EXPECT_THAT(parse_with_input({"--device", "0", "1", "2", "3", "4", "5", "6", "7"}).devices.size(), 8U);
  EXPECT_THAT(parse_with_input({"-d", "0,1,2"}).devices, ElementsAre(0, 1, 2));
  EXPECT_EQ(parse({"-d", "0", "1", "-api_info", "d"}).api_info, "d");
}

TEST(CommandLine, ThreadLimits) {
  EXPECT_EQ(parse_with_input({"-n", "1"}).threads, 1);
  EXPECT_EQ(parse_with_input({"-n", "64", "-d", "0", "1", "2", "3", "4", "5", "6", "7"}).threads, 64);
  for (const char* bad : {"0", "65", "-1", "x", "1.5", ""}) {
    EXPECT_THAT(usage_error_with_input({"-n", bad}), HasSubstr("-n must be a number from 1 to 64")) << bad;
  }
}

TEST(CommandLine, TooManyThreadsPerDeviceAreReducedAndSaid) {
  const Options options = parse_with_input({"-n", "32", "-d", "0"});
  EXPECT_EQ(options.threads, 8);
  EXPECT_THAT(options.notices,
              ElementsAre("-n 32 is more than 8 threads per device: running with 8 threads on 1 device."));
  EXPECT_EQ(parse_with_input({"-n", "17", "-d", "0", "1"}).threads, 16);
  EXPECT_THAT(parse_with_input({"-n", "16", "-d", "0", "1"}).notices, IsEmpty());
}

TEST(CommandLine, FewerThreadsThanDevicesUseTheFirstDevices) {
  const Options options = parse_with_input({"-n", "2", "-d", "4", "5", "6"});
  EXPECT_THAT(options.devices, ElementsAre(4, 5));
  EXPECT_THAT(options.notices, ElementsAre(HasSubstr("only the first 2 devices of the 3 given run.")));
}

TEST(CommandLine, AccCheckTakesTheFirstDevice) {
  const Options options = parse({"acc_check", "-api_info", "d", "-d", "3", "1"});
  EXPECT_THAT(options.devices, ElementsAre(3));
  EXPECT_EQ(options.threads, 1);
  EXPECT_THAT(options.notices, ElementsAre(HasSubstr("only device 3")));
  EXPECT_EQ(parse({"acc_check", "-api_info", "d", "-n", "20"}).threads, 8);
}

TEST(CommandLine, DeviceErrors) {
  EXPECT_THAT(usage_error_with_input({"-d", "0", "0"}), HasSubstr("device id must be unique"));
  EXPECT_THAT(usage_error_with_input({"-d", "-1"}), HasSubstr("device id must be greater than or equal to 0"));
  EXPECT_THAT(usage_error_with_input({"-d", "0", "-2"}), HasSubstr("device id must be greater than or equal to 0"));
  EXPECT_THAT(usage_error_with_input({"-d", "one"}), HasSubstr("-d takes device ids, not one"));
  EXPECT_THAT(usage_error_with_input({"-d"}), "-d needs a value");
}

TEST(CommandLine, DevicesBeyondTheUsualEight) {
  const Options options = parse({"-api_info", "d", "-n", "10", "-d", "7", "8", "15"});
  EXPECT_THAT(options.devices, ElementsAre(7, 8, 15));
  EXPECT_THAT(options.notices, ElementsAre(HasSubstr("device id 8 "), HasSubstr("device id 15 ")));
}

TEST(CommandLine, OverflowCheckTakesAValueAfterJit) {
  EXPECT_TRUE(parse({"run_overflow_check", "-api_info", "d", "-j"}).jit_compile);
  EXPECT_TRUE(parse({"run_overflow_check", "-j", "True", "-api_info", "d"}).jit_compile);
  EXPECT_TRUE(parse({"run_overflow_check", "-api_info", "d", "--jit_compile=1"}).jit_compile);
  EXPECT_FALSE(parse({"run_overflow_check", "-api_info", "d", "-j", ""}).jit_compile);
  for (const char* no : {"NO", "False"})
    EXPECT_FALSE(parse({"run_overflow_check", "-j", no, "-api_info", "d"}).jit_compile);
  EXPECT_THAT(usage_error({"run_overflow_check", "-api_info", "d", "-j", "maybe"}),
              HasSubstr("takes YES or NO, not maybe"));
  EXPECT_THAT(usage_error({"run_overflow_check", "-api_info", "d", "-csv_path", "x"}), HasSubstr("-csv_path"));
}

TEST(CommandLine, OverflowCheckRunsForwardsOnly) {
  const Options options =
      parse({"run_overflow_check", "-forward", "f.json", "-backward", "b.json", "-o", "dir", "-d", "3"});
  EXPECT_EQ(options.forward, "f.json");
  EXPECT_EQ(options.backward, "");
  EXPECT_THAT(options.notices, ElementsAre("run_overflow_check runs forwards only: b.json is not read."));
  EXPECT_TRUE(options.out_path_given);
  EXPECT_EQ(overflow_command(options), "msrun run_overflow_check -forward f.json -o dir -d 3");
  EXPECT_FALSE(parse({"run_overflow_check", "-api_info", "d"}).out_path_given);
  for (const char* flag : {"-f", "-save_error_data"}) {
    EXPECT_THAT(usage_error({"run_overflow_check", "-api_info", "d", flag}), HasSubstr(flag));
  }
  for (const char* flag : {"-n", "-config", "--standard", "--compat", "--titles"}) {
    EXPECT_THAT(usage_error({"run_overflow_check", "-api_info", "d", flag, "1"}), HasSubstr(flag));
  }
}

TEST(CommandLine, LegacyInput) {
  const Options options = parse({"run_ut", "-forward", "f.json", "-backward", "b.json", "-real_data_path", "data"});
  EXPECT_EQ(options.forward, "f.json");
  EXPECT_EQ(options.backward, "b.json");
  EXPECT_EQ(options.real_data_path, "data");
  EXPECT_THAT(usage_error({"run_ut", "-backward", "b.json"}), HasSubstr("-backward needs -forward"));
  EXPECT_THAT(usage_error({"run_ut", "-api_info", "d", "-forward", "f"}), HasSubstr("exclude each other"));
}

TEST(CommandLine, InputIsRequired) {
  EXPECT_THAT(usage_error({}), HasSubstr("Please provide api_info_file for offline acc_check"));
  EXPECT_THAT(usage_error({"acc_check", "-o", "x"}), HasSubstr("-api_info DUMP.JSON"));
  EXPECT_THAT(usage_error({"-api_info", ""}), HasSubstr("Please provide api_info_file"));
  EXPECT_EQ(usage_error({"-api_info"}), "-api_info needs a value");
  EXPECT_EQ(usage_error({"-api_info", "-o", "x"}), "-api_info needs a value");
  EXPECT_TRUE(parse({"--list-apis"}).list_apis);
  EXPECT_TRUE(parse({"--list-standards"}).list_standards);
  EXPECT_TRUE(parse({"--list-judgement"}).list_judgement);
  EXPECT_TRUE(parse({"--list-faults", "--json"}).list_faults);
  EXPECT_TRUE(parse({"--list-apis", "--json"}).json_lists);
  EXPECT_THAT(usage_error_with_input({"--json"}), HasSubstr("--json goes with --list-apis, --list-standards"));
  EXPECT_TRUE(parse({"--list-devices", "--python", "p"}).list_devices);
  const Options torch = parse_with_input(
      {"--backend", "torch:npu", "--python", "/opt/my python", "--torch-lanes", "3", "--torch-workers=2"});
  EXPECT_EQ(torch.backend, "torch");
  EXPECT_EQ(torch.backend_kind, "npu");
  EXPECT_EQ(torch.torch_lanes, 3U);
  EXPECT_EQ(torch.torch_workers, 2U);
  EXPECT_THAT(reproduce_command(torch), HasSubstr("--backend torch:npu --python '/opt/my python' --torch-lanes 3 "
                                                  "--torch-workers 2"));
  EXPECT_THAT(usage_error_with_input({"--torch-lanes", "0"}), HasSubstr("--torch-lanes"));
  EXPECT_THAT(usage_error_with_input({"--backend", "torch:tpu"}), HasSubstr("torch:npu"));
}

TEST(CommandLine, Choices) {
  EXPECT_EQ(parse_with_input({"--seed-mode", "stream"}).seed_mode, SeedMode::stream);
  EXPECT_EQ(parse_with_input({"--seed-mode=per-api"}).seed_mode, SeedMode::per_api);
  EXPECT_EQ(parse_with_input({"--standard", "current"}).standard, Policy::current);
  EXPECT_EQ(parse_with_input({"--message-format", "json"}).message_format, MessageFormat::json);
  EXPECT_EQ(parse_with_input({"--fail-on", "error"}).fail_on, FailOn::error);
  EXPECT_EQ(parse_with_input({"--fail-on", "warning"}).fail_on, FailOn::warning);
  EXPECT_EQ(parse_with_input({"--fail-on", "skip"}).fail_on, FailOn::skip);
  EXPECT_THAT(resume_command(parse_with_input({"--fail-on", "skip"}), "r.csv"), HasSubstr(" --fail-on skip "));
  EXPECT_FALSE(parse_with_input({}).require_device);
  EXPECT_TRUE(parse_with_input({"--require-device"}).require_device);
  EXPECT_THAT(reproduce_command(parse_with_input({"--require-device"})), HasSubstr(" --require-device"));
  EXPECT_TRUE(parse_with_input({"--titles", "en"}).english_titles);
  EXPECT_FALSE(parse_with_input({"--titles", "cn"}).english_titles);
  EXPECT_TRUE(parse_with_input({"--compat", "msprobe"}).compat_msprobe);
  EXPECT_EQ(parse_with_input({"--compat", "att"}).layout, ReportLayout::att_raw);
  EXPECT_FALSE(parse_with_input({"--compat", "att"}).compat_msprobe);
  EXPECT_EQ(parse_with_input({"--layout", "att"}).layout, ReportLayout::att);
  EXPECT_EQ(parse_with_input({}).layout, ReportLayout::current);
  EXPECT_EQ(usage_error_with_input({"--layout", "current", "--compat", "att"}), "--compat att is that of --layout att");
  EXPECT_EQ(parse_with_input({}).durability, Durability::process);
  EXPECT_EQ(parse_with_input({"--durability", "power"}).durability, Durability::power);
  EXPECT_EQ(parse_with_input({"--durability=process"}).durability, Durability::process);
  EXPECT_EQ(usage_error_with_input({"--durability", "x"}), "--durability must be one of process, power, not x");
  EXPECT_EQ(usage_error_with_input({"--seed-mode", "x"}), "--seed-mode must be one of per-api, stream, not x");
  EXPECT_EQ(usage_error_with_input({"--standard", "x"}), "--standard must be one of per_api, current, not x");
  EXPECT_EQ(usage_error_with_input({"--message-format", "x"}),
            "--message-format must be one of human, json, github, not x");
  EXPECT_EQ(parse_with_input({"--fail-on", "unsteady", "--repeat", "2"}).fail_on, FailOn::unsteady);
  EXPECT_EQ(usage_error_with_input({"--fail-on", "unsteady"}),
            "--fail-on unsteady needs --repeat N or --same-on-all: otherwise every call runs once");
  EXPECT_EQ(usage_error_with_input({"--fail-on", "x"}),
            "--fail-on must be one of error, warning, suspicious, skip, unsteady, not x");
  EXPECT_EQ(usage_error_with_input({"--titles", "x"}), "--titles must be one of zh, cn, en, not x");
  EXPECT_EQ(usage_error_with_input({"--compat", "x"}), "--compat must be one of msprobe, att, not x");
}

TEST(CommandLine, Backends) {
  EXPECT_EQ(parse_with_input({"--backend", "recorded"}).backend, "recorded");
  EXPECT_EQ(parse_with_input({}).recorded_on, "");
  EXPECT_EQ(parse_with_input({"--recorded-on", "cpu"}).recorded_on, "cpu");
  EXPECT_THROW(parse_with_input({"--recorded-on", "tpu"}), UserError);
  const Options torch = parse_with_input({"--backend", "torch:cuda"});
  EXPECT_EQ(torch.backend, "torch");
  EXPECT_EQ(torch.backend_kind, "cuda");
  EXPECT_THAT(usage_error_with_input({"--backend", "tpu"}),
              HasSubstr("--backend must be one of auto, torch, torch:cpu"));
  // A path that holds for whoever goes on with the run from elsewhere.
  const Options plugin = parse_with_input({"--backend", "plugin:/opt/a:b/mine.so"});
  EXPECT_EQ(plugin.backend, "plugin");
  EXPECT_EQ(plugin.backend_kind, "/opt/a:b/mine.so");
  EXPECT_THAT(reproduce_command(plugin), HasSubstr("--backend plugin:/opt/a:b/mine.so"));
  EXPECT_TRUE(parse_with_input({"--backend=plugin:mine.so"}).backend_kind.ends_with("/mine.so"));
  for (const char* text : {"plugin", "plugin:", "plug:x"}) {
    EXPECT_THAT(usage_error_with_input({"--backend", text}), HasSubstr("plugin:FILE"));
  }
  const Options faults = parse_with_input({"--sim-fault", "a=ftz", "--sim-fault=b=stale"});
  EXPECT_THAT(faults.sim_faults, ElementsAre("a=ftz", "b=stale"));
  EXPECT_EQ(faults.backend, "sim");
  EXPECT_EQ(usage_error_with_input({"--sim-fault", "a=ftz", "--backend", "torch"}), "--sim-fault needs --backend sim");
}

TEST(CommandLine, Sizes) {
  EXPECT_EQ(parse_with_input({"--memory", "2G"}).memory.bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(parse_with_input({"--memory", "512M"}).memory.bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(parse_with_input({"--memory", "1.5KiB"}).memory.bytes, 1536U);
  EXPECT_EQ(parse_with_input({"--memory", "4096"}).memory.bytes, 4096U);
  EXPECT_DOUBLE_EQ(parse_with_input({"--memory", "50%"}).memory.share, 0.5);
  EXPECT_EQ(parse_with_input({"--memory", "50%"}).memory.bytes, 0U);
  for (const char* bad : {"0", "-1G", "0%", "101%", "G", "%", "2X", "nan", ""}) {
    EXPECT_THAT(usage_error_with_input({"--memory", bad}), HasSubstr("--memory must be a size")) << bad;
  }
}

TEST(CommandLine, Times) {
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "90"}).task_timeout.value(), 90);
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "1.5"}).task_timeout.value(), 1.5);
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "90s"}).task_timeout.value(), 90);
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "5m"}).task_timeout.value(), 300);
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "1h"}).task_timeout.value(), 3600);
  EXPECT_DOUBLE_EQ(parse_with_input({"--task-timeout", "0"}).task_timeout.value(), 0);
  for (const char* bad : {"-1", "s", "5d", "nan", "inf", ""}) {
    EXPECT_THAT(usage_error_with_input({"--task-timeout", bad}), HasSubstr("--task-timeout must be a time")) << bad;
  }
}

TEST(CommandLine, SeedAndPatterns) {
  EXPECT_EQ(parse_with_input({"--seed", "18446744073709551615"}).seed, ~std::uint64_t{0});
  EXPECT_THAT(usage_error_with_input({"--seed", "-1"}), HasSubstr("--seed must be"));
  EXPECT_THAT(usage_error_with_input({"--seed", "99999999999999999999"}), HasSubstr("0 to 18446744073709551615"));
  EXPECT_THAT(parse_with_input({"--only", "Torch.*", "-only", "*.add.?"}).only, ElementsAre("Torch.*", "*.add.?"));
  EXPECT_THAT(parse_with_input({"--only=Torch.*, *.add.?,x", "--only", "[a,b],[],]"}).only,
              ElementsAre("Torch.*", "*.add.?", "x", "[a,b]", "[],]"));
  EXPECT_THAT(parse_with_input({"--except", "A,B", "--except", "C"}).except, ElementsAre("A", "B", "C"));
  for (const char* bad : {"", ",", "A,,B", "A,"}) {
    EXPECT_THAT(usage_error_with_input({"--only", bad}), HasSubstr("--only takes patterns of names")) << bad;
  }
}

TEST(CommandLine, UnknownOptionsSuggestTheNearest) {
  EXPECT_EQ(usage_error({"-api_inf", "d"}), "unknown option -api_inf, did you mean -api_info?");
  EXPECT_EQ(usage_error({"-devise", "0"}), "unknown option -devise, did you mean --device?");
  EXPECT_EQ(usage_error({"--messageformat=json"}),
            "unknown option --messageformat=json, did you mean --message-format?");
  EXPECT_EQ(usage_error({"--filter"}), "unknown option --filter, did you mean --filter_api?");
  EXPECT_EQ(usage_error({"-zzzzzz"}), "unknown option -zzzzzz (msrun -h lists all options)");
  EXPECT_EQ(usage_error({"-fj"}), "unknown option -fj (msrun -h lists all options)");
}

TEST(CommandLine, UnknownCommandsSuggestTheNearest) {
  EXPECT_EQ(usage_error({"jurnal", "x"}), "unknown command jurnal, did you mean journal?");
  EXPECT_EQ(usage_error({"acc_chek", "-api_info", "d"}), "unknown command acc_chek, did you mean acc_check?");
  EXPECT_EQ(usage_error({"run_overflow"}), "unknown command run_overflow, did you mean run_overflow_check?");
  EXPECT_EQ(usage_error({"pack"}),
            "unknown command pack: the commands are multi_acc_check, "
            "acc_check, run_overflow_check, journal, merge, api_precision_compare, bisect, code_mapping, "
            "compare, convert, diff, graph, op_generate, overflow_check, parse, report, shrink, tensor_compare");
  EXPECT_EQ(usage_error({"comapre"}), "unknown command comapre, did you mean compare?");
  EXPECT_EQ(usage_error({"torchair_convert"}), "unknown command torchair_convert, did you mean convert?");
  EXPECT_EQ(usage_error({"tensor-compare", "a", "b"}), "unknown command tensor-compare, did you mean tensor_compare?");
  EXPECT_EQ(usage_error({"-f", "pytorch", "run-ut"}), "unknown command run-ut, did you mean run_ut?");
  EXPECT_EQ(usage_error({"hlep"}), "unknown command hlep, did you mean help?");
  EXPECT_EQ(usage_error({"jurn\x1b[31mal"}).find('\x1b'), std::string::npos);
}

TEST(CommandLine, OtherUsageErrors) {
  EXPECT_THAT(usage_error({"check", "-api_info", "d"}), HasSubstr("unknown command check"));
  EXPECT_THAT(usage_error({"dump.json"}), HasSubstr("did you mean -api_info dump.json?"));
  EXPECT_EQ(usage_error_with_input({"extra"}), "unexpected argument extra");
  EXPECT_EQ(usage_error_with_input({"-api_info_file", "other"}), "-api_info is given more than once");
  EXPECT_EQ(usage_error_with_input({"-f=yes"}), "-f takes no value");
  EXPECT_EQ(usage_error_with_input({"--summary", "--no-summary"}), "--summary and --no-summary exclude each other");
  EXPECT_EQ(usage_error_with_input({"--report", "--no-report"}), "--report and --no-report exclude each other");
  EXPECT_EQ(usage_error_with_input({"--filter-compat"}), "--filter-compat needs -f");
  EXPECT_EQ(usage_error_with_input({"--retry-skip"}), "--retry-skip needs -csv_path");
  for (const char* flag : {"--durability=power", "-csv_path=x", "--summary", "--no-summary", "--report"}) {
    EXPECT_THAT(usage_error({"run_overflow_check", "-api_info", "d", flag}), HasSubstr("takes no "));
  }
  // Whether or not there is a journal beside it.
  EXPECT_EQ(usage_error({"run_overflow_check", "-csv_path", "x.csv"}), "run_overflow_check takes no -csv_path");
  EXPECT_EQ(usage_error_with_input({"-o", "a\nb", "x\ny"}), "unexpected argument x_y");
}

TEST(CommandLine, TitlesAreNamedAsTheToolsNameThem) {
  EXPECT_FALSE(parse_with_input({"--titles", "zh"}).english_titles);
  EXPECT_FALSE(parse_with_input({"--titles", "cn"}).english_titles);
  EXPECT_TRUE(parse_with_input({"--titles", "en"}).english_titles);
}

TEST(CommandLine, HelpAndVersion) {
  for (const char* flag : {"-h", "--help"}) {
    const auto parsed = parse_any({"acc_check", "-bad", flag});
    const std::string text = std::get<PrintAndExit>(parsed).text;
    for (const char* part : {"-api_info, --api_info_file PATH", "-csv_path", "--sim-fault", "--titles", "Examples:"}) {
      EXPECT_THAT(text, HasSubstr(part));
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  }
  for (const Backend& backend : backends()) {
    EXPECT_THAT(std::get<PrintAndExit>(parse_any({"help"})).text, HasSubstr("\n  " + std::string(backend.name) + " "));
    const std::string text = std::string(backend.name) + (backend.takes_file ? ":file" : "");
    EXPECT_EQ(parse_with_input({"--backend", text.c_str()}).backend, backend.name);
  }
  EXPECT_EQ(std::get<PrintAndExit>(parse_any({"help"})).text, std::get<PrintAndExit>(parse_any({"-h"})).text);
  EXPECT_EQ(std::get<PrintAndExit>(parse_any({"--version"})).text, "msrun 0.2.0\n");
  EXPECT_EQ(std::get<PrintAndExit>(parse_any({"help", "journal"})).text,
            std::get<PrintAndExit>(parse_any({"journal", "--help"})).text);
  EXPECT_THAT(std::get<ToolRequest>(parse_any({"help", "compare"})).arguments, ElementsAre("--help"));
}

// Options may stand before the word of a check; values of options are none.
TEST(CommandLine, TheCommandMayFollowOptions) {
  const Options options = parse({"-o", "journal", "--no-summary", "-d", "3", "acc_check", "-api_info", "a.json"});
  EXPECT_EQ(options.command, Command::acc_check);
  EXPECT_EQ(options.out_path, "journal");
  EXPECT_EQ(options.devices, std::vector<int>{3});
  EXPECT_EQ(parse({"-api_info", "a.json", "-o", "acc_check"}).command, Command::multi_acc_check);
  EXPECT_THAT(usage_error({"--no-summary", "parse", "-i", "x"}),
              HasSubstr("the command parse comes first, and its options behind it: msrun parse ..."));
}

TEST(CommandLine, ToolsReadTheirOwnWords) {
  const auto tool = [](const std::vector<const char*>& words) { return std::get<ToolRequest>(parse_any(words)); };
  const ToolRequest plain = tool({"api_precision_compare", "-npu", "a.csv", "--help"});
  EXPECT_STREQ(plain.tool->executable, "api_precision_compare");
  EXPECT_THAT(plain.arguments, ElementsAre("-npu", "a.csv", "--help"));
  EXPECT_THAT(tool({"-f", "pytorch", "api_precision_compare", "-o", "."}).arguments, ElementsAre("-o", "."));
  EXPECT_THAT(usage_error({"-f", "caffe", "api_precision_compare"}), HasSubstr("caffe"));
  EXPECT_THAT(usage_error({"no_such_tool"}), HasSubstr("api_precision_compare"));
  EXPECT_THAT(std::get<PrintAndExit>(parse_any({"--help"})).text, HasSubstr("\n  api_precision_compare  "));
}

TEST(CommandLine, CommandsToRunAgain) {
  const Options options =
      parse({"acc_check", "-api_info", "my dump.json", "--sim-fault", "it's=ftz", "--seed", "7", "-n", "4", "-d", "2",
             "-f", "--only=-a*", "--memory", "50%", "--task-timeout", "5m", "-o", "out"});
  EXPECT_EQ(reproduce_command(options),
            "msrun -api_info 'my dump.json' --backend sim --sim-fault 'it'\\''s=ftz' --seed 7");
  EXPECT_EQ(
      resume_command(options, "out/r.csv"),
      "msrun acc_check -api_info 'my dump.json' --backend sim --sim-fault 'it'\\''s=ftz' --seed 7 --only='-a*' -f -o "
      "out -n 4 -d 2 --task-timeout 300 --memory 50% -csv_path out/r.csv");
  EXPECT_EQ(resume_command(parse_with_input({"--durability", "power", "--retry-skip", "-csv_path", "r.csv"}), "r.csv"),
            "msrun -api_info dump.json -n 8 -d 0 --durability power --retry-skip -csv_path r.csv");
  const Options selected = parse_with_input({"--only", "A.*,B.*", "--except", "*.1", "--allow-outside-data"});
  EXPECT_EQ(reproduce_command(selected), "msrun -api_info dump.json --allow-outside-data");
  EXPECT_EQ(resume_command(selected, "r.csv"),
            "msrun -api_info dump.json --allow-outside-data --only 'A.*' --only 'B.*' --except '*.1' -n 8 -d 0 "
            "-csv_path r.csv");
}

TEST(CommandLine, CommandsToRunAgainBeginAsThisOneDid) {
  const auto program_of = [](const char* program) {
    const std::array<const char*, 3> words{program, "-api_info", "d.json"};
    return reproduce_command(std::get<Options>(parse_command_line(3, words.data())));
  };
  EXPECT_EQ(program_of("msrun"), "msrun -api_info d.json");
  EXPECT_EQ(program_of("build/bin/msrun"), "build/bin/msrun -api_info d.json");
  EXPECT_EQ(program_of("/my tools/msrun"), "'/my tools/msrun' -api_info d.json");
}

TEST(CommandLine, Journal) {
  const auto journal = [](const std::vector<const char*>& words) { return std::get<JournalOptions>(parse_any(words)); };
  EXPECT_EQ(journal({"journal", "a b.journal"}).paths, std::vector<std::string>{"a b.journal"});
  EXPECT_FALSE(journal({"journal", "x"}).json);
  EXPECT_TRUE(journal({"journal", "--json", "x"}).json);
  EXPECT_TRUE(journal({"journal", "x", "-json"}).json);
  EXPECT_EQ(journal({"journal", "x", "--export", "-"}).export_path, "-");
  EXPECT_EQ(journal({"journal", "-export=out.jsonl", "x"}).export_path, "out.jsonl");
  EXPECT_THAT(usage_error({"journal"}), HasSubstr("needs the journal of a run; usage: msrun journal PATH"));
  EXPECT_EQ(usage_error({"journal", "x", "--jason"}), "unknown option --jason, did you mean --json?");
  EXPECT_EQ(journal({"journal", "x", "y"}).paths, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(journal({"journal", "--", "-x.journal"}).paths, std::vector<std::string>{"-x.journal"});
  EXPECT_THAT(std::get<PrintAndExit>(parse_any({"journal", "-h"})).text,
              ::testing::AllOf(HasSubstr("Usage: msrun journal PATH"), HasSubstr("--export FILE"),
                               ::testing::Not(HasSubstr("-api_info"))));
  EXPECT_EQ(std::get<PrintAndExit>(parse_any({"journal", "--version"})).text, "msrun 0.2.0\n");
  EXPECT_THAT(usage_error({"journal", "x", "--export", "a", "--export", "b"}), HasSubstr("more than once"));
  EXPECT_THAT(usage_error({"journal", "x", "--export="}), HasSubstr("needs a file"));
}

}  // namespace
}  // namespace msrun
