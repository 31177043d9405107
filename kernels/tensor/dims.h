// Dims: sizes, strides or axes of a tensor, stored in place. A rank above max_rank is refused with a SkipError.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "kernels/base/error.h"

namespace msrun {

class Dims {
 public:
  static constexpr std::size_t max_rank = 16;
  using value_type = std::int64_t;
  using iterator = std::int64_t*;
  using const_iterator = const std::int64_t*;

  Dims() = default;
  explicit Dims(std::size_t rank, std::int64_t value = 0) { resize(rank, value); }
  Dims(std::initializer_list<std::int64_t> values) { assign(values.begin(), values.end()); }
  template <class Iterator>
  Dims(Iterator first, Iterator last) {
    assign(first, last);
  }
  explicit Dims(std::span<const std::int64_t> values) { assign(values.begin(), values.end()); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return values_.data(); }
  const std::int64_t* data() const { return values_.data(); }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& front() { return values_[0]; }
  std::int64_t front() const { return values_[0]; }
  std::int64_t& back() { return values_[size_ - 1]; }
  std::int64_t back() const { return values_[size_ - 1]; }

  void push_back(std::int64_t value) {
    check(size_ + 1U);
    values_[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t rank, std::int64_t value = 0) {
    check(rank);
    for (std::size_t i = size_; i < rank; ++i) values_[i] = value;
    size_ = static_cast<std::uint32_t>(rank);
  }
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    for (; first != last; ++first) push_back(static_cast<std::int64_t>(*first));
  }
  iterator insert(const_iterator position, std::int64_t value) {
    const auto at = position - begin();
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  iterator erase(const_iterator position) {
    const auto at = position - begin();
    std::move(begin() + at + 1, end(), begin() + at);
    --size_;
    return begin() + at;
  }
  bool operator==(const Dims& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  static void check(std::size_t rank) {
    if (rank > max_rank) throw SkipError("Tensors of more than 16 dimensions are not supported.");
  }

  std::array<std::int64_t, max_rank> values_;  // only the first size_ are set
  std::uint32_t size_ = 0;
};

}  // namespace msrun
