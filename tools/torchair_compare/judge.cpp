#include "tools/torchair_compare/judge.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/text.h"

namespace msrun::torchair {
namespace {

constexpr double percent = 100;

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

// The relative errors leave out what is zero in float32's eyes on the golden side, and the cosine sees no factor: the
// distance of both tensors is held to the same share of the golden one.
bool is_near(const DumpMetrics& metrics) {
  // The norm of a tensor with an infinity is infinite.
  if (metrics.equal_not_finite > 0) return true;
  return metrics.euclidean_distance <= relative_error_limit * metrics.golden.l2_norm;
}

// What the columns of the report say.
bool columns_agree(const DumpMetrics& metrics) {
  if (metrics.unequal_not_finite > 0) return false;
  // The cosine of equal vectors whose norms are below those it is bounded by is not 1.
  return metrics.max_difference == 0 ||
         (metrics.cosine >= least_cosine && metrics.max_relative_error < relative_error_limit);
}

bool within_limits(const DumpMetrics& metrics) {
  return columns_agree(metrics) && (metrics.max_difference == 0 || is_near(metrics));
}

std::string imaginary_note(const DumpMetrics& imaginary) {
  const std::string whose = "The metrics are those of the real parts; the imaginary parts ";
  if (imaginary.unequal_not_finite > 0) return whose + "differ in NaN or Inf.";
  if (imaginary.max_difference == 0) return whose + "are equal.";
  return whose + "have Cosine " + number_text(imaginary.cosine) + " and MaxRelativeErr " +
         number_text(imaginary.max_relative_error) + ".";
}

bool extremes_agree(double mine, double golden) {
  if (mine == golden || (std::isnan(mine) && std::isnan(golden))) return true;
  if (golden == 0) return false;
  return std::abs((mine - golden) / golden * percent) < statistics_limit;
}

// Whether two recorded values are within the limit of size, which is that of the golden elements.
bool recorded_agree(double mine, double golden, double size) {
  return mine == golden || std::abs(mine - golden) * percent < size * statistics_limit;
}

// Rounded to float16, as other processors or otherwise: the mean of tensors whose elements differ by less than the
// limit differs by less than that share of their root mean square, and the norm by less than that share of itself. The
// mean itself may be almost zero.
bool judge_recorded(const RecordedPair& recorded, Row& row) {
  const TensorStatistics& golden = recorded.golden;
  const TensorStatistics& mine = recorded.mine;
  bool agree = true;
  const auto against = [&](const std::string& what, const std::string& left, const std::string& right) {
    add_note(row, what + " " + left + " against " + right + ".");
    agree = false;
  };
  if (golden.nan_count != mine.nan_count) {
    against("Elements that are NaN:", std::to_string(mine.nan_count), std::to_string(golden.nan_count));
  }
  if (golden.infinity_count != mine.infinity_count) {
    against("Elements that are infinite:", std::to_string(mine.infinity_count), std::to_string(golden.infinity_count));
  }
  const auto differ = [&](const char* what, double left, double right, double size) {
    if (!std::isfinite(left) || !std::isfinite(right) || recorded_agree(left, right, size)) return;
    against(what, short_number(left), short_number(right));
  };
  const double extreme = std::max(std::abs(golden.smallest), std::abs(golden.largest));
  const double root_mean_square =
      std::isfinite(golden.l2_norm) ? golden.l2_norm / std::sqrt(static_cast<double>(golden.count)) : extreme;
  differ("Mean", mine.mean, golden.mean, root_mean_square);
  differ("L2norm", mine.l2_norm, golden.l2_norm, golden.l2_norm);
  return agree;
}

}  // namespace

bool judge_tensors(const DumpMetrics* imaginary, Row& row) {
  if (imaginary != nullptr) add_note(row, imaginary_note(*imaginary));
  if (!row.metrics) return false;
  const DumpMetrics& metrics = *row.metrics;
  if (metrics.only_golden_zero > 0) {
    add_note(row, std::to_string(metrics.only_golden_zero) + " elements are zero in golden_data but not in my_data.");
  }
  if (metrics.equal_not_finite > 0) {
    add_note(row, "NaN or Inf at " + std::to_string(metrics.equal_not_finite) +
                      " positions is the same on both sides and counts as equal.");
  }
  if (metrics.beyond_float > 0) {
    add_note(row, std::to_string(metrics.beyond_float) +
                      " elements are beyond the range of float32 and compared as float64.");
  }
  const auto note_distance = [&](const DumpMetrics& of, const char* what) {
    if (!columns_agree(of) || within_limits(of)) return;
    add_note(row, "The distance of " + std::string(what) + " is " + number_text(of.euclidean_distance) +
                      ", more than 1 % of the golden norm " + number_text(of.golden.l2_norm) + ".");
  };
  note_distance(metrics, imaginary == nullptr ? "both tensors" : "the real parts");
  if (imaginary != nullptr) note_distance(*imaginary, "the imaginary parts");
  return within_limits(metrics) && (imaginary == nullptr || within_limits(*imaginary));
}

bool judge_statistics(const RecordedPair* recorded, Row& row) {
  if (!row.metrics) return false;
  const bool pass = extremes_agree(row.mine.summary->max, row.golden.summary->max) &&
                    extremes_agree(row.mine.summary->min, row.golden.summary->min);
  // A checksum that differs says no more than that the bits do, or the types.
  const bool same_bits = recorded != nullptr && recorded->golden.checksum == recorded->mine.checksum;
  if (pass && same_bits) {
    if (row.metrics->equal_not_finite > 0) add_note(row, "NaN or Inf on both sides; the checksums are equal.");
    return true;
  }
  if (recorded != nullptr && !judge_recorded(*recorded, row)) return false;
  row.unchecked = pass && row.metrics->equal_not_finite > 0;
  if (row.unchecked) {
    const bool nan = std::isnan(row.golden.summary->max);
    add_note(row, std::string("Not ") + (nan ? "" : "fully ") + "checked: " + (nan ? "NaN" : "Inf") +
                      " on both sides hides the other values" +
                      (recorded == nullptr ? "." : "; the numbers of NaN and Inf are equal, the checksums are not."));
  }
  return pass;
}

}  // namespace msrun::torchair
