// bench_kernels: how close the operators come to the machine. Products against the floating-point peak of one core,
// everything that only streams through memory against a copy of the same bytes; both are measured in the same run.
#include <malloc.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/machine_peaks.h"
#include "bench/options.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/guarded_main.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

volatile double sink = 0;

Tensor uniform(DType dtype, const Dims& shape, double low = -1, double high = 1) {
  static std::uint64_t seed = 0;
  Philox words(++seed);
  ValueRange range;
  range.min = low;
  range.max = high;
  return random_tensor(dtype, shape, range, words);
}

enum class Yardstick { float32_peak, float64_peak, copy };

struct Case {
  std::string family;
  std::string label;
  std::string type;
  std::string api;
  std::function<List()> args;
  Dict kwargs;
  Yardstick yardstick;
  double work;  // operations of the forward, or bytes that it must at least read and write
  bool backward = true;
};

struct Times {
  double forward = 0;
  double backward = 0;
};

Value on_tape(const Value& tree, Tape& tape, bool differentiate) {
  return transform_leaves(tree, [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return leaf;
    return differentiate && is_floating(tensor->dtype()) ? tape.leaf(*tensor) : tape.constant(*tensor);
  });
}

Var first_output(const Value& result) {
  const List* list = result.get<List>();
  const Var* first = list == nullptr ? result.get<Var>() : list->front().get<Var>();
  if (first == nullptr) throw std::runtime_error("the first result is no tensor");
  return *first;
}

const Operator& operator_of(const Case& c) {
  const Operator* op = find_operator(c.type, c.api);
  if (op == nullptr) throw std::runtime_error(c.type + "." + c.api + " is not in the table");
  return *op;
}

std::string full_name(const Case& c) { return c.family + " " + c.label; }

// The number of elements of the first result.
std::int64_t run_forward(const Case& c, const Operator& op, const List& args) {
  Tape tape;
  const Value result = op.call(*on_tape(args, tape, false).get<List>(), c.kwargs, tape);
  return first_output(result).tensor().numel();
}

// For those who count instructions: the forward of a case so many times, and of how many parts its work consists.
void run_unmeasured(const Case& c, int forwards) {
  const Operator& op = operator_of(c);
  const List args = c.args();
  std::int64_t elements = args.front().get<Tensor>()->numel();
  for (int i = 0; i < forwards; ++i) elements = std::max(elements, run_forward(c, op, args));
  const bool is_product = c.yardstick != Yardstick::copy;
  std::printf("%.0f\t%s\n", is_product ? c.work / 2 : static_cast<double>(elements),
              is_product ? "multiply-add" : "element");
}

Times measure(const Case& c, double min_seconds) {
  const Operator* op = &operator_of(c);
  const List args = c.args();
  Times times;
  times.forward = fastest(min_seconds, [&] { sink = static_cast<double>(run_forward(c, *op, args)); });
  if (!c.backward) return times;
  Tensor gradient;
  double best = 1e30;
  const double start = steady_seconds();
  do {
    Tape tape;
    const Var result = first_output(op->call(*on_tape(args, tape, true).get<List>(), c.kwargs, tape));
    if (!gradient.defined()) gradient = uniform(result.dtype(), result.shape());
    const double before = steady_seconds();
    tape.backward(result, gradient);
    best = std::min(best, steady_seconds() - before);
  } while (steady_seconds() - start < 2 * min_seconds);
  times.backward = best;
  return times;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto product = [&](const std::string& family, const std::string& label, const std::string& type,
                           const std::string& api, DType dtype, std::function<List()> args, double operations,
                           const Dict& kwargs = {}) {
    cases.push_back({family, label, type, api, std::move(args), kwargs,
                     dtype == DType::float64 ? Yardstick::float64_peak : Yardstick::float32_peak, operations});
  };
  const auto streaming = [&](const std::string& family, const std::string& label, const std::string& type,
                             const std::string& api, std::function<List()> args, double bytes, const Dict& kwargs = {},
                             bool backward = true) {
    cases.push_back({family, label, type, api, std::move(args), kwargs, Yardstick::copy, bytes, backward});
  };

  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const std::string suffix = " " + std::string(name(dtype));
    const auto square = [dtype](std::int64_t n) {
      return [dtype, n] { return List{uniform(dtype, {n, n}), uniform(dtype, {n, n})}; };
    };
    for (const std::int64_t n : {1000, 2000}) {
      product("matmul", std::to_string(n) + " x " + std::to_string(n) + suffix, "Torch", "matmul", dtype, square(n),
              2.0 * static_cast<double>(n * n * n));
    }
    product("matmul", "1024 x 1024" + suffix, "Torch", "matmul", dtype, square(1024), 2.0 * 1024 * 1024 * 1024);
    product(
        "matmul", "batch 64 of 128 x 64 x 128" + suffix, "Torch", "bmm", dtype,
        [dtype] {
          return List{uniform(dtype, {64, 128, 64}), uniform(dtype, {64, 64, 128})};
        },
        2.0 * 64 * 128 * 64 * 128);
  }
  product(
      "linear", "512 x 1024 -> 4096 float32", "Functional", "linear", DType::float32,
      [] {
        return List{uniform(DType::float32, {512, 1024}), uniform(DType::float32, {4096, 1024})};
      },
      2.0 * 512 * 1024 * 4096);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::string suffix = " " + std::string(name(dtype));
    product("convolution", "4 x 64 x 56 x 56, 3x3" + suffix, "Functional", "conv2d", dtype,
            [dtype] {
              return List{uniform(dtype, {4, 64, 56, 56}), uniform(dtype, {64, 64, 3, 3})};
            },
            2.0 * 4 * 64 * 64 * 56 * 56 * 9, {{"padding", std::int64_t{1}}});
  }
  product("convolution", "4 x 256 x 14 x 14, 3x3 float32", "Functional", "conv2d", DType::float32,
          [] {
            return List{uniform(DType::float32, {4, 256, 14, 14}), uniform(DType::float32, {256, 256, 3, 3})};
          },
          2.0 * 4 * 256 * 256 * 14 * 14 * 9, {{"padding", std::int64_t{1}}});
  product(
      "convolution", "4 x 64 x 56 x 56, 1x1 float32", "Functional", "conv2d", DType::float32,
      [] {
        return List{uniform(DType::float32, {4, 64, 56, 56}), uniform(DType::float32, {256, 64, 1, 1})};
      },
      2.0 * 4 * 64 * 256 * 56 * 56);
  product("convolution", "4 x 3 x 224 x 224, 7x7 stride 2 float32", "Functional", "conv2d", DType::float32,
          [] {
            return List{uniform(DType::float32, {4, 3, 224, 224}), uniform(DType::float32, {64, 3, 7, 7})};
          },
          2.0 * 4 * 3 * 64 * 112 * 112 * 49, {{"padding", std::int64_t{3}}, {"stride", std::int64_t{2}}});
  product(
      "attention", "8 heads of 512 x 64 float32", "Functional", "scaled_dot_product_attention", DType::float32,
      [] {
        return List{uniform(DType::float32, {1, 8, 512, 64}), uniform(DType::float32, {1, 8, 512, 64}),
                    uniform(DType::float32, {1, 8, 512, 64})};
      },
      4.0 * 8 * 512 * 512 * 64);

  constexpr std::int64_t rows = 4096;
  constexpr std::int64_t columns = 2048;
  constexpr double count = static_cast<double>(rows * columns);
  const Dims shape{rows, columns};
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const std::string suffix = " " + std::string(name(dtype));
    const auto width = static_cast<double>(size_of(dtype));
    const auto one = [dtype, shape] { return List{uniform(dtype, shape)}; };
    const auto two = [dtype, shape] { return List{uniform(dtype, shape), uniform(dtype, shape)}; };
    const auto with_weight = [dtype, shape, normalized = Value(List{Value(columns)})] {
      return List{uniform(dtype, shape), normalized, uniform(dtype, {columns}), uniform(dtype, {columns})};
    };
    streaming("elementwise", "add" + suffix, "Torch", "add", two, 3 * count * width);
    streaming("elementwise", "mul" + suffix, "Torch", "mul", two, 3 * count * width);
    streaming("elementwise", "exp" + suffix, "Torch", "exp", one, 2 * count * width);
    streaming("activation", "relu" + suffix, "Functional", "relu", one, 2 * count * width);
    streaming("activation", "silu" + suffix, "Functional", "silu", one, 2 * count * width);
    streaming("activation", "gelu" + suffix, "Functional", "gelu", one, 2 * count * width);
    streaming("reduction", "sum" + suffix, "Torch", "sum", one, count * width);
    streaming("reduction", "mean over rows" + suffix, "Torch", "mean", one, count * width, {{"dim", std::int64_t{1}}});
    streaming("reduction", "sum over columns" + suffix, "Torch", "sum", one, count * width, {{"dim", std::int64_t{0}}});
    streaming("reduction", "amax over rows" + suffix, "Torch", "amax", one, count * width, {{"dim", std::int64_t{1}}});
    streaming("softmax", "rows" + suffix, "Functional", "softmax", one, 2 * count * width, {{"dim", std::int64_t{1}}});
    streaming("normalisation", "layer_norm" + suffix, "Functional", "layer_norm", with_weight, 2 * count * width);
    streaming(
        "normalisation", "rms_norm" + suffix, "NPU", "npu_rms_norm",
        [dtype, shape] {
          return List{uniform(dtype, shape), uniform(dtype, {columns})};
        },
        2 * count * width);
    streaming(
        "view", "transposed copy" + suffix, "Tensor", "contiguous",
        [dtype, shape] { return List{uniform(dtype, shape).transpose(0, 1)}; }, 2 * count * width);
  }
  const auto images = [] { return List{uniform(DType::float32, {16, 64, 56, 56})}; };
  const double image_bytes = 16.0 * 64 * 56 * 56 * 4;
  streaming(
      "normalisation", "batch_norm float32", "Functional", "batch_norm",
      [] {
        return List{uniform(DType::float32, {16, 64, 56, 56}),
                    None{},
                    None{},
                    uniform(DType::float32, {64}),
                    uniform(DType::float32, {64}),
                    true};
      },
      2 * image_bytes);
  streaming("pooling", "max_pool2d 2x2 float32", "Functional", "max_pool2d", images, 1.25 * image_bytes,
            {{"kernel_size", std::int64_t{2}}});
  streaming("pooling", "avg_pool2d 3x3 float32", "Functional", "avg_pool2d", images, 2 * image_bytes,
            {{"kernel_size", std::int64_t{3}}, {"stride", std::int64_t{1}}, {"padding", std::int64_t{1}}});
  streaming(
      "embedding", "8192 rows of 1024 float32", "Functional", "embedding",
      [] {
        return List{uniform(DType::int64, {8192}, 0, 31999), uniform(DType::float32, {32000, 1024})};
      },
      2.0 * 8192 * 1024 * 4, {}, false);
  streaming(
      "indexing", "gather float32", "Torch", "gather",
      [shape] {
        return List{uniform(DType::float32, shape), std::int64_t{1},
                    uniform(DType::int64, shape, 0, static_cast<double>(columns - 1))};
      },
      (4 + 8 + 4) * count);
  streaming(
      "loss", "cross_entropy float32", "Functional", "cross_entropy",
      [shape] {
        return List{uniform(DType::float32, shape), uniform(DType::int64, {rows}, 0, columns - 1)};
      },
      count * 4);
  streaming("sort", "rows of 2048 float32", "Torch", "sort", [shape] { return List{uniform(DType::float32, shape)}; },
            (4 + 4 + 8) * count, {{"dim", std::int64_t{1}}});
  streaming(
      "sort", "topk 8 of 2048 float32", "Torch", "topk",
      [shape] {
        return List{uniform(DType::float32, shape), std::int64_t{8}};
      },
      4 * count);
  streaming(
      "scan", "cumsum over rows float32", "Torch", "cumsum",
      [shape] {
        return List{uniform(DType::float32, shape), std::int64_t{1}};
      },
      8 * count);
  return cases;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description options(
      "bench_kernels measures the operators on one core, against the peak of multiply-adds and the speed of a copy.\n\n"
      "Options");
  std::string only;
  double min_seconds = 0.2;
  int forwards = 0;
  bool list = false;
  options.add_options()("only", po::value(&only), "cases whose family and name contain this")(
      "seconds", po::value(&min_seconds)->default_value(min_seconds, "0.2"), "time for each measurement")(
      "forwards", po::value(&forwards), "evaluate each forward so many times and measure nothing")(
      "list", po::bool_switch(&list), "print the names of the cases");
  if (!bench::parse_options(argc, argv, options)) return 0;
  // As the runner does: pages of freed tensors are used again.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  std::vector<Case> cases = all_cases();
  std::erase_if(cases, [&only](const Case& c) { return full_name(c).find(only) == std::string::npos; });
  if (list) {
    for (const Case& c : cases) std::printf("%s\n", full_name(c).c_str());
    return 0;
  }
  if (forwards > 0) {
    for (const Case& c : cases) run_unmeasured(c, forwards);
    return 0;
  }
  const double float32_peak = multiply_add_peak<float>();
  const double float64_peak = multiply_add_peak<double>();
  const double copy = copy_bandwidth();
  std::printf("One core: %.0f GFLOP/s float32, %.0f GFLOP/s float64, copy %.1f GB/s read and written\n\n",
              float32_peak / 1e9, float64_peak / 1e9, copy / 1e9);
  std::printf("%-14s %-42s %10s %12s %9s %10s\n", "family", "case", "forward ms", "of peak/copy", "backward",
              "x forward");
  for (const Case& c : cases) {
    const Times times = measure(c, min_seconds);
    const double yardstick = c.yardstick == Yardstick::float32_peak   ? float32_peak
                             : c.yardstick == Yardstick::float64_peak ? float64_peak
                                                                      : copy;
    std::printf("%-14s %-42s %10.2f %11.0f%%", c.family.c_str(), c.label.c_str(), times.forward * 1e3,
                100 * c.work / times.forward / yardstick);
    if (c.backward) {
      std::printf(" %9.2f %10.1f", times.backward * 1e3, times.backward / times.forward);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace msrun

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_kernels", [&] { return msrun::run(argc, argv); });
}
