#include "orchestrator/command/list_faults.h"

#include <nlohmann/json.hpp>

#include "orchestrator/command/page_width.h"
#include "runner/device/sim/faults.h"

namespace msrun {
namespace {

constexpr std::size_t name_width = 25;  // of the first column

// The words of text behind a first column of its own, broken into lines of the page's width.
std::string lines_of(std::string line, std::string_view text) {
  std::string lines;
  line.resize(std::max(line.size() + 1, name_width), ' ');
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (!fresh && line.size() + 1 + space > page_width) {
      lines += line + "\n";
      line.assign(name_width, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + std::string(text.substr(0, space));
    fresh = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines + line + "\n";
}

}  // namespace

std::string list_faults_text() {
  std::string text =
      "Faults of the simulated device: --sim-fault PATTERN=FAULT, for the calls whose names match the pattern, of one "
      "rank\n'rank3:Torch.*'. What changes elements does so in the first floating tensor of the output (the first of "
      "any "
      "dtype:\nwrong-element, wrong-block, wrong-once and wrong-on-device) and of the gradients.\n\n";
  for (const SimFaultKind& kind : sim_fault_kinds()) {
    text += lines_of("  " + spelled(kind), kind.effect);
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
