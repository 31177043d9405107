// -save_error_data: the tensors of a call that did not pass, as .pt files for PyTorch (acc_check_pytorch.md 11) and as
// .npy files for MindSpore (acc_check_mindspore.md 8); those of the older tool (att_layout.md 12).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/folder.h"
#include "runner/device/device.h"
#include "runner/results/result.h"

namespace msrun {

// Foreign text as part of a file name, at most longest bytes: it may neither lead elsewhere nor make the name longer
// than a file system takes.
std::string harmless_name(std::string text, std::size_t longest);

// What the names of all files of a call begin with.
std::string error_data_prefix(const std::string& call);

// The folder of what a further device, which checked the call as well (--same-on-all), has given: "device3".
std::string error_data_device(std::int32_t device);

// Writes <folder>/<name>.forward.input.<n>.pt and so on. Slashes and control characters of names become '_' and long
// names are cut, so that every file lies in the folder. Throws FileError for a file that cannot be written.
void save_pt_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                   const DeviceResult& device);

// The files of the old layout, of the gradients that are given: those of the device are called npu's, the gradient of
// the output is saved as it was before it was raised, and a keyword argument has its name in place of a number. raw:
// keyword arguments are numbered from 0 again, and at the first number that is taken nothing more is saved.
void save_att_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                    const DeviceResult& device, const List& bench_gradients, const List& device_gradients, bool raw);

// Raw, the file at which saving ends; empty if there is none.
std::string first_taken_att_file(const MaterialisedCall& call);

// Writes <folder>/<name>.forward.input.<n>.npy and so on, of the directions that have a row which is no pass; those of
// the benchmark are called bench_output. bfloat16 is written as float32. Names and errors as above.
void save_npy_files(const Folder& folder, const MaterialisedCall& call, const Evaluation& bench,
                    const DeviceResult& device, const ApiResult& result);

}  // namespace msrun
