#include "tools/torchair_convert/watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace msrun::convert {

TreeWatch::TreeWatch() : descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), complete_(descriptor_) {}

void TreeWatch::expect_whole_look() { complete_ = static_cast<bool>(descriptor_); }

void TreeWatch::add(int directory, const std::string& path) {
  if (!descriptor_) return;
  // By descriptor, so that no symbolic link can lead elsewhere.
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const int watch =
      ::inotify_add_watch(descriptor_.get(), link.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR);
  if (watch < 0) {
    complete_ = false;
  } else {
    paths_[watch] = path;
  }
}

std::vector<Change> TreeWatch::changes() {
  std::vector<Change> changes;
  alignas(inotify_event) std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = !descriptor_ ? 0 : ::read(descriptor_.get(), buffer.data(), buffer.size());
    if (size <= 0) return changes;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const std::string name = event.len == 0 ? "" : buffer.data() + at + sizeof(event);
      at += sizeof(event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) complete_ = false;
      const auto known = paths_.find(event.wd);
      if (known == paths_.end()) continue;
      if ((event.mask & IN_IGNORED) != 0) {
        paths_.erase(known);
        continue;
      }
      if (name.starts_with('.')) continue;  // temporary files of ours, among others
      Change change{known->second, false};
      if ((event.mask & IN_ISDIR) != 0) change = {change.path.empty() ? name : change.path + "/" + name, true};
      if (changes.empty() || changes.back().path != change.path) changes.push_back(std::move(change));
    }
  }
}

}  // namespace msrun::convert
