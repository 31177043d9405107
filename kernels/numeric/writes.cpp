#include "kernels/numeric/writes.h"

namespace msrun {
namespace {

thread_local WriteRecorder* current = nullptr;

}  // namespace

WriteRecorder::WriteRecorder() : before_(current) { current = this; }
WriteRecorder::~WriteRecorder() { current = before_; }

void note_writes(const std::shared_ptr<const Selection>& selection, const Tensor& values) {
  if (current != nullptr) current->seen_ = Writes{selection, values};
}

}  // namespace msrun
