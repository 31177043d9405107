// Products of elements that are converted where they are packed and stored, against copies that are converted before
// and after: bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/numeric/matrix_product.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/random.h"

namespace msrun {
namespace {

Tensor random(DType dtype, const Dims& shape, std::uint64_t key) {
  Philox words(key);
  return random_tensor(dtype, shape, {-3, 2, {}, {}}, words);
}

// Of that shape, row-major or column-major.
Tensor matrix(DType dtype, std::int64_t rows, std::int64_t columns, bool turned, std::uint64_t key) {
  return turned ? random(dtype, Dims{columns, rows}, key).transpose(0, 1) : random(dtype, Dims{rows, columns}, key);
}

// Of operands in the dtype that is computed in nothing is converted. The copies have the strides of the originals.
Tensor converted_before_and_after(const Tensor& a, const Tensor& b, DType dtype) {
  const DType compute = product_dtype(dtype);
  const auto copy = [&](const Tensor& operand) { return as_operand(operand, compute, OperandRounding::none); };
  return product(copy(a), copy(b), compute, {}).to(dtype);
}

struct Sizes {
  std::int64_t rows;
  std::int64_t terms;
  std::int64_t columns;
};

TEST(PackedProduct, HasTheBitsOfConvertedCopies) {
  // More than one block of rows, of terms and of columns; sizes that no tile divides.
  for (const auto& [rows, terms, columns] :
       {Sizes{1100, 70, 130}, Sizes{30, 1234, 101}, Sizes{25, 33, 3333}, Sizes{129, 600, 65}}) {
    for (const DType a : {DType::bfloat16, DType::float16, DType::float32}) {
      for (const DType b : {DType::bfloat16, DType::float16, DType::float32}) {
        for (int turned = 0; turned < 4; ++turned) {
          const Tensor left = matrix(a, rows, terms, (turned & 1) != 0, 1);
          const Tensor right = matrix(b, terms, columns, (turned & 2) != 0, 2);
          for (const DType result : {DType::float32, a}) {
            EXPECT_TRUE(
                bitwise_equal(product(left, right, result, {}), converted_before_and_after(left, right, result)))
                << rows << " x " << terms << " x " << columns << " " << name(a) << " " << name(b) << " " << name(result)
                << " " << turned;
          }
        }
      }
    }
  }
}

TEST(PackedProduct, HasTheBitsOfCopiesInFloat64) {
  for (const auto& [rows, terms, columns] :
       {Sizes{1100, 70, 30}, Sizes{24, 1234, 101}, Sizes{333, 500, 8}, Sizes{129, 600, 65}}) {
    for (const DType a : {DType::float32, DType::float64}) {
      for (const DType b : {DType::float32, DType::float64}) {
        for (int turned = 0; turned < 4; ++turned) {
          const Tensor left = matrix(a, rows, terms, (turned & 1) != 0, 1);
          const Tensor right = matrix(b, terms, columns, (turned & 2) != 0, 2);
          EXPECT_TRUE(bitwise_equal(product(left, right, DType::float64, {}),
                                    converted_before_and_after(left, right, DType::float64)))
              << rows << " x " << terms << " x " << columns << " " << name(a) << " " << name(b) << " " << turned;
        }
      }
    }
  }
}

// Narrow results are computed in another way than wide ones; the order of the terms is one.
TEST(PackedProduct, SumsAnElementAsInAWiderProduct) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const bool turned : {false, true}) {
      const Tensor left = matrix(dtype, 700, 1300, turned, 1);
      const Tensor right = random(dtype, Dims{1300, 100}, 2);
      const Tensor wide = product(left, right, dtype, {});
      for (const std::int64_t columns : {9, 24, 47}) {
        EXPECT_TRUE(
            bitwise_equal(product(left, right.slice(1, 0, columns), dtype, {}), wide.slice(1, 0, columns).contiguous()))
            << name(dtype) << " " << columns << " " << turned;
      }
      // Added up over a batch.
      const auto batches = [&](std::int64_t columns) {
        return product_to(left.reshape(Dims{2, 350, 1300}), right.slice(1, 0, columns).expand(Dims{2, 1300, columns}),
                          Dims{350, columns}, dtype, {});
      };
      EXPECT_TRUE(bitwise_equal(batches(24), batches(100).slice(1, 0, 24).contiguous())) << name(dtype) << turned;
    }
  }
}

TEST(PackedProduct, KeepsInfinitiesAndNan) {
  Tensor left = random(DType::bfloat16, Dims{40, 400}, 3);
  const Tensor right = random(DType::bfloat16, Dims{400, 100}, 4);
  left.mutable_data<BFloat16>()[5 * 400 + 7] = to_bfloat16(INFINITY);
  left.mutable_data<BFloat16>()[6 * 400 + 8] = to_bfloat16(NAN);
  EXPECT_TRUE(bitwise_equal(product(left, right, DType::bfloat16, {}),
                            converted_before_and_after(left, right, DType::bfloat16)));
}

TEST(PackedProduct, MakesNoCopies) {
  const Tensor left = random(DType::bfloat16, Dims{600, 800}, 5);
  const Tensor right = random(DType::bfloat16, Dims{800, 700}, 6);
  const TensorMemoryScope scope(1 << 30);
  const Tensor result = product(left, right, DType::bfloat16, {});
  EXPECT_LE(scope.peak(), result.bytes() + 1024);
}

}  // namespace
}  // namespace msrun
