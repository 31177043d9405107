// Standard output and standard error of a run. What is printed waits in memory until its reader has taken it, so that
// neither a pipe that nobody empties nor a stopped terminal keeps the supervisor from its signals and time limits.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "kernels/base/unblocked_output.h"

namespace msrun {

// The bytes between two flushes belong together: they are printed as a whole or, if the reader is too far behind,
// left out as a whole. For one thread.
class OutputStream : public std::ostream {
 public:
  // Makes the line, with its line feed, that stands where this many lines were left out.
  using GapLine = std::function<std::string(std::uint64_t lines)>;

  // name is for messages: "stdout". capacity: bytes that may wait for the reader. The descriptor outlives this.
  OutputStream(int descriptor, std::string name, GapLine gap_line, std::size_t capacity = std::size_t{64} << 20);
  // Waits for the reader as finish(1) does.
  ~OutputStream() override;
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  // Writes as much of what waits as the reader takes now.
  void drain() { buffer_.drain(); }
  // Something waits for the reader.
  bool is_behind() const { return buffer_.is_behind(); }

  // Waits until the reader has everything. Gives up what it does not take, once it has taken nothing for so many
  // seconds or stop, a descriptor unless it is negative, can be read.
  void finish(double patience, int stop = -1) { buffer_.finish(patience, stop); }

  // Lines that were not printed; those for a reader that has gone away do not count.
  std::uint64_t lost_lines() const { return buffer_.lost_lines(); }
  // "stdout: 3 lines could not be written (No space left on device)."; empty if no line is lost.
  std::string problem() const { return buffer_.problem(); }

 private:
  class Buffer : public std::streambuf {
   public:
    Buffer(int descriptor, std::string name, GapLine gap_line, std::size_t capacity);
    void drain();
    void finish(double patience, int stop);
    bool is_behind() const { return sent_ < waiting_.size(); }
    std::uint64_t lost_lines() const { return lost_lines_; }
    std::string problem() const;

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
    int sync() override;

   private:
    // Waits for room, at most so many seconds; true if there will be none, or stop can be read.
    bool waits_in_vain(double seconds, int stop) const;
    // Makes what was printed since the last flush wait for the reader; false if there is no room, or no memory.
    bool keep_unit();
    void give_up();
    void lose(std::string_view text);

    UnblockedOutput output_;
    std::string name_;
    GapLine gap_line_;
    std::size_t capacity_;
    std::string unit_;  // since the last flush
    bool unit_is_whole_ = true;
    std::string waiting_;  // its first sent_ bytes are written
    std::size_t sent_ = 0;
    bool reader_gone_ = false;
    int error_ = 0;  // errno of the first write that failed
    std::uint64_t lost_lines_ = 0;
    std::uint64_t gap_ = 0;  // lines left out since the last that was not
  };

  Buffer buffer_;
};

}  // namespace msrun
