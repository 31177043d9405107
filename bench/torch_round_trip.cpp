// bench_torch: what the way of a call into the torch worker and back costs. A sum of two tensors of one element, which
// torch computes in a few microseconds, on torch:cpu or what --device names: the time of one round trip from one lane,
// and the calls of two lanes. Calls through the whole program are measured by bench_macro.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/options.h"
#include "bench/quantile.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/guarded_main.h"
#include "runner/device/python/python_device.h"
#include "runner/workers/worker_process.h"

namespace msrun::bench {
namespace {

namespace po = boost::program_options;

constexpr double round_trip_goal = 120;   // microseconds, median
constexpr double throughput_goal = 5000;  // calls/s from two lanes

struct Settings {
  std::string python;
  std::string device = "cpu";
  std::size_t calls = 5000;
  std::size_t repeat = 5;
};

MaterialisedCall sum_of_scalars(bool backward) {
  MaterialisedCall call;
  call.name = "Torch.add.0";
  call.parts = *ApiName::parse(call.name);
  call.args = {Tensor::full(DType::float32, Dims{1}, 2), Tensor::full(DType::float32, Dims{1}, 0.5)};
  call.requires_grad = {backward, backward};
  call.output_dtype = "torch.float32";
  call.backward.run = backward;
  if (backward) call.gradients = {Tensor::full(DType::float32, Dims{1}, 1)};
  return call;
}

// Seconds of each of so many calls.
std::vector<double> run_calls(Device& device, const MaterialisedCall& call, std::size_t count) {
  const Operator* op = find_operator("Torch", "add");
  std::vector<double> seconds;
  seconds.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double start = steady_seconds();
    device.run({call, op->name, op->traits(), std::nullopt});
    seconds.push_back(steady_seconds() - start);
  }
  return seconds;
}

double calls_per_second(Device& device, const MaterialisedCall& call, std::size_t lanes, std::size_t count) {
  std::vector<std::thread> threads;
  const double start = steady_seconds();
  for (std::size_t i = 0; i < lanes; ++i) threads.emplace_back([&] { run_calls(device, call, count); });
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(lanes * count) / (steady_seconds() - start);
}

void measure(const Settings& settings) {
  WorkerOptions options;
  options.kind = settings.device;
  options.python = find_python(settings.python, torch_framework);
  for (const bool backward : {false, true}) {
    const MaterialisedCall call = sum_of_scalars(backward);
    std::vector<double> medians;
    std::vector<double> tails;
    std::vector<double> throughputs;
    for (std::size_t i = 0; i < settings.repeat; ++i) {
      const std::unique_ptr<Device> device = make_python_device(options, {});
      run_calls(*device, call, 200);  // the first calls find their function and make the lane
      const std::vector<double> seconds = run_calls(*device, call, settings.calls);
      medians.push_back(quantile(seconds, 0.5) * 1e6);
      tails.push_back(quantile(seconds, 0.99) * 1e6);
      throughputs.push_back(calls_per_second(*device, call, 2, settings.calls));
    }
    const double median = *std::ranges::min_element(medians);
    const double throughput = *std::ranges::max_element(throughputs);
    std::printf("%-22s %8.1f us median of the best of %zu runs (%.1f in the middle), %8.1f us for 99 of 100",
                backward ? "forward and backward" : "forward", median, settings.repeat, quantile(medians, 0.5),
                *std::ranges::min_element(tails));
    if (!backward) std::printf("%s", median <= round_trip_goal ? ", within 120 us" : ", NOT within 120 us");
    std::printf("\n%-22s %8.0f calls/s from two lanes (%.0f in the middle)%s\n", "", throughput,
                quantile(throughputs, 0.5),
                backward ? "" : (throughput >= throughput_goal ? ", at least 5000" : ", NOT 5000"));
  }
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options("bench_torch [options]: round trips of small calls through the torch worker");
  options.add_options()("python", po::value(&settings.python),
                        "interpreter with torch (default: MSRUN_PYTHON, python3)")(
      "device", po::value(&settings.device), "cpu, cuda or npu: that of id 0 (cpu)")(
      "calls", po::value(&settings.calls), "calls of one lane in one run (5000)")("repeat", po::value(&settings.repeat),
                                                                                  "runs (5)");
  if (!parse_options(argc, argv, options)) return 0;
  settings.repeat = std::max<std::size_t>(settings.repeat, 1);
  settings.calls = std::max<std::size_t>(settings.calls, 1);
  measure(settings);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_torch", [&] { return msrun::bench::run(argc, argv); });
}
