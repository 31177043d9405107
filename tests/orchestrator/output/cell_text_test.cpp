// The number texts of the CSV files: precision_metrics.md 8.1 and acc_check_pytorch.md 9.4.
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "kernels/compare/details.h"
#include "kernels/tensor/dtype.h"

namespace msrun {
namespace {

std::string fp64(double value) { return cell_text(Cell::fp64(value), 14); }
std::string fp32(double value) { return cell_text(Cell::fp32(value), 14); }
std::string fp16(double value) { return cell_text(Cell::fp16(value), 14); }

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(CellText, DoublePrecisionIsFixed) {
  EXPECT_EQ(fp64(1.0 / 3), "0.33333333333333");
  EXPECT_EQ(fp64(1), "1.00000000000000");
  EXPECT_EQ(fp64(0.99999846452807), "0.99999846452807");
  EXPECT_EQ(fp64(1e-20), "0.00000000000000");
  EXPECT_EQ(fp64(-0.0), "-0.00000000000000");
  EXPECT_EQ(fp64(-1e-20), "-0.00000000000000");
  EXPECT_EQ(fp64(1e20), "100000000000000000000.00000000000000");
  EXPECT_EQ(fp64(nan), "nan");
  EXPECT_EQ(fp64(-nan), "nan");
  EXPECT_EQ(fp64(inf), "inf");
  EXPECT_EQ(fp64(-inf), "-inf");
  EXPECT_EQ(fp64(std::numeric_limits<double>::lowest()).size(), 1 + 309 + 1 + 14);
}

TEST(CellText, PrecisionIsObeyed) {
  EXPECT_EQ(cell_text(Cell::fp64(0.125), 0), "0");
  EXPECT_EQ(cell_text(Cell::fp64(0.125), 2), "0.12");
  EXPECT_EQ(cell_text(Cell::fp64(0.1), 20), "0.10000000000000000555");
  EXPECT_EQ(cell_text(Cell::fp32(0.1F), 2), "0.1");
}

TEST(CellText, SinglePrecisionIsShortest) {
  EXPECT_EQ(fp32(0), "0.0");
  EXPECT_EQ(fp32(-0.0), "-0.0");
  EXPECT_EQ(fp32(1), "1.0");
  EXPECT_EQ(fp32(0.1F), "0.1");
  EXPECT_EQ(fp32(-0.25), "-0.25");
  EXPECT_EQ(fp32(1e-5F), "1e-05");
  EXPECT_EQ(fp32(9.970572e-06F), "9.970572e-06");
  EXPECT_EQ(fp32(1.1920929e-07F), "1.1920929e-07");
  EXPECT_EQ(fp32(16777216), "16777216.0");
  EXPECT_EQ(fp32(123456790), "123456790.0");
  EXPECT_EQ(fp32(1e16F), "1e+16");
  EXPECT_EQ(fp32(9e15F), "9000000000000000.0");
  EXPECT_EQ(fp32(std::numeric_limits<float>::max()), "3.4028235e+38");
  EXPECT_EQ(fp32(std::numeric_limits<float>::denorm_min()), "1e-45");
  EXPECT_EQ(fp32(nan), "nan");
  EXPECT_EQ(fp32(inf), "inf");
  EXPECT_EQ(fp32(-inf), "-inf");
}

TEST(CellText, ScientificBeginsBelowTheValueNotTheDigits) {
  EXPECT_EQ(fp32(0.0001F), "1e-04");  // the float nearest to 0.0001 is just below it
  EXPECT_EQ(fp32(std::nextafter(0.0001F, 1.0F)), "0.000100000005");
}

TEST(CellText, HalfPrecisionIsShortest) {
  EXPECT_EQ(fp16(0.009766), "0.009766");  // 10 * 2^-10
  EXPECT_EQ(fp16(0.1), "0.1");
  EXPECT_EQ(fp16(1.0 / 3), "0.3333");
  EXPECT_EQ(fp16(65504), "65500.0");
  EXPECT_EQ(fp16(2048), "2048.0");
  EXPECT_EQ(fp16(0.0001), "0.0001");  // the half nearest to 0.0001 is above it
  EXPECT_EQ(fp16(0x1p-24), "6e-08");
  EXPECT_EQ(fp16(0x1p-14), "6.104e-05");
  EXPECT_EQ(fp16(-0.0), "-0.0");
  EXPECT_EQ(fp16(1e6), "inf");
  EXPECT_EQ(fp16(nan), "nan");
}

TEST(CellText, EveryHalfComesBackAndNoDigitIsWasted) {
  for (std::uint32_t bits = 1; bits < 0x7C00; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const std::string text = fp16(to_float(half));
    double parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    ASSERT_EQ(to_half(static_cast<float>(parsed)).bits, half.bits) << text;
    // No decimal with one digit less lies between the midpoints to the neighbours.
    const double value = to_float(half);
    const double low = (value + to_float(Half{static_cast<std::uint16_t>(bits - 1)})) / 2;
    const double high = bits == 0x7BFF ? 65520 : (value + to_float(Half{static_cast<std::uint16_t>(bits + 1)})) / 2;
    std::size_t digits = 0;
    bool leading = true;
    std::string significant;
    for (const char c : text.substr(0, text.find('e'))) {
      if (c == '.' || (leading && c == '0')) continue;
      leading = false;
      significant += c;
    }
    while (significant.size() > 1 && significant.back() == '0') significant.pop_back();
    digits = significant.size();
    if (digits < 2) continue;
    const double step = std::pow(10.0, std::floor(std::log10(value)) - static_cast<double>(digits) + 2);
    const double below = std::floor(value / step) * step;
    ASSERT_LT(below, low * (1 + 1e-12)) << text;
    ASSERT_GT(below + step, high * (1 - 1e-12)) << text;
  }
}

TEST(CellText, IntegersAndBlanks) {
  EXPECT_EQ(cell_text(Cell::integer(0), 14), "0");
  EXPECT_EQ(cell_text(Cell::integer(-7), 14), "-7");
  EXPECT_EQ(cell_text(Cell::integer(1234567890123), 14), "1234567890123");
  EXPECT_EQ(cell_text(Cell{}, 14), " ");
}

TEST(CellText, AppendsBehindWhatIsThere) {
  std::string out = "a,";
  append_cell_text(out, Cell::fp32(0.5), 14);
  EXPECT_EQ(out, "a,0.5");
}

TEST(MetricTitle, BothLanguagesInFileOrder) {
  EXPECT_STREQ(metric_title(Metric::cosine, false), "余弦相似度");
  EXPECT_STREQ(metric_title(Metric::cosine, true), "Cosine Similarity");
  EXPECT_STREQ(metric_title(Metric::inf_nan_error_rate, false), "inf/nan错误率");
  EXPECT_STREQ(metric_title(Metric::ulp_over_limit, false), "ULP误差大于阈值占比");
}

TEST(StatusText, AsTheFilesHaveIt) {
  EXPECT_STREQ(status_text(Status::pass), "pass");
  EXPECT_STREQ(status_text(Status::warning), "warning");
  EXPECT_STREQ(status_text(Status::error), "error");
  EXPECT_STREQ(status_text(Status::skip), "SKIP");
}

}  // namespace
}  // namespace msrun
