// docs/migrating.md has what a user of msProbe looks for: every documented flag, configuration key and file, each
// beside the command of ours that takes it.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/docs/helps.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

// What is code in the first column of the page's tables, less that of a command that a row begins with.
std::set<std::string> first_column() {
  std::set<std::string> found;
  std::istringstream lines(read_file(fs::path(source_root()) / "docs" / "migrating.md"));
  static const std::regex code("`([^`]+)`");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::sregex_iterator at(cell.begin(), cell.end(), code), end; at != end; ++at) found.insert((*at)[1]);
  }
  return found;
}

// By the documents of msProbe: command of ours, flags of the command in its place.
const std::map<std::string, std::vector<std::string>>& documented_flags() {
  static const std::map<std::string, std::vector<std::string>> flags{
      {"msrun",
       {"-api_info",
        "--api_info_file",
        "-o",
        "--out_path",
        "-save_error_data",
        "-j",
        "--jit_compile",
        "-d",
        "--device",
        "-csv_path",
        "--result_csv_path",
        "-f",
        "--filter_api",
        "-config",
        "--config_path",
        "-n",
        "--num_splits",
        "-forward",
        "--forward_input_file",
        "-backward",
        "--backward_input_file",
        "-real_data_path"}},
      {"run_overflow_check", {"-api_info", "--api_info_file", "-d", "--device", "-j", "--jit_compile"}},
      {"api_precision_compare", {"-npu", "--npu_csv_path", "-gpu", "--gpu_csv_path", "-o", "--out_path"}},
      {"parse", {"-d", "--dump_path", "-t", "--type", "-o", "--output_path"}},
      {"compare",
       {"-m",
        "--mode",
        "-tp",
        "--target_path",
        "-gp",
        "--golden_path",
        "-o",
        "--output_path",
        "--xlsx",
        "-fm",
        "--fuzzy_match",
        "-dm",
        "--data_mapping",
        "-cm",
        "--cell_mapping",
        "-am",
        "--api_mapping",
        "-lm",
        "--layer_mapping",
        "-da",
        "--diff_analyze",
        "-tensor_log",
        "--is_print_compare_log",
        "--rank",
        "--step",
        "-i",
        "--input_path",
        "-s"}},
      {"op_generate", {"-i", "--config_input", "-o", "--api_output_path"}},
      {"code_mapping", {"--ir", "--dump_data", "--output"}},
      {"graph",
       {"-i",
        "--input_path",
        "-o",
        "--output_path",
        "-lm",
        "--layer_mapping",
        "-oc",
        "--overflow_check",
        "-f",
        "--fuzzy_match",
        "-cs",
        "--complete_stack",
        "-tp",
        "--target_path",
        "-gp",
        "--golden_path",
        "-fm",
        "-progress_log",
        "--is_print_progress_log",
        "-tensor_log",
        "--is_print_compare_log"}},
      {"overflow_check", {"-i", "--input_path", "-o", "--output_path"}}};
  return flags;
}

TEST(Migrating, NamesEveryDocumentedFlag) {
  const std::set<std::string> page = first_column();
  for (const auto& [command, flags] : documented_flags()) {
    for (const std::string& flag : flags) EXPECT_TRUE(page.contains(flag)) << command << " " << flag;
  }
}

TEST(Migrating, EveryDocumentedFlagIsTaken) {
  for (const auto& [command, flags] : documented_flags()) {
    const Options ours = listed(command == "msrun" ? help_of("msrun") : help_of("msrun", {"help", command}));
    for (const std::string& flag : flags) EXPECT_TRUE(ours.contains(flag)) << command << " " << flag;
  }
}

TEST(Migrating, NamesEveryDocumentedKeyAndFile) {
  const std::set<std::string> page = first_column();
  for (const char* name : {"white_list",
                           "black_list",
                           "error_data_path",
                           "precision",
                           "quantization_api_list",
                           "task",
                           "level",
                           "rank",
                           "step",
                           "dump_path",
                           "extra_info",
                           "async_dump",
                           "dump_enable",
                           "risk_level",
                           "dump_step",
                           "real_data",
                           "enable_dataloader",
                           "target_iter",
                           "is_online",
                           "nfs_path",
                           "is_benchmark_device",
                           "host",
                           "port",
                           "rank_list",
                           "accuracy_checking_result_<time>.csv",
                           "accuracy_checking_details_<time>.csv",
                           "ut_error_data<time>/",
                           "api_precision_compare_result_<time>.csv",
                           "api_precision_compare_details_<time>.csv",
                           "compare_result_<time>.csv",
                           "accuracy_checking_result.csv",
                           "accuracy_checking_details.csv",
                           "acc_check",
                           "multi_acc_check",
                           "run_overflow_check",
                           "api_precision_compare",
                           "compare",
                           "overflow_check",
                           "op_generate",
                           "code_mapping",
                           "graph_visualize",
                           "graph",
                           "parse",
                           "merge_result",
                           "monitor",
                           "grad_probe",
                           "free_benchmark",
                           "config_check",
                           "data2db"}) {
    EXPECT_TRUE(page.contains(name)) << name;
  }
}

}  // namespace
}  // namespace msrun::testing
