#include "tools/torchair_convert/converter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
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
#include "kernels/base/text.h"
#include "tools/common/descriptors.h"
#include "tools/torchair_convert/looks.h"
#include "tools/torchair_convert/report.h"
#include "tools/torchair_convert/shortage.h"
#include "tools/torchair_convert/tree.h"
#include "tools/torchair_convert/tree_lock.h"
#include "tools/torchair_convert/watch.h"
#include "tools/torchair_convert/workers.h"

namespace msrun::convert {
namespace {

constexpr double unfinished_settles = 30;   // settle times until a file that stays unfinished is reported
constexpr double retry_after = 60;          // seconds, when the system refused something
constexpr double whole_look_after = 10;     // seconds, although the kernel reports what changes
constexpr double look_share = 0.1;          // of the time may go into looking at a large tree
constexpr double descriptor_patience = 60;  // seconds without progress until --once ends for lack of descriptors

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
    throw UserError("The directory " + path + " cannot be read: " + errno_text() + ".");
  }
  std::string shown = path;
  while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
  return {shown, descriptor};
}

class Converter final : private TreeVisitor {
 public:
  Converter(const Options& options, std::uint64_t descriptors, const std::atomic<bool>& stop)
      : options_(options),
        stop_(stop),
        root_(open_root(options.data_path)),
        lock_(root_),
        report_(options.quiet, options.verbose),
        workers_(options.statistics, plan_work(options.workers, descriptors), stop) {}

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
    if (shortage_.given_up()) {
      report_.warning(shortage_.advice());
      return exit_incomplete;
    }
    if (is_gone_) {
      report_.warning("The directory " + root_.path() + " was deleted while it was watched.");
      return exit_incomplete;
    }
    if (!options_.once) return exit_completed;
    if (stop_) return exit_incomplete;
    if (!found_any_ && totals_.failed == 0) {
      report_.warning("Nothing was converted: no file of a dump lies below " + root_.path() + ".");
      return exit_fail_on;
    }
    return totals_.failed == 0 ? exit_completed : exit_fail_on;
  }

 private:
  bool stopped() const override { return stop_ || shortage_.given_up(); }

  // Whether the tree was deleted: nothing can appear in it any more. One that was renamed is still watched.
  bool is_gone() {
    struct stat status {};
    is_gone_ = is_gone_ || (::fstat(root_.descriptor(), &status) == 0 && status.st_nlink == 0);
    return is_gone_;
  }

  // Looks until nothing is left that could become convertible by waiting.
  void convert_once() {
    for (;;) {
      to_come_back_to_ = 0;
      next_due_ = options_.settle;
      ++pass_;
      scan(root_, "", true, *this);
      workers_.finish();
      settle_results();
      judge_shortage();
      if (stopped() || to_come_back_to_ == 0) return;
      pause(std::clamp(next_due_, 0.01, options_.interval));
    }
  }

  void watch_tree() {
    double next_whole_look = 0;
    while (!stopped()) {
      ++pass_;
      const double began = steady_seconds();
      if (began >= next_whole_look || !watch_.complete() || std::exchange(left_something_out_, false)) {
        watch_.expect_whole_look();
        watch_.changes();  // this look sees them
        scan(root_, "", true, *this);
        if (!stopped() && !left_something_out_) looks_.forget_unseen(pass_);
        const double took = steady_seconds() - began;
        next_whole_look = began + std::max(watch_.complete() ? whole_look_after : options_.interval, took / look_share);
      } else {
        look_where_something_happened(began);
      }
      workers_.flush();
      settle_results();
      if (stopped() || is_gone()) return;
      if (in_work_ == 0) report_.waiting();
      report_.flush();
      pause(options_.interval);
      if (in_work_ == 0) judge_shortage();
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

  void target() override { found_any_ = true; }

  void temporary(const Directory& directory, const std::string& name, int maker) override {
    // Those of this process are in work, but for the first look.
    if (maker == ::getpid() ? pass_ > 1 : !is_abandoned(maker)) return;
    if (maker == ::getpid() && in_work_ > 0) return;
    ::unlinkat(directory.descriptor(), name.c_str(), 0);
  }

  void aside(const std::shared_ptr<Directory>& directory, const std::string& source, const std::string& path) override {
    found_any_ = true;
    const Look* look = looks_.find(directory->path() + "/" + source);
    if (look != nullptr && look->state == LookState::queued) return;  // on its way here
    if (take_back(*directory, source)) {
      come_back_to_directory(path, 0, steady_seconds());
    } else {
      problem(directory->path() + "/" + aside_name(source) + ", which is " + source +
              ", cannot be given its name back: " + errno_text() + ".");
    }
  }

  void out_of_descriptors(const std::string& path) override {
    left_something_out_ = true;
    note_shortage(Resource::descriptors, root_.path() + (path.empty() ? "" : "/" + path) +
                                             " cannot be read: " + std::generic_category().message(EMFILE) + ".");
    come_back_to_directory(path, options_.interval, steady_seconds());
  }

  void problem(const std::string& message) override {
    if (!problems_.insert(message).second) return;
    report_.warning("directories that cannot be read", message);
    ++totals_.failed;
  }

  void file(Candidate candidate, const std::string& path, double modified) override {
    found_any_ = true;
    const double now = steady_seconds();
    const bool old = options_.once && unix_seconds() - modified >= options_.settle;
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
    look.round = shortage_.round();
    ++in_work_;
    workers_.put(std::move(candidate));
    if (shortage_.one_by_one()) workers_.finish();
    if (shortage_.one_by_one() || report_.progress_is_due()) settle_results();
  }

  // To the file at that path of the tree.
  void come_back(double seconds, const std::string& path, double now) {
    const std::size_t slash = path.rfind('/');
    come_back_to_directory(slash == std::string::npos ? "" : path.substr(0, slash), seconds, now);
  }

  void come_back_to_directory(const std::string& path, double seconds, double now) {
    ++to_come_back_to_;
    next_due_ = std::min(next_due_, seconds);
    if (options_.once) return;
    Place& place = places_[path];
    place.until = std::max(place.until, now + seconds + options_.interval);
  }

  // To be asked when nothing is in work.
  void judge_shortage() {
    if (!shortage_.felt()) return;
    const bool whole_round = looks_.all_tried_in(shortage_.round());
    const double patience = options_.once ? descriptor_patience : std::numeric_limits<double>::infinity();
    shortage_.judge(whole_round, steady_seconds(), patience);
    if (shortage_.given_up()) report_.warning(shortage_.message());
  }

  void note_shortage(Resource resource, const std::string& message) {
    if (resource == Resource::descriptors && !std::exchange(descriptors_told_, true)) {
      report_.warning("Too many files are open; what cannot be opened is tried again.");
    }
    shortage_.feel(resource, message);
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
      come_back(seconds + options_.settle, path.substr(root_.path().size() + 1), now);
    };
    switch (result.outcome) {
      case Outcome::converted:
        ++totals_.files;
        totals_.bytes_before += candidate.state.size;
        totals_.bytes_after += result.target_bytes;
        report_.converted(path, result.target);
        looks_.forget(path);
        shortage_.success(now);
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
        if (look->first_trouble < 0) look->first_trouble = now;
        note_shortage(Resource::space, result.message);
        return wait_again(LookState::retry, options_.interval);
      case Outcome::no_descriptors:
        note_shortage(Resource::descriptors, result.message);
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
  Shortage shortage_{steady_seconds()};
  bool left_something_out_ = false;  // of a look at the tree
  bool found_any_ = false;           // file of a dump, be it one that was converted before
  bool descriptors_told_ = false;
  bool is_gone_ = false;  // the tree
  Workers workers_;
};

}  // namespace

int run(const Options& options, const std::atomic<bool>& stop) {
  return Converter(options, allow_many_descriptors(), stop).run();
}

}  // namespace msrun::convert
