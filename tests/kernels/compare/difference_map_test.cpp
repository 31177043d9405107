// The map of wrong elements: faults of known place, planted in outputs of many shapes and dtypes, are found there.
#include "kernels/compare/diagnosis/difference_map.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/diagnosis/difference.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using Kind = DifferenceMap::Kind;

std::int64_t count_of(const Dims& shape) { return element_count(shape); }

DifferenceMap map_of(const Dims& shape, const std::vector<std::int64_t>& wrong, std::size_t element_bytes = 4) {
  std::vector<bool> is_wrong(static_cast<std::size_t>(count_of(shape)));
  for (const std::int64_t at : wrong) is_wrong[static_cast<std::size_t>(at)] = true;
  return map_differences(shape, is_wrong, element_bytes);
}

std::string sentence(const Dims& shape, const std::vector<std::int64_t>& wrong) {
  return place_sentence(map_of(shape, wrong), shape);
}

// From first on, so many.
std::vector<std::int64_t> run(std::int64_t first, std::int64_t count, std::int64_t step = 1) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(first + i * step);
  return numbers;
}

TEST(DifferenceMap, NamesThePlace) {
  EXPECT_EQ(sentence({64}, {12}), "One element of 64 differs, at 12 of the row-major order.");
  EXPECT_EQ(sentence({64}, run(12, 8)), "One contiguous block of elements differs: 12 to 19 of 64 in row-major order.");
  EXPECT_EQ(sentence({32, 100}, run(500, 100)),
            "One contiguous block of elements differs: 500 to 599 of 3200 in row-major order, which is row [5, :] of "
            "(32, 100).");
  EXPECT_EQ(sentence({4, 8, 100}, run(1300, 100)),
            "One contiguous block of elements differs: 1300 to 1399 of 3200 in row-major order, which is row [1, 5, :] "
            "of (4, 8, 100).");
  EXPECT_EQ(sentence({32, 100}, run(7, 32, 100)), "Wrong is column [:, 7] of (32, 100).");
  EXPECT_EQ(sentence({32, 100}, run(7, 30, 100)), "Wrong is column [:, 7] of (32, 100), 30 of its 32 elements.");
  EXPECT_EQ(sentence({2, 8, 20, 10},
                     [] {
                       auto both = run(600, 200);
                       for (const std::int64_t at : run(2200, 200)) both.push_back(at);
                       return both;
                     }()),
            "Wrong is [:, 3, :, :] of (2, 8, 20, 10).");
  EXPECT_EQ(sentence({8, 20, 10}, run(600, 200)),
            "One contiguous block of elements differs: 600 to 799 of 1600 in row-major order, which is [3, :, :] of "
            "(8, 20, 10).");
  EXPECT_EQ(sentence({5000}, run(4096, 904)), "Wrong are elements 4096 to 4999: the last partial tile of 2048.");
  EXPECT_EQ(sentence({8192}, run(6144, 2048)), "Wrong are elements 6144 to 8191: the last tile of 2048.");
  std::vector<std::int64_t> tail;
  for (std::int64_t row = 0; row < 30; ++row) {
    for (const std::int64_t at : run(row * 100 + 96, 4)) tail.push_back(at);
  }
  EXPECT_EQ(sentence({30, 100}, tail),
            "Wrong are the elements [:, 96:100] of (30, 100): the last partial tile of 32 along axis 1.");
  std::vector<std::int64_t> blocks;
  for (const std::int64_t block : {3, 11, 19}) {
    for (const std::int64_t at : run(block * 2048, 2048)) blocks.push_back(at);
  }
  EXPECT_EQ(sentence({20 * 2048}, blocks), "Wrong is every 8th block of 2048 elements, from element 6144 on.");
  std::vector<std::int64_t> box;
  for (std::int64_t row = 3; row < 6; ++row) {
    for (const std::int64_t at : run(row * 100 + 10, 10)) box.push_back(at);
  }
  EXPECT_EQ(sentence({32, 100}, box), "Wrong are the elements [3:6, 10:20] of (32, 100).");
  EXPECT_EQ(sentence({64, 50}, {0, 1, 2, 777, 1520, 1521, 3001}), "");
  EXPECT_EQ(sentence({64}, run(0, 64)), "");
  EXPECT_EQ(map_of({64}, run(0, 64)).kind, Kind::everywhere);
}

// Several rows are no row of their own.
TEST(DifferenceMap, RowsAreABlock) {
  EXPECT_EQ(sentence({32, 100}, run(500, 200)),
            "One contiguous block of elements differs: 500 to 699 of 3200 in row-major order.");
}

// Elsewhere two elements are as soon listed as their place is told.
TEST(DifferenceMap, NeighboursHaveAPlaceHoweverFew) {
  EXPECT_EQ(sentence({64}, {12, 13}), "One contiguous block of elements differs: 12 to 13 of 64 in row-major order.");
}

TEST(DifferenceMap, CountsBlocksAsIsUsual) {
  const auto every = [](std::int64_t period) {
    constexpr std::int64_t length = 512;
    std::vector<std::int64_t> wrong;
    for (std::int64_t block = 1; block < 4 * period; block += period) {
      for (const std::int64_t at : run(block * length, length)) wrong.push_back(at);
    }
    const std::string text = sentence({4 * period * length}, wrong);
    return text.substr(0, text.find(" block"));
  };
  EXPECT_EQ(every(2), "Wrong is every 2nd");
  EXPECT_EQ(every(3), "Wrong is every 3rd");
  EXPECT_EQ(every(4), "Wrong is every 4th");
  EXPECT_EQ(every(11), "Wrong is every 11th");
  EXPECT_EQ(every(12), "Wrong is every 12th");
  EXPECT_EQ(every(13), "Wrong is every 13th");
  EXPECT_EQ(every(21), "Wrong is every 21st");
}

// Which of the two went wrong the place does not tell.
TEST(DifferenceMap, SaysThatARowIsTheLastTileToo) {
  EXPECT_EQ(sentence({3, 64}, run(128, 64)),
            "One contiguous block of elements differs: 128 to 191 of 192 in row-major order, which is row [2, :] of "
            "(3, 64), the last partial tile of 128.");
  EXPECT_EQ(sentence({33, 64}, run(2048, 64)),
            "Wrong are elements 2048 to 2111: the last partial tile of 2048, which is [32, :] of (33, 64).");
}

TEST(DifferenceMap, OutputsWithoutElementsOrFaultsHaveNone) {
  EXPECT_EQ(map_differences({0, 4}, {}, 4).kind, Kind::scattered);
  EXPECT_EQ(map_differences({4}, {}, 4).wrong, 0);
  EXPECT_EQ(map_differences({4}, {}, 4).elements, 4);
  EXPECT_EQ(map_differences({}, {true}, 4).kind, Kind::everywhere);
  EXPECT_EQ(sentence({2}, {1}), "");
}

TEST(DifferenceMap, IsDrawn) {
  EXPECT_THAT(map_of({4, 8}, run(8, 8)).picture, ElementsAre("........", "########", "........", "........"));
  EXPECT_THAT(map_of({1, 40}, run(0, 3)).picture, ElementsAre("###.............................", "........"));
  EXPECT_THAT(map_of({16, 64}, {0, 1, 2, 3, 64, 130, 1023}).picture,
              ElementsAre("##..............................", ".+..............................",
                          "................................", "................................",
                          "................................", "................................",
                          "................................", "...............................+"));
  EXPECT_EQ(picture_legend(map_of({16, 64}, {0})),
            "one character is 2 x 2 elements: . none wrong, + some, # at least half");
  EXPECT_EQ(picture_legend(map_of({1024}, {0})),
            "one character is 4 elements in row-major order: . none wrong, + some, # at least half");
  EXPECT_TRUE(map_of({1}, {0}).picture.empty());
  for (const Dims& shape : {Dims{1000}, Dims{9, 33}, Dims{3, 5, 7, 11}, Dims{2, 100000}, Dims{100000, 2}, Dims{257}}) {
    const DifferenceMap map = map_of(shape, {count_of(shape) - 1});
    EXPECT_LE(map.picture.size(), 8U);
    for (const std::string& line : map.picture) EXPECT_LE(line.size(), 32U);
    EXPECT_NE(map.picture.back().back(), '.');
  }
}

// An output whose right elements are off by rounding alone, with wrong ones where a fault has them.
class Planted {
 public:
  Planted(const Dims& shape, DType dtype, unsigned seed) : shape_(shape), dtype_(dtype), random_(seed) {
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < count_of(shape); ++i) bench_.push_back(normal(random_));
    device_ = bench_;
    // As sums are.
    for (double& value : device_) value *= 1 + 4 * accumulator_roundoff(dtype) * normal(random_);
  }

  std::int64_t draw(std::int64_t below) { return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_); }

  // Some elements are right by chance.
  void spoil(std::int64_t at, double share) {
    if (std::uniform_real_distribution<double>()(random_) >= share) return;
    double& value = device_[static_cast<std::size_t>(at)];
    value += 1 + std::abs(value);
  }

  DifferenceMap map() const {
    const Tensor bench = tensor(bench_, DType::float64);
    const Tensor device = tensor(device_, dtype_);
    ErrorBudget budget;
    budget.longest = 256;
    return difference_of(bench, device, fit_rounding(bench, device, budget)).map;
  }

 private:
  Tensor tensor(const std::vector<double>& values, DType dtype) const {
    return Tensor::from<double>(DType::float64, shape_, std::span<const double>(values)).to(dtype);
  }

  Dims shape_;
  DType dtype_;
  std::mt19937_64 random_;
  std::vector<double> bench_;
  std::vector<double> device_;
};

// A place: elements and the bounds that a map has of it.
struct Place {
  Kind kind;
  std::vector<std::int64_t> elements;
};

std::vector<std::int64_t> slice(const Dims& shape, std::size_t axis, std::int64_t begin, std::int64_t end) {
  const std::int64_t stride = row_major_strides(shape)[axis];
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < count_of(shape); ++i) {
    const std::int64_t index = i / stride % shape[axis];
    if (index >= begin && index < end) elements.push_back(i);
  }
  return elements;
}

// Places of the kind in the shape; one without elements if it has none.
Place place_of(Kind kind, const Dims& shape, Planted& output) {
  const std::int64_t count = count_of(shape);
  const std::int64_t columns = shape.back();
  if (kind == Kind::row && shape.size() > 1) return {kind, run(output.draw(count / columns) * columns, columns)};
  if (kind == Kind::column && shape.size() > 1) {
    const std::int64_t column = output.draw(columns);
    return {kind, slice(shape, shape.size() - 1, column, column + 1)};
  }
  if (kind == Kind::head && shape.size() > 2) {
    const auto axis = static_cast<std::size_t>(output.draw(static_cast<std::int64_t>(shape.size()) - 1));
    const std::int64_t index = output.draw(shape[axis]);
    return {kind, slice(shape, axis, index, index + 1)};
  }
  if (kind == Kind::tail) {
    const std::int64_t tile = std::int64_t{16} << output.draw(8);
    const bool flat = output.draw(2) == 0;
    const std::int64_t size = flat ? count : columns;
    const std::int64_t begin = size / tile * tile;
    // A tile of one column is that column.
    if (begin == 0 || begin >= size - 1 || (size - begin) * 2 > size) return {kind, {}};
    return {kind, flat ? run(begin, count - begin) : slice(shape, shape.size() - 1, begin, size)};
  }
  if (kind == Kind::period) {
    const std::int64_t period = 2 + output.draw(7);
    const std::vector<std::int64_t> lengths{2048, 4096, 512, 256, count / 16, count / 24, columns};
    const std::int64_t length = lengths[static_cast<std::size_t>(output.draw(std::ssize(lengths)))];
    const std::int64_t first = output.draw(period);
    if (length < 8 || (first + period) * length >= count) return {kind, {}};
    Place place{kind, {}};
    for (std::int64_t i = 0; i < count; ++i) {
      if (i / length % period == first) place.elements.push_back(i);
    }
    return place;
  }
  return {kind, {}};
}

const std::vector<Dims>& shapes() {
  static const std::vector<Dims> all{{5000},          {8192},          {100003},        {16, 100},
                                     {64, 64},        {128, 1000},     {1000, 24},      {7, 2048},
                                     {8, 16, 100},    {4, 77, 96},     {2, 64, 48},     {2, 8, 32, 20},
                                     {1, 12, 50, 64}, {3, 16, 28, 28}, {2, 4, 129, 65}, {5, 7, 11, 13}};
  return all;
}
constexpr std::array dtypes{DType::float32, DType::float16, DType::bfloat16, DType::float64};

TEST(DifferenceMap, FindsPlantedFaults) {
  constexpr unsigned seeds = 6;
  for (const Kind kind : {Kind::row, Kind::column, Kind::head, Kind::tail, Kind::period}) {
    int planted = 0;
    int right_place = 0;
    int right_kind = 0;
    std::string wrong;
    for (const Dims& shape : shapes()) {
      for (unsigned seed = 0; seed < seeds; ++seed) {
        const DType dtype = dtypes[seed % dtypes.size()];
        Planted output(shape, dtype, 1000 * seed + static_cast<unsigned>(kind));
        const Place place = place_of(kind, shape, output);
        if (place.elements.size() < 2 || std::ssize(place.elements) * 2 > count_of(shape) + 4096) continue;
        const double share = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 0.9 : 0.6;
        for (const std::int64_t at : place.elements) output.spoil(at, share);
        const DifferenceMap map = output.map();
        ++planted;
        const bool same = map.region == std::ssize(place.elements) && map.first == place.elements.front() &&
                          map.last == place.elements.back();
        right_place += same ? 1 : 0;
        // A period of rows may be that of a column, a row the only block of its period.
        right_kind += map.kind == kind ? 1 : 0;
        if (!same || map.kind != kind) {
          wrong += "\n" + tuple_text(shape) + " " + std::string(name(dtype)) + " " + std::to_string(share) + " " +
                   std::to_string(place.elements.front()) + ".." + std::to_string(place.elements.back()) + " (" +
                   std::to_string(place.elements.size()) + "): " + std::string(kind_text(map.kind)) + " " +
                   place_sentence(map, shape);
        }
      }
    }
    RecordProperty(std::string(kind_text(kind)), std::to_string(right_place) + " of " + std::to_string(planted));
    EXPECT_GE(planted, 30) << kind_text(kind);
    EXPECT_GE(right_place * 100, planted * 95) << kind_text(kind) << wrong;
    EXPECT_GE(right_kind * 100, planted * 95) << kind_text(kind) << wrong;
  }
}

TEST(DifferenceMap, OfRightDataIsEmpty) {
  for (const Dims& shape : shapes()) {
    for (const DType dtype : dtypes) {
      const DifferenceMap map = Planted(shape, dtype, 5).map();
      EXPECT_EQ(map.wrong, 0) << tuple_text(shape);
      EXPECT_EQ(place_sentence(map, shape), "");
    }
  }
}

// Wrong elements that are strewn over an output have no place, however many they are.
TEST(DifferenceMap, StrewnElementsHaveNone) {
  int named = 0;
  int all = 0;
  for (const Dims& shape : shapes()) {
    std::mt19937_64 random(static_cast<unsigned>(count_of(shape)));
    for (const double share : {0.0005, 0.002, 0.01, 0.1, 0.3, 0.7}) {
      for (int trial = 0; trial < 5; ++trial) {
        std::vector<std::int64_t> wrong;
        std::bernoulli_distribution strewn(share);
        for (std::int64_t i = 0; i < count_of(shape); ++i) {
          if (strewn(random)) wrong.push_back(i);
        }
        if (wrong.size() < 2) continue;
        ++all;
        const std::string text = sentence(shape, wrong);
        if (!text.empty()) ++named;
        EXPECT_EQ(text, "") << tuple_text(shape) << " " << wrong.size();
      }
    }
  }
  EXPECT_GE(all, 300);
  EXPECT_EQ(named, 0);
}

TEST(Difference, CountsErrorsBySize) {
  const auto tensor = [](DType dtype, const std::vector<double>& values) {
    return Tensor::from<double>(DType::float64, Dims{std::ssize(values)}, std::span<const double>(values)).to(dtype);
  };
  const double none = std::nan("");
  const Tensor bench = tensor(DType::float64, {1, 1, 2, 0, none, 1, 4, 1e30});
  const Tensor device = tensor(DType::float32, {1, 1 + 0x1p-23, 3, 1e-3, none, none, 4.000001, 1});
  const ErrorHistogram errors = difference_of(bench, device, fit_rounding(bench, device, {})).errors;
  std::map<double, std::uint64_t> relative;
  for (std::size_t i = 0; i < errors.relative.size(); ++i) {
    if (errors.relative[i] > 0) relative[relative_bound(i)] = errors.relative[i];
  }
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(relative,
            (std::map<double, std::uint64_t>{{0, 2}, {0x1p-23, 1}, {0x1p-22, 1}, {0.5, 1}, {1, 1}, {infinity, 2}}));
  std::map<double, std::uint64_t> ulps;
  for (std::size_t i = 0; i < errors.ulps.size(); ++i) {
    if (errors.ulps[i] > 0) ulps[ulp_bound(i)] = errors.ulps[i];
  }
  EXPECT_EQ(ulps, (std::map<double, std::uint64_t>{{0, 2}, {1, 1}, {2, 1}, {infinity, 4}}));
}

}  // namespace
}  // namespace msrun
