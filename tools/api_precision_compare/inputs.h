// Whether the two acc_check runs computed the same thing: what the journals beside their CSVs say about the inputs.
#pragma once

#include <string>

namespace msrun::api_precision_compare {

// In words, what was different: "2 of 84 calls, the first is Torch.add.0; the seed (1234 on the NPU, 7 on the GPU)".
// Calls are told apart by the checksums of their inputs, where both journals hold some; if all of those agree, nothing
// was different, whatever the runs' options say. Empty also if a journal is missing or cannot be read: files of other
// programs have none.
std::string input_differences(const std::string& npu_csv, const std::string& gpu_csv);

// Which device the journal beside the CSV says that it was: "npu", "gpu", or nothing.
std::string device_kind(const std::string& csv);

// Whether the journal beside the CSV says that the run, or a part of it, had a simulated device. False where there is
// no journal that can be read.
bool was_simulated(const std::string& csv);

}  // namespace msrun::api_precision_compare
