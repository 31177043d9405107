// The folder of -save_error_data: whose it is where several runs use one name, one after the other.
#pragma once

#include <optional>
#include <string>

#include "kernels/io/files/folder.h"
#include "runner/dialects/dialect.h"

namespace msrun {

// What tells a folder from any other that has or had its name, wherever it is moved on its file system; empty where
// that cannot be told. For the header of the journal of the run that saves there.
std::string folder_identity(const Folder& folder);

// Makes room for a fresh run under a name without a time stamp: what an earlier run has saved there is kept as
// "<name>_before_<stamp>", with a warning. A folder without files goes away, unless a run that saves there still goes
// on. Without a stamp nothing is renamed. Throws UserError.
void make_room_for_error_data(const Folder& place, const std::string& name, const std::string& stamp);

// What the journal of a run that is continued says of its folder.
struct EarlierErrorData {
  bool kept = false;     // the run was begun with -save_error_data
  std::string identity;  // of its folder; empty: not noted
};

// The name of the folder in place that a continued run saves to: its own, under whichever name it is now, else one that
// no other run uses. Throws UserError if there is none.
std::string continued_error_data(const Folder& place, const Dialect& dialect, const std::string& stamp,
                                 bool several_devices, const EarlierErrorData& earlier);

// Tells other runs, as long as a copy of folder is open, that files may come.
void hold_error_data(const Folder& folder);

}  // namespace msrun
