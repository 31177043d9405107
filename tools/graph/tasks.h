// Work in independent pieces on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace msrun::graph {

// Runs work(0) to work(count - 1) on so many threads, the calling one included, or on as many as the system has. The
// first exception ends what has not begun and is thrown again here.
void for_each_task(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

// Pieces of work that are made on several threads, of which the caller's is one, and taken in their order, on the
// caller's thread alone. Of a piece both functions are given its number and a place, whose memory can so be used again:
// no two pieces that are under way have the same place. What is thrown ends the work and is thrown again here.
struct OrderedSteps {
  using Step = std::function<void(std::size_t number, std::size_t place)>;
  Step make;
  Step take;
};
// places: how many pieces may be under way, at least 1.
void for_each_in_order(std::size_t count, std::size_t threads, std::size_t places, const OrderedSteps& work);

}  // namespace msrun::graph
