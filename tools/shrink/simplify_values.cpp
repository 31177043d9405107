#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "kernels/tensor/changed_elements.h"
#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

// Indices of one axis; of the row-major order for axis -1.
struct Range {
  std::int64_t axis = -1;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// How many ranges of an axis, or of the row-major order, are tried at most.
constexpr int most_ranges_of_axis = 40;
constexpr int most_ranges = 120;

// Calls change with the bytes of the elements of the range, piece by piece.
template <class Bytes, class F>
void for_each_piece(const Tensor& tensor, Bytes* bytes, const Range& range, const F& change) {
  const auto width = static_cast<std::int64_t>(msrun::size_of(tensor.dtype()));
  if (range.axis < 0) return change(bytes + range.first * width, range.count * width);
  std::int64_t inner = width;
  for (std::int64_t axis = range.axis + 1; axis < tensor.rank(); ++axis) inner *= tensor.size(axis);
  const std::int64_t slab = inner * tensor.size(range.axis);
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(tensor.bytes()); at += slab)
    change(bytes + at + range.first * inner, range.count * inner);
}

// tensor is contiguous.
bool is_zero(const Tensor& tensor, const Range& range) {
  bool zero = true;
  for_each_piece(tensor, tensor.raw(), range, [&](const std::byte* piece, std::int64_t bytes) {
    zero = zero && std::all_of(piece, piece + bytes, [](std::byte b) { return b == std::byte{0}; });
  });
  return zero;
}

Tensor zeroed(const Tensor& tensor, const Range& range) {
  Tensor result = tensor.clone();
  for_each_piece(result, result.mutable_data<std::byte>(), range,
                 [](std::byte* piece, std::int64_t bytes) { std::memset(piece, 0, static_cast<std::size_t>(bytes)); });
  return result;
}

// Toward zero, so that nothing leaves the range of the dtype.
double rounded(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::trunc(std::ldexp(mantissa, bits)), exponent - bits);
}

std::vector<std::string> value_files(const Recording& recording) {
  std::vector<std::string> files = argument_files(recording);
  for (const std::string& file : gradient_files(recording)) files.push_back(file);
  return files;
}

class Simplifier {
 public:
  Simplifier(Best& best, Attempts& attempts) : best_(best), attempts_(attempts) {}

  void run() {
    std::vector<std::string> files = value_files(best_.recording);
    std::ranges::stable_sort(files, std::greater<>(), [&](const std::string& file) { return tensor(file).numel(); });
    zero_all(files);
    for (const std::string& file : files) zero(file, all_of(file));
    for (const std::string& file : files) {
      for (std::int64_t axis = 0; axis < tensor(file).rank(); ++axis)
        thin_out(file, {axis, 0, tensor(file).size(axis)}, most_ranges_of_axis);
    }
    round(files);
    for (const std::string& file : files) thin_out(file, all_of(file), most_ranges);
  }

 private:
  const Tensor& tensor(const std::string& file) const { return best_.recording.data.at(file); }
  Range all_of(const std::string& file) const { return {-1, 0, tensor(file).numel()}; }

  void zero_all(const std::vector<std::string>& files) {
    Recording candidate = best_.recording;
    for (const std::string& file : files) replace(candidate, file, zeroed(candidate.data.at(file), all_of(file)));
    improve(best_, attempts_, std::move(candidate));
  }

  // Whether the range is zero now.
  bool zero(const std::string& file, const Range& range) {
    if (range.count == 0 || is_zero(tensor(file), range)) return true;
    Recording candidate = best_.recording;
    replace(candidate, file, zeroed(tensor(file), range));
    return improve(best_, attempts_, std::move(candidate));
  }

  // Zeroes parts of a range that cannot be zero as a whole, large ones first.
  void thin_out(const std::string& file, const Range& whole, int most) {
    std::deque<Range> ranges{whole};
    for (int tried = 0; !ranges.empty() && tried < most;) {
      const Range range = ranges.front();
      ranges.pop_front();
      if (range.count < 2) continue;
      const std::int64_t half = range.count / 2;
      for (const Range& part :
           {Range{range.axis, range.first, half}, Range{range.axis, range.first + half, range.count - half}}) {
        if (is_zero(tensor(file), part)) continue;
        ++tried;
        if (!zero(file, part)) ranges.push_back(part);
      }
    }
  }

  // To the fewest bits that go, together if possible.
  void round(const std::vector<std::string>& files) {
    if (round_together(files)) return;
    for (const std::string& file : files) round_together({file});
  }

  bool round_together(const std::vector<std::string>& files) {
    for (const int bits : {1, 2, 4, 8}) {
      Recording candidate = best_.recording;
      bool changed = false;
      for (const std::string& file : files) {
        const Tensor& before = tensor(file);
        if (!is_floating(before.dtype())) continue;
        Tensor after = changed_elements(before, [&](double value, std::int64_t) { return rounded(value, bits); });
        changed = changed || !bitwise_equal(before, after);
        replace(candidate, file, std::move(after));
      }
      if (!changed || improve(best_, attempts_, std::move(candidate))) return true;
    }
    return false;
  }

  Best& best_;
  Attempts& attempts_;
};

}  // namespace

void simplify_values(Best& best, Attempts& attempts) { Simplifier(best, attempts).run(); }

}  // namespace msrun::shrink
