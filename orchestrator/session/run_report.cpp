#include "orchestrator/session/run_report.h"

#include <string>

#include "journal/file.h"
#include "kernels/io/files/paths.h"
#include "runner/report/report.h"

namespace msrun {

std::string report_of_run(const Folder& folder, const RunFiles& files) {
  const std::string in_folder = "/proc/self/fd/" + std::to_string(folder.descriptor()) + "/";
  const auto journal = journal::open_source(in_folder + std::string(base_name(files.journal)), files.journal);
  return report::report_page(*journal, files.stamp, {});
}

void write_report(const Folder& folder, const RunFiles& files, const std::string& page) {
  AtomicFile file(folder, std::string(base_name(files.report)));
  file.write(page);
  file.commit();
}

}  // namespace msrun
