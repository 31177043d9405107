// Every path that a program reads or writes by the user's wish passes here: checks of input files and output
// directories, and the writers that leave no half of what they were given: AtomicFile replaces a file only when its new
// contents are complete, AppendedFile lets one grow by whole pieces. All failures are UserError in the words of
// acc_check_pytorch.md 13.3.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/unique_fd.h"
#include "kernels/io/files/folder.h"

namespace msrun {

// A file could not be written (full disk, removed directory...): the run stops, and can be resumed once that is mended.
class WriteError : public UserError {
 public:
  // code is the errno of what the system has refused; 0 where it was nothing of the system.
  explicit WriteError(const std::string& message, int code = 0) : UserError(message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

// Throws the WriteError of errno: what says what cannot be done ("The file x cannot be created: "), errno why.
[[noreturn]] void throw_errno_as_write_error(const std::string& what);

// A file that was to be new has its name taken.
class FileExists : public UserError {
 public:
  using UserError::UserError;
};

inline constexpr std::uint64_t max_json_bytes = std::uint64_t{10} << 30;
inline constexpr std::uint64_t max_csv_bytes = std::uint64_t{1} << 30;

enum class Access : std::uint8_t { read, read_write };

// Length at most 4096, base name at most 255, no control characters. Spaces and any other Unicode text are fine.
void check_path_text(const std::string& path);

// A readable regular file (symlinks are followed) of less than max_bytes, whose name ends in one of suffixes (".json").
void check_input_file(const std::string& path, const std::vector<std::string>& suffixes, std::uint64_t max_bytes,
                      Access access = Access::read);

// Creates the directory where it is missing, at most 16 levels, and proves that files can be made in it, of which none
// is left whoever is killed.
void prepare_output_directory(const std::string& path);

// A directory that is made ready for results. What had to be made for it goes again with this if it is still empty, so
// that a command that is refused leaves nothing which others would take for results or recordings.
class PreparedDirectory {
 public:
  // Throws as prepare_output_directory.
  explicit PreparedDirectory(const std::string& path);
  ~PreparedDirectory();
  PreparedDirectory(const PreparedDirectory&) = delete;
  PreparedDirectory& operator=(const PreparedDirectory&) = delete;

 private:
  void remove_empty() const;

  std::vector<std::string> made_;  // the innermost first
};

// Throws what prepare_output_directory would, as far as that can be told without making anything.
void check_output_directory(const std::string& path);

// Local time as YYYYmmddHHMMSS.
std::string timestamp(std::time_t when);

// Whether there is anything of that name; a link that leads nowhere is nothing.
bool path_exists(const std::string& path);

// What stands behind the last slash.
std::string_view base_name(std::string_view path);

// Directory and name joined by one slash; an empty directory is the working directory.
std::string join_path(std::string_view directory, std::string_view name);

// The path of a file whose name the program has chosen: whoever may write into the folder can have put a link there.
struct OwnName {
  std::string path;
};

// A write that replaces a file in one step: bytes go to a file without a name, which commit() puts in its place.
// Whoever is killed, the file holds the old bytes or all of the new ones. It is not flushed to the storage device: what
// must survive a power loss is in the journal, from which such files are made again. Destroyed without commit it leaves
// the file as it was and no temporary file. What exists and is no regular file is refused. Errors are WriteError.
class AtomicFile {
 public:
  // A file that the user named: where path is a link, what it points to now is replaced.
  explicit AtomicFile(const std::string& path);
  // A file that the program named: a link of that name is replaced itself.
  explicit AtomicFile(const OwnName& file);
  AtomicFile(const Folder& folder, const std::string& name);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // For readers that refuse files which others may write: whatever the umask is, neither its group nor others may.
  void only_owner_writes();
  void write(std::string_view bytes);
  void commit();
  // As commit(), but replaces nothing: where something has the name, that is an error.
  void commit_as_new();

 private:
  void open_in_its_folder();
  void open(const Folder& folder, const std::string& name);
  void flush();
  [[noreturn]] void fail(const char* action);

  std::string path_;
  std::string buffer_;
  std::optional<PendingFile> file_;
};

// A file that only grows. A failed append leaves no part of its bytes behind. Errors are WriteError.
class AppendedFile {
 public:
  enum class Mode : std::uint8_t { create_new, existing };
  // A new file throws FileExists if there is something of that name, a dangling link included. An existing one must be
  // a regular file, which a link is not.
  AppendedFile(const Folder& folder, const std::string& name, Mode mode);

  void append(std::string_view bytes);

 private:
  std::string path_;
  UniqueFd descriptor_;
};

}  // namespace msrun
