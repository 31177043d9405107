#include "tools/torchair_compare/dump_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <system_error>
#include <tuple>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/graph_engine/ge_dump.h"
#include "tools/torchair_compare/token_files.h"

namespace msrun::torchair {

namespace fs = std::filesystem;

namespace {

constexpr int max_graph_depth = 5;         // levels below the root in which graph texts are looked for
constexpr int max_tree_depth = 64;         // deeper than any dump
constexpr std::size_t longest_token = 11;  // digits of a token directory; longer numbers are times
constexpr const char* without_partner = "dumps or graph texts without a partner";

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

std::string_view leading_digits(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return text.substr(0, std::min(end, text.size()));
}

// The number behind the first occurrence of marker.
std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos) return std::nullopt;
  return parse_number<std::uint64_t>(leading_digits(text.substr(at + marker.size())));
}

// The latest time among the directories at or directly below path whose names are times of fourteen digits.
std::string newest_time(const std::string& path, Messages& messages) {
  std::string newest;
  for (const std::string& name : list_directory(path, messages).directories) {
    if (name.size() == 14 && all_digits(name)) newest = std::max(newest, name);
  }
  return newest;
}

std::optional<std::int64_t> parse_token(std::string_view text) {
  const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(text);
  if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// One directory on the way down a tree. Symbolic links may lead back to one that is above: it is not entered again.
class Level {
 public:
  Level(const std::string& path, const Level* above) : above_(above), depth_(above == nullptr ? 1 : above->depth_ + 1) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  int depth() const { return depth_; }  // 1 for the start
  bool is_to_be_entered() const {
    if (depth_ > max_tree_depth) return false;
    for (const Level* level = above_; level != nullptr; level = level->above_) {
      if (level->device_ == device_ && level->inode_ == inode_) return false;
    }
    return true;
  }

 private:
  const Level* above_;
  int depth_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

bool is_token_parent(const Listing& listing) {
  return !listing.directories.empty() &&
         std::all_of(listing.directories.begin(), listing.directories.end(), is_token_name);
}

// Directories all of whose sub-directories are called like tokens, in path order.
void find_token_parents(const std::string& path, const Level* above, Messages& messages,
                        std::vector<std::string>& parents) {
  const Level level(path, above);
  if (!level.is_to_be_entered()) return;
  const Listing listing = list_directory(path, messages);
  if (is_token_parent(listing)) {
    parents.push_back(path);
    return;
  }
  for (const std::string& name : listing.directories) {
    find_token_parents(join_path(path, name), &level, messages, parents);
  }
}

DumpGroup fx_group_of(const std::string& parent, Messages& messages) {
  DumpGroup group;
  group.graph = graph_of_directory(base_name(parent));
  group.name = parent;
  for (const std::string& name : list_directory(parent, messages).directories) {
    const std::string path = join_path(parent, name);
    const std::optional<std::int64_t> token = parse_token(name);
    if (token && holds_npy(list_directory(path, messages))) group.add(*token, path);
  }
  return group;
}

// Before 7.1.0 the graphs of a token are sub-directories of it; the i-th of every token belong together.
std::vector<DumpGroup> old_fx_groups_of(const std::string& parent, Messages& messages) {
  std::vector<std::pair<std::int64_t, std::vector<std::string>>> tokens;
  for (const std::string& name : list_directory(parent, messages).directories) {
    const std::string path = join_path(parent, name);
    const Listing listing = list_directory(path, messages);
    std::vector<std::string> dumps;
    for (const std::string& dump : listing.directories) {
      const std::string dump_path = join_path(path, dump);
      if (holds_npy(list_directory(dump_path, messages))) dumps.push_back(dump_path);
    }
    if (dumps.empty() && holds_npy(listing)) dumps.push_back(path);
    const std::optional<std::int64_t> number = parse_token(name);
    if (number && !dumps.empty()) tokens.emplace_back(*number - 1, std::move(dumps));
  }
  if (tokens.empty()) return {};
  const auto by_count = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end(), by_count);
  if (least->second.size() != most->second.size()) {
    messages.warning("The tokens below " + parent + " hold different numbers of graphs; the first " +
                     std::to_string(least->second.size()) + " of each are compared.");
  }
  std::vector<DumpGroup> groups(least->second.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = parent + " (" + std::string(base_name(tokens.front().second[i])) + ")";
    for (const auto& [token, dumps] : tokens) groups[i].add(token, dumps[i]);
  }
  return groups;
}

// Whether the directories below parent, which is not of a rank, are called by their tokens. Before 7.1.0, when they
// were called by one more, the tensors lay one level deeper, or at least below a data_dump.
bool is_numbered_by_token(const std::string& parent, Messages& messages) {
  const TokenLayout layout = tokens_below(parent, list_directory(parent, messages), messages);
  if (layout == TokenLayout::both) {
    throw UserError("Some tokens below " + parent +
                    " hold tensors and others directories of tensors: it is not clear "
                    "whether they are called by their numbers or by one more.");
  }
  return layout == TokenLayout::tensors && base_name(parent) != "data_dump";
}

// Whether these are the files of a token: no directories beside them, or directories that stand in the place of files,
// without which the token would be lost.
bool is_ge_token(const Listing& listing) {
  if (listing.directories.empty()) return !listing.files.empty() || !listing.others.empty();
  return std::ranges::none_of(listing.directories, is_token_name) &&
         std::ranges::any_of(listing.files, [](const std::string& name) {
           return !is_foreign_name(name) && parse_ge_file_name(name).has_value();
         });
}

// names: of the directories between the start and the one at hand.
void find_ge_tokens(const std::string& path, const Level* above, std::vector<std::string>& names, Messages& messages,
                    const std::function<void(const std::string&)>& found) {
  const Level level(path, above);
  if (!level.is_to_be_entered()) return;
  const Listing listing = list_directory(path, messages);
  if (is_ge_token(listing)) return found(path);
  for (const std::string& name : listing.directories) {
    names.push_back(name);
    find_ge_tokens(join_path(path, name), &level, names, messages, found);
    names.pop_back();
  }
}

}  // namespace

Listing list_directory(const std::string& path, Messages& messages) {
  Listing listing;
  std::error_code error;
  for (const fs::directory_entry& entry : entries_of(path, error)) {
    std::error_code unknown;
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(unknown)) {
      listing.directories.push_back(name);
    } else if (entry.is_regular_file(unknown)) {
      listing.files.push_back(name);
    } else {
      listing.others.push_back(name);
    }
  }
  if (error) messages.unread_directory(path, error.message());
  return listing;
}

std::string no_graph_text(const std::string& root) {
  return "Can not get ge graph, Please check whether the input path contains graph. There is no "
         "dynamo_original_graph_*.txt below " +
         root + ".";
}

std::optional<std::uint64_t> rank_of_directory(std::string_view name) {
  const std::size_t at = name.rfind("rank");
  if (!name.starts_with("worldsize") || at == std::string_view::npos) return std::nullopt;
  return parse_number<std::uint64_t>(name.substr(at + 4));
}

std::optional<std::uint64_t> graph_of_directory(std::string_view name) {
  if (!name.starts_with("graph_")) return std::nullopt;
  name.remove_prefix(6);
  const std::string_view digits = leading_digits(name);
  const std::string_view rest = name.substr(digits.size());
  if (!rest.empty() && (rest.front() != '_' || !all_digits(rest.substr(1)))) return std::nullopt;
  return parse_number<std::uint64_t>(digits);
}

bool is_graph_text_name(std::string_view name) {
  return name.starts_with("dynamo_original_graph_") && name.ends_with(".txt");
}

bool is_token_name(std::string_view name) { return all_digits(name) && name.size() <= longest_token; }

bool holds_npy(const Listing& listing) {
  return std::any_of(listing.files.begin(), listing.files.end(),
                     [](const std::string& name) { return name.ends_with(".npy"); });
}

bool holds_graphs(const std::string& path, const Listing& listing, Messages& messages) {
  return std::any_of(listing.directories.begin(), listing.directories.end(), [&](const std::string& name) {
    return holds_npy(list_directory(join_path(path, name), messages));
  });
}

TokenLayout tokens_below(const std::string& path, const Listing& listing, Messages& messages) {
  if (!is_token_parent(listing)) return TokenLayout::none;
  bool tensors = false;
  bool graphs = false;
  for (const std::string& name : listing.directories) {
    const std::string token = join_path(path, name);
    const Listing inside = list_directory(token, messages);
    const bool has_tensors = holds_npy(inside);
    tensors = tensors || has_tensors;
    graphs = graphs || (!has_tensors && holds_graphs(token, inside, messages));
  }
  if (tensors && graphs) return TokenLayout::both;
  return tensors ? TokenLayout::tensors : graphs ? TokenLayout::graphs : TokenLayout::none;
}

std::map<std::uint64_t, std::string> rank_directories(const std::string& root, Messages& messages) {
  std::map<std::uint64_t, std::string> ranks;
  for (const std::string& name : list_directory(root, messages).directories) {
    const std::optional<std::uint64_t> rank = rank_of_directory(name);
    if (!rank) continue;
    const std::string path = join_path(root, name);
    const auto [place, is_new] = ranks.emplace(*rank, path);
    if (is_new) continue;
    const std::string earlier = place->second;
    if (newest_time(path, messages) > newest_time(earlier, messages)) place->second = path;
    std::string text = "Two directories hold rank " + std::to_string(*rank) + ", " + earlier + " and ";
    text += path + "; " + place->second + " is used.";
    messages.warning("directories of a rank that has another", text);
  }
  return ranks;
}

std::vector<GraphFile> find_graph_files(const std::string& root, std::optional<std::uint64_t> rank,
                                        Messages& messages) {
  std::vector<GraphFile> found;
  const std::function<void(const std::string&, const Level*)> search = [&](const std::string& path,
                                                                           const Level* above) {
    const Level level(path, above);
    if (!level.is_to_be_entered()) return;
    const Listing listing = list_directory(path, messages);
    for (const std::string& name : listing.files) {
      if (!is_graph_text_name(name)) continue;
      if (rank && name.find("rank_" + std::to_string(*rank) + "_") == std::string::npos) continue;
      GraphFile file;
      file.path = join_path(path, name);
      const std::size_t digit = name.find_first_of("0123456789");
      if (digit != std::string::npos) {
        file.graph = parse_number<std::uint64_t>(leading_digits(std::string_view(name).substr(digit))).value_or(0);
      }
      file.rank = number_behind(name, "rank_");
      const std::size_t stamp = name.rfind("_ts_");
      if (stamp != std::string::npos) file.stamp = leading_digits(std::string_view(name).substr(stamp + 4));
      found.push_back(std::move(file));
    }
    if (level.depth() == max_graph_depth) return;
    for (const std::string& name : listing.directories) search(join_path(path, name), &level);
  };
  search(root, nullptr);
  const auto order = [](const GraphFile& file) { return std::tie(file.graph, file.rank, file.stamp, file.path); };
  std::sort(found.begin(), found.end(), [&](const GraphFile& a, const GraphFile& b) { return order(a) < order(b); });
  std::vector<GraphFile> newest;
  for (GraphFile& file : found) {
    if (!newest.empty() && newest.back().graph == file.graph && newest.back().rank == file.rank) {
      messages.warning("graph texts that are out of date", "Two files hold graph " + std::to_string(file.graph) + "; " +
                                                               file.path + " is used, being newer than " +
                                                               newest.back().path + ".");
      newest.back() = std::move(file);
    } else {
      newest.push_back(std::move(file));
    }
  }
  return newest;
}

void DumpGroup::add(std::int64_t token, const std::string& path) {
  const auto [place, is_new] = places_.emplace(token, tokens_.size());
  if (is_new) {
    tokens_.push_back({token, {path}});
  } else {
    tokens_[place->second].paths.push_back(path);
  }
}

const TokenDirectories* DumpGroup::find(std::int64_t token) const {
  const auto found = places_.find(token);
  return found == places_.end() ? nullptr : &tokens_[found->second];
}

std::vector<DumpGroup> find_ge_groups(const std::string& base, Messages& messages) {
  // Groups whose name tells the graph, pooled by it; the others by device and model.
  std::map<std::uint64_t, DumpGroup> by_graph;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, DumpGroup> others;
  std::vector<std::string> names;
  find_ge_tokens(base, nullptr, names, messages, [&](const std::string& path) {
    const auto part = [&](std::size_t from_end) {
      return names.size() >= from_end ? names[names.size() - from_end] : std::string();
    };
    const std::optional<std::int64_t> token = parse_token(part(1));
    if (!token) {
      messages.detail("The directory " + path + " is no token and is left out.");
      return;
    }
    const std::string model_name = part(3);
    const std::optional<std::uint64_t> graph = graph_of_directory(model_name);
    DumpGroup& group = graph ? by_graph[*graph]
                             : others[{parse_number<std::uint64_t>(part(4)).value_or(0),
                                       parse_number<std::uint64_t>(part(2)).value_or(0), model_name}];
    group.graph = graph;
    if (group.name.empty()) group.name = fs::path(path).parent_path().string();
    group.add(*token, path);
  });
  std::vector<DumpGroup> groups;
  for (auto& [graph, group] : by_graph) groups.push_back(std::move(group));
  for (auto& [place, group] : others) groups.push_back(std::move(group));
  return groups;
}

std::vector<DumpGroup> find_fx_groups(const std::string& base, bool of_rank, Messages& messages) {
  std::vector<std::string> parents;
  find_token_parents(base, nullptr, messages, parents);
  std::vector<DumpGroup> groups;
  for (const std::string& parent : parents) {
    if (of_rank || is_numbered_by_token(parent, messages)) {
      DumpGroup group = fx_group_of(parent, messages);
      if (!group.tokens().empty()) groups.push_back(std::move(group));
    } else {
      for (DumpGroup& group : old_fx_groups_of(parent, messages)) groups.push_back(std::move(group));
    }
  }
  if (parents.empty() && holds_npy(list_directory(base, messages))) {
    messages.warning("No token directories were found below " + base + "; its files belong to no token of the target.");
    DumpGroup group;
    group.name = base;
    group.add(-1, base);
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<GraphPair> pair_graphs(std::vector<GraphFile> graphs, std::vector<DumpGroup> mine,
                                   std::vector<DumpGroup> golden, Messages& messages) {
  // partner[i] of an item of `wanted`: by number first, then by order among those whose number is unknown on one of the
  // sides. A single pair belongs together whatever it is called.
  const auto match = [](const auto& wanted, const auto& offered, const auto& number_of_offered) {
    std::vector<std::optional<std::size_t>> partner(wanted.size());
    std::vector<bool> taken(offered.size(), false);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (std::size_t k = 0; k < offered.size() && !partner[i]; ++k) {
        const std::optional<std::uint64_t> number = number_of_offered(offered[k]);
        if (!taken[k] && wanted[i].graph && number && *wanted[i].graph == *number) {
          partner[i] = k;
          taken[k] = true;
        }
      }
    }
    const bool single = wanted.size() == 1 && offered.size() == 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (std::size_t k = 0; k < offered.size() && !partner[i]; ++k) {
        const bool numbers_differ = wanted[i].graph && number_of_offered(offered[k]);
        if (taken[k] || (numbers_differ && !single)) continue;
        partner[i] = k;
        taken[k] = true;
      }
    }
    return std::pair(partner, taken);
  };
  const auto number_of_file = [](const GraphFile& file) { return std::optional<std::uint64_t>(file.graph); };
  const auto number_of_group = [](const DumpGroup& group) { return group.graph; };
  // Names of graph texts always tell a number, but those of dumps may not.
  const auto [texts, text_taken] = match(mine, graphs, number_of_file);
  const auto [goldens, golden_taken] = match(mine, golden, number_of_group);
  std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!texts[i]) {
      messages.warning(without_partner, "No graph text belongs to the dump " + mine[i].name + "; it is not compared.");
    } else if (!goldens[i]) {
      messages.warning(without_partner, "No golden dump belongs to the dump " + mine[i].name + "; it is not compared.");
    } else {
      order.emplace_back(*texts[i], i, *goldens[i]);
    }
  }
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    if (!text_taken[k]) messages.warning(without_partner, "No dump belongs to the graph text " + graphs[k].path + ".");
  }
  for (std::size_t k = 0; k < golden.size(); ++k) {
    if (!golden_taken[k]) {
      messages.warning(without_partner, "No dump belongs to the golden dump " + golden[k].name + ".");
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<GraphPair> pairs;
  for (const auto& [text, my_group, golden_group] : order) {
    pairs.push_back({graphs[text], std::move(mine[my_group]), std::move(golden[golden_group])});
  }
  return pairs;
}

}  // namespace msrun::torchair
