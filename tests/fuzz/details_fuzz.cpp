// Any bytes as both files of api_precision_compare: what it judges never passes without a standard that has a value.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kernels/base/error.h"
#include "kernels/io/files/csv.h"
#include "tests/fuzz/target.h"
#include "tools/api_precision_compare/api_name.h"
#include "tools/api_precision_compare/gpu_index.h"
#include "tools/api_precision_compare/judge.h"

namespace {

using namespace msrun;
using namespace msrun::api_precision_compare;

void judge_all(const std::string& bytes, Policy policy, bool compat_msprobe) {
  const Rules rules{.policy = policy, .compat_msprobe = compat_msprobe, .english = false};
  const Reading reading = compat_msprobe ? Reading::msprobe : Reading::careful;
  DetailsFile npu("npu.csv", bytes, "npu_csv", reading);
  DetailsFile gpu("gpu.csv", bytes, "gpu_csv", reading);
  GpuIndex index(gpu, [](const std::string&) {});
  OutputRow row;
  OutputRow gpu_row;
  Judgement judgement;
  while (npu.next(row)) {
    if (is_formula(harmless_name(row.name))) std::abort();
    const GpuIndex::Found found = index.find(row.name, gpu_row);
    if (found == GpuIndex::Found::none) std::abort();
    const auto name = parse_output_name(row.name);
    if (!name || found != GpuIndex::Found::one) continue;
    judge(name->api, row, gpu_row, rules, judgement);
    if (judgement.status == Status::pass && !judgement.standard) std::abort();
    if (judgement.status == Status::error && judgement.worst.empty()) std::abort();
  }
  if (!index.unseen().empty()) std::abort();
}

}  // namespace

FUZZ_TARGET(details_fuzz) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const Policy policy : {Policy::per_api, Policy::current}) {
    for (const bool compat : {false, true}) {
      try {
        judge_all(bytes, policy, compat);
      } catch (const UserError&) {
        // The file is refused.
      }
    }
  }
  return 0;
}
