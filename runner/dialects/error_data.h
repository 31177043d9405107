// -save_error_data for PyTorch: the tensors of a call that did not pass, as .pt files (acc_check_pytorch.md 11).
#pragma once

#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/folder.h"
#include "runner/device/device.h"

namespace msrun {

// Writes <folder>/<name>.forward.input.<n>.pt and so on. Slashes and control characters of names become '_' and long
// names are cut, so that every file lies in the folder. Throws FileError for a file that cannot be written.
void save_pt_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                   const DeviceResult& device);

}  // namespace msrun
