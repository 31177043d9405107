// What is known of the outputs of a call, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/results/result.h"

namespace msrun {

// One entry for each output of the call, by the name that the details file gives it, but for those of which
// json_of(row) is null.
template <class JsonOf>
nlohmann::ordered_json outputs_json(const ApiResult& result, const JsonOf& json_of) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  const auto add = [&](const char* direction, const std::vector<DetailsRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      nlohmann::ordered_json one = json_of(rows[i]);
      if (!one.is_null()) all[direction + std::to_string(i)] = std::move(one);
    }
  };
  add("forward.output.", result.forward_rows);
  add("backward.output.", result.backward_rows);
  return all;
}

}  // namespace msrun
