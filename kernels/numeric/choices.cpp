#include "kernels/numeric/choices.h"

namespace msrun {
namespace {

thread_local ChoiceRecorder* current = nullptr;

}  // namespace

ChoiceRecorder::ChoiceRecorder() : before_(current) { current = this; }
ChoiceRecorder::~ChoiceRecorder() { current = before_; }

Choices* noted_choices() { return current == nullptr ? nullptr : &current->seen_; }

}  // namespace msrun
