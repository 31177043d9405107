#include "kernels/io/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "kernels/base/write_all.h"

namespace msrun {
namespace {

// Linux moves at most about 2 GiB per call.
constexpr std::size_t max_transfer = std::size_t{1} << 30;

std::string cause(int error) { return std::generic_category().message(error); }

std::string open_failure(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "The file path " + path + " does not exist.";
    case EACCES:
      return "The file path " + path + " is not readable.";
    case ENAMETOOLONG:
      return "The file path length exceeds limit.";
    default:
      return "The file path " + path + " cannot be opened: " + cause(error) + ".";
  }
}

Folder folder_of(const std::string& path) {
  std::optional<Folder> folder = Folder::open(path.substr(0, path.rfind('/') + 1));
  if (!folder) throw FileError("The file " + path + " cannot be written: " + cause(errno) + ".");
  return *std::move(folder);
}

}  // namespace

InputFile::InputFile(const std::string& path, std::uint64_t limit) : path_(path) {
  // The kernel would cut the name at an embedded zero byte.
  if (path.find('\0') != std::string::npos) throw FileError("The file path " + path + " contains special characters.");
  // Without O_NONBLOCK the open of a pipe would wait for a writer.
  descriptor_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor_) throw FileError(open_failure(path, errno));
  check(limit);
}

InputFile::InputFile(const std::string& path, int descriptor, std::uint64_t limit)
    : path_(path), descriptor_(descriptor) {
  check(limit);
}

void InputFile::check(std::uint64_t limit) {
  struct stat status {};
  const int failed = ::fstat(descriptor_.get(), &status);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  std::string problem;
  if (failed != 0) {
    problem = open_failure(path_, errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "The " + path_ + " should be a file!";
  } else if (bytes >= limit) {
    problem = "The size (" + std::to_string(bytes) + ") of " + path_ + " exceeds (" + std::to_string(limit) +
              ") bytes, tools not support.";
  }
  if (!problem.empty()) throw FileError(problem);
  size_ = bytes;
}

std::size_t InputFile::read(std::span<char> target) {
  for (;;) {
    const ssize_t count = ::read(descriptor_.get(), target.data(), std::min(target.size(), max_transfer));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw FileError("The file " + path_ + " cannot be read: " + cause(errno) + ".");
  }
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count =
        ::pread(descriptor_.get(), target.data(), std::min(target.size(), max_transfer), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FileError("The file " + path_ + " cannot be read: " + cause(errno) + ".");
    if (count == 0) throw FileError("The file " + path_ + " is truncated.");
    target = target.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

std::string rest_of(InputFile& file) {
  std::string bytes;
  auto piece = std::make_unique<std::array<char, 1 << 16>>();
  while (const std::size_t count = file.read(*piece)) bytes.append(piece->data(), count);
  return bytes;
}

OutputFile::OutputFile(const std::string& path)
    : path_(path), file_(folder_of(path), path.substr(path.rfind('/') + 1)) {
  if (!file_.is_open()) fail(errno);
}

OutputFile::OutputFile(const Folder& folder, const std::string& name)
    : path_(folder.path_of(name)), file_(folder, name) {
  if (!file_.is_open()) fail(errno);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!write_all(file_.descriptor(), text)) fail(errno);
}

void OutputFile::close() {
  if (!file_.publish()) fail(errno);
}

void OutputFile::fail(int error) const {
  throw FileError("The file " + path_ + " cannot be written: " + cause(error) + ".");
}

}  // namespace msrun
