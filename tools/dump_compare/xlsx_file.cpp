#include <fcntl.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/base/xml_characters.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/folder.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"
#include "kernels/io/files/zip.h"
#include "tools/dump_compare/copied_file.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {
namespace {

constexpr lxw_color_t red = 0xFFC7CE;
constexpr lxw_color_t yellow = 0xFFEB9C;
constexpr std::size_t longest_cell = 32767;  // characters, which a sheet allows

// What the library writes to stderr where it fails names lines of its own source; the result, with errno for the cause,
// says the same to users.
lxw_error close_quietly(lxw_workbook* book) {
  const UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const bool silent = before && nowhere && ::dup2(nowhere.get(), STDERR_FILENO) >= 0;
  errno = 0;
  const lxw_error error = workbook_close(book);
  const int cause = errno;
  if (silent) ::dup2(before.get(), STDERR_FILENO);
  errno = cause;
  return error;
}

class XlsxFile : public ResultFile {
 public:
  XlsxFile(const ResultPlace& place, std::vector<std::string> titles, std::size_t rows, bool coloured)
      : place_(place),
        path_(join_path(place.folder, place.kind + time_in_name + ".xlsx")),
        folder_(place.folder),
        file_(folder_, temporary_name(folder_, place.kind + "xlsx")),
        titles_(std::move(titles)),
        parts_(rows >= rows_of_a_sheet) {
    if (!file_.is_open()) throw WriteError("The file " + path_ + " cannot be created: " + errno_text() + ".");
    lxw_workbook_options options{};
    options.constant_memory = LXW_TRUE;
    book_ = workbook_new_opt(written_.c_str(), &options);
    if (book_ == nullptr) throw WriteError("The file " + path_ + " cannot be created.");
    if (coloured) {
      error_ = workbook_add_format(book_);
      format_set_bg_color(error_, red);
      warning_ = workbook_add_format(book_);
      format_set_bg_color(warning_, yellow);
    }
    begin();
  }
  XlsxFile(const XlsxFile&) = delete;
  XlsxFile& operator=(const XlsxFile&) = delete;
  ~XlsxFile() override {
    if (book_ != nullptr) close_quietly(book_);
  }

  void add(const ResultRow& row) override {
    if (parts_ && next_ > rows_of_a_sheet) begin();
    lxw_format* const format = row.level == Level::error ? error_ : row.level == Level::warning ? warning_ : nullptr;
    for (std::size_t i = 0; i < row.size(); ++i) write(i, row.cell(i), row.kind(i), format);
    ++next_;
  }

  std::vector<NamelessFile> close() override {
    const std::vector<std::uint64_t> bytes = collected_bytes();
    lxw_workbook* const book = std::exchange(book_, nullptr);
    const lxw_error error = close_quietly(book);
    if (error != LXW_NO_ERROR) {
      // The system's reason says more than the library's, if there is one.
      const std::string cause = errno == 0 ? std::string(lxw_strerror(error)) : errno_text();
      throw WriteError("The file " + path_ + " cannot be written: " + cause);
    }
    if (!holds(bytes)) throw no_room(ENOSPC);
    std::vector<NamelessFile> files;
    files.push_back(copied_file(place_, written_, ".xlsx"));
    return files;
  }

 private:
  // The library collects rows in temporary files and does not look whether they could be written.
  std::vector<std::uint64_t> collected_bytes() const {
    std::vector<std::uint64_t> bytes;
    for (const lxw_worksheet* sheet : all_sheets_) {
      std::FILE* const rows = sheet->optimize_tmpfile;
      if (std::fflush(rows) != 0 || std::ferror(rows) != 0) throw no_room(errno);
      bytes.push_back(static_cast<std::uint64_t>(std::max<off_t>(::ftello(rows), 0)));
    }
    return bytes;
  }
  // Whether each sheet of the finished book is as long as its rows, which the library copies once more.
  bool holds(const std::vector<std::uint64_t>& bytes) const {
    const InputFile file(written_, any_size);
    const ZipReader book(file);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const ZipEntry* const sheet = book.find("xl/worksheets/sheet" + std::to_string(i + 1) + ".xml");
      if (sheet == nullptr || sheet->size < bytes[i]) return false;
    }
    return true;
  }
  WriteError no_room(int cause) const {
    errno = cause;
    return WriteError("The file " + path_ +
                      " cannot be written, for its rows cannot be kept in temporary files: " + errno_text() + ".");
  }

  void begin() {
    const std::string name = parts_ ? "part_" + std::to_string(sheets_++) : "Sheet1";
    sheet_ = workbook_add_worksheet(book_, name.c_str());
    if (sheet_ == nullptr) throw WriteError("The file " + path_ + " cannot hold another sheet.");
    all_sheets_.push_back(sheet_);
    next_ = 0;
    for (std::size_t i = 0; i < titles_.size(); ++i) write(i, titles_[i], CellKind::text, nullptr);
    next_ = 1;
  }

  void write(std::size_t column, std::string_view cell, CellKind kind, lxw_format* format) {
    const auto row = static_cast<lxw_row_t>(next_);
    const auto place = static_cast<lxw_col_t>(column);
    if (kind == CellKind::boolean) {
      worksheet_write_boolean(sheet_, row, place, cell == "True" ? 1 : 0, format);
      return;
    }
    if (kind == CellKind::number) {
      const std::optional<double> number = parse_number<double>(cell);
      if (number && *number - *number == 0) {
        worksheet_write_number(sheet_, row, place, *number, format);
        return;
      }
    }
    std::string text(cell.substr(0, longest_cell));
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U && text.size() < cell.size()) {
      text.pop_back();
    }
    worksheet_write_string(sheet_, row, place, without_noncharacters(std::move(text)).c_str(), format);
  }

  const ResultPlace place_;
  const std::string path_;  // for messages
  const Folder folder_;
  PendingFile file_;
  // The library opens by path, the file itself, and no link that somebody has put in the place of a name.
  const std::string written_ = "/proc/self/fd/" + std::to_string(file_.descriptor());
  const std::vector<std::string> titles_;
  const bool parts_;
  lxw_workbook* book_ = nullptr;
  lxw_worksheet* sheet_ = nullptr;
  std::vector<const lxw_worksheet*> all_sheets_;
  lxw_format* error_ = nullptr;
  lxw_format* warning_ = nullptr;
  std::size_t sheets_ = 0;
  std::size_t next_ = 0;  // row of the sheet
};

}  // namespace

std::unique_ptr<ResultFile> xlsx_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                      std::size_t rows, bool coloured) {
  return std::make_unique<XlsxFile>(place, titles, rows, coloured);
}

}  // namespace msrun::dump_compare
