#include "tests/simulation/fiber.h"

#include <boost/context/pooled_fixedsize_stack.hpp>
#include <memory>
#include <utility>

namespace msrun::simulation {
namespace {

constexpr std::size_t stack_size = std::size_t{64} << 10;

Fiber* running = nullptr;

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {}

Fiber::~Fiber() { end(); }

Fiber* Fiber::current() { return running; }

void Fiber::resume() {
  static boost::context::pooled_fixedsize_stack stacks(stack_size);
  if (is_done_) return;
  if (!std::exchange(has_begun_, true)) {
    own_ = boost::context::fiber(std::allocator_arg, stacks, [this](boost::context::fiber&& resumer) {
      resumer_ = std::move(resumer);
      try {
        body_();
      } catch (const Ended&) {
        // As it was told to.
      } catch (const boost::context::detail::forced_unwind&) {
        throw;
      } catch (...) {
        thrown_ = std::current_exception();
      }
      is_done_ = true;
      return std::move(resumer_);
    });
  }
  Fiber* const before = std::exchange(running, this);
  own_ = std::move(own_).resume();
  running = before;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::pause() {
  Fiber* const self = running;
  if (self->is_ending_) return;
  self->resumer_ = std::move(self->resumer_).resume();
  if (self->is_ending_) throw Ended{};
}

void Fiber::end() {
  if (is_done_) return;
  is_ending_ = true;
  if (!has_begun_) {
    is_done_ = true;
    return;
  }
  resume();
}

}  // namespace msrun::simulation
