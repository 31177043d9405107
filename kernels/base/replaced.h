// Variables that have another value for a while.
#pragma once

#include <type_traits>
#include <utility>

namespace msrun {

// Gives a variable another value for as long as this lives, and then the one that it had. What the scopes of a thread
// are made of: each keeps the one outside of it.
template <class T>
class Replaced {
 public:
  Replaced(T& variable, std::type_identity_t<T> value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Replaced() { variable_ = std::move(before_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace msrun
