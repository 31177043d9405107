// Which dump a path of the command line names. Users give the root of a dump, the directory it lies in, or that of one
// rank inside it; the number of a token means something else in either layout, so that the right root has to be found
// rather than assumed (torchair.md 1 to 3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/torchair_compare/dump_tree.h"
#include "tools/torchair_compare/messages.h"

namespace msrun::torchair {

struct DumpPlace {
  std::string root;  // holds the graph texts, the ranks or the tokens; a real path, as is base
  std::string base;  // what of it is meant: all of it, a rank's directory or that of a graph
  DumpKind kind = DumpKind::fx;
  std::optional<std::uint64_t> rank;  // of base, where the path names a rank

  // Directories of the ranks that are meant; none if the dump has none.
  std::map<std::uint64_t, std::string> ranks(Messages& messages) const;
};

// path must be a real path of a directory. Throws UserError if it leaves open which dump is meant, if there is none
// with a graph text (target), or if it is a single token (golden), of which the others would be missing. Says which
// dump was found where that is not path itself.
DumpPlace find_target(const std::string& path, Messages& messages);
DumpPlace find_golden(const std::string& path, const DumpPlace& target, Messages& messages);

}  // namespace msrun::torchair
