#include "tools/api_precision_compare/row_values.h"

namespace msrun::api_precision_compare {

namespace {

constexpr RowError empty_text{"ERROR: Input data is an empty string"};
constexpr RowError no_number{"ERROR: Input data cannot be converted to float"};

}  // namespace

std::optional<double> RowValues::needed(Metric metric) {
  const InputCell& cell = npu_[metric];
  if (is_number(cell)) return cell.value;
  if (rules_.compat_msprobe) throw is_blank(cell) ? empty_text : no_number;
  miss("NPU", metric, cell);
  return std::nullopt;
}

std::optional<double> RowValues::npu(Metric metric) {
  const InputCell& cell = npu_[metric];
  if (is_number(cell)) return cell.value;
  if (rules_.compat_msprobe) {
    if (!is_blank(cell)) throw no_number;
    return 0.0;
  }
  miss("NPU", metric, cell);
  return std::nullopt;
}

std::optional<double> RowValues::gpu(Metric metric) {
  const InputCell& cell = gpu_[metric];
  if (is_number(cell)) return cell.value;
  if (is_blank(cell)) {
    blank_on_gpu_ += (blank_on_gpu_.empty() ? "" : ", ") + std::string(metric_title(metric, rules_.english));
    return 0.0;
  }
  if (rules_.compat_msprobe) throw no_number;
  miss("GPU", metric, cell);
  return std::nullopt;
}

bool RowValues::are_comparable(Metric metric) const {
  return is_number(npu_[metric]) && gpu_[metric].kind != InputCell::Kind::other;
}

void RowValues::miss(const char* side, Metric metric, const InputCell& cell) {
  const std::string value = std::string(side) + ": " + metric_title(metric, rules_.english);
  missing_ += (missing_.empty() ? "" : " ") + value + (is_blank(cell) ? " is blank." : " is not a number.");
  if (!is_blank(cell)) unreadable_ += (unreadable_.empty() ? "" : ", ") + value;
}

}  // namespace msrun::api_precision_compare
