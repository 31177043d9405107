#include "kernels/compare/diagnosis/difference_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/compare/metrics/message_lines.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

using Kind = DifferenceMap::Kind;

// Bits that a place must save over a list of the wrong elements.
constexpr double margin = 5;
// At least one in so many elements of a place is wrong.
constexpr std::int64_t least_share = 10;
// Sizes of tiles along an axis or the row-major order.
constexpr std::array<std::int64_t, 8> tiles{2048, 1024, 512, 256, 128, 64, 32, 16};
constexpr std::int64_t most_parts = 256;     // even parts of an output
constexpr std::int64_t most_multiples = 64;  // of 2048
constexpr std::int64_t most_period = 128;    // blocks

double log2_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1, &sign) / std::log(2.0);
}

// Bits that tell which `wrong` of `all` elements are wrong, and how many.
double list_bits(std::int64_t wrong, std::int64_t all) {
  const auto k = static_cast<double>(wrong);
  const auto n = static_cast<double>(all);
  return log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k) + std::log2(n + 1);
}

std::int64_t divided_up(std::int64_t size, std::int64_t by) { return (size + by - 1) / by; }

double index_bits(std::int64_t size) { return std::log2(static_cast<double>(size)); }

// Indices [first, last] of one axis of length size.
struct Span {
  std::int64_t size = 1;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = -1;

  std::int64_t length() const { return last - first + 1; }
  bool is_whole() const { return length() == size; }
  bool is_index() const { return size > 1 && length() == 1; }
};

std::string place_text(const std::vector<Span>& box) {
  std::string text = "[";
  for (const Span& span : box) {
    if (text.size() > 1) text += ", ";
    if (span.is_whole()) {
      text += span.size == 1 ? "0" : ":";
    } else {
      text += std::to_string(span.first);
      if (!span.is_index()) text += ":" + std::to_string(span.last + 1);
    }
  }
  return text + "]";
}

class Search {
 public:
  Search(const Dims& shape, const std::vector<bool>& is_wrong, std::size_t element_bytes)
      : shape_(shape),
        strides_(row_major_strides(shape)),
        count_(static_cast<std::int64_t>(is_wrong.size())),
        element_bytes_(static_cast<std::int64_t>(element_bytes)) {
    for (std::size_t i = 0; i < is_wrong.size(); ++i) {
      if (is_wrong[i]) wrong_.push_back(static_cast<std::uint32_t>(i));
    }
  }

  const std::vector<std::uint32_t>& wrong() const { return wrong_; }

  // The best place, without the picture.
  DifferenceMap find() {
    const auto wrong = static_cast<std::int64_t>(wrong_.size());
    DifferenceMap whole;
    whole.kind = wrong * 2 >= count_ ? Kind::everywhere : Kind::scattered;
    whole.region = count_;
    whole.last = count_ - 1;
    best_ = whole;
    if (wrong == 1 && count_ > 2) {
      best_.kind = Kind::element;
      best_.region = 1;
      best_.first = best_.last = wrong_.front();
    } else if (wrong > 1 && wrong * 4 <= count_ * 3) {
      // No place that could be named holds more.
      bounds_ = bounding_box();
      look_at_boxes();
      look_at_tails();
      look_at_block();
      look_at_periods();
      if (bits_ + margin > 1 + list_bits(wrong, count_)) best_ = dense_.value_or(whole);
      add_other_name();
    }
    best_.elements = count_;
    best_.wrong = wrong;
    return best_;
  }

 private:
  // bits tell the place from others of its form.
  void offer(double bits, const DifferenceMap& map) {
    if (std::ssize(wrong_) * least_share < map.region) return;
    if (map.region == map.last - map.first + 1) contiguous_.push_back(map);
    bits += list_bits(static_cast<std::int64_t>(wrong_.size()), map.region);
    // So that the last bits of logarithms decide nothing.
    if (bits >= bits_ - 1e-6) return;
    bits_ = bits;
    best_ = map;
  }

  // A row may be the last partial tile as well; which of the two went wrong the places do not tell.
  void add_other_name() {
    const bool tail = best_.kind == Kind::tail && best_.axis < 0;
    if (!tail && best_.kind != Kind::row && best_.kind != Kind::head) return;
    for (const DifferenceMap& other : contiguous_) {
      if (other.first != best_.first || other.last != best_.last) continue;
      if (tail && (other.kind == Kind::row || other.kind == Kind::head)) best_.place = other.place;
      const bool partial_tail = other.kind == Kind::tail && other.axis < 0 && count_ % other.block != 0;
      if (!tail && partial_tail && best_.block == 0) best_.block = other.block;
    }
  }

  std::vector<Span> bounding_box() const {
    std::vector<Span> box(shape_.size());
    for (std::size_t axis = 0; axis < box.size(); ++axis) box[axis].size = shape_[axis];
    for (const std::int64_t at : wrong_) {
      for (std::size_t axis = 0; axis < box.size(); ++axis) {
        const std::int64_t index = at / strides_[axis] % shape_[axis];
        box[axis].first = std::min(box[axis].first, index);
        box[axis].last = std::max(box[axis].last, index);
      }
    }
    return box;
  }

  static void open(Span& span) {
    span.first = 0;
    span.last = span.size - 1;
  }

  DifferenceMap box_map(const std::vector<Span>& box) const {
    DifferenceMap map;
    map.region = 1;
    for (std::size_t axis = 0; axis < box.size(); ++axis) {
      map.region *= box[axis].length();
      map.first += box[axis].first * strides_[axis];
      map.last += box[axis].last * strides_[axis];
    }
    map.kind = box_kind(box, map);
    if (map.kind != Kind::block) map.place = place_text(box);
    return map;
  }

  // The last axis with more than one index.
  static std::size_t last_axis(const std::vector<Span>& box) {
    std::size_t axis = box.size() - 1;
    while (axis > 0 && box[axis].size == 1) --axis;
    return axis;
  }

  static Kind box_kind(const std::vector<Span>& box, const DifferenceMap& map) {
    const std::size_t last = last_axis(box);
    std::size_t bounded = 0;
    std::size_t ranges = 0;
    bool is_row = box[last].is_whole();
    for (std::size_t axis = 0; axis <= last; ++axis) {
      if (box[axis].is_whole()) {
        is_row = is_row && (axis == last || box[axis].size == 1);
        continue;
      }
      ++bounded;
      ranges += box[axis].is_index() ? 0 : 1;
    }
    if (is_row && ranges == 0) return Kind::row;
    if (map.region == map.last - map.first + 1 && ranges > 0) return Kind::block;
    if (!box[last].is_whole()) return bounded == 1 ? Kind::column : Kind::box;
    return ranges == 0 || bounded == 1 ? Kind::head : Kind::box;
  }

  // Every axis bounded by the wrong elements, or whole.
  void look_at_boxes() {
    std::vector<std::size_t> ranges;
    double form_bits = 1;
    double fixed_bits = 0;
    bool bounded = false;
    for (std::size_t axis = 0; axis < bounds_.size(); ++axis) {
      const Span& span = bounds_[axis];
      if (span.size > 1) form_bits += std::log2(3.0);
      if (span.is_whole()) continue;
      bounded = true;
      if (span.is_index()) {
        fixed_bits += index_bits(span.size);
      } else {
        ranges.push_back(axis);
      }
    }
    if (!bounded) return;
    ranges.resize(std::min<std::size_t>(ranges.size(), 6));
    for (std::size_t whole = 0; whole < std::size_t{1} << ranges.size(); ++whole) {
      std::vector<Span> box = bounds_;
      double bits = form_bits + fixed_bits;
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        if ((whole >> i & 1U) != 0) {
          open(box[ranges[i]]);
        } else {
          bits += 2 * index_bits(box[ranges[i]].size);
        }
      }
      const DifferenceMap map = box_map(box);
      if (map.region * 2 > count_ || map.kind == Kind::block) continue;
      offer(bits, map);
      if (is_dense() && map.region == span_length()) keep_dense(map);
    }
  }

  // The last tile of each axis and of the row-major order. A whole one is one of many like it.
  void look_at_tails() {
    for (const std::int64_t tile : tiles) {
      const std::int64_t begin = (count_ - 1) / tile * tile;
      if (wrong_.front() >= begin) {
        DifferenceMap map;
        map.region = count_ - begin;
        map.first = begin;
        map.last = count_ - 1;
        offer_tail(tile, count_, map);
      }
      for (std::size_t axis = 0; axis < bounds_.size(); ++axis) offer_tail_of(axis, tile);
    }
  }

  void offer_tail_of(std::size_t axis, std::int64_t tile) {
    const std::int64_t size = bounds_[axis].size;
    const std::int64_t begin = (size - 1) / tile * tile;
    // A tile of one index is that index.
    if (begin == 0 || begin == size - 1 || bounds_[axis].first < begin) return;
    std::vector<Span> box = bounds_;
    for (std::size_t other = 0; other < box.size(); ++other) open(box[other]);
    box[axis].first = begin;
    DifferenceMap map = box_map(box);
    map.place = place_text(box);
    map.axis = static_cast<std::int64_t>(axis);
    offer_tail(tile, size, map);
  }

  void offer_tail(std::int64_t tile, std::int64_t size, DifferenceMap map) {
    if (map.region * 2 > count_) return;
    map.kind = Kind::tail;
    map.block = tile;
    double bits = 3 + std::log2(static_cast<double>(tiles.size() * (shape_.size() + 1)));
    if (size % tile == 0) bits += index_bits(size / tile);
    offer(bits, map);
  }

  std::int64_t span_length() const { return std::int64_t{wrong_.back()} - wrong_.front() + 1; }

  // Neighbours, a few of which may be right.
  bool is_dense() const { return std::ssize(wrong_) * 10 >= span_length() * 9 && span_length() * 2 <= count_; }
  void keep_dense(const DifferenceMap& map) {
    if (!dense_) dense_ = map;
  }

  void look_at_block() {
    if (span_length() * 2 > count_) return;
    DifferenceMap map;
    map.kind = Kind::block;
    map.region = span_length();
    map.first = wrong_.front();
    map.last = wrong_.back();
    offer(2 + 2 * index_bits(count_), map);
    if (is_dense()) keep_dense(map);
  }

  // Lengths of the blocks that an output may be shared out in.
  std::vector<std::int64_t> block_lengths() const {
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = 1; length < 2048; length *= 2) lengths.push_back(length);
    for (std::int64_t i = 1; i <= most_multiples; ++i) {
      lengths.push_back(i * 2048);
      lengths.push_back(i * 2048 / element_bytes_);
    }
    for (std::int64_t parts = 3; parts <= most_parts; ++parts) {
      lengths.push_back(divided_up(count_, parts));
      lengths.push_back(count_ / parts);
    }
    for (const std::int64_t stride : strides_) {
      for (std::int64_t rows = 1; rows <= 32; rows *= 2) lengths.push_back(stride * rows);
    }
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    std::erase_if(lengths, [this](std::int64_t length) { return length < 1 || length * 2 >= count_; });
    return lengths;
  }

  // Whether every wrong element is in a block of the first one's residue.
  bool is_periodic(std::int64_t length, std::int64_t period) const {
    const std::int64_t residue = wrong_.front() / length % period;
    const std::size_t step = std::max<std::size_t>(1, wrong_.size() / 64);
    for (std::size_t i = 0; i < wrong_.size(); i += step) {
      if (wrong_[i] / length % period != residue) return false;
    }
    return std::all_of(wrong_.begin(), wrong_.end(), [&](std::int64_t at) { return at / length % period == residue; });
  }

  void look_at_periods() {
    for (const std::int64_t length : block_lengths()) {
      // Within one block there is no period.
      const std::int64_t first_block = wrong_.front() / length;
      const std::int64_t last_block = wrong_.back() / length;
      for (std::int64_t period = 2; period <= std::min(most_period, last_block - first_block); ++period) {
        if ((last_block - first_block) % period != 0 || !is_periodic(length, period)) continue;
        offer_period(length, period);
      }
    }
  }

  void offer_period(std::int64_t length, std::int64_t period) {
    const std::int64_t residue = wrong_.front() / length % period;
    const std::int64_t blocks = divided_up(count_, length);
    const std::int64_t hit = divided_up(blocks - residue, period);
    const std::int64_t last = residue + (hit - 1) * period;
    DifferenceMap map;
    map.kind = Kind::period;
    map.block = length;
    map.period = period;
    map.first = residue * length;
    map.last = std::min((last + 1) * length, count_) - 1;
    map.region = (hit - 1) * length + map.last + 1 - last * length;
    if (hit >= 2 && is_even(map)) offer(12 + index_bits(period), map);
  }

  // Whether no whole block has far fewer wrong elements than its like.
  bool is_even(const DifferenceMap& map) const {
    std::vector<std::int64_t> counts(static_cast<std::size_t>((map.last - map.first) / (map.block * map.period)) + 1);
    for (const std::int64_t at : wrong_)
      ++counts[static_cast<std::size_t>((at - map.first) / (map.block * map.period))];
    if ((map.last + 1 - map.first) % map.block != 0) counts.pop_back();
    const double mean =
        static_cast<double>(wrong_.size() * static_cast<std::size_t>(map.block)) / static_cast<double>(map.region);
    return std::ranges::all_of(counts, [mean](std::int64_t count) { return static_cast<double>(count) >= mean / 4; }) ||
           mean < 2;
  }

  const Dims& shape_;
  Dims strides_;
  std::int64_t count_;
  std::int64_t element_bytes_;
  std::vector<std::uint32_t> wrong_;  // in row-major order
  std::vector<Span> bounds_;
  DifferenceMap best_;
  double bits_ = std::numeric_limits<double>::infinity();
  std::vector<DifferenceMap> contiguous_;  // places that were offered
  // Neighbours among right elements are named even if they are too few to save bits.
  std::optional<DifferenceMap> dense_;
};

void draw(const Dims& shape, const std::vector<std::uint32_t>& wrong, DifferenceMap& map) {
  if (map.elements < 2) return;
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t rows = map.elements / columns;
  const bool flat = rows == 1 || columns == 1;
  map.cell_rows = flat ? 0 : divided_up(rows, picture_lines);
  map.cell_columns =
      flat ? divided_up(map.elements, picture_lines * picture_columns) : divided_up(columns, picture_columns);
  const std::int64_t width = flat ? picture_columns : divided_up(columns, map.cell_columns);
  const auto cell_of = [&](std::int64_t at) {
    return flat ? at / map.cell_columns : at / columns / map.cell_rows * width + at % columns / map.cell_columns;
  };
  const std::int64_t cells = cell_of(map.elements - 1) + 1;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cells));
  for (const std::uint32_t at : wrong) ++counts[static_cast<std::size_t>(cell_of(at))];
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    if (cell % width == 0) map.picture.emplace_back();
    std::int64_t size = map.cell_columns;
    if (flat) {
      size = std::min(size, map.elements - cell * map.cell_columns);
    } else {
      size = std::min(size, columns - cell % width * map.cell_columns) *
             std::min(map.cell_rows, rows - cell / width * map.cell_rows);
    }
    const std::int64_t count = counts[static_cast<std::size_t>(cell)];
    map.picture.back() += count == 0 ? '.' : count * 2 >= size ? '#' : '+';
  }
}

std::string range_text(const DifferenceMap& map) {
  return std::to_string(map.first) + " to " + std::to_string(map.last);
}

// What part of the place is wrong, where it is not all of it.
std::string part_text(const DifferenceMap& map) {
  if (map.wrong == map.region) return {};
  return ", " + std::to_string(map.wrong) + " of its " + std::to_string(map.region) + " elements";
}

std::string ordinal(std::int64_t number) {
  const bool teen = number / 10 % 10 == 1;
  const std::int64_t digit = teen ? 0 : number % 10;
  return std::to_string(number) + (digit == 1 ? "st" : digit == 2 ? "nd" : digit == 3 ? "rd" : "th");
}

std::string tail_text(const DifferenceMap& map, std::int64_t size) {
  return std::string(size % map.block == 0 ? "the last tile of " : "the last partial tile of ") +
         std::to_string(map.block);
}

std::string tail_sentence(const DifferenceMap& map, const Dims& shape) {
  const std::string of_place = map.place + " of " + tuple_text(shape);
  if (map.axis >= 0) {
    const auto axis = static_cast<std::size_t>(map.axis);
    return std::string(wrong_are) + "the elements " + of_place + ": " + tail_text(map, shape[axis]) + " along axis " +
           std::to_string(axis) + part_text(map) + ".";
  }
  return std::string(wrong_are) + "elements " + range_text(map) + ": " + tail_text(map, map.elements) +
         (map.place.empty() ? "" : ", which is " + of_place) + part_text(map) + ".";
}

}  // namespace

std::string_view kind_text(DifferenceMap::Kind kind) {
  constexpr std::array<std::string_view, 10> texts{"scattered", "everywhere", "element", "row",  "column",
                                                   "head",      "box",        "block",   "tail", "period"};
  return texts[static_cast<std::size_t>(kind)];
}

DifferenceMap map_differences(const Dims& shape, const std::vector<bool>& is_wrong, std::size_t element_bytes) {
  DifferenceMap map;
  map.elements = element_count(shape);
  if (is_wrong.empty() || map.elements > std::numeric_limits<std::uint32_t>::max()) {
    map.wrong = std::count(is_wrong.begin(), is_wrong.end(), true);
    map.region = map.elements;
    return map;
  }
  Search search(shape, is_wrong, element_bytes);
  map = search.find();
  draw(shape, search.wrong(), map);
  return map;
}

std::string place_sentence(const DifferenceMap& map, const Dims& shape) {
  const std::string all = std::to_string(map.elements);
  const std::string block =
      std::string(one_block) + "of elements differs: " + range_text(map) + " of " + all + " in row-major order";
  const std::string of_place = map.place + " of " + tuple_text(shape);
  const std::string tail = map.block > 0 && map.kind != Kind::period ? ", " + tail_text(map, map.elements) : "";
  switch (map.kind) {
    case Kind::scattered:
    case Kind::everywhere:
      return {};
    case Kind::element:
      return std::string(one_element) + all + " differs, at " + std::to_string(map.first) + " of the row-major order.";
    case Kind::block:
      return block + ".";
    case Kind::row:
      return block + ", which is row " + of_place + tail + part_text(map) + ".";
    case Kind::column:
      return std::string(wrong_is) + "column " + of_place + part_text(map) + ".";
    case Kind::head:
      if (map.region == map.last - map.first + 1) {
        return block + ", which is " + of_place + tail + part_text(map) + ".";
      }
      return std::string(wrong_is) + of_place + part_text(map) + ".";
    case Kind::box:
      return std::string(wrong_are) + "the elements " + of_place + part_text(map) + ".";
    case Kind::tail:
      return tail_sentence(map, shape);
    case Kind::period:
      return std::string(wrong_is) + "every " + ordinal(map.period) + " block of " + std::to_string(map.block) +
             " elements, from element " + std::to_string(map.first) + " on" + part_text(map) + ".";
  }
  return {};
}

std::string picture_legend(const DifferenceMap& map) {
  const std::string cell = map.cell_rows == 0
                               ? std::to_string(map.cell_columns) + " elements in row-major order"
                               : std::to_string(map.cell_rows) + " x " + std::to_string(map.cell_columns) + " elements";
  return "one character is " + cell + ": . none wrong, + some, # at least half";
}

}  // namespace msrun
