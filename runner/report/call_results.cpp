#include "runner/report/call_results.h"

namespace msrun::report {

void CallResults::resize(std::size_t tasks) {
  if (is_plain_) {
    plain_.resize(tasks);
  } else {
    stored_.resize(tasks);
  }
}

void CallResults::put(ApiResult&& result) {
  if (!is_plain_) {
    stored_.put(result);
    return;
  }
  std::unique_ptr<ApiResult>& place = plain_[result.task];
  if (place == nullptr) ++plain_count_;
  place = std::make_unique<ApiResult>(std::move(result));
  if (plain_count_ <= most_plain) return;
  stored_.resize(plain_.size());
  for (const std::unique_ptr<ApiResult>& plain : plain_) {
    if (plain != nullptr) stored_.put(*plain);
  }
  plain_.clear();
  plain_.shrink_to_fit();
  is_plain_ = false;
}

}  // namespace msrun::report
