#include "kernels/io/stored/tensor_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "kernels/io/numpy/npy_header.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::TemporaryDirectory;

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr float inf32 = std::numeric_limits<float>::infinity();

class StoredStatistics : public ::testing::Test {
 protected:
  template <class T>
  InputFile file(const std::vector<T>& values) const {
    const std::string path = folder_.file("values");
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
    out.close();
    return InputFile(path);
  }
  template <class T>
  static StoredTensor tensor(const std::vector<T>& values, NumpyType type) {
    StoredTensor result;
    result.type = type;
    result.count = result.stored_count = static_cast<std::int64_t>(values.size());
    result.shape = {result.count};
    return result;
  }
  template <class T>
  std::pair<T, T> range(const std::vector<T>& values, NumpyType type) const {
    const InputFile source = file(values);
    std::vector<std::byte> buffer(4096 + 64);
    const TensorRange result = measure_range(source, tensor(values, type), buffer);
    std::pair<T, T> pair;
    std::memcpy(&pair.first, result.smallest.data(), sizeof(T));
    std::memcpy(&pair.second, result.largest.data(), sizeof(T));
    return pair;
  }
  template <class T>
  TensorStatistics statistics(const std::vector<T>& values, NumpyType type) const {
    const InputFile source = file(values);
    std::vector<std::byte> buffer(4096 + 64);
    return measure_statistics(source, tensor(values, type), buffer);
  }

 private:
  TemporaryDirectory folder_;
};

TEST_F(StoredStatistics, FindsTheExtremesOfIntegers) {
  EXPECT_EQ(range<std::int8_t>({5, -128, 127}, NumpyType::int8), std::pair(std::int8_t{-128}, std::int8_t{127}));
  EXPECT_EQ(range<std::uint64_t>({1, ~std::uint64_t{0}}, NumpyType::uint64),
            std::pair(std::uint64_t{1}, ~std::uint64_t{0}));
  EXPECT_EQ(range<std::int64_t>({std::numeric_limits<std::int64_t>::min(), 0}, NumpyType::int64),
            std::pair(std::numeric_limits<std::int64_t>::min(), std::int64_t{0}));
  EXPECT_EQ(range<std::uint8_t>({2, 0, 255}, NumpyType::boolean), std::pair(std::uint8_t{0}, std::uint8_t{1}));
  EXPECT_EQ(range<std::uint8_t>({2, 255}, NumpyType::boolean), std::pair(std::uint8_t{1}, std::uint8_t{1}));
}

TEST_F(StoredStatistics, FindsTheExtremesOfFloats) {
  EXPECT_EQ(range<float>({1, -inf32, 3}, NumpyType::float32), std::pair(-inf32, 3.0F));
  EXPECT_EQ(range<double>({-1e-320, 1e300}, NumpyType::float64), std::pair(-1e-320, 1e300));
  EXPECT_EQ(range<std::uint16_t>({0x3C00, 0xBC00, 0x8001}, NumpyType::float16),
            std::pair(std::uint16_t{0xBC00}, std::uint16_t{0x3C00}));
  EXPECT_EQ(range<float>({-5, -7}, NumpyType::float32), std::pair(-7.0F, -5.0F));
}

TEST_F(StoredStatistics, AgreeWithAPlainLoopOnRandomData) {
  std::mt19937 random(4);
  std::normal_distribution<float> distribution;
  for (const std::size_t count : {1, 2, 15, 1023, 1025, 5000}) {
    std::vector<float> values(count);
    for (float& value : values) value = distribution(random);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_EQ(range(values, NumpyType::float32), std::pair(*low, *high));
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    const TensorStatistics measured = statistics(values, NumpyType::float32);
    EXPECT_NEAR(measured.mean, sum / static_cast<double>(count), 1e-12);
    EXPECT_NEAR(measured.l2_norm, std::sqrt(squares), 1e-10);
    EXPECT_EQ(measured.count, count);
  }
}

TEST_F(StoredStatistics, HaveOneNanForBothExtremes) {
  for (const std::size_t place : {0, 700, 1999}) {
    std::vector<float> values(2000, 1.0F);
    values[place] = -nan32;
    const auto [low, high] = range(values, NumpyType::float32);
    EXPECT_TRUE(std::isnan(low) && std::signbit(low));
    EXPECT_TRUE(std::isnan(high) && std::signbit(high));
  }
  EXPECT_TRUE(std::isnan(range<double>({1, std::nan("")}, NumpyType::float64).first));
  EXPECT_EQ(range<std::uint16_t>({0x3C00, 0x7E00}, NumpyType::float16).first, 0x7E00);
}

TEST_F(StoredStatistics, TakeTheZeroThatNumpyTakes) {
  const auto signs = [&](std::vector<float> values) {
    const auto [low, high] = range(values, NumpyType::float32);
    return std::pair(std::signbit(low), std::signbit(high));
  };
  EXPECT_EQ(signs({0.0F, -0.0F}), std::pair(true, true));
  EXPECT_EQ(signs({-0.0F, 0.0F}), std::pair(false, false));
  EXPECT_EQ(signs({-0.0F, 0.0F, 5}), std::pair(false, false));
  EXPECT_EQ(signs({0.0F, -0.0F, -5}), std::pair(true, true));
  std::vector<float> far(5000, -0.0F);
  far[0] = 0;
  EXPECT_EQ(signs(far), std::pair(true, true));
  EXPECT_EQ(range<std::uint16_t>({0x8000, 0x0000}, NumpyType::float16),
            std::pair(std::uint16_t{0x8000}, std::uint16_t{0x8000}));
  EXPECT_EQ(range<std::uint16_t>({0x0000, 0x8000, 0x3C00}, NumpyType::float16).first, 0);
}

TEST_F(StoredStatistics, OrderComplexNumbersByRealPartFirst) {
  using C = std::complex<float>;
  EXPECT_EQ(range<C>({C(1, 5), C(1, -5), C(2, -9), C(0, 7)}, NumpyType::complex64), std::pair(C(0, 7), C(2, -9)));
  EXPECT_EQ(range<C>({C(1, 5), C(1, -5)}, NumpyType::complex64), std::pair(C(1, -5), C(1, 5)));
  const auto [low, high] = range<C>({C(1, 5), C(3, nan32), C(nan32, 0)}, NumpyType::complex64);
  EXPECT_EQ(low.real(), 3);
  EXPECT_TRUE(std::isnan(high.imag()));
}

TEST_F(StoredStatistics, CountWhatIsNotFinite) {
  const TensorStatistics measured = statistics<float>({1, nan32, inf32, -inf32, nan32}, NumpyType::float32);
  EXPECT_EQ(measured.nan_count, 2);
  EXPECT_EQ(measured.infinity_count, 2);
  EXPECT_TRUE(std::isnan(measured.mean));
  EXPECT_TRUE(std::isnan(measured.l2_norm));
}

TEST_F(StoredStatistics, HaveTheChecksumOfTheElements) {
  EXPECT_EQ(statistics<float>({1, 2}, NumpyType::float32).checksum, 0x2E3FA576);  // torchair.md 8.1
  const InputFile source = file(std::vector<std::uint16_t>{0x3F80, 0x4000});
  StoredTensor half = tensor(std::vector<std::uint16_t>(2), NumpyType::float32);
  half.encoding = Encoding::bfloat16;
  std::vector<std::byte> buffer(4096 + 64);
  EXPECT_EQ(measure_statistics(source, half, buffer).checksum, 0x2E3FA576);
}

TEST_F(StoredStatistics, SurviveTheirColumns) {
  TensorStatistics measured = statistics<std::int32_t>({3, 4, 0}, NumpyType::int32);
  const std::array<double, TensorStatistics::column_count> columns = measured.columns();
  EXPECT_THAT(columns, ::testing::ElementsAre(0, 4, 7.0 / 3, 5, 0, 0, 3, measured.checksum));
  EXPECT_EQ(TensorStatistics::from_columns(columns).columns(), columns);
  const std::array<double, TensorStatistics::column_count> nonsense{1, 2, 3, 4, -1, nan32, 1e300, 1e300};
  const TensorStatistics read = TensorStatistics::from_columns(nonsense);
  EXPECT_EQ(read.nan_count, 0);
  EXPECT_EQ(read.count, 0);
  EXPECT_EQ(read.checksum, 0);
}

TEST_F(StoredStatistics, RefuseTensorsWithoutElements) {
  EXPECT_THROW(range<float>({}, NumpyType::float32), SkipError);
  const InputFile source = file(std::vector<float>{1});
  StoredTensor longer = tensor(std::vector<float>(2), NumpyType::float32);
  std::vector<std::byte> buffer(4096 + 64);
  EXPECT_THROW(measure_range(source, longer, buffer), SkipError);
}

TEST(Elements, AreConvertedToThePromotedType) {
  const auto convert = [](NumpyType from, auto value, NumpyType to, auto result) {
    ElementBytes element{};
    std::memcpy(element.data(), &value, sizeof(value));
    const ElementBytes converted = convert_element(from, element, to);
    std::memcpy(&result, converted.data(), sizeof(result));
    return result;
  };
  EXPECT_EQ(convert(NumpyType::int64, std::int64_t{-3}, NumpyType::float64, 0.0), -3);
  EXPECT_EQ(convert(NumpyType::float16, std::uint16_t{0x3E00}, NumpyType::float32, 0.0F), 1.5F);
  EXPECT_EQ(convert(NumpyType::int8, std::int8_t{-2}, NumpyType::float16, std::uint16_t{}), 0xC000);
  EXPECT_EQ(convert(NumpyType::boolean, std::uint8_t{1}, NumpyType::int32, std::int32_t{}), 1);
  EXPECT_EQ(convert(NumpyType::float64, 2.5, NumpyType::complex128, std::complex<double>{}), std::complex<double>(2.5));
  EXPECT_EQ(convert(NumpyType::uint8, std::uint8_t{200}, NumpyType::int16, std::int16_t{}), 200);
  EXPECT_EQ(convert(NumpyType::uint64, ~std::uint64_t{0}, NumpyType::float64, 0.0), 0x1p64);
}

}  // namespace
}  // namespace msrun
