// Which results are those of a rank's calls, where several ranks are checked in one run: a call that several ranks have
// recorded has one result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// Which calls of several ranks count as one: those that differ in nothing but the statistics of tensors, those that do
// not differ in these either, or none.
enum class AcrossRanks : std::uint8_t { calls, values, off };

struct RankCalls {
  // Tasks whose numbers follow each other.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool operator==(const Run&) const = default;
  };
  // A call that has another name than the one whose result it has.
  struct OtherName {
    std::uint32_t place = 0;  // among the rank's calls
    std::string name;
    bool operator==(const OtherName&) const = default;
  };

  std::uint32_t number = 0;  // of the rank, from 0
  std::string rank;          // "step0/rank3"
  std::vector<Run> runs;     // one behind the other the tasks of the rank's calls, in the order of its recording
  std::vector<OtherName> other_names;  // by rising places

  // Appends a call.
  void add(std::uint32_t task) {
    if (runs.empty() || runs.back().first + runs.back().count != task) runs.push_back({task, 0});
    ++runs.back().count;
  }
  std::uint64_t size() const {
    std::uint64_t calls = 0;
    for (const Run& run : runs) calls += run.count;
    return calls;
  }
  // No recording of 10 GiB, the most that is read, has more calls.
  static constexpr std::uint64_t most_calls = (std::uint64_t{10} << 30) / 64;
  // Whether all are among so many tasks, and no more than a recording can have: to be asked of what was read from a
  // file.
  bool is_within(std::uint64_t tasks) const {
    if (size() > most_calls) return false;
    for (const Run& run : runs) {
      if (std::uint64_t{run.first} + run.count > tasks) return false;
    }
    return true;
  }
  bool has(std::uint32_t task) const {
    for (const Run& run : runs) {
      if (task >= run.first && task - run.first < run.count) return true;
    }
    return false;
  }
  // visit(task, name) for each call in order; name is null where it is that of the task.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::uint32_t place = 0;
    auto other = other_names.begin();
    for (const Run& run : runs) {
      for (std::uint32_t i = 0; i < run.count; ++i, ++place) {
        const bool has_other = other != other_names.end() && other->place == place;
        visit(run.first + i, has_other ? &(other++)->name : nullptr);
      }
    }
  }
  // Whether the calls are those of the other rank, by name and result.
  bool same_calls(const RankCalls& other) const { return runs == other.runs && other_names == other.other_names; }
};

// "Torch.matmul.0" of "step0/rank3:Torch.matmul.0", and of a name without rank the name. No rank has a colon in its
// name.
inline std::string_view without_rank(std::string_view title) {
  const std::size_t colon = title.find(':');
  return colon == std::string_view::npos ? title : title.substr(colon + 1);
}

// "step0/rank3" of it; empty without rank.
inline std::string_view rank_in(std::string_view title) {
  const std::size_t colon = title.find(':');
  return title.substr(0, colon == std::string_view::npos ? 0 : colon);
}

}  // namespace msrun
