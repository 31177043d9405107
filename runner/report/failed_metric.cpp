#include "runner/report/failed_metric.h"

#include <array>
#include <cmath>

namespace msrun::report {
namespace {

// In the order of the walk.
constexpr std::array walk{Metric::cosine,    Metric::binary_error_rate, Metric::dual_100,
                          Metric::dual_1000, Metric::dual_10000,        Metric::max_abs_error};

bool holds(const MetricLimit& limit, double value) {
  switch (*limit.relation) {
    case '<':
      return value < limit.limit;
    case '>':
      return value > limit.limit;
    default:
      return value == limit.limit;
  }
}

}  // namespace

std::optional<MetricLimit> limit_of(const DetailsRow& row, Metric metric, double max_abs_error) {
  const bool is_mindspore = row.columns == &mindspore_columns();
  switch (metric) {
    case Metric::cosine:
      return MetricLimit{">", 0.99};
    case Metric::max_abs_error:
      return MetricLimit{"<", is_mindspore ? max_abs_error : 0.001};
    case Metric::dual_100:
      return MetricLimit{">", 1 - 0.01};
    case Metric::dual_1000:
      return MetricLimit{">", 1 - 0.001};
    case Metric::dual_10000:
      return MetricLimit{">", 1 - 0.0001};
    case Metric::binary_error_rate:
      return MetricLimit{"=", 0};
    default:
      return std::nullopt;
  }
}

std::optional<Metric> failed_metric(const DetailsRow& row, double max_abs_error) {
  if (row.columns == nullptr || (row.status != Status::warning && row.status != Status::error)) return std::nullopt;
  for (const Metric metric : walk) {
    const Cell& cell = row[metric];
    const std::optional<MetricLimit> limit = limit_of(row, metric, max_abs_error);
    if (cell.kind == Cell::Kind::blank || !limit || holds(*limit, cell.value)) continue;
    return metric;
  }
  return std::nullopt;
}

}  // namespace msrun::report
