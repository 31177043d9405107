// What a dropout makes of the elements it keeps and of those it drops, beside the shares of zeros that the documented
// comparison looks at: two evaluations of the call, one that keeps everything and one that drops everything, tell what
// each element of the device's may be (kernels/compare/choices/dropout.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/compare/choices/dropout.h"
#include "kernels/evaluate/evaluate.h"
#include "runner/device/device.h"

namespace msrun {

class DropoutCheck {
 public:
  // benchmark is how the call's benchmark is made; results_have_dtypes says whether the device's have those that the
  // framework gives them. All others outlive the check.
  DropoutCheck(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& benchmark,
               bool results_have_dtypes);

  struct Verdict {
    bool judged = false;  // otherwise it cannot be told
    std::string finding;  // what speaks against the device, as a sentence; empty: nothing
    bool exact = false;   // nothing was to be dropped: every element was compared
    bool is_sound() const { return judged && finding.empty(); }
  };

  // The gradients are asked for after the output, whose zeros they have. Throws SkipError where there is no memory for
  // it.
  Verdict of_output(const Value& device);
  Verdict of_gradients(const List& device);

 private:
  void evaluate_both();
  // That a result has not the dtype of the first tensor among the arguments, which all results of a dropout have, if it
  // is to have that; else empty.
  std::string other_dtype(const char* what, const Tensor& result) const;

  const Operator& op_;
  const MaterialisedCall& call_;
  const EvaluationOptions& benchmark_;
  bool results_have_dtypes_;
  bool evaluated_ = false;
  Evaluation kept_;
  Evaluation dropped_;
  std::optional<Dropping> draws_;
  std::vector<Fate> fates_;  // of the output
};

}  // namespace msrun
