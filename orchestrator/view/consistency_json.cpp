#include "orchestrator/view/consistency_json.h"

#include <array>
#include <vector>

#include "kernels/base/text.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json checksum_json(std::uint64_t checksum) { return checksum == 0 ? Json(nullptr) : Json(hexadecimal(checksum)); }

Json list_json(const std::vector<std::uint64_t>& checksums) {
  Json list = Json::array();
  for (const std::uint64_t checksum : checksums) list.push_back(checksum_json(checksum));
  return list;
}

}  // namespace

Json checksums_json(const ApiResult& result) {
  const Checksums& checksums = result.checksums;
  if (checksums == Checksums{}) return nullptr;
  return {{"outputs", list_json(checksums.outputs)}, {"gradients", list_json(checksums.gradients)}};
}

Json repeats_json(const ApiResult& result) {
  if (!result.repeats) return nullptr;
  const Repeats& repeats = *result.repeats;
  return {{"runs", repeats.runs},
          {"different", repeats.different},
          {"may_vary", repeats.may_vary},
          {"output", text_or_null(repeats.output)},
          {"problem", text_or_null(repeats.problem)}};
}

Json agreement_json(const ApiResult& result) {
  if (!result.agreement) return nullptr;
  const Agreement& agreement = *result.agreement;
  constexpr std::array verdicts{"same", "may_vary", "undecided", "blamed"};
  Json answers = Json::array();
  for (const DeviceAnswer& answer : agreement.answers) {
    answers.push_back({{"device", answer.device}, {"digest", checksum_json(answer.digest)}, {"blamed", answer.blamed}});
  }
  return {{"verdict", verdicts[static_cast<std::size_t>(agreement.verdict)]},
          {"output", text_or_null(agreement.output)},
          {"reason", text_or_null(agreement.reason)},
          {"answers", std::move(answers)}};
}

}  // namespace msrun
