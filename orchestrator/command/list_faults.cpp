#include "orchestrator/command/list_faults.h"

#include <nlohmann/json.hpp>

#include "orchestrator/command/page_width.h"
#include "runner/device/sim/faults.h"

namespace msrun {
namespace {

constexpr std::size_t name_width = 25;  // of the first column

}  // namespace

std::string list_faults_text() {
  std::string text =
      "Faults of the simulated device: --sim-fault PATTERN=FAULT, for the calls whose names match the pattern, of one "
      "rank\n'rank3:Torch.*'. What changes elements does so in the first floating tensor of the output (the first of "
      "any "
      "dtype:\nwrong-element, wrong-block, wrong-once and wrong-on-device) and of the gradients.\n\n";
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    text += beside_column("  " + spelled(kind), name_width, kind.effect);
  }
  return text;
}

std::string list_faults_json() {
  nlohmann::ordered_json faults = nlohmann::ordered_json::array();
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    nlohmann::ordered_json fault{{"name", kind.name}};
    if (!kind.parameter.empty()) fault["parameter"] = kind.parameter;
    if (kind.is_optional) fault["parameter_is_optional"] = true;
    fault["effect"] = kind.effect;
    faults.push_back(std::move(fault));
  }
  return nlohmann::ordered_json{{"faults", std::move(faults)}}.dump() + "\n";
}

}  // namespace msrun
