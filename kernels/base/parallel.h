// Help between threads. The loops of a large call are cut into pieces that do not depend on one another; a thread that
// has nothing else to do may run some of them. What a piece computes does not depend on who runs it, so neither does
// the result.
//
// Whoever owns the threads lends them (help_until); a program that never does runs every loop on the calling thread.
#pragma once

#include <cstdint>
#include <functional>

namespace msrun {

// True if a thread is waiting to help and the calling one is not itself at a piece: then cutting a loop pays.
bool help_is_near();

// Whether help pays for a loop whose multiplications and additions number the product of the factors: not if it is done
// before help arrives, which takes some hundred microseconds.
template <class... Factors>
bool help_pays(Factors... factors) {
  return (static_cast<double>(factors) * ...) > 3e7 && help_is_near();
}

// Calls run(i) once for every i in [0, pieces), on the calling thread and on those that help; returns when all are
// done. A piece creates no Tensors: their memory is counted by thread. The first exception is thrown again here.
void run_pieces(std::int64_t pieces, const std::function<void(std::int64_t)>& run);

// Something that belongs to the work of the calling thread, for whoever must know whose work a thread was doing; a
// helper has that of the thread it helps.
void*& work_owner();

// Helps other threads until done() is true, which wake_helpers() makes it ask again. enter() is called before a thread
// begins to help and may wait, leave() after; enter() returning false ends the help for good.
struct HelpTerms {
  std::function<bool()> done;
  std::function<bool()> enter;
  std::function<void()> leave;
};
void help_until(const HelpTerms& terms);
void wake_helpers();

}  // namespace msrun
