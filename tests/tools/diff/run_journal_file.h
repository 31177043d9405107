// Runs as their journals tell them, written by a test.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "journal/writer.h"
#include "kernels/compare/details.h"
#include "runner/results/rank_calls.h"
#include "runner/results/record.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {

// Of a call with one output and one gradient.
inline ApiResult passed(const std::string& name) {
  ApiResult result;
  result.name = name;
  result.device = 0;
  result.forward = Status::pass;
  result.backward = Status::pass;
  result.tested_on = TestedOn::simulated;
  result.inputs = 17;
  result.checksums = {{1}, {2}};
  for (std::vector<DetailsRow>* rows : {&result.forward_rows, &result.backward_rows}) {
    DetailsRow row(pytorch_columns());
    row.device_dtype = "torch.float32";
    row.bench_dtype = "torch.float64";
    row.shape = "(2, 3)";
    row[Metric::cosine] = Cell::fp64(1);
    row[Metric::max_abs_error] = Cell::fp64(0.25);
    rows->push_back(std::move(row));
  }
  return result;
}

inline nlohmann::json usual_fingerprint() {
  return {{"dump", "00000000000000aa"}, {"seed", 1234},     {"seed_mode", "per-api"}, {"standard", "per_api"},
          {"limits", "current"},        {"compat", "none"}, {"layout", "current"},    {"max_abs_err", 0.0001}};
}

// Writes accuracy_checking_<stamp>.journal into the folder, which is made. The results get their places as tasks.
// planned: calls of the plan, if they are more than the results. ranks: if the run is one of several, each with the
// results that have its name in front.
inline std::string write_run(const fs::path& folder, std::vector<ApiResult> results,
                             nlohmann::json fingerprint = usual_fingerprint(), std::size_t planned = 0,
                             const std::string& stamp = "20261122120000", const std::vector<std::string>& ranks = {}) {
  fs::create_directories(folder);
  fingerprint["calls"] = std::max(planned, results.size());
  nlohmann::json metadata{{"program", "msrun"}, {"version", "0.1.0"},       {"backend", "sim"},
                          {"api_info", "d"},    {"tested_on", "simulated"}, {"fingerprint", fingerprint}};
  for (const std::string& rank : ranks) metadata["recordings"].push_back({{"rank", rank}});
  const fs::path path = folder / ("accuracy_checking_" + stamp + ".journal");
  journal::Writer writer = journal::Writer::create(path, metadata.dump());
  for (std::uint32_t number = 0; number < ranks.size(); ++number) {
    RankCalls calls;
    calls.number = number;
    calls.rank = ranks[number];
    for (std::uint32_t i = 0; i < results.size(); ++i) {
      if (rank_in(results[i].name) == ranks[number]) calls.add(i);
    }
    writer.append(encode(calls));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].task = static_cast<std::uint32_t>(i);
    conclude_from_rows(results[i]);
    writer.append(encode(results[i]));
  }
  writer.close_unsynced();
  return path.string();
}

}  // namespace msrun::testing
