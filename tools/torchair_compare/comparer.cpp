#include "tools/torchair_compare/comparer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/base/error.h"

namespace msrun::torchair {
namespace {

constexpr const char* int8_name = "torch.int8";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

void describe(const DumpTensor& tensor, RowSide& side) {
  side.dtype = compared_type_name(tensor.stored);
  side.shape = shape_text(tensor.stored.shape);
}

void read_all(TensorReader& reader, std::span<float> target, const std::string& path) {
  if (reader.read(target) != target.size()) throw SkipError("The file " + path + " ended early.");
}

bool statistics_pass(float mine, float golden) {
  if (mine == golden || (std::isnan(mine) && std::isnan(golden))) return true;
  const double difference = static_cast<double>(mine) - static_cast<double>(golden);
  if (golden == 0) return difference == 0;
  return std::abs(difference / static_cast<double>(golden) * 100) < statistics_limit;
}

std::string checksum_text(std::uint32_t sum) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += digits[(sum >> shift) & 0xFU];
  return text;
}

}  // namespace

void Comparer::compare(const DumpTensor& golden, const DumpTensor& mine, Row& row) {
  describe(golden, row.golden);
  describe(mine, row.mine);
  row.statistics = golden.statistics || mine.statistics;
  const bool one_reduced = golden.statistics != mine.statistics;
  const DumpTensor& whole = golden.statistics ? mine : golden;
  const std::int64_t my_count = one_reduced && mine.stored.count > 0 && !mine.statistics ? 2 : mine.stored.count;
  const std::int64_t golden_count =
      one_reduced && golden.stored.count > 0 && !golden.statistics ? 2 : golden.stored.count;
  if (one_reduced && whole.stored.count > 0) (golden.statistics ? row.mine : row.golden).shape = "[2]";
  if (my_count != golden_count) {
    row.fail_reason = shapes_differ;
    row.verdict = Verdict::dropped;
    return;
  }
  if ((row.golden.dtype == int8_name) != (row.mine.dtype == int8_name)) {
    row.fail_reason = int8_differs;
    row.verdict = Verdict::dropped;
    return;
  }
  if (checksums_ || row.statistics) add_recorded(golden, mine, row);
  accumulator_.reset();
  if (one_reduced) {
    compare_extremes(golden, mine, row);
  } else {
    TensorReader golden_reader(*golden.file, golden.stored);
    TensorReader my_reader(*mine.file, mine.stored);
    for (auto rest = static_cast<std::size_t>(golden.stored.count); rest > 0;) {
      const std::size_t count = std::min(rest, DumpPairAccumulator::capacity);
      read_all(golden_reader, accumulator_.golden_space().first(count), golden.file->path());
      read_all(my_reader, accumulator_.my_space().first(count), mine.file->path());
      accumulator_.add(count);
      rest -= count;
    }
    bytes_read_ += stored_bytes(golden.stored) + stored_bytes(mine.stored);
  }
  if (golden_count > 0) {
    row.metrics = accumulator_.finish();
    row.golden.summary = row.metrics->golden;
    row.mine.summary = row.metrics->mine;
  }
  judge(row);
}

// The tensor that is not converted yet is reduced to its extremes (F20).
void Comparer::compare_extremes(const DumpTensor& golden, const DumpTensor& mine, Row& row) {
  const DumpSummary whole = summarise(golden.statistics ? mine : golden);
  const std::array<float, 2> extremes{whole.min, whole.max};
  const DumpTensor& reduced = golden.statistics ? golden : mine;
  const std::span<float> of_reduced = golden.statistics ? accumulator_.golden_space() : accumulator_.my_space();
  const std::span<float> of_whole = golden.statistics ? accumulator_.my_space() : accumulator_.golden_space();
  TensorReader reader(*reduced.file, reduced.stored);
  read_all(reader, of_reduced.first(2), reduced.file->path());
  std::copy(extremes.begin(), extremes.end(), of_whole.begin());
  accumulator_.reset();
  accumulator_.add(2);
  row.statistics = true;
}

DumpSummary Comparer::summarise(const DumpTensor& tensor) {
  accumulator_.reset();
  TensorReader reader(*tensor.file, tensor.stored);
  for (auto rest = static_cast<std::size_t>(tensor.stored.count); rest > 0;) {
    const std::size_t count = std::min(rest, DumpPairAccumulator::capacity);
    const std::span<float> values = accumulator_.my_space().first(count);
    read_all(reader, values, tensor.file->path());
    std::copy(values.begin(), values.end(), accumulator_.golden_space().begin());
    accumulator_.add(count);
    rest -= count;
  }
  bytes_read_ += stored_bytes(tensor.stored);
  return accumulator_.finish().mine;
}

void Comparer::describe_mine(const DumpTensor& mine, Row& row) {
  describe(mine, row.mine);
  row.statistics = mine.statistics;
  if (mine.stored.count > 0) row.mine.summary = summarise(mine);
  row.verdict = Verdict::fail;
}

void Comparer::judge(Row& row) const {
  if (!row.metrics) {
    row.note = "empty tensor.";
    row.verdict = Verdict::pass;
    return;
  }
  if (!row.golden.summary->finite) row.fail_reason = "golden_data includes NAN or inf.";
  if (!row.mine.summary->finite) {
    if (!row.fail_reason.empty()) row.fail_reason += ' ';
    row.fail_reason += "my_data includes NAN or inf.";
  }
  if (row.metrics->unequal_not_finite > 0) row.metrics.reset();
  bool pass = false;
  if (checksums_) {
    pass = !row.golden.md5.empty() && row.golden.md5 == row.mine.md5;
    if (row.golden.md5.empty()) row.note = "checksum not available.";
  } else if (row.metrics) {
    const DumpMetrics& metrics = *row.metrics;
    if (row.statistics) {
      pass = statistics_pass(row.mine.summary->max, row.golden.summary->max) &&
             statistics_pass(row.mine.summary->min, row.golden.summary->min);
    } else {
      // The cosine of equal vectors whose norms are below those it is bounded by is not 1.
      pass = metrics.max_difference == 0 ||
             (metrics.cosine >= least_cosine && metrics.max_relative_error < relative_error_limit);
      if (metrics.only_golden_zero > 0) {
        row.note = std::to_string(metrics.only_golden_zero) + " elements are zero in golden_data but not in my_data.";
      }
    }
    if (metrics.equal_not_finite > 0) {
      row.note += (row.note.empty() ? "" : " ") + std::string("NaN or Inf at ") +
                  std::to_string(metrics.equal_not_finite) +
                  " positions is the same on both sides and counts as equal.";
    }
  }
  row.verdict = pass ? Verdict::pass : Verdict::fail;
}

TensorStatistics Comparer::measure(const DumpTensor& tensor) {
  std::array<std::byte, 65536> buffer;
  bytes_read_ += stored_bytes(tensor.stored);
  return measure_statistics(*tensor.file, tensor.stored, buffer);
}

// Mean, norm and checksum of the recorded tensors, where both sides' are known or can be had.
void Comparer::add_recorded(const DumpTensor& golden, const DumpTensor& mine, Row& row) {
  const auto known = [](const DumpTensor& tensor) {
    return tensor.more || (!tensor.statistics && tensor.stored.count > 0);
  };
  if (!known(golden) || !known(mine)) return;
  const auto add = [&](const DumpTensor& tensor, RowSide& side) {
    const TensorStatistics statistics = tensor.more ? *tensor.more : measure(tensor);
    if (row.statistics) {
      side.recorded_mean = statistics.mean;
      side.recorded_norm = statistics.l2_norm;
    }
    if (checksums_) side.md5 = checksum_text(statistics.checksum);
  };
  add(golden, row.golden);
  add(mine, row.mine);
}

}  // namespace msrun::torchair
