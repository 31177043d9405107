// The folder in which PyTorch's recorder keeps the tensors of a recording.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// Its name, beside dump.json.
inline constexpr std::string_view tensor_folder_name = "dump_tensor_data";

// That of the recording, a dump.json: beside it, wherever it was moved to, or beside the dump that a link leads to.
// Where there is neither it is the one that would be beside it.
std::filesystem::path tensor_folder_of(const std::filesystem::path& recording);

// Where the files of a recording must lie, whatever names it gives them: in the folder of its dump.json, and in that
// which its folder of tensors is a link to. Links are resolved.
std::vector<std::filesystem::path> folders_of_recording(const std::filesystem::path& recording);
// Whether a file lies in one of them, links resolved.
bool is_of_recording(const std::filesystem::path& file, const std::filesystem::path& recording);

// Refuses an output that would lie among the tensors of a recording, a dump.json. Empty paths are none. Throws
// UserError that names the option.
void check_outside_tensors(const std::string& option, const std::string& written, const std::string& recording);

}  // namespace msrun
