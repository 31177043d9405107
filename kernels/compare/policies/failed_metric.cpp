#include "kernels/compare/policies/failed_metric.h"

#include <array>

#include "kernels/compare/metrics/walk_limits.h"
#include "kernels/compare/policies/column_sets.h"

namespace msrun {
namespace {

// In the order of the walk.
constexpr std::array walk{Metric::cosine,    Metric::binary_error_rate, Metric::dual_100,
                          Metric::dual_1000, Metric::dual_10000,        Metric::max_abs_error};

}  // namespace

bool MetricLimit::holds(double value) const {
  if (relation == '<') return value < limit;
  if (relation == '>') return value > limit;
  return value == limit;
}

std::optional<MetricLimit> walk_limit(const DetailsRow& row, Metric metric, std::optional<double> max_abs_error) {
  switch (metric) {
    case Metric::cosine:
      return MetricLimit{'>', least_cosine};
    case Metric::max_abs_error:
      if (row.columns != &mindspore_columns()) return MetricLimit{'<', passing_abs_error};
      if (!max_abs_error) return std::nullopt;
      return MetricLimit{'<', *max_abs_error};
    case Metric::dual_100:
      return MetricLimit{'>', least_within_100};
    case Metric::dual_1000:
      return MetricLimit{'>', least_within_1000};
    case Metric::dual_10000:
      return MetricLimit{'>', least_within_10000};
    case Metric::binary_error_rate:
      return MetricLimit{'=', 0};
    default:
      return std::nullopt;
  }
}

std::optional<Metric> failed_metric(const DetailsRow& row, std::optional<double> max_abs_error) {
  if (row.columns == nullptr || (row.status != Status::warning && row.status != Status::error)) return std::nullopt;
  for (const Metric metric : walk) {
    const Cell& cell = row[metric];
    const std::optional<MetricLimit> limit = walk_limit(row, metric, max_abs_error);
    if (cell.kind == Cell::Kind::blank || !limit || limit->holds(cell.value)) continue;
    return metric;
  }
  return std::nullopt;
}

}  // namespace msrun
