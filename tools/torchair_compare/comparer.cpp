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

// One side of a comparison: the numbers of a tensor, or zeros, which are the imaginary parts of real numbers.
class Numbers {
 public:
  Numbers(const DumpTensor& tensor, const StoredTensor* numbers) : path_(tensor.file->path()) {
    if (numbers != nullptr) reader_.emplace(*tensor.file, *numbers);
  }

  template <class T>
  void read(std::span<T> target) {
    if (!reader_) {
      std::ranges::fill(target, T{});
    } else if (reader_->read(target) != target.size()) {
      throw SkipError("The file " + path_ + " ended early.");
    }
  }

 private:
  const std::string& path_;
  std::optional<TensorReader> reader_;
};

// Whether float32 may be too small for the elements.
bool is_wide(const StoredTensor* numbers) {
  return numbers != nullptr && (numbers->type == NumpyType::float64 || numbers->type == NumpyType::complex128);
}

// Elements of the tensor that was dumped; none where nothing tells.
std::optional<std::uint64_t> element_count(const DumpTensor& tensor) {
  if (!tensor.statistics) return static_cast<std::uint64_t>(tensor.stored.count);
  if (tensor.more && tensor.more->count > 0) return tensor.more->count;
  return std::nullopt;
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
  const bool golden_is_int8 = row.golden.dtype == int8_name;
  // Nothing is known of the own type of the one that is none.
  const bool known = !(golden_is_int8 ? mine : golden).shared_type;
  if (golden_is_int8 != (row.mine.dtype == int8_name) && known) {
    row.fail_reason = int8_differs;
    row.verdict = Verdict::dropped;
    return;
  }
  if (row.statistics) {
    const std::optional<std::uint64_t> golden_elements = element_count(golden);
    const std::optional<std::uint64_t> my_elements = element_count(mine);
    if (golden_elements && my_elements && *golden_elements != *my_elements) {
      row.golden.shape = std::to_string(*golden_elements) + " elements";
      row.mine.shape = std::to_string(*my_elements) + " elements";
      row.fail_reason = shapes_differ;
      row.verdict = Verdict::dropped;
      return;
    }
  }
  std::optional<RecordedPair> recorded;
  if (checksums_ || row.statistics) recorded = add_recorded(golden, mine, row);
  if (checksums_ && golden_count > 0 && !recorded) {
    row.fail_reason = no_checksum;
    row.verdict = Verdict::dropped;
    return;
  }
  std::optional<DumpMetrics> imaginary;
  bool other_offsets = false;
  if (one_reduced) {
    compare_extremes(golden, mine);
  } else if (const auto scales = row.statistics || checksums_ ? std::nullopt : scales_of(golden, mine)) {
    other_offsets = compare_scales(golden, mine, *scales, row);
  } else {
    if (!row.statistics && !checksums_) imaginary = compare_imaginary(golden, mine);
    accumulate(golden, &golden.stored, mine, &mine.stored);
    bytes_read_ += stored_bytes(golden.stored) + stored_bytes(mine.stored);
  }
  if (golden_count > 0) {
    row.metrics = accumulator_.finish();
    row.golden.summary = row.metrics->golden;
    row.mine.summary = row.metrics->mine;
  }
  const bool pass = judge(imaginary ? &*imaginary : nullptr, recorded ? &*recorded : nullptr, row);
  row.verdict = pass && !other_offsets ? Verdict::pass : Verdict::fail;
}

std::optional<Comparer::Scales> Comparer::scales_of(const DumpTensor& golden, const DumpTensor& mine) {
  Scales scales{packed_scales(*golden.file, golden.stored), packed_scales(*mine.file, mine.stored)};
  if (!scales.golden && !scales.mine) return std::nullopt;
  const auto is_float = [](const DumpTensor& tensor) {
    return tensor.stored.type == NumpyType::float32 || tensor.stored.type == NumpyType::float16 ||
           tensor.stored.type == NumpyType::float64;
  };
  if (scales.golden && scales.mine) {
    return scales.golden->marked || scales.mine->marked ? std::optional(scales) : std::nullopt;
  }
  // Integers without the mark may be what they seem.
  const PackedScales& packed = scales.golden ? *scales.golden : *scales.mine;
  const bool are_scales = is_float(scales.golden ? mine : golden) && (packed.marked || packed.plausible);
  return are_scales ? std::optional(scales) : std::nullopt;
}

bool Comparer::compare_scales(const DumpTensor& golden, const DumpTensor& mine, const Scales& scales, Row& row) {
  add_note(row, "The scales that 64-bit integers hold are compared as float32.");
  bytes_read_ += stored_bytes(golden.stored) + stored_bytes(mine.stored);
  bool other_offsets = false;
  if (scales.golden && scales.mine) {
    accumulate(golden, &scales.golden->rest, mine, &scales.mine->rest);
    other_offsets = accumulator_.finish().max_difference != 0;
    if (other_offsets) add_note(row, "The offsets beside the scales differ.");
  }
  accumulate(golden, scales.golden ? &scales.golden->scales : &golden.stored, mine,
             scales.mine ? &scales.mine->scales : &mine.stored);
  return other_offsets;
}

void Comparer::accumulate(const DumpTensor& golden, const StoredTensor* golden_numbers, const DumpTensor& mine,
                          const StoredTensor* my_numbers) {
  accumulator_.reset();
  Numbers of_golden(golden, golden_numbers);
  Numbers of_mine(mine, my_numbers);
  const bool wide = is_wide(golden_numbers) || is_wide(my_numbers);
  for (auto rest = static_cast<std::size_t>(golden.stored.count); rest > 0;) {
    const std::size_t count = std::min(rest, DumpPairAccumulator::capacity);
    if (wide) {
      of_golden.read(accumulator_.wide_golden_space().first(count));
      of_mine.read(accumulator_.wide_my_space().first(count));
      accumulator_.add_wide(count);
    } else {
      of_golden.read(accumulator_.golden_space().first(count));
      of_mine.read(accumulator_.my_space().first(count));
      accumulator_.add(count);
    }
    rest -= count;
  }
}

// Nothing unless there are complex numbers.
std::optional<DumpMetrics> Comparer::compare_imaginary(const DumpTensor& golden, const DumpTensor& mine) {
  std::array<std::optional<StoredTensor>, 2> parts;
  const std::array tensors{&golden, &mine};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!is_complex(tensors[i]->stored.type)) continue;
    parts[i] = imaginary_part(tensors[i]->stored);
    bytes_read_ += stored_bytes(tensors[i]->stored);
  }
  if (golden.stored.count == 0 || (!parts[0] && !parts[1])) return std::nullopt;
  accumulate(golden, parts[0] ? &*parts[0] : nullptr, mine, parts[1] ? &*parts[1] : nullptr);
  return accumulator_.finish();
}

// The tensor that is not converted yet is reduced to its extremes (F20).
void Comparer::compare_extremes(const DumpTensor& golden, const DumpTensor& mine) {
  const DumpSummary whole = summarise(golden.statistics ? mine : golden);
  const std::array extremes{whole.min, whole.max};
  const DumpTensor& reduced = golden.statistics ? golden : mine;
  std::span<double> of_reduced = accumulator_.wide_golden_space();
  std::span<double> of_whole = accumulator_.wide_my_space();
  if (mine.statistics) std::swap(of_reduced, of_whole);
  Numbers(reduced, &reduced.stored).read(of_reduced.first(2));
  std::ranges::copy(extremes, of_whole.begin());
  accumulator_.reset();
  accumulator_.add_wide(2);
}

DumpSummary Comparer::summarise(const DumpTensor& tensor) {
  accumulate(tensor, nullptr, tensor, &tensor.stored);
  bytes_read_ += stored_bytes(tensor.stored);
  return accumulator_.finish().mine;
}

void Comparer::describe_mine(const DumpTensor& mine, Row& row) {
  describe(mine, row.mine);
  row.statistics = mine.statistics;
  if (mine.stored.count > 0) row.mine.summary = summarise(mine);
  row.verdict = Verdict::fail;
}

bool Comparer::judge(const DumpMetrics* imaginary, const RecordedPair* recorded, Row& row) const {
  if (!row.metrics) {
    row.note = "empty tensor.";
    row.empty = true;
    return true;
  }
  if (!row.golden.summary->finite) row.fail_reason = "golden_data includes NAN or inf.";
  if (!row.mine.summary->finite) {
    if (!row.fail_reason.empty()) row.fail_reason += ' ';
    row.fail_reason += "my_data includes NAN or inf.";
  }
  if (row.metrics->unequal_not_finite > 0) row.metrics.reset();
  if (checksums_) return row.golden.md5 == row.mine.md5;
  return row.statistics ? judge_statistics(recorded, row) : judge_tensors(imaginary, row);
}

TensorStatistics Comparer::measure(const DumpTensor& tensor) {
  std::array<std::byte, 65536> buffer;
  bytes_read_ += stored_bytes(tensor.stored);
  return measure_statistics(*tensor.file, tensor.stored, buffer);
}

// Mean, norm and checksum of the recorded tensors, where both sides' are known or can be had.
std::optional<RecordedPair> Comparer::add_recorded(const DumpTensor& golden, const DumpTensor& mine, Row& row) {
  const auto known = [](const DumpTensor& tensor) {
    return tensor.more || (!tensor.statistics && tensor.stored.count > 0);
  };
  if (!known(golden) || !known(mine)) return std::nullopt;
  const auto add = [&](const DumpTensor& tensor, RowSide& side) {
    const TensorStatistics statistics = tensor.more ? *tensor.more : measure(tensor);
    if (row.statistics) {
      side.recorded_mean = statistics.mean;
      side.recorded_norm = statistics.l2_norm;
    }
    if (checksums_) side.md5 = checksum_text(statistics.checksum);
    return statistics;
  };
  RecordedPair recorded;
  recorded.golden = add(golden, row.golden);
  recorded.mine = add(mine, row.mine);
  return recorded;
}

}  // namespace msrun::torchair
