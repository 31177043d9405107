// One thread waiting for many descriptors: epoll with a function for each descriptor, and the kernel objects that are
// waited for beside processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "kernels/base/unique_fd.h"

namespace msrun {

// result, unless it says that a system call failed: then std::system_error with errno and the name of the call.
int checked(int result, const char* call);

class EventLoop {
 public:
  using Handler = std::function<void()>;

  EventLoop();

  // Calls handler whenever descriptor can be read, until forget(). The descriptor stays the caller's.
  void watch(int descriptor, Handler handler);
  // To be called while the descriptor is still open: a child that has inherited it would keep it in the set.
  void forget(int descriptor);

  // Waits for an event, at most so many seconds (negative: as long as it takes), and calls the handlers of all
  // descriptors that can be read. Handlers may watch and forget.
  void wait(double seconds);

 private:
  struct Watch {
    int descriptor;
    Handler handler;
  };

  UniqueFd epoll_;
  // By tag. No tag is used twice, so that what was ready when a handler forgot it finds nobody, even if its number
  // belongs to another descriptor by now.
  std::map<std::uint64_t, Watch> watches_;
  std::uint64_t next_tag_ = 0;
};

// A timer that can be read every so many seconds.
UniqueFd make_timer(double interval);

// A counter that can be read once something was added to it.
UniqueFd make_counter();

// What has been added to a timer or a counter since it was last read; 0 if nothing has.
std::uint64_t take_count(int descriptor);

// A pipe whose writing end nobody writes to: it closes with the process that holds it, however that ends.
struct Lifeline {
  Lifeline();
  UniqueFd read;
  UniqueFd write;
};

}  // namespace msrun
