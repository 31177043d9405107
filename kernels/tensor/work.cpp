#include "kernels/tensor/work.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

// Operations that any call may take, whatever its tensors: some seconds of a core.
constexpr double always_allowed = 1e11;
// Operators over tensors of n elements in all take at most some n^1.5 operations: a product of matrices [m, k] and
// [k, n] takes the root of the product of the three sizes, a convolution as many times more as its kernel is wide. The
// factor is beyond those of any sound call.
constexpr double allowed_factor = 1024;

struct Account {
  bool is_open = false;
  double elements = 0;
  double used = 0;
  double limit = 0;
};

thread_local Account account;

}  // namespace

WorkScope::WorkScope(double elements) : is_outer_(!account.is_open) {
  if (!is_outer_) return;
  account = {true, elements, 0, std::max(always_allowed, allowed_factor * elements * std::sqrt(elements))};
}

WorkScope::~WorkScope() {
  if (is_outer_) account.is_open = false;
}

void take_work(double operations) {
  if (!account.is_open) return;
  account.used += operations;
  if (account.used <= account.limit) return;
  throw SkipError("The call asks for " + short_number(account.used) +
                  " operations or more, out of all proportion to its recorded tensors of " +
                  short_number(account.elements) + " elements: a shape or an argument may be damaged.");
}

}  // namespace msrun
