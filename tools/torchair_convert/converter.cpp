#include "tools/torchair_convert/converter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <system_error>

#include "kernels/base/clock.h"
#include "kernels/base/exit_code.h"
#include "tools/torchair_convert/looks.h"
#include "tools/torchair_convert/report.h"
#include "tools/torchair_convert/tree.h"
#include "tools/torchair_convert/tree_lock.h"
#include "tools/torchair_convert/watch.h"
#include "tools/torchair_convert/workers.h"

namespace msrun::convert {
namespace {

constexpr double unfinished_settles = 30;  // settle times until a file that stays unfinished is reported
constexpr double retry_after = 60;         // seconds, when the system refused something
constexpr double whole_look_after = 10;    // seconds, although the kernel reports what changes
constexpr double look_share = 0.1;         // of the time may go into looking at a large tree

double calendar_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string program_name(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// The process that made a temporary file is gone; another program may have its number by now.
bool is_abandoned(int maker) {
  if (maker == ::getpid()) return true;
  if (::kill(maker, 0) != 0 && errno == ESRCH) return true;
  return program_name(maker) != program_name(::getpid());
}

Directory open_root(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    throw UserError("The directory " + path + " cannot be read: " + std::generic_category().message(errno) + ".");
  }
  std::string shown = path;
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  return {shown, descriptor};
}

// Every file in work takes up to three descriptors.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Converter final : private TreeVisitor {
 public:
  Converter(const Options& options, const std::atomic<bool>& stop)
      : options_(options),
        stop_(stop),
        root_(open_root(options.data_path)),
        lock_(root_),
        report_(options.quiet, options.verbose),
        workers_(options.statistics, options.workers, stop) {}

  int run() {
    if (options_.once) {
      convert_once();
    } else {
      watch_tree();
    }
    workers_.finish();
    settle_results();
    report_.finished(totals_);
    report_.flush();
    if (disk_full_) {
      report_.warning("The disk is full. Nothing is lost: free some space and give the same command again.");
      return exit_incomplete;
    }
    if (!options_.once) return exit_completed;
    if (stop_) return exit_incomplete;
    return totals_.failed == 0 ? exit_completed : exit_fail_on;
  }

 private:
  bool stopped() const override { return stop_ || disk_full_; }

  // Looks until nothing is left that could become convertible by waiting.
  void convert_once() {
    for (;;) {
      to_come_back_to_ = 0;
      next_due_ = options_.settle;
      ++pass_;
      scan(root_, "", true, *this);
      workers_.finish();
      settle_results();
      if (stopped() || to_come_back_to_ == 0) return;
      pause(std::clamp(next_due_, 0.01, options_.interval));
    }
  }

  void watch_tree() {
    double next_whole_look = 0;
    while (!stopped()) {
      ++pass_;
      const double began = steady_seconds();
      if (began >= next_whole_look || !watch_.complete()) {
        watch_.expect_whole_look();
        watch_.changes();  // this look sees them
        scan(root_, "", true, *this);
        if (!stopped()) looks_.forget_unseen(pass_);
        const double took = steady_seconds() - began;
        next_whole_look = began + std::max(watch_.complete() ? whole_look_after : options_.interval, took / look_share);
      } else {
        look_where_something_happened(began);
      }
      workers_.flush();
      settle_results();
      if (stopped()) return;
      if (in_work_ == 0) report_.waiting();
      report_.flush();
      pause(options_.interval);
    }
  }

  void look_where_something_happened(double now) {
    for (Change& change : watch_.changes()) {
      Place& place = places_[change.path];
      place.until = now + 2 * options_.settle + options_.interval;
      place.below = place.below || change.below;
    }
    const std::map<std::string, Place> places = places_;
    for (const auto& [path, place] : places) {
      if (stopped()) return;
      places_[path].below = false;
      scan(root_, path, place.below, *this);
    }
    std::erase_if(places_, [&](const auto& place) { return place.second.until < now; });
  }

  void pause(double seconds) {
    const double until = steady_seconds() + seconds;
    while (!stopped()) {
      const double left = until - steady_seconds();
      if (left <= 0) return;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.1)));
      settle_results();
    }
  }

  void enter(const Directory& directory, const std::string& path) override {
    if (!options_.once) watch_.add(directory.descriptor(), path);
  }

  void temporary(const Directory& directory, const std::string& name, int maker) override {
    // Those of this process are in work, but for the first look.
    if (maker == ::getpid() ? pass_ > 1 : !is_abandoned(maker)) return;
    if (maker == ::getpid() && in_work_ > 0) return;
    ::unlinkat(directory.descriptor(), name.c_str(), 0);
  }

  void problem(const std::string& message) override {
    if (!problems_.insert(message).second) return;
    report_.warning("directories that cannot be read", message);
    ++totals_.failed;
  }

  void file(Candidate candidate, const std::string& path, double modified) override {
    const double now = steady_seconds();
    const bool old = options_.once && calendar_seconds() - modified >= options_.settle;
    Look& look = looks_.see(candidate.path(), candidate.state, now, pass_);
    switch (look.state) {
      case LookState::queued:
      case LookState::left:
        return;
      case LookState::retry:
        if (now < look.since) return come_back(look.since - now, path, now);
        break;
      case LookState::waiting: {
        const double quiet = now - look.since;
        if (quiet < options_.settle && !(old && look.first_trouble < 0)) {
          return come_back(options_.settle - quiet, path, now);
        }
        break;
      }
    }
    look.state = LookState::queued;
    ++in_work_;
    workers_.put(std::move(candidate));
    if (report_.progress_is_due()) settle_results();
  }

  void come_back(double seconds, const std::string& path, double now) {
    ++to_come_back_to_;
    next_due_ = std::min(next_due_, seconds);
    if (options_.once) return;
    const std::size_t slash = path.rfind('/');
    Place& place = places_[slash == std::string::npos ? "" : path.substr(0, slash)];
    place.until = std::max(place.until, now + seconds + options_.interval);
  }

  void settle_results() {
    for (const Converted& converted : workers_.take()) settle(converted.first, converted.second);
    if (report_.progress_is_due()) report_.progress(totals_, looks_.backlog());
  }

  void settle(const Candidate& candidate, const Result& result) {
    --in_work_;
    const std::string path = candidate.path();
    Look* look = looks_.find(path);
    if (look == nullptr) return;
    const double now = steady_seconds();
    const auto warn = [&](const char* kind, const std::string& message) {
      if (!std::exchange(look->reported, true)) report_.warning(kind, message);
    };
    const auto leave = [&](std::uint64_t& counter, const char* kind) {
      look->state = LookState::left;
      ++counter;
      warn(kind, result.message);
    };
    constexpr const char* refused = "files that could not be converted";
    constexpr const char* unfinished = "unfinished files";
    const auto wait_again = [&](LookState state, double seconds) {
      look->state = state;
      look->since = state == LookState::retry ? now + seconds : now;
      ++to_come_back_to_;
    };
    switch (result.outcome) {
      case Outcome::converted:
        ++totals_.files;
        totals_.bytes_before += candidate.state.size;
        totals_.bytes_after += result.target_bytes;
        report_.converted(path, result.target);
        looks_.forget(path);
        return;
      case Outcome::vanished:
        looks_.forget(path);
        return;
      case Outcome::nothing:
        return leave(totals_.left, "files without anything to convert");
      case Outcome::damaged:
        return leave(totals_.failed, "damaged files");
      case Outcome::failed:
        if (options_.once) return leave(totals_.failed, refused);
        warn(refused, result.message);
        return wait_again(LookState::retry, retry_after);
      case Outcome::incomplete:
        if (options_.once) return leave(totals_.failed, unfinished);
        [[fallthrough]];
      case Outcome::busy:
        if (look->first_trouble < 0) look->first_trouble = now;
        if (now - look->first_trouble > unfinished_settles * options_.settle) {
          warn(unfinished, result.message.empty() ? "The file " + path + " is still being written." : result.message);
          if (options_.once) return leave(totals_.failed, unfinished);
        }
        return wait_again(LookState::waiting, 0);
      case Outcome::no_space:
        // Deleting other sources makes room. If a retry finds that there was none to delete, nothing will.
        if (look->first_trouble >= 0 && files_at_no_space_ == totals_.files) {
          disk_full_ = true;
          report_.warning(result.message);
        }
        look->first_trouble = now;
        files_at_no_space_ = totals_.files;
        return wait_again(LookState::retry, options_.interval);
      case Outcome::stopped:
        return wait_again(LookState::waiting, 0);
    }
  }

  // A directory in which files are about to become quiet.
  struct Place {
    double until = 0;
    bool below = false;
  };

  const Options& options_;
  const std::atomic<bool>& stop_;
  Directory root_;
  TreeLock lock_;
  Report report_;
  TreeWatch watch_;
  Looks looks_;
  std::map<std::string, Place> places_;
  std::set<std::string> problems_;  // that were told
  Totals totals_;
  std::uint32_t pass_ = 0;
  std::uint64_t in_work_ = 0;
  std::uint64_t to_come_back_to_ = 0;  // files of this pass that may become convertible
  double next_due_ = 0;                // seconds until the first of them is
  std::uint64_t files_at_no_space_ = 0;
  bool disk_full_ = false;
  Workers workers_;
};

}  // namespace

int run(const Options& options, const std::atomic<bool>& stop) {
  allow_many_files();
  return Converter(options, stop).run();
}

}  // namespace msrun::convert
