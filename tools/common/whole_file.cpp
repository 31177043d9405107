#include "tools/common/whole_file.h"

#include "kernels/base/error.h"
#include "kernels/io/files/file.h"

namespace msrun {

std::string read_whole_file(const std::string& path, std::uint64_t limit) {
  try {
    InputFile file(path, limit);
    std::string bytes(file.size(), '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
      const std::size_t count = file.read({bytes.data() + size, bytes.size() - size});
      if (count == 0) break;  // it has become shorter meanwhile
      size += count;
    }
    bytes.resize(size);
    return bytes;
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

}  // namespace msrun
