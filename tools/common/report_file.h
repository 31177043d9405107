// Reports, which get names that nothing else has: nobody's report is ever replaced, and none is there before it is
// complete.
#pragma once

#include <string>
#include <string_view>

#include "kernels/io/files/folder.h"

namespace msrun {

// What stands in messages for the part of a report's name that is known only when it is complete.
inline constexpr const char* time_in_name = "<time>";

// A report that is being written. It has no name until it is complete, so that whoever is killed leaves nothing behind;
// where a file system has no such files, it has one that tells whose it is, and the next that writes a report of the
// same kind removes it. Destroyed without a name it is gone. Errors are WriteError.
class ReportFile {
 public:
  // kind is what the names of such reports begin with; it has no slash.
  ReportFile(const std::string& directory, const std::string& kind);
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  void write(std::string_view bytes);

  // Gives the report its name in the directory. False if there is something of that name; then another can be tried.
  bool appear(const std::string& name);
  // Takes the name away again, after which the report is gone.
  void disappear(const std::string& name);

 private:
  void flush();
  [[noreturn]] void fail(const char* action) const;

  Folder folder_;
  std::string kind_;
  std::string temporary_;
  PendingFile file_;
  std::string buffer_;
};

}  // namespace msrun
