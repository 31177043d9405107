// The results of a run as a JUnit file, for the servers that show tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/io/files/paths.h"
#include "runner/results/result.h"

namespace msrun {

struct JunitFacts {
  std::string recording;      // what the suite is called by
  double started = 0;         // seconds since 1970
  std::uint64_t planned = 0;  // calls; those without a result are one case in error
  std::string stopped = {};   // why that case is there whatever is planned; empty: it is not
  bool documented = false;    // documented errors are failures, also those that rounding explains
};

// Calls its argument with every result, in dump order, each time it is called itself.
using EachResult = std::function<void(const std::function<void(const ApiResult&)>&)>;

// Writes the file, which the caller commits: one suite with a case for each call. SKIP is skipped; what is suspicious
// or failed to run is a failure. Anything else passes, with what there is to say in system-out: its documented Status
// and why rounding explains it. `documented`: a documented error is a failure as well, and a call that failed to run
// an error. Throws WriteError.
void write_junit(AtomicFile& file, const JunitFacts& facts, const EachResult& each_result);

// Text between the tags and in the attributes of XML 1.0, whatever it holds: what is no character there is replaced.
std::string xml_text(const std::string& text);

}  // namespace msrun
