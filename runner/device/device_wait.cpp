#include "runner/device/device_wait.h"

namespace msrun {

const WaitTerms*& wait_terms() {
  thread_local const WaitTerms* terms = nullptr;
  return terms;
}

}  // namespace msrun
