#include <algorithm>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/graph_engine/ge_dump.h"

namespace msrun {
namespace {

constexpr std::uint64_t max_mapping = std::uint64_t{100} << 20;

}  // namespace

std::optional<GeFileName> parse_ge_file_name(std::string_view name) {
  GeFileName result;
  if (name.ends_with(converted_npz_suffix)) {
    name.remove_suffix(converted_npz_suffix.size());
    result.converted = true;
  }
  if (std::count(name.begin(), name.end(), '.') < 4) return std::nullopt;
  const std::size_t type_end = name.find('.');
  const std::size_t time = name.rfind('.');
  const std::size_t stream = name.rfind('.', time - 1);
  const std::size_t task = name.rfind('.', stream - 1);
  result.op_type = name.substr(0, type_end);
  result.op_name = name.substr(type_end + 1, task - type_end - 1);
  result.timestamp = name.substr(time + 1);
  return result;
}

NameMapping read_name_mapping(const InputFile& file) {
  if (file.size() > max_mapping) throw SkipError("The file " + file.path() + " has more than 100 MB.");
  try {
    std::string text(file.size(), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    NameMapping mapping;
    CsvReader reader(text, LastRow::may_lack_line_end);
    std::vector<std::string> fields;
    std::size_t line = 0;
    while (reader.next(fields)) {
      ++line;
      if (fields.size() == 2) {
        mapping.names.emplace_back(fields[0], fields[1]);
      } else if (fields.size() > 1 || !fields.front().empty()) {
        mapping.bad_lines.push_back(line);
      }
    }
    if (reader.torn_bytes() > 0) mapping.bad_lines.push_back(line + 1);
    return mapping;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun
