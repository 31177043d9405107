// Results by task, in whichever form they are kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runner/results/result.h"

namespace msrun {

class TaskResults {
 public:
  virtual ~TaskResults() = default;
  // Those that may have a result are the tasks below this number.
  virtual std::size_t tasks() const = 0;
  virtual bool has(std::uint32_t task) const = 0;
  // Into result that of a task that has one, in place of what it held. May be called by several threads while nobody
  // adds results.
  virtual void get(std::uint32_t task, ApiResult& result) const = 0;
  // Without its rows, which are most of the work.
  virtual ApiResult outline(std::uint32_t task) const = 0;
};

}  // namespace msrun
