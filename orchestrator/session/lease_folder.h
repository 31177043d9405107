// Leases on pieces of work in a folder that several processes share, as a rule on several hosts: no server and no
// locks. Whoever renames the file of a lease has it. Its holder gives a sign of life by writing a number into the file
// that grows; others take a lease over whose file has not changed for some time by their own clock, so that the clocks
// of the hosts need not agree.
//
//   0007.free          nobody has the lease
//   0007.held.<node>   node has it
//   0007.done.<node>   node has finished it
//   leases.256         how many there are
//
// Two processes may both believe for a while that a lease is theirs, one of them after it was stopped: nothing here
// depends on it that they do not, and renew() and finish() tell the first that it has lost it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace msrun {

class LeaseFolder {
 public:
  struct Settings {
    std::filesystem::path folder;
    std::string node;          // of this process, which no other has: letters, digits, dots and dashes
    std::uint32_t leases = 1;  // how many there are to be, if the folder is made here
    double timeout = 60;       // seconds without a change of its file, after which a lease is taken over
  };

  // Makes the folder with all leases free, or joins those who use it already. Throws UserError if neither can be done,
  // leaving nothing behind, and for a folder that holds leases of several numbers, or of more than most_leases.
  explicit LeaseFolder(Settings settings);

  // Those that the folder has.
  std::uint32_t leases() const { return leases_; }
  // Whether they are all finished; false if the folder cannot be read.
  bool all_done() const;

  struct Taken {
    std::uint32_t lease = 0;
    std::string from;  // the node that it was taken over from; empty: it was free
  };
  struct Look {
    std::optional<Taken> taken;
    std::uint32_t done = 0;  // leases that are finished
    bool all_done = false;
  };
  // Takes a lease if there is one to be had: a free one or, of those that are held, one whose file has not changed for
  // the timeout between looks. One whose file is gone, whoever has removed it, is free again after the timeout. now is
  // in steady seconds; time between looks counts at most longest_step, as this process may have been stopped together
  // with the holder. Asked while no lease is held here. Throws std::system_error if the folder itself is gone, or may
  // not be read any more, for the timeout.
  Look take(double now);
  // A sign of life for the lease that is held. False if others have it: it is no longer held here then. When the folder
  // cannot be reached for the moment, that says nothing.
  bool renew();
  // The work of the lease is done, and where all can see it. False as for renew(). No lease is held then.
  bool finish();
  // Others may take the lease that is held at once.
  void give_back();

  // Seconds between looks while there is nothing to take, and between signs of life.
  double look_interval() const;
  double renew_interval() const { return settings_.timeout / 8; }

 private:
  enum class State : std::uint8_t { free, held, done };
  struct Entry {
    std::uint32_t lease = 0;
    State state = State::free;
    std::string node;
  };
  // The file of a held lease as it was seen.
  struct Watched {
    std::string content;
    double silent = 0;  // seconds
  };

  bool make();
  void fill(const std::filesystem::path& fresh) const;
  std::optional<std::uint32_t> count_in_folder() const;
  std::vector<Entry> entries(std::error_code& error) const;
  std::vector<bool> done_of(const std::vector<Entry>& all) const;
  void see_folder(std::error_code error, double passed);
  void make_lost_again(const std::vector<Entry>& all, double passed, std::map<std::string, Watched>& watched) const;
  std::filesystem::path path_of(std::uint32_t lease, State state, const std::string& node) const;
  bool claim(const Entry& entry);
  // True if the file of the lease that is held was there under its name.
  bool rename_held(State state);

  Settings settings_;
  std::uint32_t leases_ = 0;
  std::optional<std::uint32_t> held_;
  std::uint64_t beats_ = 0;
  std::map<std::string, Watched> watched_;  // by file name; of leases that have no file, by number
  double last_look_ = -1;                   // steady seconds
  double gone_ = 0;                         // seconds for which the folder was not there
};

}  // namespace msrun
