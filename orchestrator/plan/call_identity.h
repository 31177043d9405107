// What makes calls of several ranks the same call: API, arguments and gradients, each with dtypes and shapes; if it is
// asked for the statistics of tensors as well. Names beyond the API's, and with them the number of a call, say nothing.
// A call is what is written: an argument that has its default value and one that is left out are not the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/api/api_call.h"
#include "kernels/api/call_codec.h"

namespace msrun {

// A hash of all that; calls with equal ones count as the same. Two different calls have the same with a probability of
// 2^-128.
struct CallIdentity {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const CallIdentity&) const = default;
};

struct HashOfIdentity {
  std::size_t operator()(const CallIdentity& identity) const { return identity.low; }
};

// That of the forward of a call.
CallIdentity identity_of(const ApiCall& call, Statistics statistics);
// That of the gradients of its outputs, which are its backward entry's.
CallIdentity identity_of(const List& gradients, Statistics statistics);
// That of a call with both.
CallIdentity combined(const CallIdentity& forward, const CallIdentity& gradients);
// That of a call which is not run for a reason, and of a call that has this name.
CallIdentity identity_of_skip(std::string_view name, std::string_view reason, bool by_rule);
CallIdentity with_name(const CallIdentity& identity, std::string_view name);

// A hash of what a rank wants to be checked, part by part.
class Fingerprint {
 public:
  void add(std::string_view part);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace msrun
