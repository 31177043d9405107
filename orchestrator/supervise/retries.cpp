#include "orchestrator/supervise/retries.h"

#include <algorithm>
#include <utility>

namespace msrun {

Retries::Retries(std::uint32_t most, const std::vector<std::uint32_t>& last_and_alone, std::set<std::uint32_t> suspects)
    : most_(most), last_(last_and_alone.rbegin(), last_and_alone.rend()), suspects_(std::move(suspects)) {
  suspects_.insert(last_.begin(), last_.end());
}

bool Retries::died(std::uint32_t task, bool to_blame) {
  if (to_blame) ++attempts_[task];
  if (attempts(task) > most_) return false;
  wait(task);
  return true;
}

// A call that is at its last attempt waits to run alone, also when that attempt came to nothing without its fault.
void Retries::wait(std::uint32_t task) {
  if (suspects_.contains(task)) return last_.push_back(task);
  (attempts(task) > 0 && attempts(task) == most_ ? waiting_alone_ : waiting_).push_back(task);
}

std::uint32_t Retries::attempts(std::uint32_t task) const {
  const auto found = attempts_.find(task);
  return found == attempts_.end() ? 0 : found->second;
}

bool Retries::stopped_too_often(std::uint32_t task) {
  constexpr int forgiven = 10;
  return ++stops_[task] > forgiven;
}

void Retries::take_back(std::uint32_t task) {
  if (!is_waiting(task)) wait(task);
}

bool Retries::is_waiting(std::uint32_t task) const {
  const auto has = [&](const std::vector<std::uint32_t>& tasks) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  };
  return has(waiting_) || has(waiting_alone_) || has(last_);
}

Retries::Batch Retries::next() {
  if (waiting_alone_.empty()) return {std::exchange(waiting_, {}), false};
  Batch batch{{waiting_alone_.back()}, true};
  waiting_alone_.pop_back();
  return batch;
}

void Retries::release_last() {
  waiting_alone_.push_back(last_.back());
  last_.pop_back();
}

}  // namespace msrun
