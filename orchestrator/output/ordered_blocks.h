// Pieces of text that are made by several threads and taken in their order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace msrun {

// Rows of both files, of calls that follow each other.
struct RowBlock {
  std::string details;
  std::string result;
};

// Makes blocks 0, 1, ... one after the other in so many threads, a few ahead of the one that is taken next: what waits
// takes memory. With one thread they are made as they are taken, in the thread that takes them.
class OrderedBlocks {
 public:
  // make is called by several threads at a time. It fills a block that may have been used before, and is cleared.
  using Make = std::function<void(std::size_t number, RowBlock& block)>;

  OrderedBlocks(std::size_t count, unsigned threads, Make make);
  ~OrderedBlocks();
  OrderedBlocks(const OrderedBlocks&) = delete;
  OrderedBlocks& operator=(const OrderedBlocks&) = delete;

  // Hands over every block in order. Throws what make or take throws.
  void take_all(const std::function<void(const RowBlock& block)>& take);

 private:
  void work();

  std::size_t count_;
  Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, RowBlock> made_;
  std::vector<RowBlock> used_;  // that can be filled again
  std::exception_ptr failure_;
  std::size_t next_ = 0;   // to be made
  std::size_t taken_ = 0;  // that were handed over
  std::size_t ahead_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace msrun
