#include "tools/torchair_convert/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "kernels/io/graph_engine/ge_dump.h"

namespace msrun::convert {
namespace {

constexpr std::size_t deepest = 64;  // levels; a dump has about six

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "/" + name; }

// path is that of the message, place that in the tree.
void tell(TreeVisitor& visitor, const std::string& path, const std::string& place, int error) {
  if (is_lack_of_descriptors(error)) return visitor.out_of_descriptors(place);
  visitor.problem(path + " cannot be read: " + std::generic_category().message(error) + ".");
}

// The names that mapping.csv of a directory lists, read when the first is asked for.
class HashedNames {
 public:
  // path is that of the directory in the tree.
  bool contains(const Directory& directory, const std::string& path, const std::string& name, TreeVisitor& visitor) {
    if (!names_) read(directory, path, visitor);
    return names_->contains(name);
  }

 private:
  void read(const Directory& directory, const std::string& path, TreeVisitor& visitor) {
    names_.emplace();
    const int descriptor =
        ::openat(directory.descriptor(), "mapping.csv", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
      if (is_lack_of_descriptors(errno)) visitor.out_of_descriptors(path);
      return;
    }
    try {
      const InputFile file(directory.path() + "/mapping.csv", descriptor);
      for (auto& [stored, real] : read_name_mapping(file).names) names_->insert(std::move(stored));
    } catch (const std::runtime_error& error) {
      visitor.problem(error.what());
    }
  }

  std::optional<std::unordered_set<std::string>> names_;
};

std::shared_ptr<Directory> open_entry(const Directory& parent, const std::string& name) {
  const int descriptor = ::openat(parent.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return descriptor < 0 ? nullptr : std::make_shared<Directory>(parent.path() + "/" + name, descriptor);
}

struct Entry {
  std::string name;
  unsigned char type;  // as readdir has it
};

// The entries of a directory by their names, so that what is done and told does not depend on the file system. error
// gets what kept it from being read to its end, or 0.
std::vector<Entry> entries_of(const Directory& directory, const TreeVisitor& visitor, int& error) {
  std::vector<Entry> entries;
  // The stream has a place of its own in the directory.
  UniqueFd descriptor(::openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseStream> stream(descriptor ? ::fdopendir(descriptor.get()) : nullptr);
  error = stream ? 0 : errno;
  if (!stream) return entries;
  descriptor.release();
  const auto next = [&] {
    errno = 0;  // by which an error is told from the end
    return ::readdir(stream.get());
  };
  while (const dirent* entry = next()) {
    if (visitor.stopped()) return entries;
    entries.push_back({entry->d_name, entry->d_type});
  }
  error = errno;
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

void scan_entries(const std::shared_ptr<Directory>& directory, const std::string& path, bool below, std::size_t depth,
                  TreeVisitor& visitor) {
  visitor.enter(*directory, path);
  std::vector<std::string> directories;
  HashedNames hashed;
  int error = 0;
  for (auto& [name, type] : entries_of(*directory, visitor, error)) {
    if (visitor.stopped()) return;
    if (name.starts_with('.')) {
      if (const std::optional<int> maker = maker_of_temporary(name)) visitor.temporary(*directory, name, *maker);
      if (const std::optional<std::string> source = source_of_aside(name)) visitor.aside(directory, *source, path);
      continue;
    }
    if (is_target_name(name)) visitor.target();
    struct stat status {};
    const SourceKind kind = type == DT_DIR ? SourceKind::other : kind_of(name);
    if (type == DT_UNKNOWN || (type == DT_REG && kind != SourceKind::other)) {
      if (::fstatat(directory->descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_LNK;
    }
    if (type == DT_DIR) {
      directories.push_back(name);
    } else if (type == DT_REG && kind != SourceKind::other && status.st_size > 0 &&
               (kind != SourceKind::hashed || hashed.contains(*directory, path, name, visitor))) {
      const FileState state = FileState::of(status);
      const double modified =
          static_cast<double>(state.modified) + static_cast<double>(state.modified_nanoseconds) * 1e-9;
      visitor.file({directory, name, kind, state}, joined(path, name), modified);
    }
  }
  if (error != 0) tell(visitor, directory->path(), path, error);
  if (!below) return;
  if (depth == deepest) return visitor.problem(directory->path() + " lies too deep to be looked into.");
  for (const std::string& name : directories) {
    if (visitor.stopped()) return;
    if (const std::shared_ptr<Directory> child = open_entry(*directory, name)) {
      scan_entries(child, joined(path, name), below, depth + 1, visitor);
    } else if (errno != ENOENT) {
      tell(visitor, joined(directory->path(), name), joined(path, name), errno);
    }
  }
}

}  // namespace

std::shared_ptr<Directory> open_below(const Directory& parent, const std::string& relative_path) {
  const int descriptor = ::fcntl(parent.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  std::shared_ptr<Directory> directory = std::make_shared<Directory>(parent.path(), descriptor);
  for (std::size_t begin = 0; directory && begin < relative_path.size();) {
    const std::size_t end = std::min(relative_path.find('/', begin), relative_path.size());
    directory = open_entry(*directory, relative_path.substr(begin, end - begin));
    begin = end + 1;
  }
  return directory;
}

void scan(const Directory& root, const std::string& path, bool below, TreeVisitor& visitor) {
  if (const std::shared_ptr<Directory> directory = open_below(root, path)) {
    scan_entries(directory, path, below, 0, visitor);
  } else if (errno != ENOENT) {
    tell(visitor, joined(root.path(), path), path, errno);
  }
}

}  // namespace msrun::convert
