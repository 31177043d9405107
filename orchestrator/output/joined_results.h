// The results of calls that run on all devices, while they wait for those of further devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runner/results/agreement.h"
#include "runner/results/record.h"
#include "runner/shared/work_items.h"

namespace msrun {

class JoinedResults {
 public:
  // items is of calls for all devices.
  explicit JoinedResults(const WorkItems& items) : items_(items) {}

  bool has(std::uint32_t item) const { return parts_.contains(item); }
  // Keeps a part until its call has all that it needs; then the result of the call, of which nothing is kept. A second
  // part of the same number is dropped.
  std::optional<ApiResult> add(const ResultPart& part);
  // The items that a call without a result still needs.
  std::vector<std::uint32_t> missing(std::uint32_t task) const;
  void forget(std::uint32_t task);

 private:
  // What the devices have given for a call; nothing while one of them has not.
  std::optional<Answers> answers_to(std::uint32_t task) const;
  ApiResult part_of(std::uint32_t item) const;

  WorkItems items_;
  std::unordered_map<std::uint32_t, std::string> parts_;  // by item, as records
};

}  // namespace msrun
