#include "runner/check/dropout_check.h"

#include <algorithm>
#include <utility>

#include "runner/check/result_dtypes.h"

namespace msrun {
namespace {

// Results that are larger are judged by the shares of zeros alone: the rule takes several times their memory.
constexpr std::int64_t most_elements = std::int64_t{1} << 24;

const Tensor* first_tensor(const Value& value) {
  const List* list = value.get<List>();
  if (list == nullptr) return value.get<Tensor>();
  return list->empty() ? nullptr : list->front().get<Tensor>();
}

// The tensors of one direction, if they can be judged.
std::optional<DropoutRule> rule_of(const Value& kept, const Value& dropped, const std::optional<Dropping>& draws,
                                   const Tensor* device) {
  const Tensor* if_kept = first_tensor(kept);
  const Tensor* if_dropped = first_tensor(dropped);
  if (if_kept == nullptr || if_dropped == nullptr || device == nullptr) return std::nullopt;
  const bool fits = is_floating(if_kept->dtype()) && is_floating(device->dtype()) &&
                    if_kept->shape() == device->shape() && if_dropped->shape() == device->shape();
  if (!fits) return std::nullopt;
  return DropoutRule{*if_kept, *if_dropped, draws};
}

std::string unlikely_chance(const std::vector<Fate>& fates, const Dropping& draws) {
  std::string text = unlikely_share(fates, draws.probability);
  return text.empty() ? unlikely_pattern(fates, draws) : text;
}

}  // namespace

DropoutCheck::DropoutCheck(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& benchmark,
                           bool results_have_dtypes)
    : op_(op), call_(call), benchmark_(benchmark), results_have_dtypes_(results_have_dtypes) {}

std::string DropoutCheck::other_dtype(const char* what, const Tensor& result) const {
  std::optional<DType> own;
  for_each_argument(call_, [&](const Tensor& tensor) { own = own.value_or(tensor.dtype()); });
  const bool has_other = results_have_dtypes_ && own && result.dtype() != *own;
  return has_other ? text_of_other_dtype(what, result.dtype(), *own) : std::string();
}

void DropoutCheck::evaluate_both() {
  if (evaluated_) return;
  EvaluationOptions options = benchmark_;
  options.dropout_keeps = true;
  kept_ = evaluate(op_, call_, options);
  draws_ = kept_.notes.dropping;
  options.dropout_keeps = false;
  dropped_ = evaluate(op_, call_, options);
  evaluated_ = true;
}

DropoutCheck::Verdict DropoutCheck::of_output(const Value& device) {
  const Tensor* output = first_tensor(device);
  if (output == nullptr) return {};
  if (std::string text = other_dtype("The result", *output); !text.empty()) return {true, std::move(text)};
  if (output->numel() > most_elements) return {};
  evaluate_both();
  const std::optional<DropoutRule> rule = rule_of(kept_.output, dropped_.output, draws_, output);
  if (!rule) return {};
  DropoutFinding found = judge_dropout(*rule, *output);
  fates_ = std::move(found.fates);
  if (!found.text.empty() || !draws_) return {true, found.text, !draws_};
  return {true, unlikely_chance(fates_, *draws_)};
}

DropoutCheck::Verdict DropoutCheck::of_gradients(const List& device) {
  const Tensor* gradient = device.empty() ? nullptr : device.front().get<Tensor>();
  if (gradient == nullptr) return {};
  if (std::string text = other_dtype("The gradient", *gradient); !text.empty()) return {true, std::move(text)};
  if (gradient->numel() > most_elements) return {};
  evaluate_both();
  if (kept_.gradients.empty() || dropped_.gradients.empty()) return {};
  const std::optional<DropoutRule> rule =
      rule_of(kept_.gradients.front(), dropped_.gradients.front(), draws_, gradient);
  if (!rule) return {};
  const DropoutFinding found = judge_dropout(*rule, *gradient);
  if (!found.text.empty() || !draws_) return {true, found.text};
  if (const std::int64_t contrary = contrary_fates(fates_, found.fates); contrary > 0) {
    return {true, "The gradient is dropped where the output is not, or kept where it is not: at " +
                      std::to_string(contrary) + " of " + std::to_string(found.fates.size()) + " places."};
  }
  return {true, unlikely_chance(found.fates, *draws_)};
}

}  // namespace msrun
