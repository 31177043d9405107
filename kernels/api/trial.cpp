#include "kernels/api/trial.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

namespace msrun {
namespace {

// Constant-initialised, so that it is there before the first line of any file.
constinit const TrialRegistration* last_line = nullptr;

using Table = std::unordered_map<std::string_view, Trial>;

Table made_table() {
  Table table;
  for (const TrialRegistration* line = last_line; line != nullptr; line = line->next) {
    if (find_canonical(line->canonical) == nullptr || !table.emplace(line->canonical, line->trial).second) {
      throw std::logic_error("TRY_FIRST without OP, or given twice: " + std::string(line->canonical));
    }
  }
  return table;
}

}  // namespace

TrialRegistration::TrialRegistration(const char* canonical_name, Trial how_far)
    : canonical(canonical_name), trial(how_far), next(last_line) {
  last_line = this;
}

std::optional<Trial> trial_of(const Operator& op) {
  static const Table& table = *new Table(made_table());
  const auto found = table.find(op.name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace msrun
