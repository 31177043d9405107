// Decides when a converter that lacks room on the disk, or descriptors, has to give up. As long as anything is
// converted it goes on: what is converted makes room, and descriptors are given back. The time is divided into rounds;
// a round begins with every file that is converted, and only one in which all files were tried in vain counts.
#pragma once

#include <cstdint>
#include <string>

namespace msrun::convert {

enum class Resource : std::uint8_t { space, descriptors };

class Shortage {
 public:
  // now, here and below: seconds of the steady clock.
  explicit Shortage(double now) : last_success_(now) {}

  // A file was converted.
  void success(double now);
  // A file, or a part of the tree, had to be put off; message is the sentence that says so.
  void feel(Resource resource, const std::string& message);
  // Whether one had to since the last success.
  bool felt() const { return felt_; }

  // Number of the round, never 0.
  std::uint32_t round() const { return round_; }
  // Files are to be tried one at a time: several at once may take the last room from one another.
  bool one_by_one() const { return one_by_one_; }

  // To be called when nothing is in work. whole_round: every file was tried in this round. A lack of space is final
  // when a whole round was in vain one by one; a lack of descriptors only after patience seconds, because others may
  // give theirs back.
  void judge(bool whole_round, double now, double patience);
  bool given_up() const { return given_up_; }
  // Why the last thing that was put off was put off.
  const std::string& message() const { return message_; }
  // What a user can do about it.
  std::string advice() const;

 private:
  void next_round();

  std::uint32_t round_ = 1;
  Resource resource_ = Resource::space;
  double last_success_;
  std::string message_;
  bool felt_ = false;
  bool one_by_one_ = false;
  bool given_up_ = false;
};

}  // namespace msrun::convert
