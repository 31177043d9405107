// Work in independent pieces on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace msrun::graph {

// Runs work(0) to work(count - 1) on so many threads, the calling one included. The first exception ends what has not
// begun and is thrown again here.
void for_each_task(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace msrun::graph
