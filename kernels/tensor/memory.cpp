#include "kernels/tensor/memory.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/base/error.h"
#include "kernels/base/saturated.h"
#include "kernels/tensor/stop_at.h"
#include "kernels/tensor/work.h"

namespace msrun {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

struct Account {
  // Below zero if the thread has freed what it did not create within the scope.
  std::int64_t used = 0;
  std::int64_t limit = no_limit;
  std::int64_t peak = 0;
  bool exceeded = false;
};

thread_local Account account;
thread_local std::uint64_t refused = 0;
thread_local std::size_t largest = std::numeric_limits<std::size_t>::max();

}  // namespace

StopAtLargeTensor::StopAtLargeTensor(std::size_t bytes) { largest = bytes; }

StopAtLargeTensor::~StopAtLargeTensor() { largest = std::numeric_limits<std::size_t>::max(); }

TensorMemoryScope::TensorMemoryScope(std::uint64_t bytes) {
  account.used = 0;
  account.peak = 0;
  // Half of the range is left for what `used` may be below zero.
  account.limit = bytes < std::uint64_t{1} << 62 ? static_cast<std::int64_t>(bytes) : no_limit;
  account.exceeded = false;
}

TensorMemoryScope::~TensorMemoryScope() { account.limit = no_limit; }

bool TensorMemoryScope::exceeded() const { return account.exceeded; }

std::uint64_t TensorMemoryScope::peak() const { return static_cast<std::uint64_t>(account.peak); }

void check_tensor_memory(std::size_t count, std::size_t bytes_each) {
  if (account.limit == no_limit) return;
  const std::uint64_t bytes = saturated_product(count, bytes_each);
  const std::int64_t left = account.limit - account.used;
  if (left < 0 || bytes > static_cast<std::uint64_t>(left)) {
    account.exceeded = true;
    note_refused_tensor();
    const bool small = account.limit < std::int64_t{1} << 20;
    throw SkipError("The call needs more than the " + std::to_string(account.limit >> (small ? 10 : 20)) +
                    (small ? " KiB" : " MiB") + " of memory that --memory allows: a tensor of " +
                    std::to_string(bytes) + " bytes is too much.");
  }
}

void take_tensor_memory(std::size_t bytes) {
  check_tensor_memory(bytes);
  if (bytes > largest) throw LargeTensorReached();
  // An element has four bytes, about.
  take_work(static_cast<double>(bytes) / 4);
  account.used += static_cast<std::int64_t>(bytes);
  account.peak = std::max(account.peak, account.used);
}

std::uint64_t refused_tensors() noexcept { return refused; }

void note_refused_tensor() noexcept { ++refused; }

void give_tensor_memory(std::size_t bytes) noexcept { account.used -= static_cast<std::int64_t>(bytes); }

}  // namespace msrun
