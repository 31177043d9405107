// Reading and writing by index: values, duplicates, broadcasting, slices and masks, gradients, and refused indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::ElementsAre;

constexpr std::int64_t zero = 0;
constexpr std::int64_t one = 1;

Tensor mask(const Dims& shape, const std::vector<std::int64_t>& data) { return int64(shape, data).to(DType::boolean); }

Tensor counting(const Dims& shape) {
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
  return float64(shape, data);
}

std::vector<double> run(const std::string& api, const List& args, const Dict& kwargs = {}, std::size_t output = 0) {
  return forward("Torch", api, args, kwargs, output);
}

Dims shape_of(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {}) {
  Tape tape;
  std::vector<Var> leaves;
  return call(type, api, args, kwargs, tape, leaves).shape();
}

std::vector<double> get(const Tensor& x, const Value& index) { return forward("Tensor", "__getitem__", {x, index}); }

TEST(Indexing, Gather) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(run("gather", {x, one, int64({2, 2}, {2, 0, 1, 1})}), ElementsAre(2, 0, 4, 4));
  EXPECT_THAT(run("gather", {x, zero, int64({1, 2}, {1, 0})}), ElementsAre(3, 1));
  EXPECT_THAT(run("gather", {x.transpose(0, 1), -one, int64({3, 1}, {1, 0, 1})}), ElementsAre(3, 1, 5));
  EXPECT_THAT(run("gather", {float64({}, {7}), zero, int64({}, {0})}), ElementsAre(7));
  EXPECT_THROW(run("gather", {x, one, int64({2, 1}, {3, 0})}), SkipError);
  EXPECT_THROW(run("gather", {x, one, int64({2, 1}, {-1, 0})}), SkipError);
  EXPECT_THROW(run("gather", {x, one, int64({3, 1}, {0, 0, 0})}), SkipError);
  EXPECT_THROW(run("gather", {x, one, int64({2}, {0, 0})}), SkipError);
  EXPECT_THROW(run("gather", {x, one, mask({2, 1}, {0, 0})}), SkipError);
  check_gradients("Torch", "gather", {uniform({3, 4}, -1, 1, 1), one, int64({2, 3}, {0, 0, 3, 1, 1, 1})});
}

TEST(Indexing, TakeByFlatOrBroadcastIndex) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(run("take", {x, int64({2}, {-1, 1})}), ElementsAre(5, 1));
  EXPECT_THAT(run("take_along_dim", {x, int64({1, 2}, {2, 0}), one}), ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(run("take_along_dim", {x, int64({2}, {4, 0})}), ElementsAre(4, 0));
  EXPECT_THROW(run("take", {x, int64({1}, {6})}), SkipError);
  check_gradients("Torch", "take", {x, int64({2, 2}, {-1, 1, 1, 0})});
  check_gradients("Torch", "take_along_dim", {x, int64({1, 2}, {2, 0}), one});
}

TEST(Indexing, ScatterKeepsTheLastOfDuplicates) {
  const Tensor x = counting({1, 3});
  const Tensor index = int64({1, 2}, {0, 0});
  EXPECT_THAT(run("scatter", {x, one, index, float64({1, 2}, {8, 9})}), ElementsAre(9, 1, 2));
  EXPECT_THAT(run("scatter", {x, one, index, float64({1, 4}, {8, 9, 5, 5})}), ElementsAre(9, 1, 2));
  EXPECT_THAT(run("scatter", {x, one, index, 4.0}), ElementsAre(4, 1, 2));
  EXPECT_THAT(run("scatter", {x, one, int64({1, 1}, {2})}, {{"value", 4.0}, {"reduce", std::string("multiply")}}),
              ElementsAre(0, 1, 8));
  EXPECT_THAT(run("scatter", {x, one, index, float64({1, 2}, {8, 9})}, {{"reduce", std::string("add")}}),
              ElementsAre(17, 1, 2));
  EXPECT_THAT(run("scatter_add", {x, one, index, float64({1, 2}, {8, 9})}), ElementsAre(17, 1, 2));
  EXPECT_THROW(run("scatter", {x, one, index, float64({1, 1}, {8})}), SkipError);
  EXPECT_THROW(run("scatter_add", {x, one, int64({1, 1}, {3}), float64({1, 1}, {8})}), SkipError);
  const Tensor unique_index = int64({2, 2}, {2, 0, 1, 3});
  check_gradients("Torch", "scatter", {uniform({3, 4}, -1, 1, 2), one, unique_index, uniform({3, 2}, -1, 1, 3)});
  check_gradients("Torch", "scatter", {uniform({3, 4}, -1, 1, 2), one, unique_index, 2.0});
  check_gradients("Torch", "scatter_add",
                  {uniform({3, 4}, -1, 1, 2), zero, int64({2, 2}, {2, 2, 2, 1}), uniform({2, 3}, -1, 1, 3)});
}

TEST(Indexing, HalfSumsRoundOnce) {
  // 256 + 1 is not a bfloat16: adding two ones one by one to it would give 256.
  const Tensor x = Tensor::full(DType::bfloat16, Dims{1}, 256);
  const Tensor ones = Tensor::full(DType::bfloat16, Dims{2}, 1);
  EXPECT_THAT(run("index_add", {x, zero, int64({2}, {0, 0}), ones}), ElementsAre(258));
}

TEST(Indexing, WholeSlices) {
  const Tensor x = counting({3, 2});
  const Tensor index = int64({2}, {2, 0});
  const Tensor source = float64({2, 2}, {10, 20, 30, 40});
  EXPECT_THAT(run("index_select", {x, zero, index}), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(run("index_select", {x, one, int64({}, {1})}), ElementsAre(1, 3, 5));
  EXPECT_THAT(run("index_add", {x, zero, index, source}, {{"alpha", 2.0}}), ElementsAre(60, 81, 2, 3, 24, 45));
  EXPECT_THAT(run("index_copy", {x, zero, index, source}), ElementsAre(30, 40, 2, 3, 10, 20));
  EXPECT_THAT(run("index_fill", {x, zero, index, -1.0}), ElementsAre(-1, -1, 2, 3, -1, -1));
  EXPECT_THROW(run("index_select", {x, zero, int64({1}, {3})}), SkipError);
  EXPECT_THROW(run("index_select", {x, zero, int64({1}, {-1})}), SkipError);
  EXPECT_THROW(run("index_select", {x, zero, int64({1, 1}, {0})}), SkipError);
  EXPECT_THROW(run("index_add", {x, zero, index, float64({2}, {1, 2})}), SkipError);
  EXPECT_EQ(shape_of("Torch", "index_select", {float64({2, 0}, {}), zero, int64({1}, {1})}), (Dims{1, 0}));
  check_gradients("Torch", "index_select", {uniform({3, 2}, -1, 1, 4), zero, int64({3}, {2, 0, 2})});
  check_gradients("Torch", "index_add", {uniform({3, 2}, -1, 1, 4), zero, index, source}, {{"alpha", 0.5}});
  check_gradients("Torch", "index_copy", {uniform({3, 2}, -1, 1, 4), zero, index, source});
  check_gradients("Torch", "index_fill", {uniform({3, 2}, -1, 1, 4), one, int64({1}, {0}), float64({}, {2})});
}

TEST(Indexing, Masks) {
  const Tensor x = counting({2, 2});
  const Tensor m = mask({2, 2}, {1, 0, 0, 1});
  EXPECT_THAT(run("masked_fill", {x, m, -10000.0}), ElementsAre(-10000, 1, 2, -10000));
  EXPECT_THAT(run("masked_fill", {x, mask({2}, {0, 1}), 9.0}), ElementsAre(0, 9, 2, 9));
  EXPECT_THAT(run("masked_select", {x, m}), ElementsAre(0, 3));
  EXPECT_THAT(run("masked_select", {x, mask({2}, {0, 1})}), ElementsAre(1, 3));
  EXPECT_THAT(run("masked_scatter", {x, m, float64({3}, {7, 8, 9})}), ElementsAre(7, 1, 2, 8));
  EXPECT_THROW(run("masked_scatter", {x, m, float64({1}, {7})}), SkipError);
  EXPECT_THROW(run("masked_select", {x, int64({2}, {0, 1})}), SkipError);
  EXPECT_THROW(run("masked_fill", {x, m, float64({2}, {1, 2})}), SkipError);
  check_gradients("Torch", "masked_fill", {uniform({2, 3}, -1, 1, 5), mask({3}, {1, 0, 1}), float64({}, {2})});
  check_gradients("Torch", "masked_select", {uniform({2, 3}, -1, 1, 5), mask({3}, {1, 0, 1})});
  check_gradients("Torch", "masked_scatter", {uniform({2, 3}, -1, 1, 5), mask({3}, {1, 0, 1}), uniform({5}, -1, 1, 6)});
}

TEST(Indexing, FillsAnElementNamedTwiceOnce) {
  const List args{counting({3, 2}), zero, int64({3}, {0, 2, -3}), float64({}, {9})};
  EXPECT_THAT(run("index_fill", args), ElementsAre(9, 9, 2, 3, 9, 9));
  const auto all = gradients("Torch", "index_fill", args);
  EXPECT_THAT(all[0], ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(all[1], ElementsAre(4));
  EXPECT_THROW(run("index_fill", {counting({3, 2}), zero, int64({1}, {-4}), 1.0}), SkipError);
  EXPECT_THROW(run("index_fill", {counting({3, 2}), zero, int64({1, 1}, {0}), 1.0}), SkipError);
}

TEST(Indexing, PlacesOfNonzeros) {
  const Tensor m = mask({2, 3}, {0, 1, 0, 1, 0, 1});
  EXPECT_THAT(run("nonzero", {m}), ElementsAre(0, 1, 1, 0, 1, 2));
  EXPECT_THAT(run("argwhere", {m.transpose(0, 1)}), ElementsAre(0, 1, 1, 0, 2, 1));
  EXPECT_THAT(run("nonzero", {m}, {{"as_tuple", true}}, 1), ElementsAre(1, 0, 2));
  EXPECT_THAT(run("nonzero", {float64({3}, {0, -0.5, 0})}), ElementsAre(1));
  EXPECT_EQ(shape_of("Torch", "nonzero", {float64({}, {2})}), (Dims{1, 0}));
}

TEST(Indexing, OneHot) {
  EXPECT_THAT(forward("Functional", "one_hot", {int64({2}, {1, 0})}), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(shape_of("Functional", "one_hot", {int64({2, 1}, {1, 0}), std::int64_t{5}}), (Dims{2, 1, 5}));
  EXPECT_THROW(forward("Functional", "one_hot", {int64({1}, {5}), std::int64_t{5}}), SkipError);
  EXPECT_THROW(forward("Functional", "one_hot", {int64({1}, {-1})}), SkipError);
}

TEST(Indexing, PutWithBroadcastIndices) {
  const Tensor x = float64({3}, {0, 0, 0});
  const Value twice = List{int64({2}, {1, 1})};
  EXPECT_THAT(run("index_put", {x, twice, float64({2}, {1, 2}), true}), ElementsAre(0, 3, 0));
  EXPECT_THAT(run("index_put", {x, twice, float64({2}, {1, 2})}), ElementsAre(0, 2, 0));
  EXPECT_THAT(run("index_put", {x, List{int64({1}, {-1})}, float64({}, {4})}), ElementsAre(0, 0, 4));
  EXPECT_THAT(run("index_put", {x, List{mask({3}, {1, 0, 1})}, float64({2}, {4, 5})}), ElementsAre(4, 0, 5));
  EXPECT_THAT(run("index_put", {counting({2, 2}), List{None{}, int64({1}, {1})}, float64({}, {9})}),
              ElementsAre(0, 9, 2, 9));
  EXPECT_THROW(run("index_put", {x, List{int64({1}, {3})}, float64({}, {4})}), SkipError);
  EXPECT_THROW(run("index_put", {x, List{int64({1}, {0}), int64({1}, {0})}, float64({}, {4})}), SkipError);
  EXPECT_THROW(run("index_put", {x, List{mask({2}, {1, 0})}, float64({}, {4})}), SkipError);
  EXPECT_THROW(run("index_put", {x, twice, float64({3}, {1, 2, 3})}), SkipError);
  const Value pairs = List{int64({2, 1}, {0, 2}), int64({3}, {0, 1, 3})};
  check_gradients("Torch", "index_put", {uniform({3, 4}, -1, 1, 7), pairs, uniform({3}, -1, 1, 8)});
  check_gradients("Torch", "index_put",
                  {uniform({3, 4}, -1, 1, 7), List{int64({2}, {0, 0})}, uniform({2, 4}, -1, 1, 8), true});
  check_gradients("Aten", "index", {uniform({3, 4}, -1, 1, 7), pairs});
}

TEST(Subscript, ViewsAsInPython) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_THAT(get(x, List{one, -one, std::int64_t{2}}), ElementsAre(22));
  EXPECT_THAT(get(x, List{Ellipsis{}, zero}), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_THAT(get(x, List{zero, Slice{std::nullopt, std::nullopt, 2}, Slice{-1, std::nullopt, std::nullopt}}),
              ElementsAre(3, 11));
  EXPECT_THAT(get(x, List{zero, Slice{1, 100, std::nullopt}, zero}), ElementsAre(4, 8));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{None{}, one, None{}, Ellipsis{}}}), (Dims{1, 1, 3, 4}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, Slice{2, 1, std::nullopt}}), (Dims{0, 3, 4}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, true}), (Dims{1, 2, 3, 4}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, false}), (Dims{0, 2, 3, 4}));
  EXPECT_THROW(get(x, std::int64_t{2}), SkipError);
  EXPECT_THROW(get(x, List{zero, zero, zero, zero}), SkipError);
  EXPECT_THROW(get(x, Slice{0, 2, -1}), SkipError);
  EXPECT_THROW(get(x, std::string("a")), SkipError);
  check_gradients("Tensor", "__getitem__", {uniform({2, 3, 4}, -1, 1, 9), List{Ellipsis{}, Slice{1, 4, 2}}});
}

TEST(Subscript, OfTensorsThatAreNotRowMajor) {
  const Tensor x = counting({3, 2}).transpose(0, 1);  // 0 2 4, 1 3 5
  EXPECT_THAT(get(x, List{one, Slice{1, std::nullopt, std::nullopt}}), ElementsAre(3, 5));
  EXPECT_THAT(get(x, List{one, int64({2}, {2, 0})}), ElementsAre(5, 1));
  EXPECT_THAT(gradients("Tensor", "__getitem__", {x, List{one, Slice{1, std::nullopt, std::nullopt}}})[0],
              ElementsAre(0, 0, 0, 0, 1, 1));
  // src is larger than the index: its leading part counts.
  const auto all = gradients("Torch", "scatter", {counting({2, 2}), zero, int64({1, 2}, {1, 0}), x});
  EXPECT_THAT(all[0], ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(all[1], ElementsAre(1, 1, 0, 0, 0, 0));
}

TEST(Subscript, NestedLists) {
  const Tensor x = counting({2, 3, 4});
  const auto list = [](std::initializer_list<int> numbers) {
    List result;
    for (const int number : numbers) result.emplace_back(std::int64_t{number});
    return result;
  };
  const List table{list({0, 1}), list({1, 0})};
  // A list that is the only item of a tuple: two rows of two slices.
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{table}}), (Dims{2, 2, 3, 4}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{List{table, table, table}}}), (Dims{3, 2, 2, 3, 4}));
  EXPECT_THAT(get(x, List{table, list({2, 0}), -one}), ElementsAre(11, 15, 23, 3));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{List{}}}), (Dims{0, 3, 4}));
  // Lists of bools are masks of as many axes as they are deep.
  const List flags{List{true, false, false}, List{false, false, true}};
  EXPECT_THAT(get(x, List{flags, zero}), ElementsAre(0, 20));
  EXPECT_THAT(get(x, List{Ellipsis{}, flags, zero}), ElementsAre(0, 20));
  EXPECT_THAT(get(x, List{zero, Ellipsis{}, List{true, false, false, true}}), ElementsAre(0, 3, 4, 7, 8, 11));
  EXPECT_THROW(get(x, List{List{list({0, 1}), list({0})}}), SkipError);
  EXPECT_THROW(get(x, List{List{list({0, 1}), one}}), SkipError);
  EXPECT_THROW(get(x, List{List{one, list({0, 1})}}), SkipError);
  EXPECT_THROW(get(x, List{List{one, 0.5}}), SkipError);
  check_gradients("Tensor", "__getitem__", {uniform({2, 3, 4}, -1, 1, 9), List{table, Slice{}, list({3, 3})}});
}

TEST(Subscript, AdvancedIndices) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_THAT(get(x, List{zero, int64({2}, {2, 0}), one}), ElementsAre(9, 1));
  EXPECT_THAT(get(x, List{zero, zero, List{zero, -one}}), ElementsAre(0, 3));
  EXPECT_THAT(get(x, mask({2}, {0, 1})).size(), 12U);
  EXPECT_THAT(get(x, List{mask({2, 3}, {0, 1, 0, 0, 0, 1}), zero}), ElementsAre(4, 20));
  EXPECT_THAT(get(x, List{zero, mask({3}, {0, 1, 1}), Slice{0, 1, std::nullopt}}), ElementsAre(4, 8));
  // Neighbouring indices keep their place; separated ones move to the front.
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{Slice{}, int64({5}, {0, 1, 2, 0, 1}), int64({}, {0})}}),
            (Dims{2, 5}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{int64({5}, {0, 1, 0, 0, 1}), Slice{}, int64({1}, {0})}}),
            (Dims{5, 3}));
  EXPECT_EQ(shape_of("Tensor", "__getitem__", {x, List{Slice{}, int64({2, 5}, std::vector<std::int64_t>(10))}}),
            (Dims{2, 2, 5, 4}));
  EXPECT_THROW(get(x, List{int64({1}, {2})}), SkipError);
  EXPECT_THROW(get(x, List{int64({2}, {0, 0}), int64({3}, {0, 0, 0})}), SkipError);
  EXPECT_THROW(get(x, mask({3}, {1, 1, 1})), SkipError);
  check_gradients("Tensor", "__getitem__",
                  {uniform({2, 3, 4}, -1, 1, 9), List{Slice{}, int64({3}, {1, 1, 0}), Slice{0, 4, 3}}});
  check_gradients("Tensor", "__getitem__",
                  {uniform({2, 3, 4}, -1, 1, 9), List{int64({2}, {1, 1}), Slice{}, int64({2}, {3, 3})}});
}

// Python's assignment returns nothing; here it is the tensor it leaves.
TEST(Subscript, AssignmentGivesWhatItLeaves) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(forward("Tensor", "__setitem__", {x, zero, 9.0}), ElementsAre(9, 9, 9, 3, 4, 5));
  EXPECT_THAT(forward("Tensor", "__setitem__", {x, Slice{}, float64({1, 1, 3}, {7, 8, 9})}),
              ElementsAre(7, 8, 9, 7, 8, 9));
  EXPECT_THAT(forward("Tensor", "__setitem__", {x, mask({2, 3}, {0, 1, 0, 0, 1, 0}), -1.0}),
              ElementsAre(0, -1, 2, 3, -1, 5));
  EXPECT_THROW(forward("Tensor", "__setitem__", {x, std::int64_t{2}, 2.0}), SkipError);
  EXPECT_THROW(forward("Tensor", "__setitem__", {x, zero, float64({2}, {1, 2})}), SkipError);
  check_gradients("Tensor", "__setitem__", {x, one, float64({3}, {1, 2, 3})});
}

TEST(Indexing, ViewsReplaced) {
  const Tensor x = counting({2, 3});
  EXPECT_THAT(forward("Aten", "select_scatter", {x, float64({2}, {8, 9}), one, -one}), ElementsAre(0, 1, 8, 3, 4, 9));
  EXPECT_THAT(forward("Tensor", "slice_scatter", {x, float64({2, 2}, {6, 7, 8, 9}), one}, {{"start", one}}),
              ElementsAre(0, 6, 7, 3, 8, 9));
  EXPECT_THAT(run("diagonal_scatter", {x, float64({2}, {8, 9}), one}), ElementsAre(0, 8, 2, 3, 4, 9));
  EXPECT_THAT(run("diagonal_scatter", {x, float64({1}, {8}), -one}), ElementsAre(0, 1, 2, 8, 4, 5));
  EXPECT_THAT(run("diagonal_scatter", {x, float64({0}, {}), std::int64_t{7}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THROW(run("diagonal_scatter", {x, float64({3}, {8, 9, 1}), one}), SkipError);
  check_gradients("Torch", "diagonal_scatter", {x, float64({2}, {8, 9})});
  check_gradients("Tensor", "slice_scatter",
                  {x, float64({2, 2}, {6, 7, 8, 9}), one, zero, std::int64_t{3}, std::int64_t{2}});
}

TEST(Embedding, GradientsOfPaddingAndFrequency) {
  const Tensor weight = counting({3, 1});
  const Tensor index = int64({4}, {0, 1, 1, 2});
  const auto gradient = [&](const Dict& kwargs) {
    return gradients("Functional", "embedding", {index, weight}, kwargs)[0];
  };
  EXPECT_THAT(forward("Functional", "embedding", {index, weight}), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(gradient({{"padding_idx", zero}}), ElementsAre(0, 2, 1));
  EXPECT_THAT(gradient({{"padding_idx", -one}}), ElementsAre(1, 2, 0));
  EXPECT_THAT(gradient({{"scale_grad_by_freq", true}}), ElementsAre(1, 1, 1));
  EXPECT_THAT(gradients("Torch", "embedding", {weight, index})[0], ElementsAre(1, 2, 1));
  EXPECT_EQ(shape_of("Functional", "embedding", {int64({2, 2}, {0, 1, 1, 2}), weight}), (Dims{2, 2, 1}));
  EXPECT_THROW(forward("Functional", "embedding", {int64({1}, {3}), weight}), SkipError);
  EXPECT_THROW(forward("Functional", "embedding", {index, float64({3}, {1, 2, 3})}), SkipError);
  EXPECT_THAT(forward("Functional", "embedding", {int64({1}, {0}), float64({1, 2}, {3, 4}), None{}, 1.0}),
              ElementsAre(::testing::DoubleNear(0.6, 1e-6), ::testing::DoubleNear(0.8, 1e-6)));
}

TEST(Embedding, Bags) {
  const Tensor weight = float64({3, 2}, {1, 10, 2, 20, 4, 5});
  const Tensor index = int64({4}, {0, 1, 2, 0});
  const Tensor offsets = int64({3}, {0, 3, 3});
  const auto bag = [&](const char* mode) {
    return forward("Functional", "embedding_bag", {index, weight, offsets}, {{"mode", std::string(mode)}});
  };
  EXPECT_THAT(bag("sum"), ElementsAre(7, 35, 0, 0, 1, 10));
  EXPECT_THAT(bag("max"), ElementsAre(4, 20, 0, 0, 1, 10));
  EXPECT_THAT(bag("mean"), ElementsAre(7.0 / 3, 35.0 / 3, 0, 0, 1, 10));
  EXPECT_THAT(forward("Functional", "embedding_bag", {index.reshape(Dims{2, 2}), weight}, {{"padding_idx", zero}}),
              ElementsAre(2, 20, 4, 5));
  for (const char* mode : {"sum", "mean", "max"}) {
    check_gradients("Functional", "embedding_bag", {index, weight, offsets}, {{"mode", std::string(mode)}});
  }
  check_gradients("Functional", "embedding_bag", {index, weight, offsets},
                  {{"mode", std::string("sum")}, {"per_sample_weights", float64({4}, {1, 2, 3, 4})}});
  EXPECT_THROW(forward("Functional", "embedding_bag", {index, weight, int64({1}, {1})}), SkipError);
  EXPECT_THROW(forward("Functional", "embedding_bag", {index, weight, int64({2}, {0, 9})}), SkipError);
}

TEST(EmbeddingBag, TorchForm) {
  const Tensor weight = uniform({4, 3}, -1, 1, 5);
  const Tensor indices = int64({5}, {1, 3, 0, 1, 2});
  const Tensor offsets = int64({2}, {0, 2});
  const std::vector<std::string> modes{"sum", "mean", "max"};
  for (std::int64_t mode = 0; mode < 3; ++mode) {
    const List args{weight, indices, offsets, false, mode};
    EXPECT_EQ(forward("Torch", "embedding_bag", args),
              forward("Functional", "embedding_bag", {indices, weight, offsets},
                      {{"mode", modes[static_cast<std::size_t>(mode)]}}));
    EXPECT_THAT(forward("Torch", "embedding_bag", args, {}, 1), ElementsAre(0, 0, 1, 1, 1));
    EXPECT_THAT(forward("Torch", "embedding_bag", args, {}, 2), ElementsAre(2, 3));
    check_gradients("Torch", "embedding_bag", args);
  }
  // A negative padding index counts from the end.
  const Dict padding{{"padding_idx", std::int64_t{-1}}};
  EXPECT_THAT(forward("Torch", "embedding_bag", {weight, indices, offsets}, padding, 2), ElementsAre(1, 3));
  EXPECT_THROW(forward("Torch", "embedding_bag", {weight, indices, offsets, false, std::int64_t{3}}), SkipError);
  EXPECT_THROW(forward("Torch", "embedding_bag", {weight, int64({1}, {4}), int64({1}, {0})}), SkipError);
}

TEST(EmbeddingRenorm, ScalesTheRowsInUse) {
  const Tensor weight = float64({3, 2}, {3, 4, 6, 8, 0.3, 0.4});
  const std::vector<double> y = forward("Torch", "embedding_renorm_", {weight, int64({3}, {0, 2, 0}), 1.0, 2.0});
  EXPECT_NEAR(y[0], 0.6, 1e-6);
  EXPECT_NEAR(y[1], 0.8, 1e-6);
  EXPECT_THAT(std::vector<double>(y.begin() + 2, y.end()), ElementsAre(6, 8, 0.3, 0.4));
}

}  // namespace
}  // namespace msrun
