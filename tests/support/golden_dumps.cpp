#include "tests/support/golden_dumps.h"

#include <algorithm>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {

std::vector<std::string> golden_dumps() {
  std::vector<std::string> result;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(test_data()) / "dumps")) {
    if (fs::exists(golden(entry.path().filename(), "result"))) result.push_back(entry.path().filename());
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace msrun::testing
