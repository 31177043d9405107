// The limits of the documented status walk (precision_metrics.md 7 and acc_check_mindspore.md 7).
#pragma once

namespace msrun {

// A cosine above it passes.
inline constexpr double least_cosine = 0.99;
// A largest absolute error below it passes, whatever the rest; MindSpore's comparison has an option in its place.
inline constexpr double passing_abs_error = 0.001;
// Shares of elements with a relative error below 0.01, 0.001 and 0.0001: a share above it passes.
inline constexpr double least_within_100 = 1 - 0.01;
inline constexpr double least_within_1000 = 1 - 0.001;
inline constexpr double least_within_10000 = 1 - 0.0001;

}  // namespace msrun
