#include "kernels/numeric/fourier.h"

#include <bit>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

// e^(-2 pi i k / n)
Complex root(std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

std::vector<Complex> buffer(std::int64_t size) {
  check_tensor_memory(static_cast<std::size_t>(size), sizeof(Complex));
  return std::vector<Complex>(static_cast<std::size_t>(size));
}

// Forward transforms of one length, line after line.
class Plan {
 public:
  explicit Plan(std::int64_t size) : size_(size) {
    std::int64_t rest = size;
    for (; rest % 4 == 0; rest /= 4) factors_.push_back(4);
    for (std::int64_t p = 2; p * p <= rest; ++p) {
      for (; rest % p == 0; rest /= p) factors_.push_back(p);
    }
    if (rest > 1) factors_.push_back(rest);
    // A factor p costs p steps per element.
    constexpr std::int64_t largest_direct = 64;
    if (!factors_.empty() && factors_.back() > largest_direct) {
      prepare_chirp();
      return;
    }
    roots_ = buffer(size);
    for (std::int64_t k = 0; k < size; ++k) roots_[static_cast<std::size_t>(k)] = root(k, size);
    terms_.resize(static_cast<std::size_t>(largest_direct));
  }

  // from and to do not overlap.
  void transform(const Complex* from, Complex* to) {
    if (convolution_) {
      transform_by_chirp(from, to);
    } else {
      split(from, 1, to, size_, 0);
    }
  }

 private:
  // The transform of n elements, stride apart, from those of its p interleaved parts.
  void split(const Complex* from, std::int64_t stride, Complex* to, std::int64_t n, std::size_t level) {
    if (n == 1) {
      *to = *from;
      return;
    }
    const std::int64_t p = factors_[level];
    const std::int64_t m = n / p;
    for (std::int64_t r = 0; r < p; ++r) split(from + r * stride, stride * p, to + r * m, m, level + 1);
    for (std::int64_t k = 0; k < m; ++k) {
      for (std::int64_t r = 0; r < p; ++r) terms_[static_cast<std::size_t>(r)] = to[r * m + k];
      for (std::int64_t q = 0; q < p; ++q) {
        const std::int64_t step = (k + q * m) * (size_ / n) % size_;
        Complex sum = terms_[0];
        std::int64_t at = 0;
        for (std::int64_t r = 1; r < p; ++r) {
          at += step;
          if (at >= size_) at -= size_;
          sum += wrapping_mul(terms_[static_cast<std::size_t>(r)], roots_[static_cast<std::size_t>(at)]);
        }
        to[k + q * m] = sum;
      }
    }
  }

  // Bluestein: with jk = (j^2 + k^2 - (k - j)^2) / 2 the transform becomes a convolution, of a length that has small
  // factors only.
  void prepare_chirp() {
    const auto longer = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * size_ - 1)));
    convolution_ = std::make_unique<Plan>(longer);
    chirp_ = buffer(size_);
    // k^2 modulo 2n, without its overflow.
    std::int64_t square = 0;
    for (std::int64_t k = 0; k < size_; ++k) {
      chirp_[static_cast<std::size_t>(k)] = root(square, 2 * size_);
      square = (square + 2 * k + 1) % (2 * size_);
    }
    first_ = buffer(longer);
    second_ = buffer(longer);
    kernel_ = buffer(longer);
    for (std::int64_t k = 0; k < size_; ++k) {
      const Complex value = std::conj(chirp_[static_cast<std::size_t>(k)]);
      first_[static_cast<std::size_t>(k)] = value;
      if (k > 0) first_[static_cast<std::size_t>(longer - k)] = value;
    }
    convolution_->transform(first_.data(), kernel_.data());
  }

  void transform_by_chirp(const Complex* from, Complex* to) {
    const std::size_t count = chirp_.size();
    std::fill(first_.begin(), first_.end(), Complex{});
    for (std::size_t k = 0; k < count; ++k) first_[k] = wrapping_mul(from[k], chirp_[k]);
    convolution_->transform(first_.data(), second_.data());
    // The inverse transform by a forward one of conjugates.
    for (std::size_t k = 0; k < second_.size(); ++k) second_[k] = std::conj(wrapping_mul(second_[k], kernel_[k]));
    convolution_->transform(second_.data(), first_.data());
    const double scale = 1 / static_cast<double>(first_.size());
    for (std::size_t k = 0; k < count; ++k) to[k] = wrapping_mul(std::conj(first_[k]) * scale, chirp_[k]);
  }

  std::int64_t size_;
  std::vector<std::int64_t> factors_;  // 4 and primes; the last is the largest prime
  std::vector<Complex> roots_;
  std::vector<Complex> terms_;
  // Where size has a large factor.
  std::unique_ptr<Plan> convolution_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;  // transform of the conjugate chirp
  std::vector<Complex> first_;
  std::vector<Complex> second_;
};

}  // namespace

Tensor fourier(const Tensor& x, std::int64_t axis, FourierDirection direction, double scale) {
  const std::int64_t n = x.size(axis);
  if (n == 0) throw SkipError("A Fourier transform needs at least one element.");
  const bool inverse = direction == FourierDirection::inverse;
  const Tensor lines = (x.rank() == 0 ? x : x.transpose(axis, -1)).to(DType::complex128).contiguous();
  Tensor result(DType::complex128, lines.shape());
  Plan plan(n);
  std::vector<Complex> line = buffer(n);
  for (std::int64_t start = 0; start < lines.numel(); start += n) {
    const Complex* from = lines.data<Complex>() + start;
    for (std::int64_t i = 0; i < n; ++i) line[static_cast<std::size_t>(i)] = inverse ? std::conj(from[i]) : from[i];
    Complex* to = result.mutable_data<Complex>() + start;
    plan.transform(line.data(), to);
    for (std::int64_t i = 0; i < n; ++i) to[i] = (inverse ? std::conj(to[i]) : to[i]) * scale;
  }
  return (x.rank() == 0 ? result : result.transpose(axis, -1)).to(x.dtype());
}

}  // namespace msrun
