// Results as a run of many small calls has them, for benchmarks that need journals but no run.
#pragma once

#include <cstdint>
#include <string>

#include "runner/results/result.h"

namespace msrun::bench {

// A result as small calls have it: one output, two gradients, five metrics each and the message that most rows have.
inline ApiResult typical_result(std::uint32_t task) {
  ApiResult result;
  result.task = task;
  result.name = "Functional.scaled_dot_product_attention." + std::to_string(task);
  result.device = static_cast<int>(task % 8);
  result.forward = task % 10 == 0 ? Status::warning : Status::pass;
  result.backward = Status::pass;
  result.times = {task % 90'000 + 5'000, task % 700'000 + 9'000, task % 500'000 + 8'000, task % 100'000 + 3'000};
  for (std::uint32_t i = 0; i < 3; ++i) {
    DetailsRow row(pytorch_columns());
    row.bench_dtype = "torch.float32";
    row.device_dtype = "torch.bfloat16";
    row.shape = "(" + std::to_string(task % 40 + 1) + ", 4096, " + std::to_string(64 << (task % 3)) + ")";
    row.status = i == 0 ? result.forward : Status::pass;
    row.message = "\nMax abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n";
    const double noise = (task * 2654435761U + i) / 4294967296.0;
    row[Metric::cosine] = Cell::fp64(1 - noise * 1e-6);
    row[Metric::max_abs_error] = Cell::fp64(noise * 1e-4);
    row[Metric::inf_nan_error_rate] = Cell::fp64(0);
    row[Metric::relative_error_rate] = Cell::fp64(noise * 1e-2);
    row[Metric::absolute_error_rate] = Cell::fp64(0);
    (i == 0 ? result.forward_rows : result.backward_rows).push_back(row);
  }
  return result;
}

}  // namespace msrun::bench
