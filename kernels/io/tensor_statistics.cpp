#include "kernels/io/tensor_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/error.h"
#include "kernels/io/ge_types.h"
#include "kernels/io/zip.h"

namespace msrun {
namespace {

template <class T>
ElementBytes element_of(T value) {
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class T>
T value_of(const ElementBytes& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

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

// Takes the stored elements of a tensor in any order, some of them at a time. done() is true once further elements
// cannot change the result.
class RangeCollector {
 public:
  virtual ~RangeCollector() = default;
  virtual void add(const std::byte* elements, std::size_t count) = 0;
  virtual bool done() const { return false; }
  virtual TensorRange result() const = 0;
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

// For elements of the type as they are after decoding.
template <class F>
decltype(auto) with_collector(NumpyType type, F&& use) {
  const auto make = [&](auto collector) -> decltype(auto) { return use(static_cast<RangeCollector&>(collector)); };
  switch (type) {
    case NumpyType::boolean:
    case NumpyType::uint8:
      return make(IntegerCollector<std::uint8_t>(type));
    case NumpyType::int8:
      return make(IntegerCollector<std::int8_t>(type));
    case NumpyType::int16:
      return make(IntegerCollector<std::int16_t>(type));
    case NumpyType::uint16:
      return make(IntegerCollector<std::uint16_t>(type));
    case NumpyType::int32:
      return make(IntegerCollector<std::int32_t>(type));
    case NumpyType::uint32:
      return make(IntegerCollector<std::uint32_t>(type));
    case NumpyType::int64:
      return make(IntegerCollector<std::int64_t>(type));
    case NumpyType::uint64:
      return make(IntegerCollector<std::uint64_t>(type));
    case NumpyType::float16:
      return make(FloatCollector<std::int16_t>(type, 0x7C00, false, ZeroSign::of_first));
    case NumpyType::float32:
      return make(FloatCollector<std::int32_t>(type, 0x7F800000, false, ZeroSign::of_last));
    case NumpyType::float64:
      return make(FloatCollector<std::int64_t>(type, 0x7FF0000000000000, false, ZeroSign::of_last));
    case NumpyType::complex64:
      return make(ComplexCollector<float>(type));
    case NumpyType::complex128:
      break;
  }
  return make(ComplexCollector<double>(type));
}

// Walks the stored elements from first to last and says which of them belong to the logical tensor.
class StoredOrder {
 public:
  explicit StoredOrder(const StoredTensor& tensor) {
    for (std::size_t k = 0; k < tensor.axes.size(); ++k) {
      const StoredAxis& axis = tensor.axes[k];
      limits_.push_back(axis.size);
      digits_.push_back({axis.stride, axis.block, k, 1, 0});
      if (axis.blocks > 1) digits_.push_back({axis.outer_stride, axis.blocks, k, axis.block, 0});
    }
    // The slowest first. Among equal strides only one digit has more than one step.
    std::sort(digits_.begin(), digits_.end(), [](const Digit& x, const Digit& y) {
      return x.stride != y.stride ? x.stride > y.stride : x.steps < y.steps;
    });
  }

  // How many of the next `available` stored elements are alike: all inside the tensor or all padding. Moves on.
  struct Run {
    std::int64_t count;
    bool inside;
  };
  Run next(std::int64_t available) {
    Digit& fastest = digits_.back();
    std::int64_t run = std::min(available, fastest.steps - fastest.at);
    const std::int64_t left = limits_[fastest.axis] - position(fastest.axis);
    bool inside = left > 0;
    if (inside) run = std::min(run, left);
    for (std::size_t k = 0; k < limits_.size() && inside; ++k) inside = position(k) < limits_[k];
    fastest.at += run;
    for (std::size_t i = digits_.size() - 1; i > 0 && digits_[i].at == digits_[i].steps; --i) {
      digits_[i].at = 0;
      ++digits_[i - 1].at;
    }
    return {run, inside};
  }

 private:
  struct Digit {
    std::int64_t stride;
    std::int64_t steps;
    std::size_t axis;
    std::int64_t weight;  // of a step in the index along the axis
    std::int64_t at;
  };
  std::int64_t position(std::size_t axis) const {
    std::int64_t index = 0;
    for (const Digit& digit : digits_) {
      if (digit.axis == axis) index += digit.at * digit.weight;
    }
    return index;
  }

  std::vector<Digit> digits_;
  std::vector<std::int64_t> limits_;
};

bool has_padding(const StoredTensor& tensor) { return tensor.count != tensor.stored_count; }

// Collects stored elements of `size` bytes each as they lie in the file.
TensorRange collect_stored(const InputFile& file, const StoredTensor& tensor, std::size_t size,
                           std::span<std::byte> buffer, RangeCollector& collector) {
  const std::int64_t at_once = static_cast<std::int64_t>(buffer.size() / size);
  std::optional<StoredOrder> order;
  if (has_padding(tensor)) order.emplace(tensor);
  for (std::int64_t first = 0; first < tensor.stored_count && !collector.done(); first += at_once) {
    std::int64_t count = std::min(at_once, tensor.stored_count - first);
    const std::byte* elements = buffer.data();
    file.read_at(tensor.begin + static_cast<std::uint64_t>(first) * size,
                 buffer.first(static_cast<std::size_t>(count) * size));
    if (!order) {
      collector.add(elements, static_cast<std::size_t>(count));
      continue;
    }
    while (count > 0) {
      const StoredOrder::Run run = order->next(count);
      if (run.inside) collector.add(elements, static_cast<std::size_t>(run.count));
      elements += static_cast<std::size_t>(run.count) * size;
      count -= run.count;
    }
  }
  return collector.result();
}

std::span<std::byte> aligned(std::span<std::byte> buffer) {
  void* begin = buffer.data();
  std::size_t size = buffer.size();
  if (std::align(64, 1, begin, size) == nullptr) throw std::logic_error("the buffer is too small");
  return {static_cast<std::byte*>(begin), size};
}

void need_elements(const InputFile& file, const StoredTensor& tensor) {
  if (tensor.count == 0) throw SkipError("The file " + file.path() + " holds a tensor without elements.");
}

}  // namespace

TensorRange measure_range(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer) {
  need_elements(file, tensor);
  buffer = aligned(buffer);
  try {
    if (tensor.encoding == Encoding::bfloat16) {
      FloatCollector<std::int16_t> collector(NumpyType::float32, 0x7F80, true, ZeroSign::of_last);
      return collect_stored(file, tensor, 2, buffer, collector);
    }
    if (tensor.encoding == Encoding::float8_e4m3fn || tensor.encoding == Encoding::float8_e5m2 ||
        tensor.encoding == Encoding::hifloat8) {
      ByteFloatCollector collector(tensor.encoding);
      return collect_stored(file, tensor, 1, buffer, collector);
    }
    return with_collector(tensor.type, [&](RangeCollector& collector) {
      if (tensor.encoding == Encoding::plain && !tensor.big_endian) {
        return collect_stored(file, tensor, size_of(tensor.type), buffer, collector);
      }
      TensorReader reader(file, tensor);
      while (const std::size_t count = reader.read(buffer)) collector.add(buffer.data(), count);
      return collector.result();
    });
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

TensorStatistics measure_statistics(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer) {
  need_elements(file, tensor);
  buffer = aligned(buffer);
  constexpr std::size_t lanes = 8;  // independent sums, which compilers turn into vector code
  constexpr std::size_t block = 2048;
  std::array<double, block> values;
  TensorStatistics statistics;
  double sum = 0;
  double squares = 0;
  statistics.range = with_collector(tensor.type, [&](RangeCollector& collector) {
    TensorReader reader(file, tensor);
    while (const std::size_t count = reader.read(buffer)) {
      statistics.checksum = crc32(buffer.first(count * size_of(tensor.type)), statistics.checksum);
      statistics.count += count;
      collector.add(buffer.data(), count);
      for (std::size_t first = 0; first < count; first += block) {
        const std::size_t size = std::min(block, count - first);
        load_doubles(tensor.type, buffer.data() + first * size_of(tensor.type), size, values.data());
        std::array<double, lanes> sums{};
        std::array<double, lanes> square_sums{};
        std::uint64_t nan = 0;
        std::uint64_t infinite = 0;
        for (std::size_t i = size; i % lanes != 0 && i < block; ++i) values[i] = 0;
        for (std::size_t i = 0; i < size; i += lanes) {
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += values[i + lane];
            square_sums[lane] += values[i + lane] * values[i + lane];
          }
        }
        for (std::size_t i = 0; i < size; ++i) {
          const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(values[i]) << 1;
          constexpr std::uint64_t infinity = std::uint64_t{0x7FF0000000000000} << 1;
          nan += magnitude > infinity ? 1 : 0;
          infinite += magnitude == infinity ? 1 : 0;
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          sum += sums[lane];
          squares += square_sums[lane];
        }
        statistics.nan_count += nan;
        statistics.infinity_count += infinite;
      }
    }
    return collector.result();
  });
  load_doubles(tensor.type, statistics.range.smallest.data(), 1, &statistics.smallest);
  load_doubles(tensor.type, statistics.range.largest.data(), 1, &statistics.largest);
  statistics.mean = sum / static_cast<double>(statistics.count);
  statistics.l2_norm = std::sqrt(squares);
  return statistics;
}

std::array<double, TensorStatistics::column_count> TensorStatistics::columns() const {
  return {smallest,
          largest,
          mean,
          l2_norm,
          static_cast<double>(nan_count),
          static_cast<double>(infinity_count),
          static_cast<double>(count),
          static_cast<double>(checksum)};
}

TensorStatistics TensorStatistics::from_columns(std::span<const double, column_count> columns) {
  // A damaged file may hold any numbers.
  const auto whole = [](double value, double limit) {
    return value >= 0 && value <= limit ? static_cast<std::uint64_t>(value) : std::uint64_t{0};
  };
  TensorStatistics statistics;
  statistics.smallest = columns[0];
  statistics.largest = columns[1];
  statistics.mean = columns[2];
  statistics.l2_norm = columns[3];
  statistics.nan_count = whole(columns[4], 0x1p53);
  statistics.infinity_count = whole(columns[5], 0x1p53);
  statistics.count = whole(columns[6], 0x1p53);
  statistics.checksum = static_cast<std::uint32_t>(whole(columns[7], 0xFFFFFFFF));
  return statistics;
}

ElementBytes convert_element(NumpyType from, const ElementBytes& element, NumpyType to) {
  if (from == to) return element;
  return visit_type(from, [&](auto from_type) {
    using S = decltype(from_type);
    const auto value = [&] {
      if constexpr (std::is_same_v<S, Half>) {
        return to_float(value_of<Half>(element));
      } else if constexpr (std::is_same_v<S, bool>) {
        return static_cast<std::int8_t>(element[0] != std::byte{0} ? 1 : 0);
      } else {
        return value_of<S>(element);
      }
    }();
    return visit_type(to, [&](auto to_type) {
      using T = decltype(to_type);
      using V = std::remove_const_t<decltype(value)>;
      constexpr bool from_complex = std::is_same_v<V, std::complex<float>> || std::is_same_v<V, std::complex<double>>;
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using Real = typename T::value_type;
        if constexpr (from_complex) {
          return element_of(T(static_cast<Real>(value.real()), static_cast<Real>(value.imag())));
        } else {
          return element_of(T(static_cast<Real>(value)));
        }
      } else if constexpr (from_complex) {
        return element;  // no complex type is promoted to a real one
      } else if constexpr (std::is_same_v<T, Half>) {
        return element_of(to_half(static_cast<float>(value)));
      } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>) {
        return element;  // nor is a float to an integer
      } else {
        return element_of(static_cast<T>(value));
      }
    });
  });
}

}  // namespace msrun
