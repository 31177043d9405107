// Indices of equal elements, which may change places.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/kernels/compare/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

class Ties : public ::testing::Test {
 protected:
  // Values 5 5 3 along the only axis, sorted; the input is 3 5 5.
  Tensor input_ = vector(DType::float32, {3, 5, 5});
  Value bench_ = List{vector(DType::float64, {5, 5, 3}), vector(DType::int64, {1, 2, 0})};

  Comparison sort(const std::vector<double>& indices, bool with_input, const CompareOptions& options = {}) {
    const Value device = List{vector(DType::float32, {5, 5, 3}), vector(DType::int64, indices)};
    const Value input = input_;
    return compare_call("Torch.sort.0", bench_, device, options, with_input ? &input : nullptr);
  }
};

TEST_F(Ties, EqualElementsMayChangePlaces) {
  const Comparison comparison = sort({2, 1, 0}, true);
  EXPECT_EQ(comparison.status, Status::pass);
  EXPECT_THAT(comparison.rows[1].message, HasSubstr("2 indices differ from the benchmark's but select equal values"));
  EXPECT_EQ(text(comparison.rows[1], Metric::binary_error_rate), "0.00000000000000");
  EXPECT_EQ(sort({2, 1, 0}, false).status, Status::error) << "what they select is not known";
  EXPECT_EQ(sort({2, 1, 0}, true, compat()).status, Status::error);
}

TEST_F(Ties, AnIndexUsedTwiceIsWrong) {
  EXPECT_EQ(sort({2, 2, 0}, false).status, Status::error);
  EXPECT_EQ(sort({2, 2, 0}, true).status, Status::error);
}

TEST_F(Ties, WithTheInputAnIndexMustSelectTheValue) {
  EXPECT_EQ(sort({0, 2, 1}, true).status, Status::error);
  EXPECT_EQ(sort({1, 2, 7}, true).status, Status::error) << "out of range";
  EXPECT_EQ(sort({1, 2, -1}, false).status, Status::error);
}

// Counted from the beginning of its row it is an element of the one before, and of the right value.
TEST_F(Ties, ANegativeIndexIsOutOfRange) {
  const Value input = tensor(DType::float32, {2, 2}, {1, 5, 5, 3});
  const auto status = [&](const std::vector<double>& indices) {
    const Value bench = List{vector(DType::float64, {5, 5}), vector(DType::int64, {1, 0})};
    const Value device = List{vector(DType::float32, {5, 5}), vector(DType::int64, indices)};
    return compare_call("Torch.max.0", bench, device, {}, &input).status;
  };
  EXPECT_EQ(status({1, 0}), Status::pass);
  EXPECT_EQ(status({1, -1}), Status::error);
}

// Of a square input the values tell along which axis indices select: here along the first.
TEST_F(Ties, TheAxisOfIndicesAloneFollowsFromTheInput) {
  const auto status = [](const char* api, const std::vector<double>& input, const Tensor& bench, const Tensor& device) {
    const Value given = tensor(DType::float32, {2, 2}, input);
    return compare_call(api, bench, device, {}, &given).status;
  };
  const auto square = [](const std::vector<double>& indices) { return tensor(DType::int64, {2, 2}, indices); };
  const Tensor first = vector(DType::int64, {0, 1});
  const Tensor other = vector(DType::int64, {1, 1});
  EXPECT_EQ(status("Torch.argmax.0", {5, 6, 5, 9}, first, other), Status::pass);
  EXPECT_EQ(status("Torch.argmin.0", {-5, -6, -5, -9}, first, other), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", {5, 6, 5, 9}, square({0, 0, 1, 1}), square({1, 0, 0, 1})), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", {5, 4, 5, 3}, square({0, 1, 1, 0}), square({1, 1, 0, 0})), Status::pass);
}

TEST_F(Ties, IndicesOfAnotherShapeAreNotExcused) {
  const Value device = List{vector(DType::float32, {5, 5, 3}), tensor(DType::int64, {1, 3}, {2, 1, 0})};
  const Value input = input_;
  EXPECT_EQ(compare_call("Torch.sort.0", bench_, device, {}, &input).status, Status::error);
}

TEST_F(Ties, AlmostEqualElementsAreNotTied) {
  const Value input = vector(DType::float32, {3, 5, 5.0005F});
  const Tensor last = Tensor::scalar(std::int64_t{2});
  EXPECT_EQ(compare_call("Torch.argmax.0", last, Tensor::scalar(std::int64_t{1}), {}, &input).status, Status::error);
}

TEST_F(Ties, SomeIndicesUsedTwiceAreWrong) {
  const Value bench = List{vector(DType::float64, {5, 5, 5}), vector(DType::int64, {0, 1, 2})};
  const Value device = List{vector(DType::float32, {5, 5, 5}), vector(DType::int64, {1, 1, 2})};
  const Value equal = vector(DType::float32, {5, 5, 5});
  EXPECT_EQ(compare_call("Torch.sort.0", bench, device, {}, &equal).status, Status::error);
  // Three of a long axis.
  const Value many = Tensor::full(DType::float32, Dims{200}, 5);
  const Value of_many = List{vector(DType::float64, {5, 5, 5}), vector(DType::int64, {0, 1, 100})};
  const Value twice = List{vector(DType::float32, {5, 5, 5}), vector(DType::int64, {1, 1, 100})};
  EXPECT_EQ(compare_call("Torch.topk.0", of_many, twice, {}, &many).status, Status::error);
}

TEST_F(Ties, ValuesMustAgreeExactly) {
  const Value device = List{vector(DType::float32, {5, 4.9999995, 3}), vector(DType::int64, {2, 1, 0})};
  const Value input = input_;
  const Comparison comparison = compare_call("Torch.sort.0", bench_, device, {}, &input);
  EXPECT_EQ(comparison.rows[0].status, Status::pass) << "close enough as values";
  EXPECT_EQ(comparison.rows[1].status, Status::error);
}

TEST_F(Ties, TheAxisFollowsFromTheInput) {
  // Columns of {{1, 2}, {1, 0}}: max over axis 0.
  const Value input = tensor(DType::float32, {2, 2}, {1, 2, 1, 0});
  const Value bench = List{vector(DType::float64, {1, 2}), vector(DType::int64, {0, 0})};
  const Value good = List{vector(DType::float32, {1, 2}), vector(DType::int64, {1, 0})};
  const Value bad = List{vector(DType::float32, {1, 2}), vector(DType::int64, {0, 1})};
  EXPECT_EQ(compare_call("Torch.max.0", bench, good, {}, &input).status, Status::pass);
  EXPECT_EQ(compare_call("Torch.max.0", bench, bad, {}, &input).status, Status::error);
}

TEST_F(Ties, IndicesAloneNeedTheInput) {
  const Value input = tensor(DType::float32, {2, 3}, {7, 1, 7, 0, 4, 4});
  const auto status = [&](const char* api, const Tensor& bench, const Tensor& device, const Value* given) {
    return compare_call(api, bench, device, {}, given).status;
  };
  const Tensor rows = vector(DType::int64, {0, 1});
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {2, 2}), &input), Status::pass);
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {2, 2}), nullptr), Status::error);
  EXPECT_EQ(status("Torch.argmax.0", rows, vector(DType::int64, {1, 2}), &input), Status::error);
  const Comparison half = compare_call("Torch.argmax.0", rows, vector(DType::int64, {2, 0}), {}, &input);
  EXPECT_EQ(half.status, Status::error) << "one is tied, one is wrong";
  EXPECT_EQ(text(half.rows[0], Metric::binary_error_rate), "0.50000000000000");
  EXPECT_EQ(status("Torch.argmax.0", Tensor::scalar(std::int64_t{0}), Tensor::scalar(std::int64_t{2}), &input),
            Status::pass);
  EXPECT_EQ(status("Torch.argmin.0", vector(DType::int64, {1, 0}), vector(DType::int64, {1, 1}), &input),
            Status::error);
  const Tensor order = tensor(DType::int64, {2, 3}, {1, 0, 2, 0, 1, 2});
  EXPECT_EQ(status("Torch.argsort.0", order, tensor(DType::int64, {2, 3}, {1, 2, 0, 0, 2, 1}), &input), Status::pass);
  EXPECT_EQ(status("Torch.argsort.0", order, tensor(DType::int64, {2, 3}, {1, 2, 2, 0, 2, 1}), &input), Status::error);
}

// float64 has one number for both of these.
TEST_F(Ties, LargeIntegersAreToldApart) {
  constexpr std::int64_t large = std::int64_t{1} << 53;
  const std::array<std::int64_t, 4> elements{large, large + 1, 3, large + 1};
  const Value input = Tensor::from<std::int64_t>(DType::int64, Dims{4}, elements);
  const auto status = [&](std::int64_t index) {
    return compare_call("Torch.argmax.0", Tensor::scalar(std::int64_t{1}), Tensor::scalar(index), {}, &input).status;
  };
  EXPECT_EQ(status(3), Status::pass);
  EXPECT_EQ(status(0), Status::error);
}

TEST_F(Ties, ZerosOfEitherSignAreTiedAndNanWithNan) {
  const Value input = vector(DType::float32, {0.0, -0.0, std::nan(""), std::nan(""), -1});
  const Value bench =
      List{vector(DType::float64, {-1, 0, 0, std::nan(""), std::nan("")}), vector(DType::int64, {4, 0, 1, 2, 3})};
  const auto status = [&](const std::vector<double>& indices) {
    const Value device =
        List{vector(DType::float32, {-1, 0, 0, std::nan(""), std::nan("")}), vector(DType::int64, indices)};
    return compare_call("Torch.sort.0", bench, device, {}, &input).rows[1].status;
  };
  EXPECT_EQ(status({4, 1, 0, 3, 2}), Status::pass);
  EXPECT_EQ(status({4, 2, 0, 3, 1}), Status::error);
}

// An extremum so far can only be one of the elements so far.
TEST_F(Ties, RunningExtremaNameNoLaterElement) {
  const Value input = vector(DType::float32, {3, 1, 3, 3});
  const Value bench = List{vector(DType::float64, {3, 3, 3, 3}), vector(DType::int64, {0, 0, 2, 3})};
  const auto status = [&](const std::vector<double>& indices) {
    const Value device = List{vector(DType::float32, {3, 3, 3, 3}), vector(DType::int64, indices)};
    return compare_call("Torch.cummax.0", bench, device, {}, &input).status;
  };
  EXPECT_EQ(status({0, 0, 0, 2}), Status::pass);
  EXPECT_EQ(status({2, 0, 2, 3}), Status::error);
  EXPECT_EQ(status({0, 2, 2, 3}), Status::error);
}

// A device forms the probabilities by which experts are chosen in its own way, and may round them before it compares
// them.
TEST(TiesOfExperts, AreThoseOfEqualProbability) {
  const auto status = [](const std::vector<double>& logits, const std::vector<double>& chosen, DType dtype) {
    // What the two most probable are is not looked at here.
    const Value bench = List{tensor(DType::float64, {1, 2}, {0.5, 0.25}), tensor(DType::int32, {1, 2}, {0, 1}),
                             tensor(DType::int32, {1, 2}, {0, 1})};
    const Value device = List{tensor(dtype, {1, 2}, {0.5, 0.25}), tensor(DType::int32, {1, 2}, chosen),
                              tensor(DType::int32, {1, 2}, {0, 1})};
    const Value input = tensor(dtype, {1, static_cast<std::int64_t>(logits.size())}, logits);
    return compare_call("NPU.npu_moe_gating_top_k_softmax.0", bench, device, {}, &input).status;
  };
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    SCOPED_TRACE(torch_name(dtype));
    EXPECT_EQ(status({3, 3, 1}, {1, 0}, dtype), Status::pass);
    EXPECT_EQ(status({3, 2, 2}, {0, 2}, dtype), Status::pass);
    EXPECT_EQ(status({0, -200, -300}, {0, 2}, dtype), Status::pass) << "both are 0 in float32";
    EXPECT_EQ(status({3, 2, 1}, {0, 2}, dtype), Status::error);
    EXPECT_EQ(status({3, 2.9375, 1}, {1, 0}, dtype), Status::error);
    EXPECT_EQ(status({3, 3, 1}, {1, 1}, dtype), Status::error) << "one twice";
    EXPECT_EQ(status({3, 3, 1}, {1, 3}, dtype), Status::error) << "none, though the row is not finished";
    EXPECT_EQ(status({3, 3, 1}, {1, -1}, dtype), Status::error) << "out of range";
  }
  // Equal once rounded to eight bits, but not in float32.
  EXPECT_EQ(status({1, 0.9921875, -1}, {1, 0}, DType::bfloat16), Status::pass);
  EXPECT_EQ(status({1, 0.9921875, -1}, {1, 0}, DType::float32), Status::error);
}

}  // namespace
}  // namespace msrun::testing
