// The calls of a plan as leases that several processes take one after the other (--steal).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/session/job.h"
#include "orchestrator/session/lease_folder.h"

namespace msrun {

class Stealing {
 public:
  // Makes or joins the leases in the folder of the results. Throws UserError.
  explicit Stealing(const SessionState& session);
  // To be called while nothing is to be had, ten times a second.
  void while_idle(std::function<void()> idle) { idle_ = std::move(idle); }
  // The journal that this process writes, which is not opened here: with the first descriptor of it that is closed, the
  // process would lose the lock by which it is known as the writer.
  void keep_open(OwnJournal journal) { own_journal_ = std::move(journal); }

  // The calls of the next lease, which is held from now on: waits until one can be had. Nothing once all are finished,
  // or after a signal.
  std::optional<std::vector<bool>> next();
  bool interrupted() const { return interrupted_; }
  // Calls that were in flight on several nodes when these fell silent, and may have taken down their hosts.
  const std::vector<std::uint32_t>& suspects() const { return suspects_; }
  // To be asked ten times a second while the calls are checked: gives signs of life, and says whether the lease is
  // still held.
  bool may_go_on();
  // Whether all leases are finished, as far as can be seen now.
  bool all_done() const { return folder_.all_done(); }
  // The results of the calls are where nothing can take them away.
  void finish();
  // The calls of the lease that is held are left to others. Nothing if none is.
  void give_back();

  // "leases 14 of 256".
  std::string text() const;

 private:
  void find_suspects();
  void log_wait(const LeaseFolder::Look& look);
  bool wait(double seconds);

  const SessionState& session_;
  std::function<void()> idle_;
  LeaseFolder folder_;
  std::string path_;
  OwnJournal own_journal_;
  std::vector<std::uint32_t> dealt_;  // by call, the lease that it belongs to
  std::vector<std::uint32_t> suspects_;
  std::uint32_t lease_ = 0;
  std::uint32_t taken_ = 0;
  double renewed_ = 0;  // steady seconds
  bool interrupted_ = false;
  bool waits_ = false;
};

}  // namespace msrun
