// The recordings of several ranks below one folder, as dumpers write them: step0/rank3/dump.json.
#pragma once

#include <string>
#include <vector>

namespace msrun {

struct RankFile {
  std::string rank;  // the path of its folder below the one that was given: "step0/rank3"
  std::string path;  // of its dump.json
};

struct RankFiles {
  std::vector<RankFile> files;        // numbers in names in their order: rank2 before rank10
  std::vector<std::string> warnings;  // one sentence each
};

// Looks for every dump.json below the folder, some levels deep. What lies below a folder that has one belongs to that
// recording, and is not searched. Links to folders are followed, but each folder is searched once. In the names of
// ranks a colon and what is not printable become "_". Throws UserError for a folder that cannot be read, for very many
// files or recordings, and for two ranks of one name.
RankFiles find_rank_files(const std::string& folder);

}  // namespace msrun
