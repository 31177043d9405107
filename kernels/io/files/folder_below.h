// Folders that lie several levels below one that is held open.
#pragma once

#include <string_view>

#include "kernels/io/files/folder.h"

namespace msrun {

// The folder of that path below it, "step0/rank3", each level of which is made if it is missing; itself if the path is
// empty. Throws what Folder::subfolder does.
Folder folder_below(const Folder& folder, std::string_view path);

}  // namespace msrun
