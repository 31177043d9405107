// Puts the calls of several ranks together, one task for those that count as the same (call_identity.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orchestrator/plan/call_identity.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/plan_builder.h"
#include "orchestrator/plan/read_recording.h"

namespace msrun {

class RankMerge {
 public:
  // shares: whether a call may have the task of an earlier rank's.
  explicit RankMerge(bool shares) : shares_(shares) {}

  // Takes the calls of the next rank, which are paired. Where several tasks may be that of a call, it is that of the
  // same name, else the first that no other call of the rank has.
  void add(const RankFile& file, const ReadRecording& read);

  // Call once, behind the last rank: what the tasks cost.
  void finish();

  const std::vector<PlanRecord>& records() const { return records_; }
  const std::string& bytes() const { return bytes_; }
  std::vector<PlannedRank>& ranks() { return ranks_; }

 private:
  // The tasks of calls that count as the same, and how far the rank that is added has used them.
  struct Tasks {
    std::vector<std::uint32_t> tasks;
    std::size_t next = 0;
    std::size_t rank = 0;
  };

  std::vector<std::uint32_t> tasks_of_the_same_names(const PlanBuilder& builder);
  std::uint32_t shared_task(const CallIdentity& identity);
  std::uint32_t own_task(const PlanBuilder& builder, std::size_t place, bool is_shared);
  void copy(std::string_view bytes, std::uint64_t& offset, std::uint32_t size);

  bool shares_;
  std::vector<PlanRecord> records_;
  std::string bytes_;
  std::vector<PlannedRank> ranks_;
  std::vector<std::uint32_t> users_;  // by task: the number of the last rank that has it, counted from 1
  std::unordered_map<CallIdentity, Tasks, HashOfIdentity> same_;
  std::unordered_map<CallIdentity, std::uint32_t, HashOfIdentity> named_;  // by identity with name
};

}  // namespace msrun
