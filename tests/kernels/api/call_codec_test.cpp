#include "kernels/api/call_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace msrun {
namespace {

TensorSpec spec() {
  TensorSpec result;
  result.dtype = "torch.bfloat16";
  result.shape = {2, 4096, -1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  result.max = std::numeric_limits<double>::infinity();
  result.min = -0.0;
  result.norm = 1.0 / 3;
  result.requires_grad = true;
  return result;
}

Value leaf(TensorSpec value) {
  return std::shared_ptr<const TensorSpec>(std::make_shared<TensorSpec>(std::move(value)));
}

ApiCall call() {
  TensorSpec other;
  other.dtype = "torch.half";  // an alias is not the name of its dtype
  other.mean = 5e-324;
  other.max_finite = 1;
  other.min_finite = 2;
  other.data_name = "Torch.x.0.forward.input.0.pt";
  TensorSpec unknown;
  unknown.dtype = "Float8E4M3FN";
  unknown.data_path = "/a/b.npy";
  ApiCall result;
  result.name = std::string("Torch.linalg.norm.0\0x", 21);
  result.output_dtype = "torch.float32";
  result.has_backward = true;
  result.args = {leaf(spec()),
                 None{},
                 true,
                 false,
                 std::int64_t{0},
                 std::int64_t{-64},
                 std::int64_t{1} << 62,
                 std::numeric_limits<std::int64_t>::min(),
                 0.1,
                 std::string("mean"),
                 DType::complex128,
                 List{List{}, Dict{}, leaf(other)}};
  result.kwargs = {{"dim", Slice{1, std::nullopt, -3}},
                   {"", Ellipsis{}},
                   {"device", DeviceName{"npu:0"}},
                   {"what", Unsupported{"numpy.ndarray is not supported now"}},
                   {"nested", Dict{{"a", List{leaf(unknown)}}, {"a", None{}}}}};
  result.grad_inputs = {leaf(spec()), None{}};
  return result;
}

void expect_equal(const Value& a, const Value& b);

void expect_equal(const List& a, const List& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) expect_equal(a[i], b[i]);
}

void expect_equal(const Dict& a, const Dict& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    expect_equal(a[i].second, b[i].second);
  }
}

struct ExpectEqual {
  const Value& other;

  template <class T>
  void operator()(const T& value) const {
    const T& same = *other.get<T>();
    if constexpr (std::is_same_v<T, List> || std::is_same_v<T, Dict>) {
      expect_equal(value, same);
    } else if constexpr (std::is_same_v<T, Unsupported>) {
      EXPECT_EQ(value.reason, same.reason);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const TensorSpec>>) {
      EXPECT_EQ(value->dtype, same->dtype);
      EXPECT_EQ(value->shape, same->shape);
      EXPECT_EQ(value->max, same->max);
      EXPECT_EQ(value->min, same->min);
      EXPECT_EQ(std::signbit(value->min.value_or(0)), std::signbit(same->min.value_or(0)));
      EXPECT_EQ(value->max_finite, same->max_finite);
      EXPECT_EQ(value->min_finite, same->min_finite);
      EXPECT_EQ(value->mean, same->mean);
      EXPECT_EQ(value->norm, same->norm);
      EXPECT_EQ(value->requires_grad, same->requires_grad);
      EXPECT_EQ(value->data_name, same->data_name);
      EXPECT_EQ(value->data_path, same->data_path);
    } else if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, Var>) {
      FAIL();
    } else {
      EXPECT_EQ(value, same);
    }
  }
};

void expect_equal(const Value& a, const Value& b) {
  ASSERT_EQ(a.variant().index(), b.variant().index());
  std::visit(ExpectEqual{b}, a.variant());
}

TEST(CallCodec, DecodesWhatItEncoded) {
  const ApiCall original = call();
  const ApiCall decoded = decode_call(encode(original));
  EXPECT_EQ(decoded.name, original.name);
  EXPECT_EQ(decoded.output_dtype, original.output_dtype);
  EXPECT_TRUE(decoded.has_backward);
  expect_equal(decoded.args, original.args);
  expect_equal(decoded.kwargs, original.kwargs);
  expect_equal(decoded.grad_inputs, original.grad_inputs);
}

TEST(CallCodec, ValuesFollowOneAnother) {
  std::string bytes;
  encode_value(std::int64_t{300}, bytes);
  encode_value(List{None{}, 2.5}, bytes);
  std::string_view rest = bytes;
  EXPECT_EQ(*decode_value(rest).get<std::int64_t>(), 300);
  EXPECT_EQ(decode_value(rest).get<List>()->size(), 2U);
  EXPECT_TRUE(rest.empty());
  EXPECT_THROW(decode_value(rest), std::runtime_error);
}

TEST(CallCodec, IsCompact) {
  TensorSpec small = spec();
  small.shape = {2, 4096, 4096};
  std::string bytes;
  encode_value(leaf(small), bytes);
  // Tag, dtype, rank, 1 + 2 + 2 bytes of sizes, mask, three statistics.
  EXPECT_EQ(bytes.size(), 1U + 1U + 1U + 5U + 1U + 24U);
}

TEST(CallCodec, MaterialisedTensorsAreOurOwnMistake) {
  std::string bytes;
  EXPECT_THROW(encode_value(List{Tensor::scalar(1)}, bytes), std::logic_error);
}

TEST(CallCodec, ForeignBytesThrow) {
  const std::string bytes = encode(call());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(decode_call(std::string_view(bytes).substr(0, size)), std::runtime_error) << size;
  }
  EXPECT_THROW(decode_call(bytes + '\0'), std::runtime_error);
  // Any byte changed: either another call or an exception, never a crash.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF, 12, 13}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      try {
        decode_call(changed);
      } catch (const std::runtime_error&) {
      }
    }
  }
}

TEST(CallCodec, DepthAndCountsAreBounded) {
  const auto nested = [](int levels) {
    Value value = None{};
    for (int i = 0; i < levels; ++i) value = List{std::move(value)};
    return value;
  };
  std::string bytes;
  encode_value(nested(400), bytes);
  std::string_view rest = bytes;
  EXPECT_NO_THROW(decode_value(rest));
  bytes.clear();
  encode_value(nested(600), bytes);
  rest = bytes;
  EXPECT_THROW(decode_value(rest), std::runtime_error);
  // Each of many nested lists claims as many elements as there are bytes: no memory may be set aside for them.
  std::string list_head;
  encode_value(List{}, list_head);
  list_head.pop_back();
  std::string hostile;
  for (int i = 0; i < 480; ++i) hostile += list_head + "\xFF\xFF\x03";
  hostile.append(100'000, '\x7E');
  rest = hostile;
  EXPECT_THROW(decode_value(rest), std::runtime_error);
}

}  // namespace
}  // namespace msrun
