#include "kernels/numeric/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/memory.h"

namespace msrun {
namespace {

template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// e^(-2 pi i k / n) for k from 0 to n, from the nearest quarter turn on: quarter turns are exact, without which sums
// that are zero for whatever real numbers, such as the imaginary part at half of the frequencies, would not be.
template <class T>
std::complex<T> root(std::int64_t k, std::int64_t n) {
  const std::int64_t quarter = (4 * k + n / 2) / n;
  const T angle = std::numbers::pi_v<T> / 2 * static_cast<T>(4 * k - quarter * n) / static_cast<T>(n);
  const T cosine = std::cos(angle);
  const T sine = std::sin(angle);
  switch (quarter % 4) {
    case 0:
      return {cosine, -sine};
    case 1:
      return {-sine, -cosine};
    case 2:
      return {-cosine, sine};
    default:
      return {sine, cosine};
  }
}

template <class T>
std::vector<std::complex<T>> buffer(std::int64_t size) {
  check_tensor_memory(static_cast<std::size_t>(size), sizeof(std::complex<T>));
  return std::vector<std::complex<T>>(static_cast<std::size_t>(size));
}

// A factor p costs p steps per element.
constexpr std::int64_t largest_direct = 64;

template <class T>
class Chirp;

// Forward transforms of one length, line after line, computed in T.
template <class T>
class Plan {
 public:
  using Number = std::complex<T>;

  explicit Plan(std::int64_t size) : size_(size) {
    std::int64_t rest = size;
    for (; rest % 4 == 0; rest /= 4) factors_.push_back(4);
    for (; rest % 2 == 0; rest /= 2) factors_.push_back(2);
    const std::int64_t odd = rest;
    const std::size_t even_factors = factors_.size();
    for (std::int64_t p = 3; p * p <= rest; p += 2) {
      for (; rest % p == 0; rest /= p) factors_.push_back(p);
    }
    if (rest > 1) factors_.push_back(rest);
    if (!factors_.empty() && factors_.back() > largest_direct) {
      factors_.resize(even_factors);
      odd_part_ = std::make_unique<Chirp<T>>(odd);
    }
    roots_ = buffer<T>(size);
    for (std::int64_t k = 0; k < size; ++k) roots_[static_cast<std::size_t>(k)] = root<T>(k, size);
    terms_.resize(static_cast<std::size_t>(largest_direct));
  }

  // from and to do not overlap.
  void transform(const Number* from, Number* to) { split(from, 1, to, size_, 0); }

 private:
  // The transform of n elements, stride apart, from those of its p interleaved parts.
  void split(const Number* from, std::int64_t stride, Number* to, std::int64_t n, std::size_t level) {
    if (level == factors_.size()) {
      if (odd_part_) {
        odd_part_->transform(from, stride, to);
      } else {
        *to = *from;
      }
      return;
    }
    const std::int64_t p = factors_[level];
    const std::int64_t m = n / p;
    for (std::int64_t r = 0; r < p; ++r) split(from + r * stride, stride * p, to + r * m, m, level + 1);
    for (std::int64_t k = 0; k < m; ++k) {
      for (std::int64_t r = 0; r < p; ++r) {
        const Number term = to[r * m + k];
        terms_[static_cast<std::size_t>(r)] =
            r * k == 0 ? term : product(term, roots_[static_cast<std::size_t>(r * k * stride)]);
      }
      combine(p, m, to + k);
    }
  }

  // The transform of the p terms, to places m apart.
  void combine(std::int64_t p, std::int64_t m, Number* to) const {
    if (p == 2) {
      to[0] = terms_[0] + terms_[1];
      to[m] = terms_[0] - terms_[1];
      return;
    }
    if (p == 4) {
      const Number even = terms_[0] + terms_[2];
      const Number odd = terms_[1] + terms_[3];
      const Number of_even = terms_[0] - terms_[2];
      const Number of_odd = terms_[1] - terms_[3];
      to[0] = even + odd;
      to[m] = {of_even.real() + of_odd.imag(), of_even.imag() - of_odd.real()};
      to[2 * m] = even - odd;
      to[3 * m] = {of_even.real() - of_odd.imag(), of_even.imag() + of_odd.real()};
      return;
    }
    const Number* const terms = terms_.data();
    const Number* const roots = roots_.data();
    const std::int64_t step = size_ / p;
    Number total = terms[0];
    for (std::int64_t r = 1; r < p; ++r) total += terms[r];
    to[0] = total;
    for (std::int64_t q = 1; q < p; ++q) {
      Number sum = terms[0];
      std::int64_t at = 0;
      for (std::int64_t r = 1; r < p; ++r) {
        at += q * step;
        if (at >= size_) at -= size_;
        sum += product(terms[r], roots[at]);
      }
      to[q * m] = sum;
    }
  }

  std::int64_t size_;
  std::vector<std::int64_t> factors_;  // 4, 2 and odd primes
  std::vector<Number> roots_;
  std::vector<Number> terms_;
  std::unique_ptr<Chirp<T>> odd_part_;  // of what the factors leave, where its primes are large
};

// Transforms of odd length by Bluestein: with jk = (j^2 + k^2 - (k - j)^2) / 2 the transform becomes a convolution, of
// a length that has small factors only.
template <class T>
class Chirp {
 public:
  using Number = std::complex<T>;

  explicit Chirp(std::int64_t size)
      : longer_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * size - 1)))),
        convolution_(longer_),
        chirp_(buffer<T>(size)),
        kernel_(buffer<T>(longer_)),
        first_(buffer<T>(longer_)),
        second_(buffer<T>(longer_)) {
    // k^2 modulo 2n, without its overflow.
    std::int64_t square = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      chirp_[static_cast<std::size_t>(k)] = root<T>(square, 2 * size);
      square = (square + 2 * k + 1) % (2 * size);
    }
    for (std::int64_t k = 0; k < size; ++k) {
      const Number value = std::conj(chirp_[static_cast<std::size_t>(k)]);
      first_[static_cast<std::size_t>(k)] = value;
      if (k > 0) first_[static_cast<std::size_t>(longer_ - k)] = value;
    }
    convolution_.transform(first_.data(), kernel_.data());
  }

  // Of elements stride apart.
  void transform(const Number* from, std::int64_t stride, Number* to) {
    const std::size_t count = chirp_.size();
    std::fill(first_.begin(), first_.end(), Number{});
    Number total{};
    for (std::size_t k = 0; k < count; ++k) {
      const Number value = from[static_cast<std::int64_t>(k) * stride];
      total += value;
      first_[k] = product(value, chirp_[k]);
    }
    convolution_.transform(first_.data(), second_.data());
    // The inverse transform by a forward one of conjugates.
    for (std::size_t k = 0; k < second_.size(); ++k) second_[k] = std::conj(product(second_[k], kernel_[k]));
    convolution_.transform(second_.data(), first_.data());
    const T scale = 1 / static_cast<T>(longer_);
    // The sum of real numbers is real, which it is not by the convolution.
    to[0] = total;
    for (std::size_t k = 1; k < count; ++k) to[k] = product(std::conj(first_[k]) * scale, chirp_[k]);
  }

 private:
  std::int64_t longer_;
  Plan<T> convolution_;
  std::vector<Number> chirp_;
  std::vector<Number> kernel_;  // transform of the conjugate chirp
  std::vector<Number> first_;
  std::vector<Number> second_;
};

// Every line of n elements in its place of `to`.
template <class T>
void transform_lines(const Tensor& lines, std::int64_t n, bool inverse, double scale, Complex* to) {
  Plan<T> plan(n);
  std::vector<std::complex<T>> line = buffer<T>(n);
  std::vector<std::complex<T>> result = buffer<T>(n);
  for (std::int64_t start = 0; start < lines.numel(); start += n, to += n) {
    const Complex* from = lines.data<Complex>() + start;
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = {static_cast<T>(from[i].real()), static_cast<T>(inverse ? -from[i].imag() : from[i].imag())};
    }
    plan.transform(line.data(), result.data());
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::complex<T> value = result[i] * static_cast<T>(scale);
      to[i] = {static_cast<double>(value.real()), static_cast<double>(inverse ? -value.imag() : value.imag())};
    }
  }
}

}  // namespace

Tensor fourier(const Tensor& x, std::int64_t axis, FourierDirection direction, double scale) {
  const std::int64_t n = x.size(axis);
  if (n == 0) throw SkipError("A Fourier transform needs at least one element.");
  const bool inverse = direction == FourierDirection::inverse;
  const Tensor lines = (x.rank() == 0 ? x : x.transpose(axis, -1)).to(DType::complex128).contiguous();
  Tensor result(DType::complex128, lines.shape());
  // The benchmark of a float64 call has to be better than the call, of whose terms some cancel.
  if (x.dtype() == DType::complex128) {
    transform_lines<long double>(lines, n, inverse, scale, result.mutable_data<Complex>());
  } else {
    transform_lines<double>(lines, n, inverse, scale, result.mutable_data<Complex>());
  }
  return (x.rank() == 0 ? result : result.transpose(axis, -1)).to(x.dtype());
}

}  // namespace msrun
