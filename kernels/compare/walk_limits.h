// The limits of the documented status walk (precision_metrics.md 7 and acc_check_mindspore.md 7), for those who judge
// by them and those who show them.
#pragma once

#include <array>
#include <optional>

#include "kernels/compare/details.h"

namespace msrun {

// A cosine above it passes.
inline constexpr double least_cosine = 0.99;
// A largest absolute error below it passes, whatever the rest; MindSpore's comparison has an option in its place.
inline constexpr double passing_abs_error = 0.001;
// Shares of elements with a relative error below 0.01, 0.001 and 0.0001: a share above it passes.
inline constexpr double least_within_100 = 1 - 0.01;
inline constexpr double least_within_1000 = 1 - 0.001;
inline constexpr double least_within_10000 = 1 - 0.0001;

// What a metric must be of its limit to pass.
struct MetricLimit {
  char relation = '<';  // '<', '>' or '='
  double limit = 0;

  bool holds(double value) const;
};

// The limit of a metric in the walk over the row's columns; nothing for metrics that the walk does not look at.
// max_abs_error is that of MindSpore's comparison, where it is known.
std::optional<MetricLimit> walk_limit(const DetailsRow& row, Metric metric, std::optional<double> max_abs_error);

// The metric that made an output a warning or an error; nothing where none did, or its limit is not known.
std::optional<Metric> failed_metric(const DetailsRow& row, std::optional<double> max_abs_error);

}  // namespace msrun
