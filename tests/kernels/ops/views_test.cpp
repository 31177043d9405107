// Shape, view, joining and repeating operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;

// 0, 1, 2... in the given shape.
Tensor counted(const Dims& shape) {
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  std::iota(data.begin(), data.end(), 0);
  return float64(shape, data);
}

Dims shape_of(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {},
              std::size_t output = 0) {
  Tape tape;
  std::vector<Var> leaves;
  return call(type, api, args, kwargs, tape, leaves, output).shape();
}

std::size_t output_count(const std::string& type, const std::string& api, const List& args) {
  Tape tape;
  std::vector<Var> leaves;
  const Value bound = on_tape(args, tape, leaves);
  return find_operator(type, api)->call(*bound.get<List>(), {}, tape).get<List>()->size();
}

// The arguments of an API that takes one list of tensors.
List tensors(std::initializer_list<Value> parts) {
  List args;
  args.emplace_back(List(parts));
  return args;
}

List ints(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }

constexpr std::int64_t one = 1;
constexpr std::int64_t two = 2;

TEST(Views, ShapesAndValues) {
  const Tensor x = counted({2, 3});
  EXPECT_THAT(forward("Tensor", "permute", {x, one, std::int64_t{0}}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(shape_of("Tensor", "view", {x, std::int64_t{3}, std::int64_t{-1}}), (Dims{3, 2}));
  EXPECT_EQ(shape_of("Tensor", "flatten", {counted({2, 3, 4}), one}), (Dims{2, 12}));
  EXPECT_EQ(shape_of("Torch", "flatten", {counted({})}), (Dims{1}));
  EXPECT_EQ(shape_of("Tensor", "unflatten", {counted({2, 12}), std::int64_t{-1}, ints({3, -1})}), (Dims{2, 3, 4}));
  EXPECT_EQ(shape_of("Tensor", "squeeze", {counted({1, 2, 1})}), (Dims{2}));
  EXPECT_EQ(shape_of("Tensor", "squeeze", {counted({1, 2, 1}), std::int64_t{-1}}), (Dims{1, 2}));
  EXPECT_EQ(shape_of("Tensor", "squeeze", {counted({1, 2, 1}), one}), (Dims{1, 2, 1}));
  EXPECT_EQ(shape_of("Tensor", "unsqueeze", {x, std::int64_t{-1}}), (Dims{2, 3, 1}));
  EXPECT_EQ(shape_of("Torch", "movedim", {counted({2, 3, 4}), std::int64_t{0}, std::int64_t{-1}}), (Dims{3, 4, 2}));
  EXPECT_EQ(shape_of("Tensor", "expand", {counted({2, 1, 3}), two, std::int64_t{5}, std::int64_t{-1}}),
            (Dims{2, 5, 3}));
  EXPECT_EQ(shape_of("Tensor", "view_as", {x, counted({6})}), (Dims{6}));
  EXPECT_THAT(forward("Torch", "flip", {x, ints({0, 1})}), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(forward("Torch", "roll", {x, ints({1, -1}), ints({0, 1})}), ElementsAre(4, 5, 3, 1, 2, 0));
  EXPECT_THAT(forward("Torch", "roll", {x, two}), ElementsAre(4, 5, 0, 1, 2, 3));
  EXPECT_THAT(forward("Torch", "rot90", {x}), ElementsAre(2, 5, 1, 4, 0, 3));
  EXPECT_THAT(forward("Torch", "rot90", {x, std::int64_t{-1}}), ElementsAre(3, 0, 4, 1, 5, 2));
  EXPECT_THAT(forward("Torch", "tril", {x}), ElementsAre(0, 0, 0, 3, 4, 0));
  EXPECT_THAT(forward("Torch", "triu", {x, one}), ElementsAre(0, 1, 2, 0, 0, 5));
  EXPECT_THAT(forward("Torch", "triu", {x, std::int64_t{-1000}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(forward("Torch", "diag", {counted({2}), one}), ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(forward("Torch", "diag", {x, one}), ElementsAre(1, 5));
  EXPECT_THAT(forward("Torch", "diagonal", {x, std::int64_t{-1}}), ElementsAre(3));
  EXPECT_TRUE(forward("Torch", "diagonal", {x, std::int64_t{7}}).empty());
  EXPECT_THAT(forward("Tensor", "unfold", {counted({5}), std::int64_t{0}, two, two}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(forward("Tensor", "select", {x, one, std::int64_t{-1}}), ElementsAre(2, 5));
  EXPECT_THAT(forward("Tensor", "narrow", {x, one, one, two}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(forward("Aten", "slice", {counted({5}), std::int64_t{0}, one, std::int64_t{100}, two}),
              ElementsAre(1, 3));
}

TEST(Views, ReinterpretsBytes) {
  const Tensor x = Tensor::full(DType::float32, Dims{2}, 1);
  Tape tape;
  std::vector<Var> leaves;
  const Var bits = call("Tensor", "view", {x, DType::int32}, {}, tape, leaves);
  EXPECT_EQ(bits.tensor().int_item(), 0x3F800000);
  EXPECT_EQ(call("Tensor", "view", {x, DType::int16}, {}, tape, leaves).shape(), (Dims{4}));
  EXPECT_EQ(call("Tensor", "view", {x, DType::int64}, {}, tape, leaves).shape(), (Dims{1}));
  EXPECT_THROW(call("Tensor", "view", {x, DType::complex128}, {}, tape, leaves), SkipError);
}

TEST(Views, Gradients) {
  const Tensor x = uniform({2, 3, 4}, -1, 1, 3);
  check_gradients("Tensor", "permute", {x, two, std::int64_t{0}, one});
  check_gradients("Tensor", "transpose", {x, std::int64_t{-1}, std::int64_t{0}});
  check_gradients("Tensor", "reshape", {x, std::int64_t{6}, std::int64_t{4}});
  check_gradients("Torch", "movedim", {x, std::int64_t{0}, two});
  check_gradients("Tensor", "squeeze", {uniform({2, 1, 3}, -1, 1, 3), one});
  check_gradients("Tensor", "unsqueeze", {x, one});
  check_gradients("Tensor", "expand",
                  {uniform({2, 1, 3}, -1, 1, 3), std::int64_t{4}, two, std::int64_t{5}, std::int64_t{-1}});
  check_gradients("Torch", "flip", {x, ints({0, -1})});
  check_gradients("Torch", "roll", {x, ints({1, -5}), ints({0, 2})});
  check_gradients("Torch", "roll", {x, std::int64_t{7}});
  check_gradients("Torch", "rot90", {x, std::int64_t{3}, ints({1, 2})});
  check_gradients("Torch", "tril", {x, one});
  check_gradients("Torch", "triu", {x, std::int64_t{-1}});
  check_gradients("Torch", "diagonal", {x, one, std::int64_t{-1}, std::int64_t{0}});
  check_gradients("Torch", "diag", {uniform({3}, -1, 1, 3), std::int64_t{-2}});
  check_gradients("Torch", "diag_embed", {x, std::int64_t{-1}, std::int64_t{0}, two});
  check_gradients("Torch", "diagflat", {x, one});
  check_gradients("Tensor", "unfold", {x, two, std::int64_t{3}, one});
  check_gradients("Tensor", "select", {x, one, two});
  check_gradients("Aten", "slice", {x, two, one, std::int64_t{4}, two});
  check_gradients("Functional", "pixel_shuffle", {uniform({1, 8, 2, 3}, -1, 1, 3), two});
  check_gradients("Functional", "pixel_unshuffle", {uniform({1, 2, 4, 6}, -1, 1, 3), two});
  check_gradients("Functional", "channel_shuffle", {uniform({1, 4, 2, 2}, -1, 1, 3), two});
}

TEST(Views, IntegersInEmbeddedViews) {
  EXPECT_THAT(forward("Torch", "diag", {int64({2}, {std::int64_t{1} << 40, 3})}),
              ElementsAre(static_cast<double>(std::int64_t{1} << 40), 0, 0, 3));
}

TEST(Views, BadArguments) {
  const Tensor x = counted({2, 3});
  EXPECT_THROW(forward("Tensor", "view", {x, std::int64_t{4}}), SkipError);
  EXPECT_THROW(forward("Tensor", "permute", {x, one, one}), SkipError);
  EXPECT_THROW(forward("Tensor", "permute", {x, std::int64_t{5}, one}), SkipError);
  EXPECT_THROW(forward("Tensor", "transpose", {x, two, one}), SkipError);
  EXPECT_THROW(forward("Tensor", "unsqueeze", {x, std::int64_t{4}}), SkipError);
  EXPECT_THROW(forward("Tensor", "select", {x, one, std::int64_t{3}}), SkipError);
  EXPECT_THROW(forward("Tensor", "select", {counted({}), std::int64_t{0}, std::int64_t{0}}), SkipError);
  EXPECT_THROW(forward("Tensor", "narrow", {x, one, two, two}), SkipError);
  EXPECT_THROW(forward("Tensor", "narrow", {x, one, std::numeric_limits<std::int64_t>::max(), one}), SkipError);
  EXPECT_THROW(forward("Tensor", "narrow", {x, one, one, std::numeric_limits<std::int64_t>::max()}), SkipError);
  EXPECT_THROW(forward("Tensor", "unfold", {x, one, std::int64_t{4}, one}), SkipError);
  EXPECT_THROW(forward("Tensor", "expand", {x, std::int64_t{4}}), SkipError);
  EXPECT_THROW(forward("Torch", "flip", {x, ints({0, 0})}), SkipError);
  EXPECT_THROW(forward("Torch", "diagonal", {x, std::int64_t{0}, one, one}), SkipError);
  EXPECT_THROW(forward("Torch", "diag_embed", {x, std::numeric_limits<std::int64_t>::min()}), SkipError);
  EXPECT_THROW(forward("Tensor", "unflatten", {x, one, ints({2, -1})}), SkipError);
  EXPECT_THROW(forward("Functional", "pixel_shuffle", {counted({3, 2, 2}), two}), SkipError);
}

TEST(Joining, CatAndStack) {
  const Tensor a = counted({1, 2});
  const Tensor b = counted({2, 2});
  EXPECT_THAT(forward("Torch", "cat", tensors({a, b})), ElementsAre(0, 1, 0, 1, 2, 3));
  EXPECT_THAT(forward("Torch", "cat", {List{counted({0}), a, b}, std::int64_t{-2}}), ElementsAre(0, 1, 0, 1, 2, 3));
  EXPECT_THAT(forward("Torch", "stack", {List{b, b}, std::int64_t{-1}}), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(forward("Torch", "hstack", tensors({counted({1}), counted({2})})), ElementsAre(0, 0, 1));
  EXPECT_EQ(shape_of("Torch", "vstack", tensors({counted({3}), counted({2, 3})})), (Dims{3, 3}));
  EXPECT_EQ(shape_of("Torch", "dstack", tensors({counted({3}), counted({3})})), (Dims{1, 3, 2}));
  EXPECT_EQ(shape_of("Torch", "column_stack", tensors({counted({3}), counted({3, 2})})), (Dims{3, 3}));
  EXPECT_THAT(forward("Torch", "block_diag", {counted({1, 2}), float64({}, {7})}), ElementsAre(0, 1, 0, 0, 0, 7));
  check_gradients("Torch", "cat", {List{uniform({2, 1}, -1, 1, 1), uniform({2, 3}, -1, 1, 2)}, one});
  check_gradients("Torch", "stack", {List{uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2)}, one});
  check_gradients("Torch", "block_diag", {uniform({1, 2}, -1, 1, 1), uniform({2}, -1, 1, 2)});
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(
      call("Torch", "cat", tensors({int64({1}, {1}), Tensor::full(DType::bfloat16, Dims{1}, 1)}), {}, tape, leaves)
          .dtype(),
      DType::bfloat16);
  EXPECT_THROW(forward("Torch", "cat", tensors({a, counted({2, 3})})), SkipError);
  EXPECT_THROW(forward("Torch", "cat", tensors({})), SkipError);
  EXPECT_THROW(forward("Torch", "cat", tensors({counted({}), counted({})})), SkipError);
  EXPECT_THROW(forward("Torch", "stack", tensors({a, b})), SkipError);
}

TEST(Joining, Splitting) {
  const Tensor x = counted({7});
  EXPECT_EQ(output_count("Torch", "split", {x, std::int64_t{3}}), 3U);
  EXPECT_THAT(forward("Torch", "split", {x, std::int64_t{3}}, {}, 2), ElementsAre(6));
  EXPECT_THAT(forward("Torch", "split", {x, ints({2, 5})}, {}, 1), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(output_count("Torch", "chunk", {counted({6}), std::int64_t{4}}), 3U);
  EXPECT_EQ(output_count("Torch", "tensor_split", {x, std::int64_t{3}}), 3U);
  EXPECT_THAT(forward("Torch", "tensor_split", {x, std::int64_t{3}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(forward("Torch", "tensor_split", {x, ints({1, -1})}, {}, 1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_TRUE(forward("Torch", "tensor_split", {x, ints({5, 2})}, {}, 1).empty());
  EXPECT_THAT(forward("Torch", "unbind", {counted({2, 3}), one}, {}, 2), ElementsAre(2, 5));
  EXPECT_THAT(forward("Torch", "hsplit", {counted({2, 4}), two}, {}, 1), ElementsAre(2, 3, 6, 7));
  check_gradients("Torch", "split", {uniform({7}, -1, 1, 1), std::int64_t{3}}, {}, 1);
  check_gradients("Torch", "chunk", {uniform({2, 6}, -1, 1, 1), two, one}, {}, 1);
  check_gradients("Torch", "unbind", {uniform({2, 3}, -1, 1, 1), one}, {}, 1);
  // More pieces than a tensor can have dimensions.
  EXPECT_EQ(output_count("Torch", "split", {counted({40}), List(40, Value(one))}), 40U);
  // Without elements an axis may be as long as one likes.
  const Tensor hollow = Tensor::zeros(DType::float64, Dims{std::int64_t{1} << 40, 0});
  EXPECT_THROW(forward("Torch", "unbind", {hollow}), SkipError);
  EXPECT_THROW(forward("Torch", "split", {hollow, one}), SkipError);
  EXPECT_TRUE(forward("Torch", "repeat_interleave", {counted({2, 0}), std::int64_t{1} << 40, std::int64_t{0}}).empty());
  EXPECT_THROW(forward("Torch", "split", {x, ints({2, 4})}), SkipError);
  EXPECT_THROW(forward("Torch", "split", {x, std::int64_t{0}}), SkipError);
  EXPECT_THROW(forward("Torch", "chunk", {x, std::int64_t{0}}), SkipError);
}

TEST(Joining, Repeating) {
  const Tensor x = counted({2, 2});
  EXPECT_THAT(forward("Tensor", "repeat", {x, one, two}), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_EQ(shape_of("Tensor", "repeat", {x, two, one, one}), (Dims{2, 2, 2}));
  EXPECT_EQ(shape_of("Tensor", "repeat", {x, std::int64_t{0}, one}), (Dims{0, 2}));
  EXPECT_THAT(forward("Torch", "tile", {counted({2}), ints({2, 2})}), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(forward("Torch", "repeat_interleave", {x, two}), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(forward("Torch", "repeat_interleave", {x, int64({2}, {0, 2}), std::int64_t{0}}), ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(forward("Torch", "repeat_interleave", {int64({3}, {1, 0, 2})}), ElementsAre(0, 2, 2));
  check_gradients("Tensor", "repeat", {uniform({2, 3}, -1, 1, 1), two, std::int64_t{3}, one});
  check_gradients("Torch", "tile", {uniform({2, 3}, -1, 1, 1), ints({2})});
  check_gradients("Torch", "repeat_interleave", {uniform({2, 3}, -1, 1, 1), two, one});
  check_gradients("Torch", "repeat_interleave", {uniform({2, 3}, -1, 1, 1), int64({3}, {2, 0, 1}), one});
  EXPECT_THROW(forward("Tensor", "repeat", {x, two}), SkipError);
  EXPECT_THROW(forward("Tensor", "repeat", {x, std::int64_t{-1}, one}), SkipError);
  EXPECT_THROW(forward("Tensor", "repeat", {x, std::int64_t{1} << 62, two}), SkipError);
  EXPECT_THROW(forward("Torch", "repeat_interleave", {x, std::int64_t{-1}}), SkipError);
  EXPECT_THROW(forward("Torch", "repeat_interleave", {x, int64({3}, {1, 1, 1}), one}), SkipError);
}

TEST(Joining, PixelsOfEmptyTensors) {
  for (const char* api : {"pixel_shuffle", "pixel_unshuffle"}) {
    for (const Dims& shape : {Dims{0, 1, 2, 3}, Dims{1, 0, 1, 1}, Dims{1, 1, 0, 1}, Dims{1, 1, 1, 0}, Dims{0, 4, 4}})
      EXPECT_EQ(shape_of("Functional", api, {Tensor(DType::float64, shape), std::int64_t{1}}), shape);
  }
  EXPECT_EQ(shape_of("Functional", "pixel_shuffle", {Tensor(DType::float64, {0, 8, 3, 5}), std::int64_t{2}}),
            (Dims{0, 2, 6, 10}));
  EXPECT_EQ(shape_of("Functional", "pixel_unshuffle", {Tensor(DType::float64, {2, 0, 6, 4}), std::int64_t{2}}),
            (Dims{2, 0, 3, 2}));
}

TEST(Joining, Broadcasting) {
  EXPECT_EQ(shape_of("Torch", "broadcast_tensors", {counted({2, 1}), counted({3})}, {}, 1), (Dims{2, 3}));
  EXPECT_THAT(forward("Torch", "meshgrid", {counted({2}), counted({3})}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(forward("Torch", "meshgrid", {counted({2}), counted({3})}, {{"indexing", std::string("xy")}}),
              ElementsAre(0, 1, 0, 1, 0, 1));
  check_gradients("Torch", "broadcast_tensors", {uniform({2, 1}, -1, 1, 1), uniform({3}, -1, 1, 1)}, {}, 0, 1e-6, {1});
  EXPECT_EQ(shape_of("Torch", "atleast_2d", {counted({3})}), (Dims{1, 3}));
}

TEST(Properties, PythonValues) {
  Tape tape;
  const Value x = tape.constant(counted({2, 3}));
  EXPECT_EQ(*find_operator("Tensor", "nelement")->call({x}, {}, tape).get<std::int64_t>(), 6);
  EXPECT_EQ(*find_operator("Tensor", "size")->call({x, std::int64_t{-1}}, {}, tape).get<std::int64_t>(), 3);
  EXPECT_EQ(find_operator("Tensor", "size")->call({x}, {}, tape).get<List>()->size(), 2U);
  EXPECT_EQ(*find_operator("Tensor", "item")->call({tape.constant(float64({1}, {2.5}))}, {}, tape).get<double>(), 2.5);
  EXPECT_EQ(*find_operator("Tensor", "item")->call({tape.constant(int64({1}, {2}))}, {}, tape).get<std::int64_t>(), 2);
  EXPECT_TRUE(*find_operator("Tensor", "__bool__")->call({tape.constant(float64({1}, {0.5}))}, {}, tape).get<bool>());
  EXPECT_THROW(find_operator("Tensor", "item")->call({x}, {}, tape), SkipError);
  const Value rows = find_operator("Tensor", "tolist")->call({x}, {}, tape);
  EXPECT_EQ(*rows.get<List>()->at(1).get<List>()->at(2).get<double>(), 5);
  check_gradients("Torch", "clone", {uniform({2, 3}, -1, 1, 1)});
}

}  // namespace
}  // namespace msrun::testing
