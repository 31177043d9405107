// The exceptions of the journal. Every message names the file and says in one line what is wrong with it.
#pragma once

#include <stdexcept>
#include <string>

namespace msrun::journal {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The file has no byte in it.
class EmptyFile : public Error {
 public:
  using Error::Error;
};

// The file does not begin as a journal does.
class NotAJournal : public Error {
 public:
  using Error::Error;
};

// A later version of the format, which this program cannot read.
class NewerVersion : public Error {
 public:
  using Error::Error;
};

// A journal, but its file header is cut short or fails its checksum. Nothing of the file is used then.
class DamagedHeader : public Error {
 public:
  using Error::Error;
};

// Another writer has the file open; the message names its process.
class Locked : public Error {
 public:
  using Error::Error;
};

// The operating system refused to open, write, sync or cut the file.
class WriteError : public Error {
 public:
  // `action` completes "cannot ..."; `code` is the errno of the call that failed.
  WriteError(const std::string& file_name, const std::string& action, int code);
  // For what the operating system would not have refused.
  WriteError(const std::string& file_name, const std::string& action, int code, const std::string& reason);
  int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace msrun::journal
