#include "runner/results/result.h"

#include <algorithm>
#include <utility>

#include "kernels/base/text.h"

namespace msrun {

bool explained_by_rounding(const ApiResult& result) {
  const auto failed = [](Status status) { return status == Status::warning || status == Status::error; };
  const auto unexplained = [&](const DetailsRow& row) { return failed(row.status) && !row.rounding_only; };
  bool any = false;
  const auto direction_is = [&](std::optional<Status> status, const std::vector<DetailsRow>& rows) {
    if (!status || !failed(*status)) return true;
    any = true;
    const bool has_row =
        std::any_of(rows.begin(), rows.end(), [&](const DetailsRow& row) { return failed(row.status); });
    return has_row && std::none_of(rows.begin(), rows.end(), unexplained);
  };
  return direction_is(result.forward, result.forward_rows) && direction_is(result.backward, result.backward_rows) &&
         any;
}

ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason) {
  ApiResult result;
  result.task = task;
  result.name = std::move(name);
  result.backward = Status::skip;
  // Reasons quote names, dtypes and keys of the recording.
  result.message = bounded(readable(reason));
  DetailsRow row;
  row.status = Status::skip;
  row.message = result.message;
  result.forward_rows.push_back(std::move(row));
  return result;
}

}  // namespace msrun
