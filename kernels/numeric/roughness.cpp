#include "kernels/numeric/roughness.h"

namespace msrun {
namespace {

thread_local std::uint32_t current = 0;

}  // namespace

RoughScope::RoughScope(std::uint32_t seed) : seed_(current, seed) {}

std::uint32_t roughness() { return current; }

}  // namespace msrun
