// bench_torchair_convert: how fast torchair_convert is, in proportion to the converter in use, and how much memory it
// takes. Trees are generated in a scratch directory; what the converter prints is not.
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

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
constexpr double large_goal = 10;    // times the baseline
constexpr double small_goal = 5;

// The converter in use, a Python program, on two processors without any sync (torchair.md 13).
struct Baseline {
  double megabytes;  // per second, large files
  double files;      // per second, small files
};
constexpr Baseline ge_baseline{162, 2860};
constexpr Baseline fx_baseline{186, 5500};

struct Settings {
  std::size_t repeat = 5;
  std::string directory = "/dev/shm";
  std::string statistics = "minmax";
  bool written = false;
  bool huge = false;
};

MeasuredTool convert(const std::string& tree, const Settings& settings) {
  return run_tool("torchair_convert", {tree, "--once", "--settle", "0", "--quiet", "--stats", settings.statistics});
}

void measure(const char* what, const TorchairTree& tree, bool ge, bool large, const Settings& settings) {
  const ScratchDirectory scratch(settings.directory);
  TreeSize size;
  const MeasuredTool best = fastest(settings.repeat, [&](std::size_t i) {
    const std::string directory = (scratch.path() / std::to_string(i)).string();
    size = ge ? write_ge_tree(tree, directory) : write_fx_tree(tree, directory);
    if (settings.written) ::sync();
    const MeasuredTool run = convert(directory, settings);
    fs::remove_all(directory);
    return run;
  });
  const Baseline& baseline = ge ? ge_baseline : fx_baseline;
  const double rate =
      (large ? static_cast<double>(size.bytes) / megabyte : static_cast<double>(size.files)) / best.seconds;
  const double ratio = rate / (large ? baseline.megabytes : baseline.files);
  std::printf(
      "%-22s %7llu files %8.1f MB: %7.3f s, %8.0f %s, %5.1f x baseline (goal %.0f); %6.3f s of processor time, peak "
      "%.0f "
      "MB (goal %.0f)\n",
      what, static_cast<unsigned long long>(size.files), static_cast<double>(size.bytes) / megabyte, best.seconds, rate,
      large ? "MB/s   " : "files/s", ratio, large ? large_goal : small_goal, best.cpu,
      static_cast<double>(best.peak) / megabyte, memory_goal);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_torchair_convert measures torchair_convert, which it expects beside itself. The directory decides what "
      "is\n"
      "measured: in memory the program, on a disk mostly the disk.\n\nOptions");
  auto add = options.add_options();
  add("directory", po::value(&settings.directory)->default_value(settings.directory), "for the trees");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  add("stats", po::value(&settings.statistics)->default_value(settings.statistics), "minmax or full");
  add("written", po::bool_switch(&settings.written), "write the trees to the disk before they are converted");
  add("huge", po::bool_switch(&settings.huge), "a file of 3 GB too");
  if (!parse_options(argc, argv, options)) return 0;
  const TorchairTree large{.operators = 400, .tokens = 2, .elements = 32768};
  const TorchairTree small{.operators = 2500, .tokens = 2, .elements = 160};
  measure("GE, large files", large, true, true, settings);
  measure("FX, large files", large, false, true, settings);
  measure("GE, small files", small, true, false, settings);
  measure("FX, small files", small, false, false, settings);
  if (settings.huge) {
    const TorchairTree huge{.operators = 1, .tokens = 1, .elements = 250'000'000};
    settings.repeat = 1;
    measure("GE, one huge file", huge, true, true, settings);
  }
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_torchair_convert", [&] { return msrun::bench::run(argc, argv); });
}
