#include "orchestrator/session/run_report.h"

#include <string>

#include "journal/file.h"
#include "kernels/io/files/folder.h"
#include "kernels/io/files/paths.h"
#include "runner/report/report.h"

namespace msrun {

void write_report(const RunFiles& files) {
  const std::string page = report::report_page(*journal::open_source(files.journal), files.stamp, {});
  AtomicFile file(Folder(files.directory), std::string(base_name(files.report)));
  file.write(page);
  file.commit();
}

}  // namespace msrun
