#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/error.h"
#include "kernels/io/ge_dump.h"

namespace msrun {
namespace {

constexpr std::uint64_t max_mapping = std::uint64_t{100} << 20;

// The records of an RFC 4180 text: fields may be quoted, quotes inside are doubled, and quoted fields hold line ends.
class CsvRecords {
 public:
  explicit CsvRecords(std::string_view text) : rest_(text) {}

  // Nothing at the end.
  std::optional<std::vector<std::string>> next() {
    if (rest_.empty()) return std::nullopt;
    std::vector<std::string> fields(1);
    bool quoted = false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (quoted) {
        if (c != '"') {
          fields.back() += c;
        } else if (!rest_.empty() && rest_.front() == '"') {
          fields.back() += '"';
          rest_.remove_prefix(1);
        } else {
          quoted = false;
        }
      } else if (c == '"' && fields.back().empty()) {
        quoted = true;
      } else if (c == ',') {
        fields.emplace_back();
      } else if (c == '\n') {
        break;
      } else if (c != '\r' || (!rest_.empty() && rest_.front() != '\n')) {
        fields.back() += c;
      }
    }
    return fields;
  }

 private:
  std::string_view rest_;
};

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
    CsvRecords records(text);
    std::size_t line = 0;
    while (std::optional<std::vector<std::string>> fields = records.next()) {
      ++line;
      if (fields->size() == 2) {
        mapping.names.emplace_back(std::move((*fields)[0]), std::move((*fields)[1]));
      } else if (fields->size() > 1 || !fields->front().empty()) {
        mapping.bad_lines.push_back(line);
      }
    }
    return mapping;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun
