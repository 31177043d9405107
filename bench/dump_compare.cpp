// bench_dump_compare: how fast two recordings of statistics are compared (msrun compare): of 100,000 calls each, and of
// 300 MB each.
#include <boost/program_options.hpp>

#include <cstdio>
#include <filesystem>
#include <string>

#include "bench/dump_writer.h"
#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/training_step.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double memory_goal = 1000;  // MB

struct Settings {
  std::uint64_t calls = 100'000;
  std::uint64_t bytes = 300'000'000;
  std::size_t repeat = 3;
};

// Until it has so many calls and so many bytes. The seed is that of the recorded statistics, which alone are different.
fs::path write_recording(const fs::path& folder, std::uint64_t calls, std::uint64_t bytes, std::uint64_t seed) {
  fs::create_directories(folder);
  ModelShape model;
  model.layers = 32;
  DumpWriter out((folder / "dump.json").string(), seed);
  while (out.calls() < calls || out.bytes() < bytes) write_training_step(model, out);
  out.close();
  return folder / "dump.json";
}

void measure(const Settings& settings, const fs::path& scratch, std::uint64_t calls, std::uint64_t bytes, double goal) {
  const fs::path target = write_recording(scratch / "target", calls, bytes, 1);
  const fs::path golden = write_recording(scratch / "golden", calls, bytes, 2);
  const double size = static_cast<double>(fs::file_size(target)) / megabyte;
  const MeasuredTool best = fastest(settings.repeat, [&](std::size_t number) {
    const fs::path out = scratch / std::to_string(number);
    const MeasuredTool tool = run_tool(
        "dump_compare", {"--target_path", target.string(), "--golden_path", golden.string(), "-o", out.string()});
    fs::remove_all(out);
    return tool;
  });
  std::printf("Two recordings of %.0f MB: %.2f s (goal %.0f), %.2f s of processor time, peak %.0f MB (goal %.0f)\n",
              size, best.seconds, goal, best.cpu, static_cast<double>(best.peak) / megabyte, memory_goal);
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_dump_compare measures msrun compare, whose program it expects beside itself, on recordings that it "
      "makes.\n\nOptions");
  auto add = options.add_options();
  add("calls", po::value(&settings.calls)->default_value(settings.calls), "of the smaller recordings; 0: none");
  add("bytes", po::value(&settings.bytes)->default_value(settings.bytes), "of the larger ones; 0: none");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
  if (settings.calls > 0) measure(settings, scratch.path(), settings.calls, 0, 3);
  if (settings.bytes > 0) measure(settings, scratch.path(), 0, settings.bytes, 10);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_dump_compare", [&] { return msrun::bench::run(argc, argv); });
}
