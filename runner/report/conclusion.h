// What a run comes to, in one sentence.
#pragma once

#include <string>

#include "runner/report/run_records.h"

namespace msrun::report {

// The first suspicious call of a reader, and how many APIs have some.
struct Foremost {
  std::string name;
  std::string cause;  // one sentence; empty if nothing is known of it
  std::size_t apis = 0;
};

struct Conclusion {
  const char* tone = "good";  // or "bad", "caution"
  std::string sentence;
};

Conclusion conclusion_of(const RunRecords& records, const Foremost& foremost);

}  // namespace msrun::report
