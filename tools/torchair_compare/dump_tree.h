// The directories of a dump: ranks, graph texts, graphs and tokens on both sides (torchair.md 2.4, 2.5, 3 and 4.1).
// Only directories are looked at here; what the files of a token are called is in token_files.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/torchair_compare/messages.h"

namespace msrun::torchair {

// Names below a directory, sorted byte by byte; what cannot be read is left out with a warning.
struct Listing {
  std::vector<std::string> directories;
  std::vector<std::string> files;   // regular ones
  std::vector<std::string> others;  // neither: pipes, devices, links to nowhere
};
Listing list_directory(const std::string& path, Messages& messages);

enum class DumpKind : std::uint8_t { fx, ge };

// What the names of directories and files tell: the rank of "worldsize*_global_rank<rank>", the graph of
// "graph_<graph>" or "graph_<graph>_<number>".
std::optional<std::uint64_t> rank_of_directory(std::string_view name);
std::optional<std::uint64_t> graph_of_directory(std::string_view name);
bool is_graph_text_name(std::string_view name);
bool is_token_name(std::string_view name);

bool holds_npy(const Listing& listing);
// Whether a directory directly below path, which has this listing, holds tensors of FX.
bool holds_graphs(const std::string& path, const Listing& listing, Messages& messages);

// What the tokens directly below a directory hold: the tensors themselves, as since 7.1.0, or a directory of tensors
// for each graph.
enum class TokenLayout : std::uint8_t { none, tensors, graphs, both };
TokenLayout tokens_below(const std::string& path, const Listing& listing, Messages& messages);

// rank -> worldsize*_global_rank<rank>. Of several directories of one rank that of the newest time is taken.
std::map<std::uint64_t, std::string> rank_directories(const std::string& root, Messages& messages);

struct GraphFile {
  std::string path;
  std::uint64_t graph = 0;
  std::optional<std::uint64_t> rank;
  std::string stamp;  // of "_ts_<stamp>"
};
// dynamo_original_graph_*.txt at most five levels below root, sorted by graph and rank; with rank only those that name
// it. Of several files of one graph and rank the newest is taken.
std::vector<GraphFile> find_graph_files(const std::string& root, std::optional<std::uint64_t> rank, Messages& messages);

// What is said of a dump without a graph text.
std::string no_graph_text(const std::string& root);

// The files of one token of one graph may lie in several directories.
struct TokenDirectories {
  std::int64_t token = 0;
  std::vector<std::string> paths;
};

struct DumpGroup {
  std::optional<std::uint64_t> graph;  // where directory names tell
  std::string name;                    // for messages

  void add(std::int64_t token, const std::string& path);
  // In the order in which they were first added.
  const std::vector<TokenDirectories>& tokens() const { return tokens_; }
  const TokenDirectories* find(std::int64_t token) const;

 private:
  std::vector<TokenDirectories> tokens_;
  std::unordered_map<std::int64_t, std::size_t> places_;
};

// base is the directory of a rank, or of a dump without ranks.
std::vector<DumpGroup> find_ge_groups(const std::string& base, Messages& messages);
// The number of a directory is the token, or, in the layout up to torch_npu 7.1.0, one more. A dump of a rank is never
// of that layout; of others the directories tell. Throws UserError if they do not.
std::vector<DumpGroup> find_fx_groups(const std::string& base, bool of_rank, Messages& messages);

// Which graph text and which golden group belong to each group of the target: by the number of the graph where names
// tell, the others by order. Unmatched ones are warned about and left out.
struct GraphPair {
  GraphFile graph;
  DumpGroup mine;
  DumpGroup golden;
};
std::vector<GraphPair> pair_graphs(std::vector<GraphFile> graphs, std::vector<DumpGroup> mine,
                                   std::vector<DumpGroup> golden, Messages& messages);

}  // namespace msrun::torchair
