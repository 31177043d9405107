// What a dropout may give, and what it may not.
#include "kernels/compare/choices/dropout.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/tensor/random.h"

namespace msrun::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor tensor(const std::vector<double>& values, DType dtype = DType::float32, Dims shape = {}) {
  if (shape.empty()) shape = {std::ssize(values)};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

// Of a dropout of these elements, half of which are dropped.
DropoutRule rule(const std::vector<double>& kept, double dropped = 0, Dims decisions = {}) {
  if (decisions.empty()) decisions = {std::ssize(kept)};
  Tensor all = tensor(kept, DType::float64);
  return {all, Tensor::full(DType::float64, all.shape(), dropped), Dropping{0.5, decisions}};
}

std::string finding(const DropoutRule& of, const std::vector<double>& device, DType dtype = DType::float32) {
  return judge_dropout(of, tensor(device, dtype)).text;
}

TEST(Dropout, ElementsAreKeptOrDropped) {
  EXPECT_EQ(finding(rule({2, 4, 6, 0}), {2, 0, 6, 0}), "");
  EXPECT_EQ(finding(rule({2, 4, 6}), {2 * (1 + 0x1p-23), 0, 6}), "");
  EXPECT_EQ(finding(rule({2, 4, 6}), {2.001, 0, 3}),
            "Dropout gives 2 or 0 at 0, not 2.001: 2 of 3 elements are neither kept nor dropped.");
  EXPECT_NE(finding(rule({2, 4, 6}), {2, 1e-6, 6}), "");
  EXPECT_NE(finding(rule({2, 4, 6}), {2, 1e-8, 6}), "") << "less than a place of the kept element";
  EXPECT_EQ(finding(rule({2, 4, 6}), {2, 0, 6.03125}, DType::bfloat16), "");
  EXPECT_NE(finding(rule({2, 4, 6}), {2, 0, 6.125}, DType::bfloat16), "");
  // Of alpha dropout.
  EXPECT_EQ(finding(rule({0.5, 1.5}, -1.25), {-1.25, 1.5}), "");
  EXPECT_NE(finding(rule({0.5, 1.5}, -1.25), {0, 1.5}), "");
  EXPECT_EQ(finding(rule({3, 1.5}, -1), {3.0625, -1.0078125}, DType::bfloat16), "");
  EXPECT_NE(finding(rule({3, 1.5}, -1), {3.15625, 1.5}, DType::bfloat16), "") << "5 % too large";
}

TEST(Dropout, InfinityMayBecomeNoNumber) {
  const double nan = std::nan("");
  EXPECT_EQ(finding(rule({infinity, infinity, nan}), {infinity, nan, nan}), "");
  EXPECT_NE(finding(rule({2, infinity}), {nan, 0}), "");
  EXPECT_NE(finding(rule({nan, 2}), {1, 0}), "");
  // Where no number is kept, what is dropped is rounded as beside a number.
  EXPECT_EQ(finding(rule({nan, infinity}, -1.4577435), {-1.4577435, -1.4577435}), "");
  EXPECT_NE(finding(rule({nan, 2}, -1.4577435), {-1.458, 2}), "");
  // What float16 cannot hold.
  EXPECT_EQ(finding(rule({1e5, -1e5}), {infinity, -infinity}, DType::float16), "");
  EXPECT_NE(finding(rule({1e5, 1e4}), {-infinity, infinity}, DType::float16), "");
}

// NaN that is kept, and NaN times a mask, cannot be told apart: zeros alone would tell, of dropped elements.
TEST(Dropout, NoNumberTellsNoDecision) {
  const double nan = std::nan("");
  const DropoutFinding found = judge_dropout(rule({nan, nan, nan, 2, 2}), tensor({nan, 0, 0, 0, 2}));
  EXPECT_EQ(found.text, "");
  EXPECT_EQ(found.fates, (std::vector<Fate>{Fate::unknown, Fate::unknown, Fate::unknown, Fate::dropped, Fate::kept}));
}

TEST(Dropout, NothingDrawnIsACopy) {
  DropoutRule copy = rule({1, 2, 3});
  copy.draws.reset();
  EXPECT_EQ(finding(copy, {1, 2, 3}), "");
  EXPECT_EQ(finding(copy, {1, 2, 3 * (1 + 0x1p-23)}),
            "A dropout that drops nothing passes everything on as it is: 1 of 3 elements differ, the first at 2: 3 in "
            "place of 3.");
  EXPECT_NE(finding(copy, {1, 0, 3}), "");
}

TEST(Dropout, ChannelsAreDroppedAsAWhole) {
  DropoutRule channels = rule({1, 2, 3, 4});
  channels.kept = channels.kept.reshape(Dims{2, 2});
  channels.dropped = channels.dropped.reshape(Dims{2, 2});
  channels.draws->shape = {2, 1};
  EXPECT_EQ(judge_dropout(channels, tensor({1, 2, 0, 0}, DType::float32, {2, 2})).text, "");
  EXPECT_EQ(judge_dropout(channels, tensor({1, 0, 0, 0}, DType::float32, {2, 2})).text,
            "Channels are dropped as a whole: 1 of 2 are dropped in part.");
}

TEST(Dropout, DecisionsAreKnownWhereTheyShow) {
  const auto fates = judge_dropout(rule({2, 4, 0, 6}), tensor({2, 0, 0, 6})).fates;
  EXPECT_THAT(fates, ::testing::ElementsAre(Fate::kept, Fate::dropped, Fate::unknown, Fate::kept));
  EXPECT_EQ(contrary_fates(fates, fates), 0);
  EXPECT_EQ(contrary_fates(fates, {Fate::kept, Fate::kept, Fate::dropped, Fate::unknown}), 1);
}

TEST(Dropout, SharesAreThoseOfChance) {
  const auto share = [](std::size_t dropped, std::size_t all, double probability) {
    std::vector<Fate> fates(all, Fate::kept);
    std::fill_n(fates.begin(), dropped, Fate::dropped);
    return unlikely_share(fates, probability);
  };
  // The deviation is 50.
  EXPECT_EQ(share(5250, 10000, 0.5), "");
  EXPECT_EQ(share(5400, 10000, 0.5), "Chance does not drop 5400 of 10000 with probability 0.5.");
  EXPECT_NE(share(4600, 10000, 0.5), "");
  EXPECT_EQ(share(8, 8, 0.5), "");
  EXPECT_NE(share(100, 100, 0.5), "");
  // Of rare draws one is no wonder.
  EXPECT_EQ(share(1, 100, 1e-6), "");
  EXPECT_NE(share(0, 1000, 0.1), "");
}

// Decisions as a generator makes them of one word for each number that `number` gives.
template <class Number>
std::vector<Fate> drawn(std::int64_t count, double probability, const Number& number) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  Philox(7).fill(words);
  std::vector<Fate> fates;
  for (std::int64_t i = 0; i < count; ++i) {
    const double word = words[static_cast<std::size_t>(number(i))];
    fates.push_back(word * 0x1p-32 < probability ? Fate::dropped : Fate::kept);
  }
  return fates;
}

TEST(Dropout, IndependentDecisionsHaveNoPattern) {
  for (const double probability : {0.01, 0.1, 0.3, 0.5, 0.9}) {
    for (const Dims& shape : {Dims{64, 1090}, Dims{1 << 17}, Dims{3, 5, 7}, Dims{1}, Dims{2, 1, 1024}}) {
      std::vector<Fate> fates = drawn(element_count(shape), probability, [](std::int64_t i) { return i; });
      EXPECT_EQ(unlikely_pattern(fates, {probability, shape}), "");
      for (std::size_t i = 0; i < fates.size(); i += 3) fates[i] = Fate::unknown;
      EXPECT_EQ(unlikely_pattern(fates, {probability, shape}), "");
    }
  }
}

TEST(Dropout, DecisionsThatAreMadeOfOneNumberAreFound) {
  const Dims shape{64, 1090};
  const std::int64_t count = element_count(shape);
  const auto found = [&](double probability, const auto& number) {
    return unlikely_pattern(drawn(count, probability, number), {probability, shape});
  };
  EXPECT_EQ(found(0.3, [](std::int64_t i) { return i % 1090; }),
            "Chance does not decide alike for 34880 of 34880 pairs that lie 1090 apart, with probability 0.3.");
  for (const double probability : {0.1, 0.5}) {
    EXPECT_NE(found(probability, [](std::int64_t i) { return i / 1090; }), "") << "a row as a whole";
    EXPECT_NE(found(probability, [](std::int64_t i) { return i / 4; }), "") << "four neighbours";
    EXPECT_NE(found(probability, [](std::int64_t i) { return i % 2048; }), "") << "the same in every block";
    EXPECT_NE(found(probability, [&](std::int64_t i) { return i < count / 2 ? i : i - count / 2; }), "") << "halves";
  }
  const Dims batches{5, 3, 7, 23};
  const std::vector<Fate> alike = drawn(element_count(batches), 0.5, [](std::int64_t i) { return i % (3 * 7 * 23); });
  EXPECT_NE(unlikely_pattern(alike, {0.5, batches}).find("pairs that lie 483 apart"), std::string::npos);
  // Every other decision the opposite of its neighbour.
  std::vector<Fate> turns;
  for (int i = 0; i < 400; ++i) turns.push_back(i % 2 == 0 ? Fate::kept : Fate::dropped);
  EXPECT_EQ(unlikely_pattern(turns, {0.5, Dims{400}}),
            "Chance does not decide alike for 0 of 200 pairs that lie 1 apart, with probability 0.5.");
  // A few say nothing.
  EXPECT_EQ(unlikely_pattern(std::vector<Fate>(8, Fate::kept), {0.5, Dims{8}}), "");
}

}  // namespace
}  // namespace msrun::testing
