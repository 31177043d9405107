// Any bytes as CSV text: rows, which written again and read again are the same rows.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/files/csv.h"
#include "tests/fuzz/target.h"

namespace {

using namespace msrun;
using Rows = std::vector<std::vector<std::string>>;

Rows read_rows(std::string_view text, std::size_t& torn_bytes) {
  CsvReader reader(text);
  Rows rows;
  std::vector<std::string> row;
  while (reader.next(row)) rows.push_back(row);
  torn_bytes = reader.torn_bytes();
  return rows;
}

}  // namespace

FUZZ_TARGET(csv_fuzz) {
  std::size_t torn_bytes = 0;
  const Rows rows = read_rows({reinterpret_cast<const char*>(data), size}, torn_bytes);
  if (torn_bytes > size) std::abort();
  std::string text = "\xEF\xBB\xBF";
  for (const std::vector<std::string>& row : rows) {
    if (row.empty()) std::abort();
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      append_csv_field(text, row[i]);
    }
    text += "\r\n";
  }
  if (read_rows(text, torn_bytes) != rows || torn_bytes != 0) std::abort();
  return 0;
}
