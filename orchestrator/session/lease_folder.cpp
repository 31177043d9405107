#include "orchestrator/session/lease_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/io/files/entries.h"
#include "orchestrator/command/sharing_options.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view count_prefix = "leases.";
constexpr std::array<std::string_view, 3> state_names{"free", "held", "done"};
constexpr std::size_t most_content = 256;  // bytes of the file of a lease that are looked at

std::string number_of(std::uint32_t lease) {
  std::string text = std::to_string(lease);
  if (text.size() < 4) text.insert(0, 4 - text.size(), '0');
  return text;
}

void make_file(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) throw_errno(path.c_str());
}

bool is_gone(int error) { return error == ENOENT || error == ESTALE; }

// Opened anew each time: on a network file system that is when another host's writes are seen. Nothing if there is no
// such file any more, or its server does not answer. What is there and can never be read, such as a pipe, a link or the
// file of somebody else, gives no sign of life.
std::optional<std::string> content_of(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, most_content> buffer;
  const ssize_t size = file.get() < 0 ? -1 : read(file.get(), buffer.data(), buffer.size());
  if (size >= 0) return std::string(buffer.data(), static_cast<std::size_t>(size));
  const bool may_come_back = errno == EIO || errno == ETIMEDOUT || errno == EHOSTDOWN || errno == EINTR;
  return is_gone(errno) || may_come_back ? std::nullopt : std::optional<std::string>("");
}

}  // namespace

LeaseFolder::LeaseFolder(Settings settings) : settings_(std::move(settings)) {
  std::optional<std::uint32_t> count = count_in_folder();
  if (!count) {
    try {
      make();
    } catch (const std::system_error& error) {
      throw UserError("--steal: the leases in " + settings_.folder.string() + " cannot be made: " + error.what());
    }
    count = count_in_folder();
  }
  if (!count) {
    throw UserError("--steal: " + settings_.folder.string() + " is there, but holds no leases of msrun.");
  }
  leases_ = *count;
  if (access(settings_.folder.c_str(), W_OK | X_OK) != 0) {
    const std::string why = errno_text();
    throw UserError("--steal: no lease can be taken in " + settings_.folder.string() + ": " + why + ".");
  }
}

// Complete or not at all, and by one process: under another name first. True if it was this one.
bool LeaseFolder::make() {
  const fs::path fresh = settings_.folder.string() + "." + settings_.node;
  std::error_code ignored;
  try {
    fill(fresh);
  } catch (const std::system_error&) {
    fs::remove_all(fresh, ignored);
    throw;
  }
  // Onto a folder that holds something this fails.
  if (std::rename(fresh.c_str(), settings_.folder.c_str()) == 0) return true;
  const int error = errno;
  fs::remove_all(fresh, ignored);
  if (error == EEXIST || error == ENOTEMPTY) return false;
  throw std::system_error(error, std::generic_category(), "rename");
}

void LeaseFolder::fill(const fs::path& fresh) const {
  fs::create_directories(fresh);
  make_file(fresh / (std::string(count_prefix) + std::to_string(settings_.leases)));
  for (std::uint32_t lease = 0; lease < settings_.leases; ++lease) {
    make_file(fresh / (number_of(lease) + "." + std::string(state_names[0])));
  }
}

// Processes that went by different numbers would deal the calls differently, and none of them would check some.
std::optional<std::uint32_t> LeaseFolder::count_in_folder() const {
  std::optional<std::uint32_t> found;
  std::error_code error;
  const std::vector<fs::directory_entry> files = entries_of(settings_.folder, error);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    throw UserError("--steal: the leases in " + settings_.folder.string() + " cannot be read: " + error.message() +
                    ".");
  }
  for (const fs::directory_entry& file : files) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(count_prefix)) continue;
    const auto count = parse_number<std::uint32_t>(std::string_view(name).substr(count_prefix.size()));
    if (!count || *count == 0) continue;
    if (*count > most_leases) {
      throw UserError("--steal: " + settings_.folder.string() + " holds " + sanitised(name) + ", and more than " +
                      std::to_string(most_leases) + " leases are none of msrun: remove the folder to begin anew.");
    }
    if (found && *found != *count) {
      throw UserError("--steal: " + settings_.folder.string() + " holds leases of two numbers, " +
                      std::to_string(std::min(*found, *count)) + " and " + std::to_string(std::max(*found, *count)) +
                      ": remove the folder to begin anew.");
    }
    found = count;
  }
  return found;
}

std::vector<LeaseFolder::Entry> LeaseFolder::entries(std::error_code& error) const {
  std::vector<Entry> found;
  for (const fs::directory_entry& file : entries_of(settings_.folder, error)) {
    const std::string name = file.path().filename().string();
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) continue;
    const auto lease = parse_number<std::uint32_t>(std::string_view(name).substr(0, dot));
    // Under another spelling of its number it would stand in for a lease that nobody can take.
    if (!lease || *lease >= leases_ || name.substr(0, dot) != number_of(*lease)) continue;
    const std::size_t second = std::min(name.find('.', dot + 1), name.size());
    const auto* state = std::ranges::find(state_names, std::string_view(name).substr(dot + 1, second - dot - 1));
    if (state == state_names.end()) continue;
    Entry entry;
    entry.lease = *lease;
    entry.state = static_cast<State>(state - state_names.begin());
    if (second < name.size()) entry.node = name.substr(second + 1);
    found.push_back(std::move(entry));
  }
  // Each process begins elsewhere, so that many do not ask for the same lease.
  const auto first = static_cast<std::uint32_t>(std::hash<std::string>()(settings_.node) % leases_);
  std::ranges::sort(found, {}, [&](const Entry& entry) { return (entry.lease + leases_ - first) % leases_; });
  return found;
}

fs::path LeaseFolder::path_of(std::uint32_t lease, State state, const std::string& node) const {
  std::string name = number_of(lease) + "." + std::string(state_names[static_cast<std::size_t>(state)]);
  if (state != State::free) name += "." + node;
  return settings_.folder / name;
}

bool LeaseFolder::claim(const Entry& entry) {
  const fs::path mine = path_of(entry.lease, State::held, settings_.node);
  if (std::rename(path_of(entry.lease, entry.state, entry.node).c_str(), mine.c_str()) != 0) {
    // A server that was asked twice, because its first answer was lost, denies what it has done.
    if (!is_gone(errno) || access(mine.c_str(), F_OK) != 0) return false;
  }
  held_ = entry.lease;
  watched_.clear();
  return renew();
}

// By lease, whether it is finished.
std::vector<bool> LeaseFolder::done_of(const std::vector<Entry>& all) const {
  std::vector<bool> done(leases_);
  for (const Entry& entry : all) {
    if (entry.state == State::done) done[entry.lease] = true;
  }
  return done;
}

bool LeaseFolder::all_done() const {
  std::error_code error;
  const std::vector<bool> done = done_of(entries(error));
  return !error && std::ranges::count(done, true) == leases_;
}

LeaseFolder::Look LeaseFolder::take(double now) {
  const double longest_step = 2 * look_interval();
  const double passed = last_look_ < 0 ? 0 : std::clamp(now - last_look_, 0.0, longest_step);
  last_look_ = now;
  Look look;
  std::error_code error;
  const std::vector<Entry> all = entries(error);
  see_folder(error, passed);
  if (error) return look;
  const std::vector<bool> done = done_of(all);
  look.done = static_cast<std::uint32_t>(std::ranges::count(done, true));
  look.all_done = look.done == leases_;
  if (look.all_done) return look;
  for (const Entry& entry : all) {
    if (entry.state != State::free || done[entry.lease] || !claim(entry)) continue;
    look.taken = Taken{entry.lease, {}};
    return look;
  }
  std::map<std::string, Watched> watched;
  for (const Entry& entry : all) {
    if (entry.state != State::held || done[entry.lease]) continue;
    const fs::path path = path_of(entry.lease, State::held, entry.node);
    const std::optional<std::string> content = content_of(path);
    if (!content) continue;
    const auto before = watched_.find(path.filename().string());
    const bool same = before != watched_.end() && before->second.content == *content;
    Watched now_seen{*content, same ? before->second.silent + passed : 0};
    if (now_seen.silent >= settings_.timeout && claim(entry)) {
      look.taken = Taken{entry.lease, entry.node};
      return look;
    }
    watched.emplace(path.filename().string(), std::move(now_seen));
  }
  make_lost_again(all, passed, watched);
  watched_ = std::move(watched);
  return look;
}

// A network file system that does not answer for a while is waited for.
void LeaseFolder::see_folder(std::error_code error, double passed) {
  const bool is_lost = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
                       error == std::errc::permission_denied;
  gone_ = is_lost ? gone_ + passed : 0;
  if (gone_ < settings_.timeout || !is_lost) return;
  throw std::system_error(error, "The leases in " + settings_.folder.string() +
                                     " are gone, and with them what other processes have done: what is finished here "
                                     "is in the journal");
}

// A listing may miss a file that is being renamed, but not for long.
void LeaseFolder::make_lost_again(const std::vector<Entry>& all, double passed,
                                  std::map<std::string, Watched>& watched) const {
  std::vector<bool> there(leases_);
  for (const Entry& entry : all) there[entry.lease] = true;
  for (std::uint32_t lease = 0; lease < leases_; ++lease) {
    if (there[lease]) continue;
    const auto before = watched_.find(number_of(lease));
    const double silent = before == watched_.end() ? 0 : before->second.silent + passed;
    watched.emplace(number_of(lease), Watched{{}, silent});
    if (silent < settings_.timeout) continue;
    try {
      make_file(path_of(lease, State::free, {}));
    } catch (const std::system_error&) {
      // Another has made it, or the next look will.
    }
  }
}

bool LeaseFolder::renew() {
  if (!held_) return false;
  const fs::path path = path_of(*held_, State::held, settings_.node);
  // Never made anew: that it is not there says that others have it. Never waited for: it may be a pipe.
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) {
    if (!is_gone(errno)) return true;
    held_.reset();
    return false;
  }
  const std::string beat = std::to_string(++beats_) + " " + settings_.node + "\n";
  // A sign that cannot be written is none; the next one may.
  const ssize_t written = pwrite(file.get(), beat.data(), beat.size(), 0);
  static_cast<void>(written);
  return true;
}

bool LeaseFolder::rename_held(State state) {
  if (!held_) return false;
  const std::uint32_t lease = *held_;
  held_.reset();
  const fs::path target = path_of(lease, state, settings_.node);
  if (std::rename(path_of(lease, State::held, settings_.node).c_str(), target.c_str()) == 0) return true;
  return is_gone(errno) && state == State::done && access(target.c_str(), F_OK) == 0;
}

bool LeaseFolder::finish() { return rename_held(State::done); }

void LeaseFolder::give_back() { rename_held(State::free); }

double LeaseFolder::look_interval() const { return std::clamp(settings_.timeout / 20, 0.05, 2.0); }

}  // namespace msrun
