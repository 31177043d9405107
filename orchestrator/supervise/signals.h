// The signals that stop a run: held back while files are being opened and completed, read one by one while it goes on.
#pragma once

#include <signal.h>

#include <optional>

#include "kernels/base/unique_fd.h"

namespace msrun {

// SIGINT, SIGTERM and, unless it is ignored as under nohup, SIGHUP.
sigset_t handled_signals();

// Holds the handled signals back, so that files are opened and completed without being interrupted; who reads a
// signal_queue() meanwhile acts on them. What nobody acted on by the end is dropped: there is nothing left to stop. Of
// several within each other that is the outermost's to say.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
  bool held_before_ = false;
};

// Can be read when one of the handled signals has come while it was held back.
UniqueFd signal_queue();

// The number of the next signal of a signal_queue(); nothing if none is left.
std::optional<int> next_signal(int queue);

}  // namespace msrun
