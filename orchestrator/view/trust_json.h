// What a verdict is worth (kernels/compare/bounds/trust.h), as JSON.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "orchestrator/view/outputs_json.h"
#include "runner/results/counts.h"
#include "runner/results/result.h"

namespace msrun {

// The name of the reason why a call, or an output, proves little; null if there is none.
inline nlohmann::ordered_json proves_little_json(WeakEvidence weak_evidence) {
  if (weak_evidence == WeakEvidence::none) return nullptr;
  return weak_evidence_name(weak_evidence);
}

inline nlohmann::ordered_json proves_little_json(const ApiResult& result) {
  return proves_little_json(is_weak_evidence(result) ? result.weak_evidence : WeakEvidence::none);
}

// The smallest relative errors of an output that are told from rounding, {"of_one": 0.0001, "of_all": 0.00001}; null
// where nothing is known of them.
inline nlohmann::ordered_json visible_fault_json(const DetailsRow& row) {
  if (!row.trust.visible) return nullptr;
  return {{"of_one", std::ldexp(1.0, row.trust.visible->of_one)},
          {"of_all", std::ldexp(1.0, row.trust.visible->of_all)}};
}

// One entry for each output of the call of which something is known, by the name that the details file gives it.
inline nlohmann::ordered_json visible_faults_json(const ApiResult& result) {
  return outputs_json(result, visible_fault_json);
}

}  // namespace msrun
