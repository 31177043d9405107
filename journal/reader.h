// Reads a journal back: every record of every good frame, in the order of writing, and an account of what was lost. A
// file that a writer left behind at any instant reads without loss up to its last flush().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "journal/file.h"

namespace msrun::journal {

struct FileHeader {
  std::uint32_t version = 0;   // of the format
  std::string metadata;        // what the creator of the journal gave
  std::uint64_t size = 0;      // bytes of the header: the first frame begins here
  std::uint32_t checksum = 0;  // CRC-32C of the header, which the frame headers continue
};

// Header, good frames (`valid_size` ends the last), damaged and torn bytes make up the whole file. Frames are numbered
// since version 3; in older files none is missing, repeated or displaced.
struct Recovery {
  std::uint32_t version = 0;  // of the format
  std::string metadata;
  std::uint64_t valid_size = 0;  // where a writer goes on (Writer::resume): the end of the last good frame
  std::uint64_t frames = 0;      // good ones that were read
  std::uint64_t records = 0;
  std::uint64_t uncompressed_bytes = 0;  // of header and records with their length prefixes
  bool torn_tail = false;                // no good frame begins behind valid_size, yet there are bytes
  std::uint64_t torn_bytes = 0;          // how many
  std::uint64_t damaged_bytes = 0;       // bytes between good frames that belong to none
  std::uint32_t damaged_regions = 0;     // the gaps that these lie in
  std::uint64_t missing_frames = 0;      // numbers that no good frame has, although a later one has been written
  std::uint64_t repeated_frames = 0;     // good frames with the number of one that was read; they are passed over
  std::uint64_t displaced_frames = 0;    // good frames behind a later one; they are read in their place
  std::uint64_t next_sequence = 0;       // the number of the next frame that is written
};

// Called once per record. The view is valid until the call returns. What it throws ends the reading and reaches the
// caller.
using OnRecord = std::function<void(std::string_view record)>;

// The header of a journal, checked. Throws EmptyFile, NotAJournal, NewerVersion or DamagedHeader, or Error when the
// source cannot be read.
FileHeader read_header(const Source& source);

// Reads the journal from begin to end, once unless a frame is missing or out of its place. Torn tails and damage are no
// errors but counted in the result; throws as read_header does. The source is not changed and not locked: a journal
// that is being written reads up to a recent flush().
Recovery read(const Source& source, const OnRecord& on_record);
Recovery read(const std::filesystem::path& path, const OnRecord& on_record);

}  // namespace msrun::journal
