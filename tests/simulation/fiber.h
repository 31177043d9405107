// A thread that runs only when it is resumed, on a stack of its own: thousands of them are one thread of the host, in
// an order that whoever resumes them decides.
#pragma once

#include <boost/context/fiber.hpp>

#include <exception>
#include <functional>

namespace msrun::simulation {

class Fiber {
 public:
  // Runs body, from the first resume() on.
  explicit Fiber(std::function<void()> body);
  // Ends it if it has not ended.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The one that runs; null where none does.
  static Fiber* current();
  // In a fiber: goes back to whoever has resumed it.
  static void pause();

  // Goes on with it until it pauses or ends. What its body throws is thrown here.
  void resume();
  // It goes no further: what its stack holds is destroyed. Not while it runs.
  void end();
  // Whether it is being ended, so that destructors are all that runs.
  bool is_ending() const { return is_ending_; }
  bool is_done() const { return is_done_; }

 private:
  struct Ended {};

  std::function<void()> body_;
  boost::context::fiber own_;
  boost::context::fiber resumer_;
  std::exception_ptr thrown_;
  bool has_begun_ = false;
  bool is_ending_ = false;
  bool is_done_ = false;
};

}  // namespace msrun::simulation
