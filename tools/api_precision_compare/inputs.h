// Whether the two acc_check runs computed the same thing: what the journals beside their CSVs say about the inputs.
#pragma once

#include <string>

namespace msrun::api_precision_compare {

// What decides the inputs and differs between the runs, in words: "the seed (1234 on the NPU, 7 on the GPU)". Empty if
// nothing does, or if a journal is missing or cannot be read: files of other programs have none.
std::string input_differences(const std::string& npu_csv, const std::string& gpu_csv);

}  // namespace msrun::api_precision_compare
