// How much a thread may compute for one evaluation of a call. A recording that was damaged can ask for any amount of
// work with tensors of a few elements (a kernel a million wide, where nothing but the padding lets it fit): hours that
// end in nothing. Whoever evaluates calls sets a limit by what was recorded, and a call beyond it is refused with a
// SkipError. Work is counted before it is done, from sizes alone, so that what is refused does not depend on the
// machine.
#pragma once

namespace msrun {

// While it lives, the calling thread may take as many operations as are in proportion to tensors of that many elements
// in all. Within another scope it changes nothing: the outer one counts.
class WorkScope {
 public:
  explicit WorkScope(double elements);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  bool is_outer_;
};

// Multiply-adds, or elements that are written, in double because their number may be absurd. Counts for the calling
// thread, and throws SkipError where its scope allows no more. Without a scope there is no limit.
void take_work(double operations);

}  // namespace msrun
