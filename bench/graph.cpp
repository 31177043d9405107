// bench_graph: how fast two recordings of a large model become files of the graph viewers, in proportion to Python's
// json reading the same files. --write only generates such recordings.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double seconds_goal = 3;
constexpr double ratio_goal = 1.2;
constexpr double memory_goal = 1000;  // MB

// Calls in a layer, each in a module of its own.
constexpr int calls_per_layer = 12;

// The three files of a rank, as a dumper writes them: one blank of indentation, calls with two inputs and an output.
class Recording {
 public:
  Recording(const fs::path& folder, unsigned seed) : random_(seed) {
    fs::create_directories(folder);
    dump_.open(folder / "dump.json");
    construct_.open(folder / "construct.json");
    stack_.open(folder / "stack.json");
  }

  void write(std::size_t nodes) {
    dump_ << "{\n \"task\": \"statistics\",\n \"level\": \"mix\",\n \"framework\": \"pytorch\",\n \"dump_data_dir\": "
             "null,\n \"data\": {";
    construct_ << "{";
    stack_ << "{";
    add("Module.module.GPTModel.forward.0", "");
    for (std::size_t layer = 0; count_ < nodes; ++layer) {
      const std::string base = "Module.module.layers." + std::to_string(layer);
      const std::string above = base + ".TransformerLayer.forward.0";
      add(above, "Module.module.GPTModel.forward.0");
      for (int i = 0; i < calls_per_layer && count_ < nodes; ++i) {
        const std::string module = base + ".part" + std::to_string(i) + ".Linear.forward.0";
        add(module, above);
        add("Functional.linear." + std::to_string(layer * calls_per_layer + static_cast<std::size_t>(i)) + ".forward",
            module);
      }
    }
    dump_ << "\n }\n}\n";
    construct_ << "\n}\n";
    stack_ << "\n}\n";
  }

 private:
  void add(const std::string& name, const std::string& parent) {
    const char* comma = count_++ == 0 ? "\n" : ",\n";
    dump_ << comma << "  \"" << name << "\": {\n   \"input_args\": [";
    tensor(false);
    dump_ << ",";
    tensor(true);
    dump_ << "\n   ],\n   \"input_kwargs\": {},\n   \"output\": [";
    tensor(true);
    dump_ << "\n   ]\n  }";
    construct_ << comma << " \"" << name << "\": " << (parent.empty() ? "null" : "\"" + parent + "\"");
    stack_ << comma << " \"" << name << "\": [\n";
    for (int frame = 0; frame < 6; ++frame) {
      stack_ << "  \"File /home/user/model/layers.py, line " << 10 + (static_cast<int>(count_) + frame) % 400
             << ", in forward, \\n h = self.layer(h)\"" << (frame < 5 ? ",\n" : "\n");
    }
    stack_ << " ]";
  }

  void tensor(bool gradient) {
    const auto number = [&] { return std::uniform_real_distribution<double>(-4, 4)(random_); };
    char text[400];
    std::snprintf(text, sizeof text,
                  "\n    {\n     \"type\": \"torch.Tensor\",\n     \"dtype\": \"torch.bfloat16\",\n     \"shape\": [\n "
                  "     4096,\n      1,\n      5120\n     ],\n     \"Max\": %.16g,\n     \"Min\": %.16g,\n     "
                  "\"Mean\": %.16g,\n     \"Norm\": %.16g,\n     \"requires_grad\": %s\n    }",
                  number(), number(), number() / 1000, number() * number() * 100 + 1000, gradient ? "true" : "false");
    dump_ << text;
  }

  std::mt19937_64 random_;
  std::ofstream dump_;
  std::ofstream construct_;
  std::ofstream stack_;
  std::size_t count_ = 0;
};

// Seconds in which Python reads the six files, the start of the interpreter left out.
double python_seconds(const std::string& python, const fs::path& folder) {
  const fs::path out = folder / "python.txt";
  const std::string command = python +
                              " -c 'import json, sys, time\nt = time.perf_counter()\nfor d in sys.argv[1:]:\n for f in "
                              "(\"dump\", \"construct\", \"stack\"):\n  json.load(open(d + \"/\" + f + \".json\"))\n"
                              "print(time.perf_counter() - t)' " +
                              (folder / "npu").string() + " " + (folder / "bench").string() + " > " + out.string();
  // NOLINTNEXTLINE(cert-env33-c): the command holds nothing but names that were chosen here or by the user
  if (std::system(command.c_str()) != 0) throw std::runtime_error(python + " did not read the recordings");
  double seconds = 0;
  std::ifstream(out) >> seconds;
  return seconds;
}

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

struct Settings {
  std::size_t nodes = 100'000;
  std::size_t repeat = 3;
  std::string directory = fs::temp_directory_path().string();
  std::string python = "python3";
  std::string write;
};

void write_recordings(const fs::path& folder, std::size_t nodes) {
  Recording(folder / "npu", 1).write(nodes);
  Recording(folder / "bench", 2).write(nodes);
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options("bench_graph measures graph, which it expects beside itself.\n\nOptions");
  auto add = options.add_options();
  add("nodes", po::value(&settings.nodes)->default_value(settings.nodes), "of each recording");
  add("directory", po::value(&settings.directory)->default_value(settings.directory), "for recordings and results");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  add("python", po::value(&settings.python)->default_value(settings.python), "the interpreter to compare with");
  add("write", po::value(&settings.write), "write the recordings DIR/npu and DIR/bench, and end");
  if (!parse_options(argc, argv, options)) return 0;
  if (!settings.write.empty()) {
    write_recordings(settings.write, settings.nodes);
    return 0;
  }
  const ScratchDirectory scratch(settings.directory);
  write_recordings(scratch.path(), settings.nodes);
  const double size = static_cast<double>(bytes_below(scratch.path())) / megabyte;
  double python = python_seconds(settings.python, scratch.path());
  for (const char* format : {"both", "vis", "db"}) {
    const MeasuredTool best = fastest(settings.repeat, [&](std::size_t i) {
      const std::string out = (scratch.path() / (format + std::to_string(i))).string();
      const MeasuredTool run = run_tool("graph", {"-tp", (scratch.path() / "npu").string(), "-gp",
                                                  (scratch.path() / "bench").string(), "-o", out, "--format", format});
      fs::remove_all(out);
      return run;
    });
    python = std::min(python, python_seconds(settings.python, scratch.path()));
    std::printf(
        "%zu nodes, %.0f MB, --format %-4s: %6.2f s (goal %.0f s or %.1f x), Python's json %6.2f s: %5.2f x; %6.2f s "
        "of "
        "processor time, peak %.0f MB (goal %.0f)\n",
        settings.nodes, size, format, best.seconds, seconds_goal, ratio_goal, python, best.seconds / python, best.cpu,
        static_cast<double>(best.peak) / megabyte, memory_goal);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_graph", [&] { return msrun::bench::run(argc, argv); });
}
