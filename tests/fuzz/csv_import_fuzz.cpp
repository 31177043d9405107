// Any bytes as the two files of an earlier run: results, or one UserError. Results that were read, written and read
// again are the same. An input is the precision (one byte), the result file, a NUL and the details file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "orchestrator/output/csv.h"
#include "orchestrator/output/csv_titles.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;

ImportedCsv import_texts(std::string_view result, std::string_view details, int precision) {
  const auto bytes = [](std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); };
  const MemoryFile result_file(bytes(result), result.size());
  const MemoryFile details_file(bytes(details), details.size());
  return import_csv(result_file.path(), details_file.path(), CsvStyle{.precision = precision});
}

struct Files {
  std::string result;
  std::string details;
  bool operator==(const Files&) const = default;
};

Files render(const ImportedCsv& imported, int precision) {
  Files files{result_header(pytorch_dialect()), details_header(pytorch_dialect(), false)};
  for (const ApiResult& result : imported.results) {
    pytorch_dialect().append_result(files.result, result, true);
    pytorch_dialect().append_details(files.details, result, precision);
  }
  return files;
}

}  // namespace

FUZZ_TARGET(csv_import_fuzz) {
  if (size == 0) return 0;
  const int precision = data[0] % 21;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(text.size(), text.find('\0'));
  ImportedCsv imported;
  try {
    imported = import_texts(text.substr(0, end), text.substr(std::min(text.size(), end + 1)), precision);
  } catch (const UserError&) {
    return 0;
  }
  const Files files = render(imported, precision);
  const ImportedCsv again = import_texts(files.result, files.details, precision);
  if (!again.notes.empty() || render(again, precision) != files) std::abort();
  return 0;
}
