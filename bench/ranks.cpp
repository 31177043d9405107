// bench_ranks: what it takes to plan the recordings of all ranks of a job, and how many calls are left to be checked
// where all ranks have recorded the same ones with other values.
#include <boost/program_options.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/dump_writer.h"
#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/training_step.h"
#include "kernels/base/guarded_main.h"
#include "kernels/base/text.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double seconds_goal = 10;
constexpr double memory_goal = 2000;  // MB
constexpr double work_goal = 1.2;     // times that of one rank

struct Settings {
  std::uint32_t ranks = 64;
  std::uint64_t bytes = 30'000'000;
  std::size_t repeat = 3;
};

// The seed is that of the recorded statistics, which alone are different.
double write_ranks(const Settings& settings, const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (std::uint32_t rank = 0; rank < settings.ranks; ++rank) {
    const fs::path of_rank = folder / "step0" / ("rank" + std::to_string(rank));
    fs::create_directories(of_rank);
    ModelShape model;
    model.layers = 32;
    DumpWriter out((of_rank / "dump.json").string(), rank + 1);
    while (out.bytes() < settings.bytes) write_training_step(model, out);
    out.close();
    bytes += fs::file_size(of_rank / "dump.json");
  }
  return static_cast<double>(bytes) / megabyte;
}

struct Planned {
  std::uint64_t all = 0;
  std::uint64_t of_one = 0;
  std::uint64_t checked = 0;
};

// What the program says of the plan.
Planned planned(const std::string& folder) {
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "msrun").string();
  const std::string line = shell_quoted(program) + " --dry-run -api_info " + shell_quoted(folder) + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(line.c_str(), "r"), pclose);
  std::array<char, 1024> text;
  while (output && std::fgets(text.data(), static_cast<int>(text.size()), output.get()) != nullptr) {
    const char* sentence = std::strstr(text.data(), "[INFO] ");
    unsigned long long all = 0;
    unsigned long long of_one = 0;
    unsigned long long checked = 0;
    unsigned ranks = 0;
    if (sentence == nullptr || std::sscanf(sentence, "[INFO] %llu calls of %u ranks, at most %llu of one: %llu are",
                                           &all, &ranks, &of_one, &checked) != 4) {
      continue;
    }
    return {all, of_one, checked};
  }
  throw std::runtime_error("msrun --dry-run does not say how many calls are checked");
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_ranks measures how msrun, which it expects beside itself, plans the recordings of several ranks, which it "
      "makes.\n\nOptions");
  auto add = options.add_options();
  add("ranks", po::value(&settings.ranks)->default_value(settings.ranks), "how many there are, at least 2");
  add("bytes", po::value(&settings.bytes)->default_value(settings.bytes), "of each recording");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times it is measured");
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
  const double size = write_ranks(settings, scratch.path());
  const MeasuredTool best = fastest(settings.repeat, [&](std::size_t) {
    return run_tool("msrun", {"--dry-run", "-api_info", scratch.path().string()});
  });
  const Planned plan = planned(scratch.path().string());
  std::printf("%u ranks of %.0f MB, %llu calls each: %llu are checked, %.3f times those of one rank (goal %.1f)\n",
              settings.ranks, size / settings.ranks, static_cast<unsigned long long>(plan.of_one),
              static_cast<unsigned long long>(plan.checked),
              static_cast<double>(plan.checked) / static_cast<double>(plan.of_one), work_goal);
  std::printf("planned in %.2f s (goal %.0f), %.2f s of processor time, peak %.0f MB (goal %.0f)\n", best.seconds,
              seconds_goal, best.cpu, static_cast<double>(best.peak) / megabyte, memory_goal);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_ranks", [&] { return msrun::bench::run(argc, argv); });
}
