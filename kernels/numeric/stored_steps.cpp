#include "kernels/numeric/stored_steps.h"

namespace msrun {
namespace {

thread_local bool current = false;

}  // namespace

StoredSteps::StoredSteps(bool active) : active_(current, active) {}

bool stores_steps() { return current; }

}  // namespace msrun
