#include "journal/holder.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "kernels/base/unique_fd.h"

namespace msrun::journal {
namespace {

constexpr std::size_t max_command = 500;  // bytes

std::string command_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string command(max_command + 1, '\0');
  file.read(command.data(), static_cast<std::streamsize>(command.size()));
  command.resize(static_cast<std::size_t>(file.gcount()));
  const bool cut = command.size() > max_command;
  if (cut) command.resize(max_command);
  while (command.ends_with('\0')) command.pop_back();
  for (char& c : command) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\0') {
      c = ' ';  // between two words
    } else if (byte < 0x20 || byte == 0x7F) {
      c = '_';
    }
  }
  return cut ? command + "..." : command;
}

}  // namespace

std::optional<Holder> find_holder(int descriptor) {
  // Asked in the name of the open file (OFD), so that a lock of this very process counts as well.
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  Holder holder;
  if (lock.l_pid > 0) {
    holder.pid = lock.l_pid;
    holder.command = command_of(lock.l_pid);
  }
  return holder;
}

std::optional<Holder> find_holder(const std::filesystem::path& path) {
  const UniqueFd descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return descriptor ? find_holder(descriptor.get()) : std::nullopt;
}

void become_holder(int descriptor) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  [[maybe_unused]] const int result = fcntl(descriptor, F_SETLK, &lock);
}

std::string holder_text(const Holder& holder) {
  if (holder.pid == 0) return "a process that cannot be seen from here";
  return "process " + std::to_string(holder.pid) + (holder.command.empty() ? "" : " (" + holder.command + ")");
}

}  // namespace msrun::journal
