// Where the system and Python look for programs and modules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msrun {

// The folders of a list such as PATH, but for its empty entries, which stand for the current folder.
std::vector<std::string> listed_folders(std::string_view list);

// The list without those entries.
std::string without_empty_entries(std::string_view list);

// Leaves the current folder out where PATH and PYTHONPATH have it unnamed, for this process and whatever it starts: a
// run reads the folder that it is in, and executes nothing there. Folders that are named stay, "." as well. Called
// before there are threads.
void search_no_unnamed_folder();

}  // namespace msrun
