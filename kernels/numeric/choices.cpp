#include "kernels/numeric/choices.h"

namespace msrun {
namespace {

thread_local ChoiceRecorder* current = nullptr;

}  // namespace

ChoiceRecorder::ChoiceRecorder() : innermost_(current, this) {}

Choices* noted_choices() { return current == nullptr ? nullptr : &current->seen_; }

}  // namespace msrun
