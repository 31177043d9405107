// Which calls run again after their runner has died, how often, and in whose company.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace msrun {

class Retries {
 public:
  // What is retried are items of work (work_items.h), which are called calls here. most: retries of a call that is to
  // blame, the last of them alone. last_and_alone: calls that may have taken the host down, in the order in which they
  // are to run. suspects: all items of these calls, also those that may come to be wanted.
  Retries(std::uint32_t most, const std::vector<std::uint32_t>& last_and_alone, std::set<std::uint32_t> suspects = {});

  // A runner died with this call in flight. True if the call runs again; false if it was to blame once too often.
  bool died(std::uint32_t task, bool to_blame);
  // Deaths that the call was to blame for.
  std::uint32_t attempts(std::uint32_t task) const;
  // A runner that something outside had stopped was ended with this call in flight. True if the call is to blame after
  // all: nobody stops a call this often, so that a run would not end.
  bool stopped_too_often(std::uint32_t task);
  // Takes back a call that a dead runner was given, or had taken, and had not come to.
  void take_back(std::uint32_t task);

  // What a runner that starts now is given: one call that runs alone, else all that wait, which may be none.
  struct Batch {
    std::vector<std::uint32_t> tasks;
    bool alone = false;
  };
  Batch next();
  bool is_waiting(std::uint32_t task) const;
  bool any_waiting() const { return !waiting_.empty() || !waiting_alone_.empty(); }

  // When nothing else runs any more: release_last() makes the next of last_and_alone, if any is left, wait to run
  // alone. A suspect that is to run again is the next.
  bool any_last() const { return !last_.empty(); }
  std::uint32_t next_last() const { return last_.back(); }
  void release_last();

 private:
  void wait(std::uint32_t task);

  std::uint32_t most_;
  std::map<std::uint32_t, std::uint32_t> attempts_;
  std::map<std::uint32_t, int> stops_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> waiting_alone_;  // each needs a runner of its own
  std::vector<std::uint32_t> last_;           // from the last to the first
  std::set<std::uint32_t> suspects_;
};

}  // namespace msrun
