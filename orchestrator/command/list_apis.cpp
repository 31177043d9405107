#include "orchestrator/command/list_apis.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/api/operators.h"
#include "orchestrator/command/coverage.h"

namespace msrun {

std::string list_apis_text() {
  std::string text;
  std::map<std::string, int> counts;
  std::set<std::string> canonical;
  for (const ApiListing& entry : list_apis()) {
    std::string line = entry.type + "." + entry.api;
    line.resize(std::max<std::size_t>(line.size() + 2, 48), ' ');
    text += line + entry.canonical + "\n";
    ++counts[entry.type];
    canonical.insert(entry.canonical);
  }
  text += "\n" + std::to_string(canonical.size()) + " operators under";
  const char* separator = " ";
  for (const auto& [type, count] : counts) {
    text += separator + std::to_string(count) + " " + type;
    separator = ", ";
  }
  text += " names.\n";

  const Coverage coverage = measure_coverage();
  text += std::to_string(coverage.covered) + " of " + std::to_string(coverage.operators) +
          " operators of the pre-check's inventory";
  separator = " (";
  for (std::size_t priority = 0; priority < coverage.by_priority.size(); ++priority) {
    text += separator + ("P" + std::to_string(priority)) + " " + std::to_string(coverage.by_priority[priority]);
    separator = ", ";
  }
  text += "); " + std::to_string(coverage.always_skipped) + " of them are always SKIP (docs/operators.md).\n";
  if (coverage.missing.empty()) return text;
  text += "Not known:";
  for (const std::string& name : coverage.missing) text += " " + name;
  return text + "\n";
}

std::string list_apis_json() {
  nlohmann::ordered_json apis = nlohmann::ordered_json::array();
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  std::set<std::string> canonical;
  for (const ApiListing& entry : list_apis()) {
    nlohmann::ordered_json api{{"name", entry.type + "." + entry.api}, {"operator", entry.canonical}};
    if (is_always_skipped(entry.type, entry.api)) api["skipped"] = true;
    apis.push_back(std::move(api));
    names[entry.type] = names.value(entry.type, 0) + 1;
    canonical.insert(entry.canonical);
  }
  const Coverage coverage = measure_coverage();
  const nlohmann::ordered_json json{{"apis", std::move(apis)},
                                    {"operators", canonical.size()},
                                    {"names", std::move(names)},
                                    {"inventory",
                                     {{"operators", coverage.operators},
                                      {"covered", coverage.covered},
                                      {"covered_by_priority", coverage.by_priority},
                                      {"always_skipped", coverage.always_skipped},
                                      {"not_known", coverage.missing}}}};
  return json.dump() + "\n";
}

}  // namespace msrun
