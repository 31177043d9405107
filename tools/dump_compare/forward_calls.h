// The forward calls of a recording by their names, for what a backward call takes from its own.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

class ForwardCalls {
 public:
  // side must outlive it.
  explicit ForwardCalls(const recordings::Recording& side) : side_(side) {
    for (std::uint32_t call = 0; call < side.calls.size(); ++call) {
      const recordings::Call& of = side.calls[call];
      if (of.direction == recordings::Direction::forward) places_.emplace(side.name(of), call);
    }
  }

  // The place of the forward call of a backward call; missing where there is none, and for all other calls.
  std::uint32_t of(const recordings::Call& call, std::uint32_t missing) const {
    if (call.direction != recordings::Direction::backward) return missing;
    constexpr std::string_view word = ".backward";
    std::string name(side_.name(call));
    const std::size_t at = name.rfind(word);
    if (at == std::string::npos) return missing;
    const auto found = places_.find(name.replace(at, word.size(), ".forward"));
    return found == places_.end() ? missing : found->second;
  }

 private:
  const recordings::Recording& side_;
  std::unordered_map<std::string, std::uint32_t> places_;
};

}  // namespace msrun::dump_compare
