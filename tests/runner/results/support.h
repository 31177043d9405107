// Results of every sort, for tests of what stores them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runner/results/result.h"

namespace msrun {

inline Difference varied_difference(std::uint32_t task) {
  Difference difference;
  DifferenceMap& map = difference.map;
  map.kind = static_cast<DifferenceMap::Kind>(task % 10);
  map.elements = std::int64_t{1} << (task % 40);
  map.wrong = task;
  map.region = std::int64_t{2} * task;
  map.first = std::int64_t{3} * task;
  map.last = std::int64_t{5} * task;
  if (task % 2 == 0) map.place = "[:, " + std::to_string(task) + "]";
  map.block = task % 3;
  map.period = task % 7;
  map.axis = static_cast<std::int64_t>(task % 3) - 1;
  for (std::uint32_t line = 0; line < task % 9; ++line) map.picture.emplace_back(task % 33, ".+#"[task % 3]);
  map.cell_rows = task % 11;
  map.cell_columns = 1 + task;
  difference.errors.relative[task % ErrorHistogram::relative_sizes] = task;
  difference.errors.ulps[task % ErrorHistogram::ulp_sizes] = UINT64_MAX - task;
  difference.explained = 0.25 * task;
  return difference;
}

// The first `count` of a series in which every field takes several values, tasks ascending from 0.
inline std::vector<ApiResult> varied_results(std::uint32_t count) {
  std::vector<ApiResult> results;
  for (std::uint32_t task = 0; task < count; ++task) {
    ApiResult result;
    result.task = task;
    result.name = "Functional.relu." + std::to_string(task) + std::string(task, 'n');
    result.device = static_cast<int>(task % 9) - 1;
    result.forward = static_cast<Status>(task % 4);
    if (task % 3 != 0) result.backward = static_cast<Status>(task % 5 % 4);
    result.message = task % 7 == 0 ? std::string(200'000, 'm') : "message " + std::to_string(task % 11);
    result.times = {task, std::uint64_t{1} << (task % 64), 127 + task, UINT64_MAX - task};
    result.inputs = task * 0x9E3779B97F4A7C15U;
    for (std::uint32_t i = 0; i < task % 4; ++i) result.checksums.outputs.push_back(result.inputs + i);
    for (std::uint32_t i = 0; i < task % 3; ++i) result.checksums.gradients.push_back(i * result.inputs);
    if (task % 4 == 1) result.repeats = {2 + task, task, task % 8 == 1, std::string(task % 5, 'o'), "problem"};
    if (task % 4 > 1) {
      result.agreement = {static_cast<Agreement::Verdict>(task / 4 % 4), "output", std::string(task % 3, 'r'), {}};
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(task % 5); ++i)
        result.agreement->answers.push_back({i, result.inputs, i == 2});
    }
    result.run = {task % 6, UINT64_MAX / (1 + task), std::uint64_t{1000} * task};
    for (std::uint32_t i = 0; i < task % 3; ++i) {
      InputNote note{"args." + std::to_string(i), "float16", "(" + std::to_string(task) + ")", {}, {}, task % 4 == 0};
      if (task % 5 > 0) note.least = -1.5 * task;
      if (task % 5 > 1) note.most = 2.5 * task;
      result.input_notes.push_back(std::move(note));
    }
    result.rounding_only = task % 2 == 1;
    result.outcome = static_cast<Outcome>(task / 2 % 4);
    result.tested_on = static_cast<TestedOn>(task / 3 % 4);
    if (task % 5 == 0) {
      result.overflow = {static_cast<OverflowFinding::Verdict>(task % 3), task % 2 == 0, task % 4 == 0};
    }
    for (std::uint32_t i = 0; i < task % 6; ++i) {
      DetailsRow row(pytorch_columns());
      row.bench_dtype = "torch.float" + std::to_string(32 << (i % 2));
      row.device_dtype = i % 2 == 0 ? std::string() : std::string("a\0b", 3);
      row.shape = "(" + std::to_string(task) + ",)";
      row.status = static_cast<Status>((task + i) % 4);
      row.rounding_only = task % 2 == 0;
      row.message = "row, with \"text\"";
      row.cells[i] = Cell::fp64(0.1 * task);
      row.cells[16] = Cell::fp16(-std::numeric_limits<double>::infinity());
      row.cells[task % 17] = Cell::integer(task);
      if ((task + i) % 4 == 3) row.difference = varied_difference(task);
      if ((task + i) % 4 > 1) {
        row.judgement = {{}, task % 3 == 0, static_cast<std::uint8_t>(task % 5)};
        for (std::uint32_t rule = 1; rule < task % 24; ++rule)
          row.judgement->asked.push_back({static_cast<std::uint8_t>(rule), std::uint64_t{task} << rule, 0.5 * task});
      }
      (i % 2 == 0 ? result.forward_rows : result.backward_rows).push_back(row);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace msrun
