// bench_judge: what it costs to judge outputs that pass. Runs of msrun as it is and with --compat msprobe, which judges
// none of them, in turn. With --accelerator what judging takes beside device and benchmark on a device that rounds to
// half types between its kernels, with the layers of tests/gpu/layers.py.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/quantile.h"
#include "bench/scratch_directory.h"
#include "bench/training_step.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Settings {
  std::size_t pairs = 20;
  std::vector<std::string> dumps;
  std::string accelerator;  // a Python that has torch; empty: the simulated device is measured
  std::string dtype = "bfloat16";
  int divisor = 8;
};

void run_command(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

// Thread seconds of the parts of runs whose device is a processor that poses as an accelerator.
void measure_accelerator(const Settings& settings, const fs::path& scratch) {
  const std::string gpu = GPU_TESTS;
  const fs::path recording = scratch / "layers";
  const fs::path python = scratch / "python";
  const fs::path events = scratch / "events";
  const fs::path out = scratch / "out";
  run_command(settings.accelerator + " " + gpu + "/layers.py " + recording.string() + " " + settings.dtype + " " +
              std::to_string(settings.divisor) + " >/dev/null");
  std::ofstream(python) << "#!/bin/sh\nexec " << settings.accelerator << " -B " << gpu << "/posing_python.py \"$@\"\n";
  fs::permissions(python, fs::perms::owner_all);
  const fs::path msrun = fs::read_symlink("/proc/self/exe").parent_path() / "msrun";
  std::printf("Layers in %s at 1/%d of their size, one thread: seconds of each part.\n\n", settings.dtype.c_str(),
              settings.divisor);
  std::printf("| inputs | device | benchmark | comparison and judgement |\n|---|---|---|---|\n");
  for (std::size_t i = 0; i < settings.pairs; ++i) {
    run_command(msrun.string() + " -api_info " + (recording / "dump.json").string() + " -o " + out.string() +
                " -d 0 -n 1 --backend torch:cuda --python " + python.string() + " --no-report --message-format json >" +
                events.string() + " 2>/dev/null");
    fs::remove_all(out);
    std::ifstream lines(events);
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
    const auto seconds = [&](const char* part) { return last.at("seconds").at(part).get<double>(); };
    std::printf("| %.1f | %.1f | %.1f | %.1f |\n", seconds("materialise"), seconds("device"), seconds("benchmark"),
                seconds("compare"));
  }
}

void measure(const std::string& name, const fs::path& dump, std::size_t pairs, const fs::path& scratch) {
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto seconds = [&](std::vector<std::string> further) {
      const fs::path out = scratch / "out";
      std::vector<std::string> arguments{"-api_info", dump.string(), "-n", "2", "-o", out.string(), "--report"};
      arguments.insert(arguments.end(), further.begin(), further.end());
      const double cpu = run_tool("msrun", arguments).cpu;
      fs::remove_all(out);
      return cpu;
    };
    // Each comes first in every second pair.
    if (i % 2 == 0) without.push_back(seconds({"--compat", "msprobe"}));
    with.push_back(seconds({}));
    if (i % 2 == 1) without.push_back(seconds({"--compat", "msprobe"}));
    ratios.push_back(with.back() / without.back());
  }
  std::printf("| %s | %.4f | %.4f | %.3f | %.3f |\n", name.c_str(), quantile(without, 0.5), quantile(with, 0.5),
              quantile(ratios, 0.5), std::ranges::min(with) / std::ranges::min(without));
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_judge measures what it costs to judge outputs that pass, by runs of msrun, which it expects beside "
      "itself, with and without --compat msprobe, in turn.\n\nOptions");
  auto add = options.add_options();
  add("pairs", po::value(&settings.pairs)->default_value(settings.pairs), "runs of each kind");
  add("dumps", po::value(&settings.dumps)->multitoken(),
      "directories with a dump.json, in place of some samples and 4,480 small calls");
  add("accelerator", po::value(&settings.accelerator),
      "a Python that has torch, whose processor poses as an accelerator: measures layers on it in place of the above");
  add("dtype", po::value(&settings.dtype)->default_value(settings.dtype), "of the layers");
  add("divisor", po::value(&settings.divisor)->default_value(settings.divisor), "of the layers' leading dimensions");
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
  if (!settings.accelerator.empty()) {
    measure_accelerator(settings, scratch.path());
    return 0;
  }
  std::vector<std::pair<std::string, fs::path>> cases;
  for (const std::string& dump : settings.dumps) cases.emplace_back(dump, fs::path(dump) / "dump.json");
  if (cases.empty()) {
    for (const char* name : {"moe_bf16", "unet_fp32", "llama_mid_bf16"}) {
      cases.emplace_back(name, fs::path(SAMPLE_DUMPS) / name / "dump.json");
    }
    cases.emplace_back("4,480 small calls", write_small_calls(scratch.path() / "small", 8));
  }
  std::printf("Seconds of processor time, medians of %zu runs of each kind.\n\n", settings.pairs);
  std::printf("| recording | without | with | ratio of pairs, median | ratio of the least |\n|---|---|---|---|---|\n");
  for (const auto& [name, dump] : cases) measure(name, dump, std::max<std::size_t>(settings.pairs, 1), scratch.path());
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_judge", [&] { return msrun::bench::run(argc, argv); });
}
