#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>

#include "kernels/base/unique_fd.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "tools/dump_compare/copied_file.h"
#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {

std::vector<std::string> publish(const ResultPlace& place, std::string& stamp, const std::vector<NamelessFile>& files) {
  // Comparisons that end at the same time look for names one after the other, so that the files of each have one stem.
  // Where a folder cannot be locked nothing is replaced either; at worst a name is refused.
  const UniqueFd folder(::open(place.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::flock(folder.get(), LOCK_EX);
  const auto is_taken = [&](const std::string& tried) {
    return std::ranges::any_of(files, [&](const NamelessFile& file) {
      struct stat status {};
      return ::lstat(join_path(place.folder, place.kind + tried + file.ending).c_str(), &status) == 0;
    });
  };
  const std::string first = stamp;
  for (int i = 1;; ++i) {
    if (!is_taken(stamp) && (files.empty() || files.front().file->appear(place.kind + stamp + files.front().ending))) {
      break;
    }
    stamp = first + "_" + std::to_string(i);
  }
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = place.kind + stamp + files[i].ending;
    paths.push_back(join_path(place.folder, name));
    if (i == 0 || files[i].file->appear(name)) continue;
    for (std::size_t k = 0; k < i; ++k) files[k].file->disappear(place.kind + stamp + files[k].ending);
    throw WriteError("The file " + paths.back() + " cannot be created: somebody else has just done so");
  }
  return paths;
}

NamelessFile copied_file(const ResultPlace& place, const std::string& path, const std::string& ending) {
  NamelessFile copy{ending, std::make_unique<ReportFile>(place.folder, place.kind)};
  try {
    InputFile file(path);
    std::vector<char> buffer(std::size_t{1} << 20);
    while (const std::size_t count = file.read(buffer)) copy.file->write({buffer.data(), count});
  } catch (const FileError& error) {
    throw WriteError(error.what());
  }
  return copy;
}

}  // namespace msrun::dump_compare
