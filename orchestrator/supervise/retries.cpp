#include "orchestrator/supervise/retries.h"

#include <algorithm>
#include <utility>

namespace msrun {

Retries::Retries(std::size_t tasks, std::uint32_t most, const std::vector<std::uint32_t>& last_and_alone)
    : most_(most), attempts_(tasks), last_(last_and_alone.rbegin(), last_and_alone.rend()) {}

bool Retries::died(std::uint32_t task, bool to_blame) {
  if (to_blame) ++attempts_[task];
  if (attempts_[task] > most_) return false;
  (to_blame && attempts_[task] == most_ ? waiting_alone_ : waiting_).push_back(task);
  return true;
}

void Retries::take_back(std::uint32_t task) {
  const auto has = [&](const std::vector<std::uint32_t>& tasks) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  };
  if (!has(waiting_) && !has(waiting_alone_)) waiting_.push_back(task);
}

Retries::Batch Retries::next() {
  if (waiting_alone_.empty()) return {std::exchange(waiting_, {}), false};
  Batch batch{{waiting_alone_.back()}, true};
  waiting_alone_.pop_back();
  return batch;
}

std::uint32_t Retries::release_last() {
  const std::uint32_t task = last_.back();
  last_.pop_back();
  waiting_alone_.push_back(task);
  return task;
}

}  // namespace msrun
