// bench_sampled: what the benchmark's side of a large product costs when a part of it is computed (--benchmark
// sampled), as a share of the whole. One thread; random data and the device's product are not counted.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/options.h"
#include "kernels/base/error.h"
#include "kernels/base/guarded_main.h"
#include "kernels/tensor/storage_pool.h"
#include "runner/check/check.h"
#include "runner/device/sim/sim.h"

namespace msrun::bench {
namespace {

namespace po = boost::program_options;

// Gives every run of a call the result of the first.
class RememberingDevice final : public Device {
 public:
  DeviceResult run(const DeviceCall& call) override {
    if (!result_) result_ = device_->run(call);
    return *result_;
  }

 private:
  std::unique_ptr<Device> device_ = make_sim_device({});
  std::optional<DeviceResult> result_;
};

ApiCall linear_of(DType dtype, std::int64_t size, bool with_gradients) {
  const auto square = [&] {
    TensorSpec spec;
    spec.dtype = torch_name(dtype);
    spec.shape = {size, size};
    spec.min = -2;
    spec.max = 2;
    spec.requires_grad = true;
    return std::make_shared<const TensorSpec>(spec);
  };
  ApiCall call;
  call.name = "Functional.linear.0";
  call.args = {square(), square()};
  call.has_backward = with_gradients;
  if (with_gradients) call.grad_inputs = {square()};
  return call;
}

// Seconds of the benchmark and of the comparison, the fewest of all runs.
double seconds_of_check(const ApiCall& call, Device& device, const CheckOptions& options, int runs) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const PhaseTimes times = check_api(call, 0, device, 0, options).times;
    least = std::min(least, static_cast<double>(times.benchmark + times.compare) * 1e-9);
  }
  return least;
}

int run(int argc, char** argv) {
  std::int64_t size = 4096;
  int runs = 3;
  bool sampled_only = false;
  std::vector<std::string> dtypes{"torch.float32", "torch.bfloat16", "torch.float16"};
  po::options_description options(
      "bench_sampled compares the time of the benchmark's side of a square linear call, comparison included, with "
      "--benchmark sampled and without.\n\nOptions");
  auto add = options.add_options();
  add("size", po::value(&size)->default_value(size), "rows, columns and terms");
  add("runs", po::value(&runs)->default_value(runs), "runs of each kind, of which the fastest counts");
  add("dtypes", po::value(&dtypes)->multitoken(), "in place of float32, bfloat16 and float16");
  add("sampled-only", po::bool_switch(&sampled_only), "leave the whole out, for a profile");
  if (!parse_options(argc, argv, options)) return 0;
  // As runners do.
  use_storage_pool({.limit = std::uint64_t{4} << 30});
  std::printf("| dtype | gradients | whole s | sampled s | ratio |\n|---|---|---|---|---|\n");
  for (const std::string& of : dtypes) {
    const std::optional<DType> known = parse_dtype(of);
    if (!known) throw UserError(of + " is no dtype.");
    const DType dtype = *known;
    for (const bool gradients : {false, true}) {
      const ApiCall call = linear_of(dtype, size, gradients);
      RememberingDevice device;
      CheckOptions sampled;
      sampled.sampled_work = 0;
      const double part = seconds_of_check(call, device, sampled, std::max(runs, 1));
      const double whole = sampled_only ? 0 : seconds_of_check(call, device, {}, std::max(runs, 1));
      std::printf("| %s | %s | %.3f | %.4f | 1/%.1f |\n", std::string(name(dtype)).c_str(), gradients ? "yes" : "no",
                  whole, part, whole / part);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_sampled", [&] { return msrun::bench::run(argc, argv); });
}
