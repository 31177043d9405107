#include "orchestrator/command/coverage.h"

#include <sstream>

#include "kernels/api/operators.h"
#include "kernels/inventory/inventory.h"
#include "runner/dialects/dialect.h"

namespace msrun {

bool is_always_skipped(std::string_view type, std::string_view api) {
  const Operator* op = find_operator(type, api);
  return op != nullptr && (!op->traits().uncheckable.empty() || pytorch_dialect().is_never_run(api));
}

Coverage measure_coverage() {
  Coverage coverage;
  for (const InventoryOperator& entry : inventory()) {
    ++coverage.operators;
    bool complete = true;
    bool skipped = true;
    std::string type;
    std::istringstream words(entry.names);
    for (std::string word; words >> word;) {
      if (word.ends_with(':')) {
        type = word.substr(0, word.size() - 1);
        continue;
      }
      if (word.ends_with(';')) word.pop_back();
      const Operator* op = find_operator(type, word);
      if (op == nullptr) {
        complete = false;
        coverage.missing.push_back(type + "." + word);
        continue;
      }
      skipped = skipped && is_always_skipped(type, word);
    }
    if (!complete) continue;
    ++coverage.covered;
    ++coverage.by_priority.at(static_cast<std::size_t>(entry.priority));
    if (skipped) ++coverage.always_skipped;
  }
  return coverage;
}

}  // namespace msrun
