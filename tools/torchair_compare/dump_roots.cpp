#include "tools/torchair_compare/dump_roots.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/files/paths.h"

namespace msrun::torchair {
namespace {

namespace fs = std::filesystem;

// Levels below a path in which dumps are looked for: a working directory holds msprobe_fx_dump/data_dump.
constexpr int max_levels_above = 3;
constexpr std::size_t time_digits = 14;

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// What is wrong with a directory is told when its files are read.
Messages silent() {
  return {false, false, [](const std::string&) {}};
}

bool holds_graph_text(const std::string& path) {
  Messages messages = silent();
  return !find_graph_files(path, std::nullopt, messages).empty();
}

bool is_time(const std::string& name) {
  return name.size() == time_digits && name.find_first_not_of("0123456789") == std::string::npos;
}

// What a dump's root at path would hold; nothing if it is none.
std::optional<DumpKind> kind_of_root(const std::string& path) {
  Messages messages = silent();
  const Listing listing = list_directory(path, messages);
  const auto any_directory = [&](const auto& fits) { return std::ranges::any_of(listing.directories, fits); };
  if (std::ranges::any_of(listing.files, is_graph_text_name)) return DumpKind::ge;
  const bool has_ranks = any_directory([](const std::string& name) { return rank_of_directory(name).has_value(); });
  if ((has_ranks || any_directory(is_time)) && holds_graph_text(path)) return DumpKind::ge;
  if (has_ranks || tokens_below(path, listing, messages) != TokenLayout::none) return DumpKind::fx;
  return std::nullopt;
}

// The dump whose rank, or graph of a rank, path is.
std::optional<DumpPlace> place_inside(const std::string& path) {
  const std::string above = parent_of(path);
  const std::optional<DumpKind> kind = kind_of_root(path);
  const std::optional<std::uint64_t> rank = rank_of_directory(base_name(path));
  if (rank && !kind) return DumpPlace{above, path, holds_graph_text(above) ? DumpKind::ge : DumpKind::fx, rank};
  const std::optional<std::uint64_t> rank_above = rank_of_directory(base_name(above));
  if (rank_above && kind == DumpKind::fx) return DumpPlace{parent_of(above), path, DumpKind::fx, rank_above};
  return std::nullopt;
}

// Dumps at most levels below a directory. Links may lead to one several times, and upwards.
class Search {
 public:
  explicit Search(const std::string& start) { look(start, max_levels_above); }

  std::vector<DumpPlace> found() && { return std::move(found_); }

 private:
  void look(const std::string& path, int levels) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !seen_.emplace(status.st_dev, status.st_ino).second) return;
    if (const std::optional<DumpKind> kind = kind_of_root(path)) return add(path, *kind);
    if (levels == 0) return;
    Messages messages = silent();
    for (const std::string& name : list_directory(path, messages).directories) look(join_path(path, name), levels - 1);
  }

  void add(const std::string& path, DumpKind kind) {
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    if (error) return;
    // Tokens of several graphs without a rank lie beside one another.
    if (kind == DumpKind::fx && graph_of_directory(real.filename().string())) real = real.parent_path();
    const std::string root = real.string();
    const bool known = std::ranges::any_of(found_, [&](const DumpPlace& place) { return place.root == root; });
    if (!known) found_.push_back({root, root, kind, std::nullopt});
  }

  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<DumpPlace> found_;
};

DumpPlace the_only(const std::vector<DumpPlace>& found, const char* option, const std::string& path,
                   Messages& messages) {
  if (found.size() > 1) {
    std::string names;
    for (const DumpPlace& place : found) names += (names.empty() ? "" : ", ") + place.root;
    throw UserError("Several dumps lie below " + path + ": " + names + ". Give one of them as " + option + ".");
  }
  const DumpPlace& place = found.front();
  messages.note("The dump " + place.root + " is used for " + option + ".");
  return place;
}

void refuse_tokens(const std::string& path) {
  Messages messages = silent();
  const std::string above = parent_of(path);
  const Listing listing = list_directory(path, messages);
  const bool is_token = is_token_name(base_name(path)) && (holds_npy(listing) || holds_graphs(path, listing, messages));
  const bool is_graph_of_token = holds_npy(listing) && is_token_name(base_name(above));
  if (!is_token && !is_graph_of_token) return;
  throw UserError("The directory " + path + " is a single token of an FX dump. Give the directory that holds its " +
                  "tokens, " + (is_token ? above : parent_of(above)) + ", or the dump it belongs to.");
}

}  // namespace

std::map<std::uint64_t, std::string> DumpPlace::ranks(Messages& messages) const {
  if (rank) return {{*rank, base}};
  return rank_directories(root, messages);
}

DumpPlace find_target(const std::string& path, Messages& messages) {
  if (kind_of_root(path) == DumpKind::ge) return {path, path, DumpKind::ge, std::nullopt};
  if (const std::optional<DumpPlace> inside = place_inside(path); inside && inside->kind == DumpKind::ge) {
    return *inside;
  }
  std::vector<DumpPlace> found = Search(path).found();
  std::erase_if(found, [](const DumpPlace& place) { return place.kind != DumpKind::ge; });
  if (!found.empty()) return the_only(found, "--target_path", path, messages);
  if (!holds_graph_text(path)) throw UserError(no_graph_text(path));
  return {path, path, DumpKind::ge, std::nullopt};
}

DumpPlace find_golden(const std::string& path, const DumpPlace& target, Messages& messages) {
  if (const std::optional<DumpPlace> inside = place_inside(path)) return *inside;
  if (const std::optional<DumpKind> kind = kind_of_root(path)) return {path, path, *kind, std::nullopt};
  refuse_tokens(path);
  std::vector<DumpPlace> found = Search(path).found();
  // Whoever means the target itself names it.
  const auto others = std::erase_if(found, [&](const DumpPlace& place) { return place.root == target.root; });
  if (!found.empty()) return the_only(found, "--golden_path", path, messages);
  if (others > 0) {
    throw UserError("The directory " + path + " holds no dump but " + target.root + ", which is to be compared.");
  }
  return {path, path, holds_graph_text(path) ? DumpKind::ge : DumpKind::fx, std::nullopt};
}

}  // namespace msrun::torchair
