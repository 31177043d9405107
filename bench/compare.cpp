// bench_compare: how fast the comparison's metrics run, in proportion to the speed at which one core reads the same
// bytes in the same run, and to NumPy doing the same (metrics_numpy.py).
#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/options.h"
#include "kernels/base/guarded_main.h"
#include "kernels/compare/metrics/metrics.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

// Processor time of this thread: what other processes do between is not counted.
double seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

volatile double sink = 0;

// Reads every byte once and does next to nothing with it.
#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
std::uint64_t
read_through(const std::byte* data, std::size_t bytes) {
  using Vector = std::uint64_t __attribute__((vector_size(64)));
  Vector sums[4] = {};
  const auto* vectors = reinterpret_cast<const Vector*>(data);
  for (std::size_t i = 0; i + 4 <= bytes / sizeof(Vector); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] ^= vectors[i + k];
  }
  const Vector total = (sums[0] ^ sums[1]) ^ (sums[2] ^ sums[3]);
  std::uint64_t result = 0;
  for (int k = 0; k < 8; ++k) result ^= total[k];
  return result;
}

// What a device computed: the benchmark rounded to its dtype, one element in eight off by up to a thousandth.
struct Pair {
  Tensor bench;
  Tensor device;
};

Pair make_pair(DType device, DType bench, std::int64_t count) {
  Philox words(7);
  ValueRange range;
  range.min = -4;
  range.max = 4;
  const Dims shape{count};
  Tensor values = random_tensor(bench, shape, range, words);
  Tensor wrong = values.to(DType::float64).clone();
  auto* data = wrong.mutable_data<double>();
  for (std::int64_t i = 0; i < count; i += 8) data[i] *= 1 + 0.001 * static_cast<double>(i % 1000) / 1000;
  return {std::move(values), wrong.to(device)};
}

struct Case {
  DType device;
  DType bench;
  const char* label;
  StandardSet standards;
};

struct Measured {
  double metrics = 1e30;  // seconds, the fastest
  double reading = 1e30;
};

// Both in turn, so that the load of the machine meets both.
Measured measure(const Case& c, const Pair& pair, double min_seconds) {
  Measured result;
  const double start = seconds();
  do {
    double before = seconds();
    sink = static_cast<double>(read_through(pair.bench.raw(), pair.bench.bytes()) ^
                               read_through(pair.device.raw(), pair.device.bytes()));
    result.reading = std::min(result.reading, seconds() - before);
    before = seconds();
    sink = float_metrics(pair.bench, pair.device, c.standards, false).within_1000;
    result.metrics = std::min(result.metrics, seconds() - before);
  } while (seconds() - start < min_seconds);
  return result;
}

// Seconds per element by pair, from metrics_numpy.py: {"bfloat16 float32": 1.2e-7, ...}.
std::map<std::string, double> numpy_times(const std::string& command) {
  std::map<std::string, double> result;
  std::string text;
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), output))
    text.append(buffer.data(), count);
  pclose(output);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return result;
  for (const auto& [pair, time] : json.items()) {
    if (time.is_number()) result[pair] = time.get<double>();
  }
  return result;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  double min_seconds = 1;
  std::int64_t count = 0;
  std::string numpy;
  po::options_description options("Speed of the comparison's metrics on one core");
  options.add_options()("seconds", po::value(&min_seconds)->default_value(1), "time for each pair")(
      "elements", po::value(&count)->default_value(16 << 20), "elements of each tensor")(
      "numpy", po::value(&numpy),
      "output of metrics_numpy.py; by default it is run if there is a NumPy, \"no\" leaves it out");
  if (!bench::parse_options(argc, argv, options)) return 0;
  std::map<std::string, double> numpy_seconds;
  if (numpy.empty()) {
    numpy_seconds = numpy_times("/usr/bin/python3 " METRICS_NUMPY " 2>/dev/null");
  } else if (numpy != "no") {
    numpy_seconds = numpy_times("cat '" + numpy + "'");
  }

  struct DTypes {
    DType device;
    DType bench;
  };
  const std::vector<DTypes> pairs{
      {DType::float32, DType::float64}, {DType::bfloat16, DType::float32}, {DType::float16, DType::float32},
      {DType::float32, DType::float32}, {DType::float16, DType::float16},  {DType::float64, DType::float64},
  };
  const std::vector<std::pair<const char*, StandardSet>> sets{
      {"all columns", all_standards},
      {"benchmark", Standard::benchmark},
      {"absolute_threshold", Standard::absolute_threshold},
      {"ulp_compare", Standard::ulp},
      {"binary_consistency", Standard::binary_consistency},
  };
  std::printf(
      "| device, benchmark | columns | ms | GB/s | share of reading | NumPy's time |\n|---|---|---|---|---|---|\n");
  for (const DTypes& dtypes : pairs) {
    const Pair pair = make_pair(dtypes.device, dtypes.bench, count);
    const std::string label = std::string(name(dtypes.device)) + " " + std::string(name(dtypes.bench));
    const double bytes = static_cast<double>(pair.bench.bytes() + pair.device.bytes());
    for (const auto& [set, standards] : sets) {
      const Measured m = measure({dtypes.device, dtypes.bench, set, standards}, pair, min_seconds);
      std::string ratio = " ";
      if (const auto found = numpy_seconds.find(label + " " + set); found != numpy_seconds.end()) {
        ratio = std::to_string(std::lround(found->second * static_cast<double>(count) / m.metrics)) + " x";
      }
      std::printf("| %s | %s | %.2f | %.2f | %.0f %% | %s |\n", label.c_str(), set, 1e3 * m.metrics,
                  1e-9 * bytes / m.metrics, 100 * m.reading / m.metrics, ratio.c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace msrun

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_compare", [&] { return msrun::run(argc, argv); });
}
