#include "orchestrator/supervise/event_loop.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "kernels/base/error.h"

namespace msrun {

int checked(int result, const char* call) {
  if (result < 0) throw_errno(call);
  return result;
}

EventLoop::EventLoop() : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {}

void EventLoop::watch(int descriptor, Handler handler) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = next_tag_;
  checked(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  watches_.emplace(next_tag_++, Watch{descriptor, std::move(handler)});
}

void EventLoop::forget(int descriptor) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  std::erase_if(watches_, [&](const auto& entry) { return entry.second.descriptor == descriptor; });
}

void EventLoop::wait(double seconds) {
  std::array<epoll_event, 32> events;
  const int timeout = seconds < 0 ? -1 : static_cast<int>(std::ceil(seconds * 1000));
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  for (int i = 0; i < count; ++i) {
    const auto found = watches_.find(events[static_cast<std::size_t>(i)].data.u64);
    if (found == watches_.end()) continue;
    // A copy: the handler may forget its own descriptor.
    const Handler handler = found->second.handler;
    handler();
  }
}

UniqueFd make_timer(double interval) {
  UniqueFd timer(checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create"));
  itimerspec times{};
  times.it_interval.tv_sec = static_cast<time_t>(interval);
  times.it_interval.tv_nsec = static_cast<long>((interval - std::floor(interval)) * 1e9);
  times.it_value = times.it_interval;
  checked(timerfd_settime(timer.get(), 0, &times, nullptr), "timerfd_settime");
  return timer;
}

UniqueFd make_counter() { return UniqueFd(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")); }

std::uint64_t take_count(int descriptor) {
  std::uint64_t count = 0;
  return read(descriptor, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

Lifeline::Lifeline() {
  std::array<int, 2> ends;
  checked(pipe2(ends.data(), O_CLOEXEC), "pipe2");
  read.reset(ends[0]);
  write.reset(ends[1]);
}

}  // namespace msrun
