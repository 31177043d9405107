// bench_judge: what it costs to judge outputs that pass. Runs of msrun as it is and with --compat msprobe, which judges
// none of them, in turn.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
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
};

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
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
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
