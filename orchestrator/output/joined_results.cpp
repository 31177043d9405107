#include "orchestrator/output/joined_results.h"

#include <variant>

namespace msrun {

std::optional<ApiResult> JoinedResults::add(const ResultPart& part) {
  const std::uint32_t task = part.result.task;
  parts_.try_emplace(items_.item(task, part.part), encode(part));
  const std::optional<Answers> answers = answers_to(task);
  if (!answers || !wanted_checks(*answers).empty()) return std::nullopt;
  forget(task);
  return joined(*answers);
}

std::vector<std::uint32_t> JoinedResults::missing(std::uint32_t task) const {
  std::vector<std::uint32_t> items;
  if (const std::optional<Answers> answers = answers_to(task)) {
    for (const std::uint32_t part : wanted_checks(*answers))
      items.push_back(items_.item(task, items_.devices() + part));
    return items;
  }
  for (std::uint32_t part = 0; part < items_.devices(); ++part) {
    if (!has(items_.item(task, part))) items.push_back(items_.item(task, part));
  }
  return items;
}

std::optional<Answers> JoinedResults::answers_to(std::uint32_t task) const {
  for (std::uint32_t part = 0; part < items_.devices(); ++part) {
    if (!has(items_.item(task, part))) return std::nullopt;
  }
  Answers answers;
  for (std::uint32_t part = 0; part < items_.devices(); ++part) {
    answers.runs.push_back(part_of(items_.item(task, part)));
    const std::uint32_t check = items_.item(task, items_.devices() + part);
    if (has(check)) answers.checks[part] = part_of(check);
  }
  return answers;
}

void JoinedResults::forget(std::uint32_t task) {
  for (std::uint32_t i = 0; i < 2 * items_.devices(); ++i) parts_.erase(items_.item(task, i));
}

ApiResult JoinedResults::part_of(std::uint32_t item) const {
  return std::get<ResultPart>(decode_record(parts_.at(item))).result;
}

}  // namespace msrun
