#include "kernels/io/stored/range_collector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <type_traits>

namespace msrun {
namespace {

// Floats are compared as integers of the same size: one order for all of them, which compilers turn into vector code,
// with every NaN outside of the infinities.
template <class Bits>
struct FloatOrder {
  using Key = std::make_signed_t<Bits>;
  static constexpr Key magnitude = std::numeric_limits<Key>::max();
  static Key key(Key bits) {
    return static_cast<Key>(bits ^ (static_cast<Key>(bits >> (sizeof(Key) * 8 - 1)) & magnitude));
  }
};

// The smallest and largest key of a run of elements of integer type Key.
template <class Key>
struct KeyRange {
  Key smallest = std::numeric_limits<Key>::max();
  Key largest = std::numeric_limits<Key>::lowest();

  void add(const Key* values, std::size_t count) {
    Key low = smallest;
    Key high = largest;
    for (std::size_t i = 0; i < count; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    smallest = low;
    largest = high;
  }
  void add_floats(const Key* bits, std::size_t count) {
    using Order = FloatOrder<std::make_unsigned_t<Key>>;
    Key low = smallest;
    Key high = largest;
    for (std::size_t i = 0; i < count; ++i) {
      const Key key = Order::key(bits[i]);
      low = std::min(low, key);
      high = std::max(high, key);
    }
    smallest = low;
    largest = high;
  }
};

template <class T>
class IntegerCollector final : public RangeCollector {
 public:
  explicit IntegerCollector(NumpyType type) : type_(type) {}
  void add(const std::byte* elements, std::size_t count) override {
    range_.add(reinterpret_cast<const T*>(elements), count);
  }
  TensorRange result() const override {
    if (type_ != NumpyType::boolean) return {type_, element_of(range_.smallest), element_of(range_.largest)};
    return {type_, element_of(range_.smallest != T{0}), element_of(range_.largest != T{0})};
  }

 private:
  NumpyType type_;
  KeyRange<T> range_;
};

enum class ZeroSign : std::uint8_t { of_first, of_last };

// Key is the integer as wide as the float; infinity its bits. widened: a bfloat16, the upper half of a float32. zero:
// whose sign an extreme of zero has where there are zeros of both signs; numpy takes the last of float32 and float64
// and the first of float16, though it does not promise that.
template <class Key>
class FloatCollector final : public RangeCollector {
 public:
  FloatCollector(NumpyType type, Key infinity, bool widened, ZeroSign zero)
      : type_(type), infinity_(infinity), widened_(widened), zero_(zero) {}

  void add(const std::byte* elements, std::size_t count) override {
    const Key* bits = reinterpret_cast<const Key*>(elements);
    range_.add_floats(bits, count);
    // All extremes so far of a tensor without negative elements, or without positive ones, that has a zero.
    if (range_.smallest == negative_zero_key || range_.largest == negative_zero_key || range_.largest == 0 ||
        (range_.smallest == 0 && zero_ == ZeroSign::of_first)) {
      note_zero(bits, count);
    }
    if (nan_ || !outside()) return;
    const Key* first = std::find_if(bits, bits + count, [&](Key b) { return (b & Order::magnitude) > infinity_; });
    if (first != bits + count) nan_ = *first;
  }
  bool done() const override { return nan_.has_value(); }
  TensorRange result() const override {
    if (nan_) return {type_, widen(*nan_), widen(*nan_)};
    return {type_, widen(bits_of(range_.smallest)), widen(bits_of(range_.largest))};
  }

 private:
  using Order = FloatOrder<std::make_unsigned_t<Key>>;
  static constexpr Key negative_zero_key = -1;

  void note_zero(const Key* bits, std::size_t count) {
    if (zero_ == ZeroSign::of_first && noted_zero_) return;
    for (std::size_t i = 0; i < count; ++i) {
      const Key element = bits[zero_ == ZeroSign::of_first ? i : count - 1 - i];
      if ((element & Order::magnitude) != 0) continue;
      noted_zero_ = element;
      return;
    }
  }
  Key bits_of(Key key) const {
    return (key == 0 || key == negative_zero_key) && noted_zero_ ? *noted_zero_ : Order::key(key);
  }
  bool outside() const {
    return range_.largest > infinity_ ||
           range_.smallest < Order::key(static_cast<Key>(infinity_ | std::numeric_limits<Key>::min()));
  }
  ElementBytes widen(Key bits) const {
    if (!widened_) return element_of(bits);
    return element_of(static_cast<std::uint32_t>(static_cast<std::uint16_t>(bits)) << 16);
  }

  NumpyType type_;
  Key infinity_;
  bool widened_;
  ZeroSign zero_;
  KeyRange<Key> range_;
  std::optional<Key> nan_;
  std::optional<Key> noted_zero_;
};

// 8-bit floats: which of the 256 codes occur.
class ByteFloatCollector final : public RangeCollector {
 public:
  explicit ByteFloatCollector(Encoding encoding) {
    StoredTensor table;
    table.type = NumpyType::float64;
    table.encoding = encoding;
    std::array<std::byte, 256> codes{};
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
    decode(table, codes.data(), 0, codes.size(), reinterpret_cast<std::byte*>(values_.data()));
  }
  void add(const std::byte* elements, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) seen_[std::to_integer<std::size_t>(elements[i])] = true;
  }
  TensorRange result() const override {
    double smallest = std::numeric_limits<double>::infinity();
    double largest = -smallest;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!seen_[i]) continue;
      if (std::isnan(values_[i])) return {NumpyType::float64, element_of(values_[i]), element_of(values_[i])};
      smallest = std::min(smallest, values_[i]);
      largest = std::max(largest, values_[i]);
    }
    return {NumpyType::float64, element_of(smallest), element_of(largest)};
  }

 private:
  std::array<double, 256> values_{};
  std::array<bool, 256> seen_{};
};

template <class Real>
class ComplexCollector final : public RangeCollector {
 public:
  explicit ComplexCollector(NumpyType type) : type_(type) {}
  void add(const std::byte* elements, std::size_t count) override {
    const auto* values = reinterpret_cast<const std::complex<Real>*>(elements);
    for (std::size_t i = 0; i < count && !nan_; ++i) {
      const std::complex<Real> value = values[i];
      if (std::isnan(value.real()) || std::isnan(value.imag())) {
        nan_ = value;
      } else {
        if (!any_ || before(value, smallest_)) smallest_ = value;
        if (!any_ || before(largest_, value)) largest_ = value;
        any_ = true;
      }
    }
  }
  bool done() const override { return nan_.has_value(); }
  TensorRange result() const override {
    return {type_, element_of(nan_.value_or(smallest_)), element_of(nan_.value_or(largest_))};
  }

 private:
  static bool before(std::complex<Real> a, std::complex<Real> b) {
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  }

  NumpyType type_;
  bool any_ = false;
  std::complex<Real> smallest_;
  std::complex<Real> largest_;
  std::optional<std::complex<Real>> nan_;
};

}  // namespace

std::unique_ptr<RangeCollector> range_collector(NumpyType type) {
  switch (type) {
    case NumpyType::boolean:
    case NumpyType::uint8:
      return std::make_unique<IntegerCollector<std::uint8_t>>(type);
    case NumpyType::int8:
      return std::make_unique<IntegerCollector<std::int8_t>>(type);
    case NumpyType::int16:
      return std::make_unique<IntegerCollector<std::int16_t>>(type);
    case NumpyType::uint16:
      return std::make_unique<IntegerCollector<std::uint16_t>>(type);
    case NumpyType::int32:
      return std::make_unique<IntegerCollector<std::int32_t>>(type);
    case NumpyType::uint32:
      return std::make_unique<IntegerCollector<std::uint32_t>>(type);
    case NumpyType::int64:
      return std::make_unique<IntegerCollector<std::int64_t>>(type);
    case NumpyType::uint64:
      return std::make_unique<IntegerCollector<std::uint64_t>>(type);
    case NumpyType::float16:
      return std::make_unique<FloatCollector<std::int16_t>>(type, 0x7C00, false, ZeroSign::of_first);
    case NumpyType::float32:
      return std::make_unique<FloatCollector<std::int32_t>>(type, 0x7F800000, false, ZeroSign::of_last);
    case NumpyType::float64:
      return std::make_unique<FloatCollector<std::int64_t>>(type, 0x7FF0000000000000, false, ZeroSign::of_last);
    case NumpyType::complex64:
      return std::make_unique<ComplexCollector<float>>(type);
    case NumpyType::complex128:
      break;
  }
  return std::make_unique<ComplexCollector<double>>(type);
}

StoredRangeCollector stored_range_collector(const StoredTensor& tensor) {
  StoredRangeCollector result;
  switch (tensor.encoding) {
    case Encoding::plain:
      if (tensor.big_endian) break;
      result.collector = range_collector(tensor.type);
      result.element_bytes = size_of(tensor.type);
      break;
    case Encoding::bfloat16:
      result.collector =
          std::make_unique<FloatCollector<std::int16_t>>(NumpyType::float32, 0x7F80, true, ZeroSign::of_last);
      result.element_bytes = 2;
      break;
    case Encoding::float8_e4m3fn:
    case Encoding::float8_e5m2:
    case Encoding::hifloat8:
      result.collector = std::make_unique<ByteFloatCollector>(tensor.encoding);
      result.element_bytes = 1;
      break;
    case Encoding::int4:
    case Encoding::bit:
      break;
  }
  return result;
}

}  // namespace msrun
