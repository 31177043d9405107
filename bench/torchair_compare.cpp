// bench_torchair_compare: how fast torchair_compare is, in proportion to the comparison in use, and how much memory it
// takes. Trees are generated in a scratch directory.
#include <boost/program_options.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/torchair_tree.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double memory_goal = 200;  // MB
constexpr double speed_goal = 20;    // times the baseline

// The comparison in use, a Python program, on two processors (torchair.md 13).
constexpr double baseline_megabytes = 66;  // per second, of large tensors of both sides together
constexpr double baseline_rows = 833;      // per second, of small ones

struct Settings {
  std::size_t repeat = 5;
  std::string directory = "/dev/shm";
  std::vector<std::string> further;  // words for torchair_compare
};

// Both dumps of a graph.
class Trees {
 public:
  Trees(const TorchairTree& tree, const Settings& settings)
      : scratch_(settings.directory),
        ge_(write_ge_tree(tree, scratch_.path().string())),
        fx_(write_fx_tree(tree, scratch_.path().string())) {}
  std::string file(const char* name) const { return (scratch_.path() / name).string(); }
  TreeSize ge() const { return ge_; }
  TreeSize fx() const { return fx_; }

 private:
  ScratchDirectory scratch_;
  TreeSize ge_;
  TreeSize fx_;
};

MeasuredTool compare(const Trees& trees, const std::string& golden, const Settings& settings) {
  std::vector<std::string> words{
      "--target_path", trees.file("msprobe_ge_dump"), "--golden_path", golden, "--output_path", trees.file("out")};
  words.insert(words.end(), settings.further.begin(), settings.further.end());
  const MeasuredTool run = run_tool("torchair_compare", words);
  fs::remove_all(trees.file("out"));
  return run;
}

enum class Golden { fx, ge };

void measure(const char* what, const TorchairTree& tree, Golden kind, bool large, const Settings& settings) {
  const Trees trees(tree, settings);
  const std::string golden = trees.file(kind == Golden::fx ? "msprobe_fx_dump" : "msprobe_ge_dump");
  const TreeSize other = kind == Golden::fx ? trees.fx() : trees.ge();
  const MeasuredTool best = fastest(settings.repeat, [&](std::size_t) { return compare(trees, golden, settings); });
  const std::uint64_t files = trees.ge().files + other.files;
  const double megabytes = static_cast<double>(trees.ge().bytes + other.bytes) / megabyte;
  const auto rows = static_cast<double>(3 * tree.operators * tree.tokens);
  const double rate = (large ? megabytes : rows) / best.seconds;
  const double ratio = rate / (large ? baseline_megabytes : baseline_rows);
  std::printf(
      "%-28s %6llu files %7.1f MB %6.0f rows: %6.3f s, %6.0f %s, %5.1f x baseline (goal %.0f); %6.3f s of processor "
      "time, peak %.0f MB (goal %.0f)\n",
      what, static_cast<unsigned long long>(files), megabytes, rows, best.seconds, rate, large ? "MB/s  " : "rows/s",
      ratio, speed_goal, best.cpu, static_cast<double>(best.peak) / megabyte, memory_goal);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  bool huge = false;
  bool html = false;
  bool md5 = false;
  po::options_description options(
      "bench_torchair_compare measures torchair_compare, which it expects beside itself.\n\nOptions");
  auto add = options.add_options();
  add("directory", po::value(&settings.directory)->default_value(settings.directory), "for the trees");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  add("html", po::bool_switch(&html), "with the HTML report");
  add("md5", po::bool_switch(&md5), "with checksums");
  add("huge", po::bool_switch(&huge), "tensors of 400 MB and a tree of 300 000 rows too");
  if (!parse_options(argc, argv, options)) return 0;
  if (html) settings.further.emplace_back("--html");
  if (md5) settings.further.emplace_back("--md5");
  const TorchairTree large{.operators = 400, .tokens = 2, .elements = 32768};
  TorchairTree half = large;
  half.half = true;
  const TorchairTree small{.operators = 5000, .tokens = 1, .elements = 160};
  measure("GE and FX, large", large, Golden::fx, true, settings);
  measure("GE in float16 and FX, large", half, Golden::fx, true, settings);
  measure("GE and GE, large", large, Golden::ge, true, settings);
  measure("GE and FX, small", small, Golden::fx, false, settings);
  measure("GE and GE, small", small, Golden::ge, false, settings);
  if (huge) {
    settings.repeat = 1;
    measure("GE and FX, huge tensors", {.operators = 1, .tokens = 1, .elements = 100'000'000}, Golden::fx, true,
            settings);
    measure("GE and FX, 300000 rows", {.operators = 50'000, .tokens = 2, .elements = 16}, Golden::fx, false, settings);
  }
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_torchair_compare", [&] { return msrun::bench::run(argc, argv); });
}
