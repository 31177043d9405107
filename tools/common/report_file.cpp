#include "tools/common/report_file.h"

#include <unistd.h>

#include <cerrno>

#include "kernels/base/text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"

namespace msrun {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

}  // namespace

ReportFile::ReportFile(const std::string& directory, const std::string& kind)
    : folder_(directory), kind_(kind), temporary_(temporary_name(folder_, kind)), file_(folder_, temporary_) {
  if (!file_.is_open()) fail("created");
}

void ReportFile::write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= buffer_bytes) flush();
}

void ReportFile::flush() {
  if (!write_all(file_.descriptor(), buffer_)) fail("written");
  buffer_.clear();
}

bool ReportFile::appear(const std::string& name) {
  flush();
  if (file_.publish_as_new(name)) return true;
  if (errno != EEXIST) fail("given its name");
  return false;
}

void ReportFile::disappear(const std::string& name) { ::unlinkat(folder_.descriptor(), name.c_str(), 0); }

void ReportFile::fail(const char* action) const {
  const std::string reason = errno_text();
  throw WriteError("The file " + folder_.path_of(kind_) + time_in_name + " cannot be " + action + ": " + reason);
}

}  // namespace msrun
