// Threads as far as there is room for them, for work that fewer of them, or none, can do as well.
#pragma once

#include <cstddef>
#include <new>
#include <system_error>
#include <vector>

namespace msrun {

// Starts threads that run a copy of body until there are `count` in the list. Where the system gives no more of them,
// or no memory for one, there are fewer, and the error says why. Nothing is thrown: a list of std::thread that an
// exception destroyed would end the process.
template <class Thread, class Body>
std::error_code start_threads(std::vector<Thread>& threads, std::size_t count, const Body& body) {
  try {
    threads.reserve(count);
    while (threads.size() < count) threads.emplace_back(body);
  } catch (const std::system_error& error) {
    return error.code();
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  }
  return {};
}

}  // namespace msrun
