// Sees to it that nothing gets lost when the CSVs of an earlier run are written anew: files that hold what the new ones
// will not are kept beside them, under their names with ".bak" behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "journal/run_files.h"
#include "kernels/io/files/folder.h"

namespace msrun {

class SetAside {
 public:
  enum class Matters : std::uint8_t {
    calls,  // that every call with a row in the result file has one: what the row says is in the journal
    rows,   // every row of both files: there was no journal
  };

  // Reads what the files hold now; what is missing, or a link, holds nothing. Throws WriteError if that cannot be told.
  SetAside(const Folder& folder, const RunFiles& files, Matters matters);

  // Rows that the files are about to get, whole ones, in pieces of any size.
  void details(std::string_view rows);
  void result(std::string_view rows);

  // To be called before the files are replaced: keeps both if something is not among these rows. Throws WriteError if
  // that cannot be done.
  void keep();
  // To be called when the files were replaced once more, with rows given anew: removes what keep() has made if nothing
  // in it is missing any more.
  void release();

  // Removes copies that a run made which did not come to its end, if the files now have every row of them.
  static void drop_covered(const Folder& folder, const RunFiles& files);

  // What keep() has made: none or two names.
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  using Hashes = std::vector<std::size_t>;

  bool all_there();
  void keep_file(const std::string& name);

  Folder folder_;
  Matters matters_;
  std::string result_name_;
  std::string details_name_;
  Hashes earlier_;  // of rows, or of the names of calls
  Hashes now_;
  std::vector<std::string> kept_;
};

}  // namespace msrun
