#include "kernels/io/files/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/named_output.h"
#include "kernels/io/files/temporary_name.h"

namespace msrun {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_path_length = 4096;
constexpr std::size_t max_name_length = 255;
constexpr int max_missing_levels = 16;
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

bool ends_with_any(const std::string& path, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& suffix) { return path.ends_with(suffix); });
}

std::string suffix_list(const std::vector<std::string>& suffixes) {
  std::string text = "[";
  for (const std::string& suffix : suffixes) text += (text.size() > 1 ? ", '" : "'") + suffix + "'";
  return text + "]";
}

void check_writable(const std::string& directory) {
  // Where files cannot be without a name, those of processes that begin at the same time must not be one.
  const Folder folder(directory);
  const PendingFile probe(folder, temporary_name(folder, "msrun_probe"));
  if (!probe.is_open()) {
    const int code = errno;
    throw WriteError("The file path " + sanitised(directory) + " is not writable. (" + errno_text() + ")", code);
  }
}

// The directory itself, or what of the path above it is there. Throws UserError where too many levels are missing.
fs::path nearest_existing(const std::string& path) {
  std::error_code error;
  int missing = 0;
  fs::path level = fs::absolute(path, error).lexically_normal();
  for (; !level.empty() && !fs::exists(level, error); level = level.parent_path()) {
    if (level.has_filename() && ++missing > max_missing_levels) {
      throw UserError("The output directory " + path + " has more than " + std::to_string(max_missing_levels) +
                      " missing levels.");
    }
    if (level == level.root_path()) break;
  }
  return level;
}

void refuse_other_than_directory(const std::string& path) {
  std::error_code unknown;
  if (fs::exists(path, unknown) && !fs::is_directory(path, unknown)) {
    throw UserError("The " + path + " should be a directory!");
  }
}

}  // namespace

void throw_errno_as_write_error(const std::string& what) {
  const int code = errno;
  throw WriteError(what + std::generic_category().message(code), code);
}

void check_path_text(const std::string& path) {
  if (path.empty()) throw UserError("The file path is empty.");
  if (path.size() > max_path_length || base_name(path).size() > max_name_length) {
    throw UserError("The file path length exceeds limit.");
  }
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  };
  if (std::any_of(path.begin(), path.end(), is_control)) {
    throw UserError("The file path " + sanitised(path) + " contains special characters.");
  }
}

void check_input_file(const std::string& path, const std::vector<std::string>& suffixes, std::uint64_t max_bytes,
                      Access access) {
  check_path_text(path);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == EACCES) throw UserError("The file path " + path + " is not readable.");
    throw UserError("The file path " + path + " does not exist.");
  }
  if (!S_ISREG(info.st_mode)) throw UserError("The " + path + " should be a file!");
  if (!ends_with_any(path, suffixes)) {
    throw UserError(path + " should be one of the following types of files: " + suffix_list(suffixes) + "!");
  }
  if (::access(path.c_str(), R_OK) != 0) throw UserError("The file path " + path + " is not readable.");
  if (access == Access::read_write && ::access(path.c_str(), W_OK) != 0) {
    throw UserError("The file path " + path + " is not writable.");
  }
  if (static_cast<std::uint64_t>(info.st_size) >= max_bytes) {
    throw UserError("The size (" + std::to_string(info.st_size) + ") of " + path + " exceeds (" +
                    std::to_string(max_bytes) + ") bytes, tools not support.");
  }
}

void prepare_output_directory(const std::string& path) {
  check_path_text(path);
  nearest_existing(path);
  std::error_code error;
  fs::create_directories(path, error);
  refuse_other_than_directory(path);
  if (error) throw WriteError("The output directory " + path + " cannot be created: " + error.message(), error.value());
  check_writable(path);
}

PreparedDirectory::PreparedDirectory(const std::string& path) {
  std::error_code ignored;
  for (fs::path level = fs::absolute(path, ignored).lexically_normal(); level.has_relative_path();
       level = level.parent_path()) {
    if (level.has_filename() && fs::exists(fs::symlink_status(level, ignored))) break;
    if (level.has_filename()) made_.push_back(level.string());
  }
  try {
    prepare_output_directory(path);
  } catch (...) {
    remove_empty();
    throw;
  }
}

PreparedDirectory::~PreparedDirectory() { remove_empty(); }

void PreparedDirectory::remove_empty() const {
  for (const std::string& level : made_) {
    if (::rmdir(level.c_str()) != 0) return;
  }
}

void check_output_directory(const std::string& path) {
  check_path_text(path);
  refuse_other_than_directory(path);
  const fs::path existing = nearest_existing(path);
  std::error_code unknown;
  if (!fs::is_directory(existing, unknown)) {
    throw UserError("The output directory " + path +
                    " cannot be created: " + std::make_error_code(std::errc::not_a_directory).message());
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    throw UserError("The file path " + sanitised(existing.string()) + " is not writable. (" + errno_text() + ")");
  }
}

std::string timestamp(std::time_t when) { return local_time_text(static_cast<double>(when), stamp_time); }

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory.empty() ? std::string_view(".") : directory);
  if (path.back() != '/') path += '/';
  return path += name;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  require_file_output("The file", path_);
  std::error_code error;
  if (fs::is_symlink(path_, error)) {
    const fs::path target = fs::canonical(path_, error);
    if (!error) path_ = target.string();
  }
  open_in_its_folder();
}

AtomicFile::AtomicFile(const OwnName& file) : path_(file.path) { open_in_its_folder(); }

void AtomicFile::open_in_its_folder() {
  const std::string name(base_name(path_));
  if (name.empty()) throw WriteError("The " + path_ + " should be a file!");
  const std::optional<Folder> folder = Folder::open(path_.substr(0, path_.size() - name.size()));
  if (!folder) throw_errno_as_write_error("The file " + path_ + " cannot be created: ");
  open(*folder, name);
}

AtomicFile::AtomicFile(const Folder& folder, const std::string& name) : path_(folder.path_of(name)) {
  open(folder, name);
}

void AtomicFile::open(const Folder& folder, const std::string& name) {
  // A device or a pipe would be replaced, too, where the directory permits it.
  struct stat status {};
  if (fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode) &&
      !S_ISLNK(status.st_mode)) {
    throw WriteError("The " + path_ + " should be a file!");
  }
  file_.emplace(folder, name);
  if (!file_->is_open()) throw_errno_as_write_error("The file " + path_ + " cannot be created: ");
}

AtomicFile::~AtomicFile() = default;

void AtomicFile::only_owner_writes() {
  struct stat status {};
  if (fstat(file_->descriptor(), &status) != 0 ||
      fchmod(file_->descriptor(), status.st_mode & 0777 & ~(S_IWGRP | S_IWOTH)) != 0) {
    fail("cannot be protected from writes of others");
  }
}

void AtomicFile::write(std::string_view bytes) {
  if (bytes.size() < buffer_bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= buffer_bytes) flush();
    return;
  }
  flush();
  if (!write_all(file_->descriptor(), bytes)) fail("cannot be written");
}

void AtomicFile::flush() {
  if (!write_all(file_->descriptor(), buffer_)) fail("cannot be written");
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (!file_->publish()) fail("cannot be replaced");
}

void AtomicFile::commit_as_new() {
  flush();
  if (!file_->publish_as_new(std::string(base_name(path_)))) fail("cannot be created");
}

void AtomicFile::fail(const char* action) {
  const int code = errno;
  file_.reset();
  errno = code;
  throw_errno_as_write_error("The file " + path_ + " " + action + ": ");
}

AppendedFile::AppendedFile(const Folder& folder, const std::string& name, Mode mode) : path_(folder.path_of(name)) {
  const int more = mode == Mode::create_new ? O_CREAT | O_EXCL : O_NONBLOCK;
  descriptor_.reset(
      openat(folder.descriptor(), name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | more, 0666));
  if (!descriptor_ && errno == EEXIST) {
    throw FileExists("file " + path_ + " already exists, please remove it first or use another output directory");
  }
  if (!descriptor_) throw_errno_as_write_error("The file " + path_ + " cannot be opened: ");
  struct stat status {};
  if (fstat(descriptor_.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw WriteError("The " + path_ + " should be a file!");
  }
}

void AppendedFile::append(std::string_view bytes) {
  struct stat before {};
  const bool size_known = fstat(descriptor_.get(), &before) == 0;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(descriptor_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int code = errno;
      const bool undone = done == 0 || (size_known && ftruncate(descriptor_.get(), before.st_size) == 0);
      throw WriteError("The file " + path_ + " cannot be written: " + std::generic_category().message(code) +
                           (undone ? "" : " (its last row is torn)"),
                       code);
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace msrun
