// bench_merge: what it takes to make one run of the journals of many nodes.
#include <boost/program_options.hpp>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/typical_result.h"
#include "journal/run_files.h"
#include "journal/writer.h"
#include "kernels/base/guarded_main.h"
#include "runner/results/record.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double seconds_goal = 5;
constexpr double memory_goal = 1000;  // MB

struct Settings {
  std::uint32_t results = 1'000'000;
  std::uint32_t journals = 128;
  std::size_t repeat = 3;
};

// The header that a part of a run has, as far as a merge looks at it.
std::string header(const Settings& settings, std::uint32_t part, std::uint32_t calls) {
  const nlohmann::ordered_json metadata{
      {"program", "msrun"},
      {"started", 1795300000 + part},
      {"command", "msrun -api_info dump.json"},
      {"devices", {0, 1, 2, 3, 4, 5, 6, 7}},
      {"fingerprint",
       {{"dump", "0123456789abcdef"},
        {"calls", settings.results},
        {"seed", 1234},
        {"layout", "current"},
        {"shard", std::to_string(part + 1) + "/" + std::to_string(settings.journals)}}},
      {"backend", "sim"},
      {"host", "node" + std::to_string(part)},
      {"shard_calls", calls},
      {"csv", {{"framework", "pytorch"}, {"precision", 14}, {"english_titles", false}, {"with_reasons", true}}},
      {"arguments", nlohmann::ordered_json::array()}};
  return metadata.dump();
}

// Dealt in turn, in batches of about a hundred and in the order of a queue, as nodes with many small calls write them.
double write_journals(const Settings& settings, const fs::path& folder) {
  fs::create_directories(folder);
  std::uintmax_t bytes = 0;
  for (std::uint32_t part = 0; part < settings.journals; ++part) {
    const std::uint32_t calls = (settings.results - part + settings.journals - 1) / settings.journals;
    const std::string path =
        run_files(folder.string(), "20261122173000_" + shard_label(part + 1, settings.journals)).journal;
    journal::Writer writer = journal::Writer::create(path, header(settings, part, calls));
    for (std::uint32_t i = 0; i < calls; ++i) {
      const auto place = static_cast<std::uint32_t>(std::uint64_t{i} * 7919 % calls);
      writer.append(encode(typical_result(place * settings.journals + part)));
      if (i % 100 == 99) writer.flush();
    }
    writer.close();
    bytes += fs::file_size(path);
  }
  return static_cast<double>(bytes) / megabyte;
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_merge measures msrun merge, which it expects beside itself, with journals that it makes.\n\nOptions");
  auto add = options.add_options();
  add("results", po::value(&settings.results)->default_value(settings.results), "of all journals together");
  add("journals", po::value(&settings.journals)->default_value(settings.journals), "how many there are");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times it is measured");
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
  const fs::path parts = scratch.path() / "parts";
  const double size = write_journals(settings, parts);
  const MeasuredTool best = fastest(settings.repeat, [&](std::size_t number) {
    const fs::path out = scratch.path() / std::to_string(number);
    const MeasuredTool tool = run_tool("msrun", {"merge", parts.string(), "-o", out.string()});
    fs::remove_all(out);
    return tool;
  });
  std::printf(
      "Merge of %u journals with %u results, %.0f MB: %.2f s (goal %.0f), %.2f s of processor time, peak %.0f MB (goal "
      "%.0f)\n",
      settings.journals, settings.results, size, best.seconds, seconds_goal, best.cpu,
      static_cast<double>(best.peak) / megabyte, memory_goal);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_merge", [&] { return msrun::bench::run(argc, argv); });
}
