// bench_devices: how well a run keeps eight devices busy that take as long as NPUs do. The devices are simulated ones
// that sleep (--sim-fault slow), for the time that a 38B model's calls take on one NPU, and the tensors are tiny: what
// is measured is whether msrun hands out calls in time and in a good order, not how fast the host's processors compute
// the benchmarks.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bench/dump_writer.h"
#include "bench/measured_run.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

// The pre-check of a 38B model with the tool in use, as its documentation gives it: minutes on one device, and on
// eight.
constexpr double one_device_minutes = 21.0;
constexpr double eight_devices_minutes = 3.5;
constexpr double efficiency_goal = 0.95;

struct Settings {
  double scale = 0.1;
  int devices = 8;
  int threads = 16;
  int layers = 48;
  std::size_t repeat = 3;
};

// A kind of call in a layer of the model: a matrix of so many columns by which a block of 8 rows of 32 is multiplied.
// The widths are in the proportions of the model's, so that the planned costs are in those of the times, too.
struct Kind {
  const char* api;
  std::int64_t width = 0;
  int of_a_layer = 0;
  int of_the_model = 0;
  double share(const Settings& settings) const {  // of the time, in units of the smallest projection
    return static_cast<double>(width) / 32 * calls(settings);
  }
  double calls(const Settings& settings) const { return of_a_layer * settings.layers + of_the_model; }
};
// Projections of the attention and of the feed-forward, the head, the scores, and what is small.
const std::vector<Kind> kinds{{"Torch.matmul", 32, 4, 0},
                              {"Functional.linear", 85, 3, 0},
                              {"Torch.mm", 768, 0, 1},
                              {"Tensor.matmul", 16, 1, 0},
                              {"Tensor.__matmul__", 2, 5, 0}};

Described tensor(Shape shape) {
  Described described;
  described.shape = std::move(shape);
  return described;
}

double units(const Settings& settings) {
  double sum = 0;
  for (const Kind& kind : kinds) sum += kind.share(settings);
  return sum;
}

double busy_seconds(const Settings& settings) { return one_device_minutes * 60 * settings.scale; }

std::string write_dump(const Settings& settings, const fs::path& folder) {
  fs::create_directories(folder);
  const std::string path = folder / "dump.json";
  DumpWriter out(path, 1);
  const auto write = [&](const Kind& kind) {
    Call call;
    call.api = kind.api;
    const bool linear = call.api == "Functional.linear";
    call.args = {tensor({8, 32}), tensor(linear ? Shape{kind.width, 32} : Shape{32, kind.width})};
    call.output.shape = {8, kind.width};
    out.forward(call);
  };
  for (int layer = 0; layer < settings.layers; ++layer) {
    for (const Kind& kind : kinds) {
      for (int i = 0; i < kind.of_a_layer; ++i) write(kind);
    }
  }
  for (const Kind& kind : kinds) {
    for (int i = 0; i < kind.of_the_model; ++i) write(kind);
  }
  out.close();
  return path;
}

MeasuredRun measure(const Settings& settings, const std::string& program, const std::string& dump,
                    const fs::path& out) {
  std::vector<std::string> arguments{"-api_info", dump, "-o", out.string(), "--no-report"};
  const double unit = busy_seconds(settings) / units(settings);
  for (const Kind& kind : kinds) {
    const double seconds = unit * static_cast<double>(kind.width) / 32;
    arguments.insert(arguments.end(), {"--sim-fault", std::string(kind.api) + ".*=slow=" + std::to_string(seconds)});
  }
  arguments.insert(arguments.end(), {"-n", std::to_string(settings.threads), "-d"});
  for (int device = 0; device < settings.devices; ++device) arguments.push_back(std::to_string(device));
  MeasuredRun run = run_measured(program, arguments);
  fs::remove_all(out);
  return run;
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_devices measures how well msrun, which it expects beside itself, keeps devices busy that "
      "sleep.\n\nOptions");
  auto add = options.add_options();
  add("scale", po::value(&settings.scale)->default_value(settings.scale), "of the model's time on one device");
  add("devices", po::value(&settings.devices)->default_value(settings.devices), "how many");
  add("threads", po::value(&settings.threads)->default_value(settings.threads), "of all devices together");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times it is measured");
  if (!parse_options(argc, argv, options)) return 0;
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "msrun").string();
  const ScratchDirectory scratch;
  const std::string dump = write_dump(settings, scratch.path() / "dump");
  MeasuredRun best;
  for (std::size_t i = 0; i < settings.repeat; ++i) {
    const MeasuredRun next = measure(settings, program, dump, scratch.path() / "out");
    if (i == 0 || next.wall < best.wall) best = next;
  }
  const double efficiency = busy_seconds(settings) / (settings.devices * best.wall);
  std::printf(
      "%llu calls that take %.1f s on one device, on %d: %.2f s, %.1f %% of what %d devices can do (goal %.0f, of the "
      "tool in use %.0f), %.2f s of processor time\n",
      static_cast<unsigned long long>(best.calls), busy_seconds(settings), settings.devices, best.wall,
      100 * efficiency, settings.devices, 100 * efficiency_goal, 100 * one_device_minutes / (8 * eight_devices_minutes),
      best.cpu);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_devices", [&] { return msrun::bench::run(argc, argv); });
}
