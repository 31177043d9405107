// -save_error_data: the tensors of a call that did not pass, as .pt files for PyTorch (acc_check_pytorch.md 11) and as
// .npy files for MindSpore (acc_check_mindspore.md 8).
#pragma once

#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/folder.h"
#include "runner/device/device.h"
#include "runner/results/result.h"

namespace msrun {

// Writes <folder>/<name>.forward.input.<n>.pt and so on. Slashes and control characters of names become '_' and long
// names are cut, so that every file lies in the folder. Throws FileError for a file that cannot be written.
void save_pt_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                   const DeviceResult& device);

// Writes <folder>/<name>.forward.input.<n>.npy and so on, of the directions that have a row which is no pass; those of
// the benchmark are called bench_output. bfloat16 is written as float32. Names and errors as above.
void save_npy_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                    const DeviceResult& device, const ApiResult& result);

}  // namespace msrun
