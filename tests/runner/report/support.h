// Journals of runs that never were, for tests of the report.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "journal/file.h"
#include "journal/writer.h"
#include "runner/results/record.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {

inline nlohmann::ordered_json report_metadata(std::size_t calls) {
  return {{"program", "msrun"},
          {"version", "0.2"},
          {"started", 1'764'000'000},
          {"command", "msrun -api_info /data/secret/dump.json --backend sim"},
          {"threads", 2},
          {"devices", {0, 1}},
          {"fingerprint", {{"dump", "00ff"}, {"calls", calls}, {"standard", "per_api"}, {"max_abs_err", 0.0001}}},
          {"api_info", "/data/secret/dump.json"},
          {"forward", ""},
          {"backward", ""},
          {"backend", "sim"},
          {"tested_on", "simulated"},
          {"arguments", {{"-api_info", "/data/secret/dump.json"}, {"--backend", "sim"}}},
          {"working_directory", "/home/somebody"}};
}

// A call of a sound run.
inline ApiResult sound_result(std::uint32_t task, const std::string& name) {
  ApiResult result;
  result.task = task;
  result.name = name;
  result.device = static_cast<std::int32_t>(task % 2);
  result.forward = Status::pass;
  result.tested_on = TestedOn::simulated;
  result.times = {1'000'000, 2'000'000, 3'000'000, 400'000};
  result.run = {task / 2 % 2, 1'764'000'000'000'000 + std::uint64_t{task} * 3'000, 5'900};
  DetailsRow row(pytorch_columns());
  row.bench_dtype = "torch.float64";
  row.device_dtype = task % 3 == 0 ? "torch.bfloat16" : "torch.float32";
  row.shape = "(" + std::to_string(2 + task % 40) + ", 8)";
  row[Metric::cosine] = Cell::fp64(1);
  row.trust.visible = VisibleFault{-12 - static_cast<std::int32_t>(task % 5), -14};
  result.forward_rows.push_back(row);
  return result;
}

// One whose output is wrong in one row.
inline ApiResult suspicious_result(std::uint32_t task, const std::string& name) {
  ApiResult result = sound_result(task, name);
  result.forward = Status::error;
  result.beyond_rounding = true;
  DetailsRow& row = result.forward_rows.front();
  row.device_dtype = "torch.float32";
  row.status = Status::error;
  row.beyond_rounding = true;
  row[Metric::cosine] = Cell::fp64(0.98125);
  row[Metric::max_abs_error] = Cell::fp64(7.25);
  row.message =
      "Cosine similarity is less than 0.99, consider as error, skip other check and set to SPACE.\nNot explained by "
      "rounding: 8 of 16 elements differ, by up to 35 ULP.\nOpposite signs: every wrong element.\n";
  Difference difference;
  difference.map.kind = DifferenceMap::Kind::row;
  difference.map.elements = 16;
  difference.map.wrong = 8;
  difference.map.place = "[1, :]";
  difference.map.picture = {"........", "####++++"};
  difference.map.cell_rows = 1;
  difference.map.cell_columns = 1;
  difference.errors.relative[0] = 8;
  difference.errors.relative[40] = 8;
  difference.errors.ulps[6] = 8;
  difference.explained = 1e-6;
  row.difference = difference;
  row.trust.visible.reset();
  result.input_notes = {{"args.0", "float32", "(2, 8)", -424242.5, 3.25, true}};
  return result;
}

inline ApiResult failed_result(std::uint32_t task, const std::string& name, const std::string& reason) {
  ApiResult result = skip_result(task, name, reason, Outcome::failed_to_run);
  result.device = 0;
  result.tested_on = TestedOn::simulated;
  result.input_notes = {{"args.0", "float32", "(4,)", 1.0, 2.0, true}};
  return result;
}

// The journal of these results, which may have other records between them.
inline fs::path write_journal(const fs::path& path, const nlohmann::ordered_json& metadata,
                              const std::vector<std::string>& records) {
  journal::Writer writer = journal::Writer::create(path, metadata.dump());
  for (const std::string& record : records) writer.append(record);
  writer.flush();
  writer.close_unsynced();
  return path;
}

}  // namespace msrun::testing
