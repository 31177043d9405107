// The folder in which PyTorch's recorder keeps the tensors of a recording.
#pragma once

#include <filesystem>
#include <string_view>

namespace msrun {

// Its name, beside dump.json.
inline constexpr std::string_view tensor_folder_name = "dump_tensor_data";

// That of the recording, a dump.json: beside it, wherever it was moved to, or beside the dump that a link leads to.
// Where there is neither it is the one that would be beside it.
std::filesystem::path tensor_folder_of(const std::filesystem::path& recording);

}  // namespace msrun
