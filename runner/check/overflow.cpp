#include "runner/check/overflow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/complex.h"

namespace msrun {
namespace {

bool overflows(const Tensor& tensor) {
  if (is_complex(tensor.dtype())) return overflows(real_part(tensor)) || overflows(imaginary_part(tensor));
  if (!is_floating(tensor.dtype())) return false;
  const Tensor values = tensor.to(DType::float32).contiguous();
  const float* begin = values.data<float>();
  return !std::all_of(begin, begin + values.numel(), [](float value) { return std::isfinite(value); });
}

// A finite tensor of large values may have such a sum, too.
bool sum_overflows(const Value& output) {
  bool found = false;
  for_each_leaf(output, [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr || is_complex(tensor->dtype())) return;
    const Tensor values = tensor->to(DType::float32).contiguous();
    const float* begin = values.data<float>();
    found = found || !std::isfinite(std::accumulate(begin, begin + values.numel(), 0.0F));
  });
  return found;
}

// Whether anything of it was looked at for infinities and NaN. integers: they were, too.
bool has_what_overflows(const Value& output, bool integers) {
  bool found = false;
  for_each_leaf(output, [&](const Value& leaf) {
    if (const Tensor* tensor = leaf.get<Tensor>()) {
      const DType dtype = tensor->dtype();
      found = found || (tensor->numel() > 0 && (integers || is_floating(dtype) || is_complex(dtype)));
    }
    found = found || leaf.is<double>();
  });
  return found;
}

bool has_bool(const Value& output) {
  bool found = false;
  for_each_leaf(output, [&](const Value& leaf) { found = found || leaf.is<bool>(); });
  return found;
}

// What is said, and how it counts, of a call that ran on both sides.
void judge(const Value& bench, const Value& device, const CheckOptions& options, ApiResult& result) {
  const bool compat_msprobe = options.compare.compat_msprobe;
  using Verdict = OverflowFinding::Verdict;
  OverflowFinding& finding = result.overflow.emplace();
  const std::string subject = "The " + result.name + " overflow is ";
  if (bench.is_none() && device.is_none()) {
    result.weak_evidence = WeakEvidence::nothing_compared;
    result.message = compat_msprobe ? subject + "a normal overflow, out and npu_out is None."
                                    : result.name + ": no overflow, both outputs are None.";
  } else if (has_bool(bench) || has_bool(device)) {
    finding.verdict = Verdict::not_judged;
    result.message =
        "The output of " + result.name + " is bool type.This dtype not support overflow, so it will be skipped.";
  } else {
    const bool by_sum = options.dialect->sums_overflow(compat_msprobe);
    finding.bench = overflows(bench);
    finding.device = by_sum ? sum_overflows(device) : overflows(device);
    finding.verdict = finding.bench == finding.device ? Verdict::normal : Verdict::abnormal;
    result.message = subject + (finding.verdict == Verdict::normal ? "a normal overflow." : "an abnormal overflow.");
    // To be checked or not is no matter of how msProbe sums.
    if (!has_what_overflows(bench, false) && !has_what_overflows(device, options.dialect->sums_overflow(false))) {
      result.weak_evidence = WeakEvidence::nothing_compared;
    }
    if (finding.is_none() && !compat_msprobe) {
      result.message = result.name + (result.weak_evidence == WeakEvidence::none
                                          ? ": no overflow."
                                          : ": no overflow, as no output has an element of a floating dtype.");
    }
  }
  constexpr std::array statuses{Status::pass, Status::error, Status::skip};
  result.forward = statuses[static_cast<std::size_t>(finding.verdict)];
  if (finding.verdict == Verdict::not_judged) result.outcome = Outcome::skipped_by_rule;
}

}  // namespace

bool overflows(const Value& output) {
  if (const Tensor* tensor = output.get<Tensor>()) return overflows(*tensor);
  if (const double* number = output.get<double>()) return !std::isfinite(*number);
  const List* list = output.get<List>();
  return list != nullptr && std::any_of(list->begin(), list->end(), [](const Value& item) { return overflows(item); });
}

void check_overflow(const ApiCall& call, Device& device, const CheckOptions& options, ApiResult& result) {
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const Operator* op = name ? find_operator(name->type, name->api) : nullptr;
  if (op == nullptr) throw SkipError("API " + call.name + " not support for overflow check. SKIP.");
  const auto timed = [](std::uint64_t& total, const auto& work) {
    const Stopwatch watch(total);
    return work();
  };
  MaterialisedCall inputs =
      timed(result.times.materialise, [&] { return options.dialect->materialise(call, options.materialise); });
  inputs.backward = {};
  inputs.autocast = false;
  const Evaluation bench = timed(result.times.benchmark, [&] { return evaluate(*op, inputs, {}); });
  const DeviceResult on_device = timed(result.times.device, [&] {
    return device.run({inputs, op->name, op->traits(), std::nullopt});
  });
  judge(bench.output, on_device.output, options, result);
}

}  // namespace msrun
