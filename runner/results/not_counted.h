// What a run tells of results that it holds and does not count: those of calls that its options leave out.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/base/counted.h"
#include "runner/results/counts.h"
#include "runner/results/stored_results.h"

namespace msrun {

// "40 calls of the earlier run are not counted, 4 of them errors."; empty if there are none.
inline std::string not_counted_text(const StoredResults& kept) {
  std::size_t calls = 0;
  std::size_t errors = 0;
  for (std::uint32_t i = 0; i < kept.tasks(); ++i) {
    if (!kept.has(i)) continue;
    ++calls;
    if (overall_status(kept.get(i)) == Status::error) ++errors;
  }
  if (calls == 0) return {};
  return counted_with_commas(calls, "call") + " of the earlier run " + (calls == 1 ? "is" : "are") + " not counted, " +
         (errors == 0 ? "none" : with_commas(errors)) + " of them " + (errors == 1 ? "an error" : "errors") +
         ": the options of this one leave " + (calls == 1 ? "it" : "them") + " out.";
}

}  // namespace msrun
