// Who makes and who reads what is in the tensors of a recording, which names no variables: told by their content.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/dump_compare/forward_calls.h"
#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

// Places in Recording::leaves: of the tensors that a call reads, parameters included, what it only writes left out; and
// of those it makes, gradients of parameters included.
std::vector<std::uint32_t> inputs_of(const recordings::Recording& side, const recordings::Call& call);
std::vector<std::uint32_t> outputs_of(const recordings::Recording& side, const recordings::Call& call);

// Calls are places in Recording::calls; no_place where there is none.
class DataFlow {
 public:
  // side is kept. checksums: whether they tell contents, or statistics do.
  DataFlow(const recordings::Recording& side, bool checksums);

  // The last call in front of another one that made what is in the leaf.
  std::uint32_t producer_of(std::uint32_t leaf, std::uint32_t before) const;
  // Whether a call behind the one and before the other reads what is in the leaf.
  bool is_read_between(std::uint32_t leaf, std::uint32_t after, std::uint32_t before) const;
  // The forward call that a backward one belongs to.
  std::uint32_t forward_of(std::uint32_t call) const;

 private:
  using Places = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

  void note(Places& places, const std::vector<std::uint32_t>& leaves, std::uint32_t call) const;
  std::uint64_t content_of(std::uint32_t leaf) const;

  const recordings::Recording& side_;
  const bool checksums_;
  Places producers_;  // calls by the content of an output
  Places readers_;    // by that of an input
  ForwardCalls forward_calls_;
};

}  // namespace msrun::dump_compare
