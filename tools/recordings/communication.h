// Which calls of several ranks are one communication, and what happens before what over all ranks (dump_compare.md 14
// and 15.4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::recordings {

bool is_communication(const Recording& side, const Call& call);

// A call of a rank, by the place of the rank in the list and that of the call in its recording.
struct CallPlace {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
};

// The order of the calls of all ranks. Calls of one rank follow each other as the recording has them; all participants
// of one communication are one point of every rank that takes part.
class RankOrder {
 public:
  struct Rank {
    std::uint64_t number = 0;
    const Recording* recording = nullptr;
  };
  // ranks must outlive this.
  explicit RankOrder(std::vector<Rank> ranks);

  // All calls that belong to a communication, its own included; for any other call itself.
  std::vector<CallPlace> participants(CallPlace place) const;
  // Numbers of ranks that the arguments of a communication name, or, if they name no group, that there must be below
  // the largest, and that have no call of it: they were not read, or did not record it.
  std::vector<std::uint64_t> absent(CallPlace place) const;
  // Longest chain of communications before the call.
  std::uint32_t layer(CallPlace place) const;
  // Calls of the rank since its last communication.
  std::uint32_t position(CallPlace place) const;
  bool happens_before(CallPlace first, CallPlace second) const;
  // By layer, position and rank.
  bool is_earlier(CallPlace first, CallPlace second) const;

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  struct Point {
    std::vector<CallPlace> calls;
    std::vector<std::uint64_t> named;    // numbers of the ranks that take part
    std::uint32_t layer = 0;             // chain of communications before it
    std::vector<std::uint32_t> reaches;  // for each rank: calls with a smaller place happen before it
    bool done = false;
  };

  void find_points();
  // Numbers of all ranks that take part in a communication by what its arguments say.
  std::vector<std::uint64_t> named_ranks(const Call& described, const Call& call, const Rank& rank) const;
  void order_points();
  // The last communication of the rank before the call; none if there is none.
  std::uint32_t point_before(CallPlace place) const;

  std::vector<Rank> ranks_;
  std::vector<Point> points_;
  std::vector<std::vector<std::uint32_t>> point_of_;    // for each rank and call
  std::vector<std::vector<std::uint32_t>> last_point_;  // before each call
};

}  // namespace msrun::recordings
