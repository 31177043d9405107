// msProbe's search for the earliest call that differs, over ranks and through communications (dump_compare.md 13 and
// 14).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msrun::dump_compare {

// What the search knows of one call.
struct SearchedCall {
  struct Input {
    std::string name;   // of the row
    std::string value;  // its maximum as text, or its checksum
    std::string peer;   // of a batch of sends and receives; "None"
  };
  std::string name;
  bool differs = false;
  std::vector<Input> inputs;  // of communications
};

struct SearchedRank {
  std::uint64_t number = 0;
  std::vector<SearchedCall> calls;  // in the order of the dump
};

// Whether msProbe takes the call for a communication.
bool is_communication_of_msprobe(const std::string& name);

struct FoundCall {
  std::size_t rank = 0;  // place in the list
  std::size_t call = 0;
};

// The calls that msProbe names: those before the first communication, else the earliest of those that communications
// can have spread, else those behind the last communication. Empty if nothing differs.
std::vector<FoundCall> search_differences(const std::vector<SearchedRank>& ranks);

}  // namespace msrun::dump_compare
