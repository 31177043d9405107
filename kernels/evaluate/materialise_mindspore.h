// From the recorded description of a MindSpore call to the tensors it is run on (acc_check_mindspore.md 4, 5).
#pragma once

#include "kernels/evaluate/materialise.h"

namespace msrun {

// What the SkipError of a file that is missing begins with, the tool's own text; the path of the file follows.
inline constexpr const char* no_such_mindspore_file = "[msprobe] 非法文件路径： ";

// Without options.data_root every tensor is random data of the recorded range, from a generator that is seeded anew for
// each; with it, tensors come from files, and are of the recorded dtype. Both sides get the same data, unchanged:
// nothing is rounded to HF32, and no autocast is assumed. All floating tensors require gradients, those in lists
// included; keyword arguments do unless the device's gradients were recorded, and none of them. Throws SkipError, in
// the words of the tool in use, where a value cannot be built.
MaterialisedCall materialise_mindspore(const ApiCall& call, const MaterialiseOptions& options);

}  // namespace msrun
