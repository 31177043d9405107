// Every operator of the table on the ends of the ranges: integers that overflow, numbers no integer can hold,
// infinities and NaN, as elements and as arguments. Whatever comes of it is a result or a SkipError. Most of what can
// go wrong here is silent in a plain build and found by the sanitizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::ElementsAre;

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr auto smallest = std::numeric_limits<std::int64_t>::min();

std::vector<std::int64_t> integers(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::int64).contiguous();
  return {wide.data<std::int64_t>(), wide.data<std::int64_t>() + wide.numel()};
}

std::vector<std::int64_t> run(const std::string& api, const List& args, const Dict& kwargs = {}) {
  Tape tape;
  std::vector<Var> leaves;
  return integers(call("Torch", api, args, kwargs, tape, leaves).tensor());
}

TEST(IntegerOverflow, WrapsInSums) {
  const Tensor x = int64({2, 2}, {largest, smallest, 1, -1});
  EXPECT_THAT(run("sum", {x, std::int64_t{0}}), ElementsAre(smallest, largest));
  EXPECT_THAT(run("sum", {int64({3}, {largest, largest, 2})}), ElementsAre(0));
  // Long enough for every stage of the summation: lanes, blocks and the sums of blocks.
  const Tensor ends = int64({2}, {largest, smallest + 1});
  const Tensor many = ends.reshape(Dims{2, 1}).expand(Dims{2, 3 * 512 + 7}).contiguous();
  EXPECT_THAT(run("sum", {many, std::int64_t{1}}), ElementsAre(largest - (3 * 512 + 6), smallest + (3 * 512 + 7)));
  EXPECT_THAT(run("sum", {many.transpose(0, 1).contiguous(), std::int64_t{0}}),
              ElementsAre(largest - (3 * 512 + 6), smallest + (3 * 512 + 7)));
  EXPECT_THAT(run("cumsum", {int64({3}, {largest, 1, 1}), std::int64_t{0}}),
              ElementsAre(largest, smallest, smallest + 1));
}

TEST(IntegerOverflow, WrapsInProducts) {
  EXPECT_THAT(run("prod", {int64({3}, {largest, 2, 3})}), ElementsAre(-6));
  const Tensor a = int64({1, 2}, {largest, 1});
  const Tensor b = int64({2, 1}, {2, 3});
  EXPECT_THAT(run("matmul", {a, b}), ElementsAre(1));
  EXPECT_THAT(run("addmm", {int64({1, 1}, {largest}), a, b}), ElementsAre(smallest));
  EXPECT_THAT(run("addmm", {int64({1, 1}, {largest}), a, b}, {{"beta", std::int64_t{2}}, {"alpha", std::int64_t{3}}}),
              ElementsAre(1));
  Tape tape;
  std::vector<Var> leaves;
  const Var y = call("Functional", "linear", {a, int64({1, 2}, {2, 3}), int64({1}, {largest})}, {}, tape, leaves);
  EXPECT_THAT(integers(y.tensor()), ElementsAre(smallest));
}

TEST(IntegerOverflow, WrapsWhereRunsAreAdded) {
  const Tensor index = int64({2}, {0, 0});
  EXPECT_THAT(run("index_add", {int64({1}, {largest}), std::int64_t{0}, index, int64({2}, {1, 1})}),
              ElementsAre(smallest + 1));
}

// Arguments for any signature, from a small set of values and shapes.
class Arguments {
 public:
  explicit Arguments(std::uint32_t seed) : random_(seed) {}

  // By name, so that defaults can be left out anywhere. Float tensors become leaves.
  Dict of(const Signature& signature, Tape& tape) {
    shape_ = shape();
    dtype_ = dtype();
    Dict result;
    for (const Parameter& parameter : signature.parameters()) {
      if (parameter.has_default && chance(50)) continue;
      if (parameter.nullable && chance(40)) {
        result.emplace_back(parameter.name, None{});
        continue;
      }
      if (!parameter.list) {
        result.emplace_back(parameter.name, single(parameter, tape));
        continue;
      }
      List list;
      for (std::size_t count = below(5); count > 0; --count) list.push_back(single(parameter, tape));
      result.emplace_back(parameter.name, list);
    }
    return result;
  }

  Tensor tensor(DType dtype, const Dims& shape) {
    if (!is_floating(dtype)) {
      Tensor values(DType::int64, shape);
      for (std::int64_t i = 0; i < values.numel(); ++i) values.mutable_data<std::int64_t>()[i] = integer();
      return values.to(dtype);
    }
    Tensor values(DType::float64, shape);
    for (std::int64_t i = 0; i < values.numel(); ++i) values.mutable_data<double>()[i] = real();
    return values.to(dtype);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  std::int64_t integer() {
    if (chance(60)) return static_cast<std::int64_t>(below(6)) - 2;
    return one_of<std::int64_t>(
        {largest, largest - 1, smallest, smallest + 1, 1LL << 31, -(1LL << 31), 1LL << 32, 1LL << 62, 255, 128, -128});
  }
  double real() {
    if (chance(60)) return one_of({0.0, 1.0, -1.0, 0.5, 2.0, -0.0});
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return one_of({1e300, -1e300, 1e-320, 3e38, 0x1p63, -0x1p63, 65504.0, infinity, -infinity, std::nan("")});
  }
  Dims shape() {
    return one_of<Dims>(
        {{}, {1}, {4}, {2, 3}, {3, 3}, {2, 3, 4}, {1, 2, 4, 4}, {2, 4, 5, 5}, {1, 2, 3, 4, 4}, {0}, {2, 0}});
  }
  DType dtype() {
    return one_of({DType::int64, DType::int64, DType::int32, DType::int8, DType::uint8, DType::boolean, DType::float16,
                   DType::bfloat16, DType::float32, DType::float32, DType::float64});
  }

  Value variable(Tape& tape) {
    const Tensor values = tensor(chance(75) ? dtype_ : dtype(), chance(75) ? shape_ : shape());
    return is_floating(values.dtype()) ? tape.leaf(values) : tape.constant(values);
  }

  Value single(const Parameter& parameter, Tape& tape) {
    switch (parameter.kind) {
      case Parameter::Kind::tensor:
        return variable(tape);
      case Parameter::Kind::operand:
        if (chance(60)) return variable(tape);
        [[fallthrough]];
      case Parameter::Kind::scalar:
        return chance(50) ? Value(integer()) : Value(real());
      case Parameter::Kind::integer:
        return integer();
      case Parameter::Kind::real:
        return real();
      case Parameter::Kind::boolean:
        return chance(50);
      case Parameter::Kind::text:
        return one_of<std::string>({"none", "mean", "sum", "floor", "trunc", "reflect", "nearest", "bilinear", "linear",
                                    "bicubic", "area", "replicate", "circular", "same", "ij,jk->ik", "SBH", "BNSD"});
      case Parameter::Kind::dtype:
        return dtype();
      case Parameter::Kind::any:
        break;
    }
    switch (below(5)) {
      case 0:
        return variable(tape);
      case 1:
        return real();
      case 2:
        return List{integer(), integer()};
      case 3:
        return Slice{integer(), integer(), integer()};
      default:
        return integer();
    }
  }

  std::mt19937 random_;
  Dims shape_;
  DType dtype_ = DType::float32;
};

// Runs one call forward and backward; what it may throw is a SkipError. Says whether it had a result.
bool survives(const OperatorFunction& function, const Signature& signature, Arguments& arguments) {
  const TensorMemoryScope memory(16 << 20);
  Tape tape;
  try {
    const Dict given = arguments.of(signature, tape);
    std::string problem;
    std::optional<std::vector<Value>> values = signature.bind({}, given, problem);
    if (!values) return false;
    const Value result = function(Bound(signature, std::move(*values), tape));
    for_each_leaf(result, [&](const Value& leaf) {
      const Var* var = leaf.get<Var>();
      if (var != nullptr && var->requires_grad()) tape.backward(*var, arguments.tensor(var->dtype(), var->shape()));
    });
    return true;
  } catch (const SkipError&) {
    return false;
  }
}

TEST(ExtremeValues, AreSurvivedByEveryOperator) {
  std::set<std::string> operators;
  for (const ApiListing& listing : list_apis()) operators.insert(listing.canonical);
  ASSERT_GT(operators.size(), 400U);
  constexpr int rounds = 200;
  const char* given = std::getenv("MSRUN_EXTREMES_SEED");
  const std::uint32_t seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : 1;
  SCOPED_TRACE("MSRUN_EXTREMES_SEED=" + std::to_string(seed));
  Arguments arguments(seed);
  int results = 0;
  for (const std::string& name : operators) {
    for (const Overload& overload : find_canonical(name)->overloads()) {
      SCOPED_TRACE(overload.signature.text());
      for (int round = 0; round < rounds; ++round) {
        try {
          results += survives(overload.function, overload.signature, arguments) ? 1 : 0;
        } catch (const std::exception& error) {
          ADD_FAILURE() << "round " << round << ": " << error.what();
        }
      }
    }
  }
  // Enough of the calls are sound for their values to matter.
  EXPECT_GT(results, static_cast<int>(operators.size()) * rounds / 10);
}

}  // namespace
}  // namespace msrun
