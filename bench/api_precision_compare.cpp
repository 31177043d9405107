// bench_api_precision_compare: two details files of many rows, compared by the api_precision_compare program and timed
// from outside; beside it what only the search for the GPU's rows would cost if each NPU row looked through all names,
// as upstream does.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/measured_tool.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "kernels/base/guarded_main.h"
#include "kernels/compare/details.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"

namespace {

using namespace msrun;
namespace fs = std::filesystem;

namespace po = boost::program_options;

constexpr double goal = 2;  // seconds for 200,000 rows
constexpr std::size_t sampled_searches = 500;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Kind {
  const char* api;
  const char* dtype;
  std::vector<Metric> metrics;
};

// One API of each standard, as in a file written under the policy per_api.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table{
      {"Functional.softmax",
       "torch.bfloat16",
       {Metric::error_balance, Metric::rmse, Metric::small_value_error_ratio, Metric::max_relative_error,
        Metric::mean_relative_error}},
      {"Torch.matmul", "torch.float32", {Metric::ulp_max, Metric::ulp_mean, Metric::ulp_over_limit}},
      {"Tensor.mul",
       "torch.float16",
       {Metric::inf_nan_error_rate, Metric::relative_error_rate, Metric::absolute_error_rate}},
      {"Torch.argmax", "torch.int64", {Metric::binary_error_rate}},
      {"Functional.conv2d", "torch.float32", {Metric::dual_1000}},
  };
  return table;
}

std::string row_name(std::size_t row) {
  return std::string(kinds()[row % kinds().size()].api) + "." + std::to_string(row) + ".forward.output.0";
}

void write_details(const fs::path& path, std::size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> error(0, 1e-3);
  AtomicFile file(path.string());
  std::string text(byte_order_mark);
  text += "API Name,Bench Dtype,DEVICE Dtype,Shape";
  for (const Column& column : pytorch_columns().columns()) text += "," + std::string(column.chinese);
  text += ",Status,Message\r\n";
  for (std::size_t row = 0; row < rows; ++row) {
    const Kind& kind = kinds()[row % kinds().size()];
    DetailsRow cells(pytorch_columns());
    cells[Metric::cosine] = Cell::fp64(1 - error(random) * 1e-3);
    cells[Metric::max_abs_error] = Cell::fp32(error(random));
    for (const Metric metric : kind.metrics) cells[metric] = Cell::fp64(error(random));
    text += row_name(row) + ",torch.float32," + kind.dtype + ",\"(4, 4096)\"";
    for (const Cell& cell : cells.cells) {
      text += ',';
      append_cell_text(text, cell, 14);
    }
    text += ",pass,\"\nMax abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n\"\r\n";
    file.write(text);
    text.clear();
  }
  file.commit();
}

// Seconds to find every row by looking through the names from the start, estimated from some of them.
double quadratic_search(std::size_t rows) {
  std::vector<std::string> names;
  names.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) names.push_back(row_name(row));
  const auto start = std::chrono::steady_clock::now();
  std::size_t found = 0;
  const std::size_t step = std::max<std::size_t>(1, rows / sampled_searches);
  std::size_t searches = 0;
  for (std::size_t row = 0; row < rows; row += step, ++searches) {
    // All rows are looked at: a name may occur twice.
    for (const std::string& name : names) found += static_cast<std::size_t>(name == names[row]);
  }
  if (found != searches) throw std::logic_error("a name was not found once");
  return seconds_since(start) * static_cast<double>(rows) / static_cast<double>(searches);
}

void measure(std::size_t rows, std::size_t repeat) {
  const bench::ScratchDirectory scratch;
  const fs::path npu = scratch.path() / "npu.csv";
  const fs::path gpu = scratch.path() / "gpu.csv";
  write_details(npu, rows, 1);
  write_details(gpu, rows, 2);
  const bench::MeasuredTool best = bench::fastest(repeat, [&](std::size_t) {
    return bench::run_tool("api_precision_compare", {"-npu", npu, "-gpu", gpu, "-o", scratch.path() / "out"});
  });
  const double megabytes = static_cast<double>(fs::file_size(npu) + fs::file_size(gpu)) / 1e6;
  const double search = quadratic_search(rows);
  std::printf("%zu rows in each file, %.0f MB together\n", rows, megabytes);
  std::printf(
      "api_precision_compare  %.3f s (fastest of %zu; goal %.0f s), %.3f s of processor time, %.0f MB/s, peak %.0f "
      "MB\n",
      best.seconds, repeat, goal, best.cpu, megabytes / best.seconds, static_cast<double>(best.peak) / 1e6);
  std::printf("row by row search      %.1f s for the search alone: %.0f times as long\n", search,
              search / best.seconds);
}

int run(int argc, char** argv) {
  po::options_description options("bench_api_precision_compare");
  std::size_t rows = 200000;
  std::size_t repeat = 5;
  options.add_options()("rows", po::value(&rows), "rows of each file (default 200000)")(
      "repeat", po::value(&repeat), "runs, of which the fastest counts (default 5)");
  if (!bench::parse_options(argc, argv, options)) return 0;
  measure(std::max<std::size_t>(rows, 1), std::max<std::size_t>(repeat, 1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_api_precision_compare", [&] { return run(argc, argv); });
}
