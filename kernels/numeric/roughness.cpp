#include "kernels/numeric/roughness.h"

namespace msrun {
namespace {

thread_local std::uint32_t current = 0;

}  // namespace

RoughScope::RoughScope(std::uint32_t seed) : before_(current) { current = seed; }
RoughScope::~RoughScope() { current = before_; }

std::uint32_t roughness() { return current; }

}  // namespace msrun
