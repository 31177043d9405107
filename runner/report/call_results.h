// The results of a run in memory, for one look at each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runner/results/stored_results.h"

namespace msrun::report {

// Results by task. Those of a short run are kept as they are, which saves most of the time that its report takes; when
// there are more, all become bytes, which take a tenth of the room.
class CallResults {
 public:
  static constexpr std::size_t most_plain = 2000;

  CallResults() = default;
  explicit CallResults(StoredResults results) : is_plain_(false), stored_(std::move(results)) {}

  std::size_t tasks() const { return is_plain_ ? plain_.size() : stored_.tasks(); }
  // For more tasks.
  void resize(std::size_t tasks);
  bool has(std::uint32_t task) const { return is_plain_ ? plain_[task] != nullptr : stored_.has(task); }
  // Takes the place of an earlier result of the same task.
  void put(ApiResult&& result);

  // Calls see with the result of a task that has one; the result is there for that time alone.
  template <class See>
  void visit(std::uint32_t task, const See& see) const {
    if (is_plain_) {
      see(std::as_const(*plain_[task]));
    } else {
      const ApiResult result = stored_.get(task);
      see(result);
    }
  }
  // For each task in turn that has a result; the rows of results that are bytes are left out.
  template <class See>
  void visit_outlines(const See& see) const {
    for (std::uint32_t task = 0; task < tasks(); ++task) {
      if (!has(task)) continue;
      if (is_plain_) {
        see(std::as_const(*plain_[task]));
      } else {
        const ApiResult outline = stored_.outline(task);
        see(outline);
      }
    }
  }

 private:
  bool is_plain_ = true;
  std::size_t plain_count_ = 0;
  std::vector<std::unique_ptr<ApiResult>> plain_;
  StoredResults stored_;
};

}  // namespace msrun::report
