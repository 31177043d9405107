#include "orchestrator/output/set_aside.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "orchestrator/output/csv.h"

namespace msrun {
namespace {

constexpr int most_copies = 1000;

void add_hash(std::vector<std::size_t>& hashes, char file, std::string_view text) {
  hashes.push_back(std::hash<std::string_view>{}(text)*31 + static_cast<unsigned char>(file));
}

// A line without anything says nothing.
bool is_blank(const std::vector<std::string>& row) { return row.size() == 1 && row.front().empty(); }

// Adds every row by what stands in it: another tool may have ended lines and quoted cells otherwise.
void add_rows(std::vector<std::size_t>& hashes, char file, std::string_view text) {
  CsvReader reader(text);
  std::vector<std::string> row;
  std::string cells;
  while (reader.next(row)) {
    if (is_blank(row)) continue;
    cells.clear();
    for (const std::string& cell : row) cells += cell + '\n';
    add_hash(hashes, file, cells);
  }
}

void add_calls(std::vector<std::size_t>& hashes, std::string_view text) {
  CsvReader reader(text);
  std::vector<std::string> row;
  while (reader.next(row)) {
    if (row.size() > 1) add_hash(hashes, 'r', row.front());
  }
}

enum class Side : std::uint8_t { earlier, now };

// Adds the rows of the result file. One that came without a message has lost nothing when it gets one.
void add_results(std::vector<std::size_t>& hashes, std::string_view text, Side side) {
  CsvReader reader(text);
  std::vector<std::string> row;
  while (reader.next(row)) {
    if (is_blank(row)) continue;
    const bool has_message = row.size() > 3 && row[3].find_first_not_of(' ') != std::string::npos;
    std::string statuses;
    for (std::size_t i = 0; i < std::min<std::size_t>(row.size(), 3); ++i) statuses += row[i] + '\n';
    if (!has_message || side == Side::now) add_hash(hashes, 'r', statuses);
    for (std::size_t i = 3; i < row.size(); ++i) statuses += row[i] + '\n';
    if (has_message) add_hash(hashes, 'm', statuses);
  }
}

std::string copy_name(const std::string& name, int copy) {
  return name + ".bak" + (copy == 0 ? "" : std::to_string(copy));
}

// The title row counts for nothing: it depends on the options.
std::string_view without_titles(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
}

// What a file holds; nothing for a link, which is replaced whatever it leads to, and where there is none. Throws
// WriteError.
std::string text_of(const Folder& folder, const std::string& name) {
  const int descriptor = openat(folder.descriptor(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ELOOP) return {};
    throw WriteError("The file " + folder.path_of(name) +
                     " is to be replaced, but cannot be opened to see what would be lost: " + errno_text() + ".");
  }
  try {
    InputFile file(folder.path_of(name), descriptor, max_csv_bytes);
    return rest_of(file);
  } catch (const FileError& error) {
    throw WriteError(std::string(error.what()) + " It was to be replaced; move it away.");
  }
}

void sort_without_repetitions(std::vector<std::size_t>& hashes) {
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace

SetAside::SetAside(const Folder& folder, const RunFiles& files, Matters matters)
    : folder_(folder),
      matters_(matters),
      result_name_(base_name(files.result)),
      details_name_(base_name(files.details)) {
  const std::string result = text_of(folder_, result_name_);
  if (matters_ == Matters::calls) {
    add_calls(earlier_, without_titles(result));
  } else {
    add_results(earlier_, without_titles(result), Side::earlier);
    add_rows(earlier_, 'd', without_titles(text_of(folder_, details_name_)));
  }
  sort_without_repetitions(earlier_);
}

void SetAside::details(std::string_view rows) {
  if (!earlier_.empty() && matters_ == Matters::rows) add_rows(now_, 'd', rows);
}

void SetAside::result(std::string_view rows) {
  if (earlier_.empty()) return;
  if (matters_ == Matters::rows) {
    add_results(now_, rows, Side::now);
  } else {
    add_calls(now_, rows);
  }
}

bool SetAside::all_there() {
  std::ranges::sort(now_);
  const bool all = std::ranges::includes(now_, earlier_);
  now_.clear();
  return all;
}

void SetAside::keep() {
  if (all_there()) return;
  keep_file(result_name_);
  keep_file(details_name_);
}

// A second name of the file as it is: the one with the first name is replaced, not written to.
void SetAside::keep_file(const std::string& name) {
  for (int copy = 0; copy < most_copies; ++copy) {
    const std::string kept = copy_name(name, copy);
    if (linkat(folder_.descriptor(), name.c_str(), folder_.descriptor(), kept.c_str(), 0) == 0) {
      kept_.push_back(kept);
      return;
    }
    if (errno == ENOENT) return;
    if (errno == EEXIST) continue;
    // A file system without second names.
    AtomicFile file(folder_, kept);
    file.write(text_of(folder_, name));
    file.commit();
    kept_.push_back(kept);
    return;
  }
  throw WriteError("The file " + folder_.path_of(name) + " cannot be kept: there are " + std::to_string(most_copies) +
                   " copies of it.");
}

void SetAside::drop_covered(const Folder& folder, const RunFiles& files) {
  const std::array<std::string, 2> names{std::string(base_name(files.result)), std::string(base_name(files.details))};
  for (int copy = 0; copy < most_copies; ++copy) {
    const std::array<std::string, 2> copies{copy_name(names[0], copy), copy_name(names[1], copy)};
    const auto exists = [&](const std::string& name) {
      return faccessat(folder.descriptor(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    };
    if (std::ranges::none_of(copies, exists)) break;
    const auto rows_of = [&](const std::string& file, bool is_result, Side side) {
      Hashes rows;
      const std::string text = text_of(folder, file);
      if (is_result) {
        add_results(rows, without_titles(text), side);
      } else {
        add_rows(rows, 'd', without_titles(text));
      }
      sort_without_repetitions(rows);
      return rows;
    };
    const auto is_covered = [&] {
      for (std::size_t i = 0; i < names.size(); ++i) {
        const Hashes now = rows_of(names[i], i == 0, Side::now);
        if (!std::ranges::includes(now, rows_of(copies[i], i == 0, Side::earlier))) return false;
      }
      return true;
    };
    bool covered = false;
    try {
      covered = is_covered();
    } catch (const WriteError&) {
      // What cannot be read, such as a directory of that name, is no copy of ours and stays.
    }
    for (const std::string& name : copies) {
      if (covered) unlinkat(folder.descriptor(), name.c_str(), 0);
    }
  }
}

void SetAside::release() {
  if (!all_there()) return;
  for (const std::string& name : kept_) unlinkat(folder_.descriptor(), name.c_str(), 0);
  kept_.clear();
}

}  // namespace msrun
