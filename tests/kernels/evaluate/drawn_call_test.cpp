// Random tensors of a call that have to fit each other, each of which is drawn from its recorded extrema alone.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

Value recorded(const char* dtype, std::vector<std::int64_t> shape, double min = -1, double max = 1) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = std::move(shape);
  spec->min = min;
  spec->max = max;
  return std::shared_ptr<const TensorSpec>(std::move(spec));
}

Value floats(std::vector<std::int64_t> shape) { return recorded("torch.float32", std::move(shape)); }
Value mask(std::vector<std::int64_t> shape) { return recorded("torch.bool", std::move(shape), 0, 1); }
Value integers(std::vector<std::int64_t> shape, double min, double max) {
  return recorded("torch.int64", std::move(shape), min, max);
}

MaterialisedCall made(const char* name, List args, Dict kwargs = {}, List gradients = {},
                      const MaterialiseOptions& options = {}) {
  ApiCall call;
  call.name = name;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  call.has_backward = !gradients.empty();
  call.grad_inputs = std::move(gradients);
  return materialise(call, options);
}

Evaluation evaluated(const MaterialisedCall& call) {
  return evaluate(*find_operator(call.parts.type, call.parts.api), call, {});
}

std::vector<double> numbers(const Value& value) {
  const Tensor all = value.get<Tensor>()->to(DType::float64).contiguous();
  return {all.data<double>(), all.data<double>() + all.numel()};
}

std::int64_t true_of(const Value& value) {
  const std::vector<double> elements = numbers(value);
  return std::count(elements.begin(), elements.end(), 1.0);
}

Dims shape_of(const MaterialisedCall& call) { return evaluated(call).output.get<Tensor>()->shape(); }

TEST(DrawnCall, MaskedScatterHasAnElementForEachTrueOne) {
  // Embeddings of images, put in place of those of their tokens.
  const List embeddings{floats({2, 50, 8}), mask({2, 50, 8}), floats({23, 8})};
  MaterialisedCall call = made("Tensor.masked_scatter.0", embeddings);
  EXPECT_EQ(true_of(call.args[1]), 23 * 8);
  EXPECT_EQ(shape_of(call), (Dims{2, 50, 8}));
  // Each element of this mask stands for eight.
  call =
      made("Tensor.masked_scatter_.0", {floats({2, 50, 8})}, {{"mask", mask({2, 50, 1})}, {"source", floats({70, 8})}});
  EXPECT_EQ(true_of(call.kwargs[0].second), 70);
  EXPECT_EQ(shape_of(call), (Dims{2, 50, 8}));
  // This source is as large as what it is put into.
  call = made("Torch.masked_scatter.0", {floats({100}), mask({100}), floats({100})});
  EXPECT_THAT(true_of(call.args[1]), AllOf(Ge(20), Le(80)));
  // What torch draws is not for us to change.
  MaterialiseOptions as_drawn;
  as_drawn.fit_drawn = false;
  EXPECT_THROW(evaluated(made("Tensor.masked_scatter.0", embeddings, {}, {}, as_drawn)), SkipError);
}

TEST(DrawnCall, MasksHaveAsManyTrueElementsAsValuesAreWritten) {
  const auto set = [](Value index, Value values) {
    return made("Tensor.__setitem__.0", {floats({4, 30, 8}), std::move(index), std::move(values)});
  };
  const auto put = [](List indices, Value values) {
    return made("Tensor.index_put_.0", {floats({4, 30, 8}), std::move(indices), std::move(values)});
  };
  const auto fitted = [](const MaterialisedCall& call, const Value& made_mask) {
    EXPECT_EQ(shape_of(call), (Dims{4, 30, 8}));
    return true_of(made_mask);
  };
  const auto nth = [](const MaterialisedCall& call, std::size_t item) { return (*call.args[1].get<List>())[item]; };

  MaterialisedCall call = set(mask({4, 30}), floats({17, 8}));
  EXPECT_EQ(fitted(call, call.args[1]), 17);
  call = set(mask({4, 30, 8}), floats({100}));
  EXPECT_EQ(fitted(call, call.args[1]), 100);
  call = set(List{std::int64_t{1}, mask({30})}, floats({1, 5, 8}));
  EXPECT_EQ(fitted(call, nth(call, 1)), 5);
  call = set(List{Slice{}, mask({30})}, floats({4, 5, 8}));
  EXPECT_EQ(fitted(call, nth(call, 1)), 5);
  call = set(List{Ellipsis{}, mask({8})}, floats({30, 2}));
  EXPECT_EQ(fitted(call, nth(call, 1)), 2);
  call = set(List{mask({4}), Ellipsis{}, Slice{0, 3, {}}}, floats({3, 30, 3}));
  EXPECT_EQ(fitted(call, nth(call, 0)), 3);
  // The axis of indices that are not side by side is the first one.
  call = set(List{mask({4}), Slice{}, integers({3}, 0, 7)}, floats({3, 30}));
  EXPECT_EQ(fitted(call, nth(call, 0)), 3);
  call = put({mask({4, 30})}, floats({17, 8}));
  EXPECT_EQ(fitted(call, nth(call, 0)), 17);
  call = put({None{}, mask({30, 8})}, floats({4, 100}));
  EXPECT_EQ(fitted(call, nth(call, 1)), 100);
  // Values that are stretched go with any number.
  for (const Value& values : {floats({1, 8}), floats({8}), Value(0.5)}) {
    call = set(mask({4, 30}), values);
    EXPECT_THAT(fitted(call, call.args[1]), AllOf(Ge(40), Le(80)));
  }
}

TEST(DrawnCall, MasksHaveAsManyTrueElementsAsTheGradientHasPlaces) {
  const auto get = [](Value index, Value gradient) {
    return made("Tensor.__getitem__.0", {floats({4, 30, 8}), std::move(index)}, {}, {std::move(gradient)});
  };
  EXPECT_EQ(shape_of(get(mask({4, 30}), floats({17, 8}))), (Dims{17, 8}));
  EXPECT_EQ(shape_of(get(List{mask({4}), std::int64_t{3}}, floats({3, 8}))), (Dims{3, 8}));
  EXPECT_EQ(shape_of(get(List{Slice{}, mask({30})}, floats({4, 7, 8}))), (Dims{4, 7, 8}));
  EXPECT_EQ(shape_of(get(List{None{}, mask({4})}, floats({1, 3, 30, 8}))), (Dims{1, 3, 30, 8}));
  EXPECT_EQ(shape_of(get(List{Ellipsis{}, mask({30, 8})}, floats({4, 100}))), (Dims{4, 100}));
  const MaterialisedCall aten =
      made("Aten.index.0", {floats({4, 30, 8}), List{None{}, mask({30})}}, {}, {floats({4, 7, 8})});
  EXPECT_EQ(shape_of(aten), (Dims{4, 7, 8}));
}

// logits[mask, labels] in a forward alone.
TEST(DrawnCall, MasksFitTheIndicesTheyGoWith) {
  EXPECT_EQ(shape_of(made("Tensor.__getitem__.0", {floats({50, 8}), List{mask({50}), integers({9}, 0, 7)}})),
            (Dims{9}));
  EXPECT_EQ(shape_of(made("Tensor.__getitem__.0", {floats({50, 80}), List{mask({50}), mask({80})}})).size(), 1U);
}

// Every fourth target is ignored where the recorded extrema say that some were; the others are classes.
TEST(DrawnCall, ClassIndicesAreClassesOrIgnored) {
  struct Case {
    const char* name;
    List args;
    Dict kwargs;
    double ignored;
  };
  const Value logits = floats({64, 19});
  const Value none = None{};
  const Value mean = std::int64_t{1};
  const Value ignore_255 = std::int64_t{255};
  for (const Case& c : {
           Case{"Functional.cross_entropy.0", {logits, integers({64}, 0, 255)}, {{"ignore_index", ignore_255}}, 255},
           Case{"Functional.cross_entropy.0", {logits, integers({64}, -100, 18)}, {}, -100},
           Case{"Functional.cross_entropy.0", {floats({4, 19, 16}), integers({4, 16}, -100, 18)}, {}, -100},
           Case{"Functional.nll_loss.0", {logits, integers({64}, -100, 18)}, {}, -100},
           Case{"Functional.nll_loss.0", {logits, integers({64}, -1, 18), none, none, Value(std::int64_t{-1})}, {}, -1},
           Case{"Aten.nll_loss.0", {logits, integers({64}, 0, 255), none, mean, ignore_255}, {}, 255},
           Case{"Aten.nll_loss_forward.0", {logits, integers({64}, 0, 255), none, mean, ignore_255}, {}, 255},
           Case{"Aten.cross_entropy_loss.0", {logits, integers({64}, -100, 18)}, {}, -100},
       }) {
    const MaterialisedCall call = made(c.name, c.args, c.kwargs);
    std::vector<double> targets = numbers(call.args[1]);
    EXPECT_EQ(std::erase(targets, c.ignored), 16U) << c.name;
    EXPECT_THAT(targets, Each(AllOf(Ge(0), Le(18)))) << c.name;
    EXPECT_NO_THROW(evaluated(call)) << c.name;
  }
}

TEST(DrawnCall, ClassIndicesStayAsTheyWereDrawn) {
  const auto targets = [](double min, double max, std::int64_t ignored) {
    return numbers(
        made("Functional.nll_loss.0", {floats({64, 19}), integers({64}, min, max)}, {{"ignore_index", Value(ignored)}})
            .args[1]);
  };
  // None was ignored.
  EXPECT_EQ(targets(0, 18, -100), targets(0, 18, 255));
  EXPECT_EQ(targets(3, 18, -100), targets(3, 18, 2));
  // All were.
  EXPECT_THAT(targets(-100, -100, -100), Each(-100));
  // An index that is out of range is the recording's.
  EXPECT_THAT(targets(0, 25, -100), Contains(25));
}

// Of a thousand classes, or the rows of a table, one that is ignored is hardly ever drawn.
TEST(DrawnCall, EveryFourthIndexIsTheOneThatTheCallLeavesOut) {
  struct Case {
    const char* name;
    List args;
    std::size_t indices;
    Dict kwargs;
    double left_out = 1;
  };
  const Value one = std::int64_t{1};
  const Value last = std::int64_t{-1};
  const Value none = None{};
  const Value mean = std::int64_t{1};
  const Value logits = floats({64, 1000});
  const Value targets = integers({64}, 0, 999);
  const Value table = floats({30522, 2});
  const Value ids = integers({64}, 0, 30521);
  const Value offsets = integers({8}, 0, 60);
  for (const Case& c : {
           Case{"Functional.cross_entropy.0", {logits, targets}, 1, {{"ignore_index", one}}},
           Case{"Functional.nll_loss.0", {logits, targets, none, none, one}, 1, {}},
           Case{"Aten.nll_loss_forward.0", {logits, targets, none, mean, one}, 1, {}},
           Case{"Functional.embedding.0", {ids, table}, 0, {{"padding_idx", one}}},
           Case{"Functional.embedding.0", {ids, table, last}, 0, {}, 30521},
           Case{"Torch.embedding.0", {table, ids, one}, 1, {}},
           Case{"Functional.embedding_bag.0", {ids, table, offsets}, 0, {{"padding_idx", one}}},
           Case{"Torch.embedding_bag.0", {table, ids, offsets}, 1, {{"padding_idx", last}}, 30521},
       }) {
    const MaterialisedCall call = made(c.name, c.args, c.kwargs);
    const std::vector<double> drawn = numbers(call.args[c.indices]);
    EXPECT_THAT(std::count(drawn.begin(), drawn.end(), c.left_out), AllOf(Ge(16), Le(18))) << c.name;
    EXPECT_NO_THROW(evaluated(call)) << c.name;
  }
  // -1 is no row of this one, and what lies outside of the extrema was not recorded.
  EXPECT_EQ(numbers(made("Torch.embedding.0", {table, ids, last}).args[1]),
            numbers(made("Torch.embedding.0", {table, ids}).args[1]));
  EXPECT_THAT(numbers(made("Functional.embedding.0", {integers({64}, 5, 900), table, one}).args[0]), Each(Ge(5)));
}

// A device that always says false would pass otherwise.
TEST(DrawnCall, ComparedElementsAreEqualAtEveryFourthPlace) {
  const auto count = [](const MaterialisedCall& call) { return true_of(evaluated(call).output); };
  const Value ids = integers({64}, 0, 30521);
  EXPECT_EQ(count(made("Tensor.__eq__.0", {ids, Value(std::int64_t{1})})), 16);
  EXPECT_EQ(count(made("Tensor.__ne__.0", {ids, Value(std::int64_t{1})})), 48);
  EXPECT_EQ(count(made("Torch.eq.0", {floats({64}), Value(0.0)})), 16);
  EXPECT_EQ(count(made("Torch.eq.0", {floats({64})}, {{"other", Value(0.5)}})), 16);
  // So are their extrema.
  EXPECT_EQ(count(made("Torch.eq.0", {floats({64}), floats({64})})), 16 + 2);
  // >= and > differ where both are equal.
  EXPECT_EQ(count(made("Tensor.__ge__.0", {floats({64}), Value(0.5)})) -
                count(made("Tensor.__gt__.0", {floats({64}), Value(0.5)})),
            16);
  // The extrema stay.
  const std::vector<double> drawn = numbers(made("Tensor.__eq__.0", {ids, Value(std::int64_t{1})}).args[0]);
  EXPECT_EQ(drawn.front(), 0);
  EXPECT_EQ(drawn.back(), 30521);
  // A number beyond them was not there, and one that the dtype does not have is equal to none for some.
  EXPECT_EQ(count(made("Torch.eq.0", {floats({64}), Value(2.0)})), 0);
  EXPECT_EQ(count(made("Torch.eq.0", {ids, Value(0.5)})), 0);
  EXPECT_EQ(numbers(made("Torch.eq.0", {floats({64}), Value(0.3)}).args[0]),
            numbers(made("Torch.eq.0", {floats({64}), Value(2.0)}).args[0]));
}

Value with_mean(const char* dtype, std::vector<std::int64_t> shape, double min, double max, double mean) {
  TensorSpec spec = *recorded_tensor(recorded(dtype, std::move(shape), min, max));
  spec.mean = mean;
  return std::make_shared<const TensorSpec>(spec);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(DrawnCall, MasksLeaveOrdinaryNumbersBesideThem) {
  struct Case {
    const char* dtype;
    double min;
    double max;
    double low;
    double high;
  };
  const double of_float32 = -3.4028234663852886e38;
  const double of_bfloat16 = -3.3895313892515355e38;
  for (const Case& c : {
           Case{"torch.float32", of_float32, 0, -1, 0},
           Case{"torch.bfloat16", of_bfloat16, 1.5, -1.5, 1.5},
           Case{"torch.float16", -65504, 5, -5, 5},
           Case{"torch.float32", -infinity, -2, -6, -2},
           Case{"torch.float64", -1e30, 0, -1, 0},
           Case{"torch.float32", -3, infinity, -3, 3},
           Case{"torch.float16", 0, 65504, 0, 1},
       }) {
    const bool low_mask = c.min < -1000;
    const double mask = low_mask ? c.min : c.max;
    const std::vector<double> drawn = numbers(
        made("Functional.softmax.0", {recorded(c.dtype, {64, 64}, c.min, c.max)}, {{"dim", Value(std::int64_t{-1})}})
            .args[0]);
    const auto is_masked = [&](double value) { return low_mask ? value <= mask * 0.99 : value >= mask * 0.99; };
    const auto masked = std::ranges::count_if(drawn, is_masked);
    EXPECT_THAT(masked, AllOf(Ge(1800), Le(2300))) << c.dtype << c.min;
    std::vector<double> rest = drawn;
    std::erase_if(rest, is_masked);
    EXPECT_THAT(rest, Each(AllOf(Ge(c.low), Le(c.high)))) << c.dtype << c.min;
    EXPECT_LT(std::ranges::min(rest), (c.low + c.high) / 2) << c.dtype << c.min;
    EXPECT_EQ(is_masked(drawn.front()), low_mask);
    EXPECT_EQ(is_masked(drawn.back()), !low_mask);
  }
}

TEST(DrawnCall, WeightsOfMaskedScoresAreSharedOut) {
  const Value scores = recorded("torch.float32", {32, 64}, -3.4028234663852886e38, 5);
  const MaterialisedCall call = made("Functional.softmax.0", {scores}, {{"dim", Value(std::int64_t{-1})}});
  EXPECT_THAT(numbers(evaluated(call).output), Each(Le(0.9)));
}

TEST(DrawnCall, TheMeanTellsHowManyPlacesAreMasked) {
  const auto masked = [](double min, double mean, std::vector<std::int64_t> shape) {
    const std::vector<double> drawn =
        numbers(made("Torch.relu.0", {with_mean("torch.float32", std::move(shape), min, 0, mean)}).args[0]);
    return std::ranges::count_if(drawn, [](double value) { return value < -1e29; });
  };
  EXPECT_THAT(masked(-1e30, -1e29, {100, 100}), AllOf(Ge(800), Le(1200)));
  EXPECT_THAT(masked(-1e30, -9e29, {100, 100}), AllOf(Ge(8800), Le(9200)));
  // One half where it overflowed, or where it is that of no such tensor.
  for (const double unknown : {-infinity, 0.0, 1.0})
    EXPECT_THAT(masked(-1e30, unknown, {100, 100}), AllOf(Ge(4800), Le(5200))) << unknown;
  // In every row something is left, however many are masked: a softmax of the others has no number.
  EXPECT_THAT(masked(-1e30, -0.9999999e30, {50, 10}), AllOf(Ge(50 * 9 - 1), Le(50 * 9)));
}

TEST(DrawnCall, OtherExtremaAreDrawnFromAsTheyAre) {
  MaterialiseOptions as_drawn;
  as_drawn.fit_drawn = false;
  const auto drawn = [](const Value& value, const MaterialiseOptions& options = {}) {
    return numbers(made("Torch.relu.0", {value}, {}, {}, options).args[0]);
  };
  // Both ends are far away, or neither, or there is no other element.
  for (const Value& value : {recorded("torch.float32", {50}, -3e38, 3e38), recorded("torch.float32", {50}, -1e9, 1),
                             recorded("torch.float16", {50}, -65504, 9000), recorded("torch.float32", {2}, -3e38, 0),
                             integers({50}, -9e18, 0)})
    EXPECT_EQ(drawn(value), drawn(value, as_drawn));
  // What torch draws is not for us to change.
  const Value mask = recorded("torch.float32", {50}, -3e38, 0);
  EXPECT_NE(drawn(mask), drawn(mask, as_drawn));
  EXPECT_LT(std::ranges::count(drawn(mask, as_drawn), -3e38), 2);
}

TEST(DrawnCall, OffsetsOfBagsRiseFromZero) {
  const List args{integers({40}, 0, 9), floats({10, 3}), integers({8}, 0, 37)};
  const MaterialisedCall call = made("Functional.embedding_bag.0", args);
  const std::vector<double> offsets = numbers(call.args[2]);
  EXPECT_TRUE(std::ranges::is_sorted(offsets));
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 37);
  EXPECT_EQ(shape_of(call), (Dims{8, 3}));
  EXPECT_NO_THROW(evaluated(made("Functional.embedding_bag.0", {args[0], args[1]}, {{"offsets", args[2]}})));
  EXPECT_NO_THROW(evaluated(made("Torch.embedding_bag.0", {args[1], args[0], args[2]})));
}

TEST(DrawnCall, SequencesThatAreSearchedAreSorted) {
  const auto is_sorted = [](const Value& value) { return std::ranges::is_sorted(numbers(value)); };
  EXPECT_TRUE(is_sorted(made("Torch.searchsorted.0", {floats({50}), floats({7})}).args[0]));
  EXPECT_TRUE(is_sorted(made("Torch.bucketize.0", {floats({7})}, {{"boundaries", floats({50})}}).kwargs[0].second));
  EXPECT_TRUE(is_sorted(made("Torch.histogram.0", {floats({7}), floats({50})}).args[1]));
  const MaterialisedCall rows = made("Torch.searchsorted.0", {integers({2, 50}, 0, 90), integers({2, 7}, 0, 90)});
  EXPECT_TRUE(is_sorted(rows.args[0].get<Tensor>()->select(0, 0)));
  EXPECT_TRUE(is_sorted(rows.args[0].get<Tensor>()->select(0, 1)));
  // A sequence in any order, with the order that sorts it.
  const MaterialisedCall call =
      made("Torch.searchsorted.0", {floats({50}), floats({7})}, {{"sorter", integers({50}, 0, 49)}});
  const std::vector<double> sequence = numbers(call.args[0]);
  std::vector<double> in_order;
  for (const double at : numbers(call.kwargs[0].second)) in_order.push_back(sequence[static_cast<std::size_t>(at)]);
  EXPECT_FALSE(std::ranges::is_sorted(sequence));
  EXPECT_TRUE(std::ranges::is_sorted(in_order));
}

// torch.arange(lengths.max()): the number is that of the recorded extrema, which are one.
TEST(DrawnCall, TensorsWithoutDimensionsAreNumbers) {
  const auto number = [](double value) { return integers({}, value, value); };
  EXPECT_THAT(numbers(evaluated(made("Torch.arange.0", {number(3)})).output), ElementsAre(0, 1, 2));
  EXPECT_EQ(evaluated(made("Torch.arange.0", {number(3)})).output.get<Tensor>()->dtype(), DType::int64);
  const Value half = recorded("torch.float32", {}, 0.5, 0.5);
  EXPECT_THAT(numbers(evaluated(made("Torch.arange.0", {number(1), number(3), half})).output),
              ElementsAre(1, 1.5, 2, 2.5));
  EXPECT_THAT(numbers(evaluated(made("Torch.linspace.0", {half, number(2)}, {{"steps", number(4)}})).output),
              ElementsAre(0.5, 1, 1.5, 2));
  const Value ones = recorded("torch.float32", {2}, 1, 1);
  EXPECT_THAT(numbers(evaluated(made("Torch.add.0", {ones, ones}, {{"alpha", half}})).output), ElementsAre(1.5, 1.5));
  EXPECT_THAT(numbers(evaluated(made("Torch.addcmul.0", {ones, ones, ones}, {{"value", half}})).output),
              ElementsAre(1.5, 1.5));
  // Only a tensor without dimensions is one.
  EXPECT_THROW(evaluated(made("Torch.arange.0", {recorded("torch.float32", {1}, 3, 3)})), SkipError);
}

// Some dumpers have no extrema of float8 tensors: nothing can be drawn, and whoever recorded the call is told what to
// do.
TEST(DrawnCalls, OfFloat8WithoutExtremaSayWhatToRecord) {
  for (const char* dtype : {"torch.float8_e4m3fn", "torch.float8_e5m2"}) {
    auto spec = std::make_shared<TensorSpec>();
    spec->dtype = dtype;
    spec->shape = {4, 8};
    try {
      made("Tensor.float.0", {std::shared_ptr<const TensorSpec>(spec)});
      ADD_FAILURE() << dtype;
    } catch (const SkipError& error) {
      EXPECT_EQ(std::string(error.what()), "A " + std::string(dtype) +
                                               " tensor was recorded without extrema: record it with \"task\": "
                                               "\"tensor\".");
    }
  }
}

}  // namespace
}  // namespace msrun::testing
