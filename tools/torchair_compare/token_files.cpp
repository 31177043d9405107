#include "tools/torchair_compare/token_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/graph_engine/ge_dump.h"

namespace msrun::torchair {
namespace {

// Of what stands where a file of a tensor or operator would.
void name_no_file(const std::string& path, const char* what, Messages& messages) {
  messages.warning("entries of tokens that are no files",
                   "The " + std::string(what) + " " + path + " stands in the place of a file and is not read.");
}

using Mapping = std::unordered_map<std::string, std::string>;

Mapping read_mapping(const std::string& directory, const Listing& listing, Messages& messages) {
  Mapping mapping;
  if (!std::binary_search(listing.files.begin(), listing.files.end(), std::string("mapping.csv"))) return mapping;
  const std::string path = join_path(directory, "mapping.csv");
  constexpr const char* unreadable_mappings = "mapping.csv files that cannot be read";
  try {
    NameMapping names = read_name_mapping(InputFile(path));
    for (const std::size_t line : names.bad_lines) {
      messages.warning("lines that are no pair of names",
                       "Line " + std::to_string(line) + " of " + path + " is not a pair of names and is ignored.");
    }
    for (auto& [stored, real] : names.names) mapping.emplace(std::move(stored), std::move(real));
  } catch (const SkipError& error) {
    messages.warning(unreadable_mappings, error.what());
  } catch (const FileError& error) {
    messages.warning(unreadable_mappings, error.what());
  }
  return mapping;
}

// The larger file is kept, of equal ones the earlier (torchair.md 2.3); a full dump in any case rather than the file
// that was made of it (F6).
bool replaces(const GeOpFile& candidate, const GeOpFile& kept) {
  if (candidate.op_type == kept.op_type && candidate.timestamp == kept.timestamp &&
      candidate.converted != kept.converted) {
    return kept.converted;
  }
  const auto bytes = [](const GeOpFile& file) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    return error ? 0 : size;
  };
  return bytes(candidate) > bytes(kept);
}

// A file "<key>.INPUT.<i>[.<j>].<timestamp>.npy".
struct FxFileName {
  std::string key;
  bool is_input = false;
  std::vector<std::uint64_t> place;
  std::string timestamp;
  bool converted = false;
};

std::optional<FxFileName> parse_fx_file_name(std::string_view name) {
  FxFileName result;
  if (name.ends_with(converted_npy_suffix)) {
    result.converted = true;
    name.remove_suffix(converted_npy_suffix.size());
  } else {
    name.remove_suffix(std::string_view(".npy").size());
  }
  constexpr std::string_view input = ".INPUT.";
  constexpr std::string_view output = ".OUTPUT.";
  const std::size_t in = name.find(input);
  const std::size_t out = name.find(output);
  const std::size_t at = std::min(in, out);
  if (at == std::string_view::npos) return std::nullopt;
  result.is_input = in < out;
  result.key = name.substr(0, at);
  std::string_view rest = name.substr(at + (result.is_input ? input : output).size());
  const std::size_t last = rest.rfind('.');
  if (last != std::string_view::npos) {
    result.timestamp = rest.substr(last + 1);
    rest = rest.substr(0, last);
  }
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(rest.substr(0, dot));
    if (!number) return std::nullopt;
    result.place.push_back(*number);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (result.place.empty()) return std::nullopt;
  return result;
}

struct FoundTensor {
  FxFileName name;
  std::string path;
};

}  // namespace

bool is_foreign_name(std::string_view name) {
  if (name.starts_with('.')) return true;
  constexpr std::array<std::string_view, 8> suffixes{".txt", ".npy", ".bin", ".csv", ".swp", ".tmp", ".json", ".log"};
  return std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) { return name.ends_with(suffix); });
}

const GeOpFile* GeToken::find(std::string_view op_name) const {
  const auto found = by_name.find(op_name);
  return found == by_name.end() ? nullptr : &ops[found->second];
}

void read_ge_token(const TokenDirectories& directories, Messages& messages, GeToken& token) {
  std::unordered_map<std::string, std::size_t> places;
  for (const std::string& directory : directories.paths) {
    const Listing listing = list_directory(directory, messages);
    const Mapping mapping = read_mapping(directory, listing, messages);
    for (const std::string& name : listing.directories) {
      name_no_file(join_path(directory, name), "directory", messages);
    }
    for (const std::string& name : listing.others) {
      if (!is_foreign_name(name)) name_no_file(join_path(directory, name), "special file", messages);
    }
    for (const std::string& name : listing.files) {
      if (is_foreign_name(name)) continue;
      const bool converted = name.ends_with(converted_npz_suffix);
      std::string real = converted ? name.substr(0, name.size() - converted_npz_suffix.size()) : name;
      const auto mapped = mapping.find(real);
      if (mapped != mapping.end()) real = mapped->second;
      const std::optional<GeFileName> parsed = parse_ge_file_name(real);
      GeOpFile file;
      file.path = join_path(directory, name);
      if (!parsed) {
        messages.warning("invalid file names", "invalid file name: " + file.path + ", should contain at least 4 '.'");
        continue;
      }
      file.op_type = parsed->op_type;
      file.op_name = parsed->op_name;
      file.timestamp = parse_number<std::uint64_t>(parsed->timestamp).value_or(0);
      file.converted = converted || parsed->converted;
      const auto [place, is_new] = places.emplace(file.op_name, token.ops.size());
      if (is_new) {
        token.ops.push_back(std::move(file));
        continue;
      }
      GeOpFile& kept = token.ops[place->second];
      const bool replaced = replaces(file, kept);
      const std::string& used = (replaced ? file : kept).path;
      const std::string& other = (replaced ? kept : file).path;
      // Mostly both lie in one directory.
      const bool beside = other.starts_with(directory + "/");
      messages.warning("duplicated op names",
                       "duplicated op name: " + file.op_name + ". " + used + " is used rather than " +
                           (beside && used.starts_with(directory + "/") ? other.substr(directory.size() + 1) : other) +
                           ".");
      if (replaced) kept = std::move(file);
    }
  }
  std::sort(token.ops.begin(), token.ops.end(), [](const GeOpFile& a, const GeOpFile& b) { return a.path < b.path; });
  for (std::size_t i = 0; i < token.ops.size(); ++i) token.by_name.emplace(token.ops[i].op_name, i);
}

FxToken read_fx_token(const TokenDirectories& directories, Messages& messages) {
  std::vector<FoundTensor> found;
  for (const std::string& directory : directories.paths) {
    const Listing listing = list_directory(directory, messages);
    for (const std::string& name : listing.directories) {
      if (name.ends_with(".npy")) name_no_file(join_path(directory, name), "directory", messages);
    }
    for (const std::string& name : listing.others) {
      if (name.ends_with(".npy")) name_no_file(join_path(directory, name), "special file", messages);
    }
    for (const std::string& name : listing.files) {
      if (!name.ends_with(".npy") || name.starts_with('.')) continue;
      std::optional<FxFileName> parsed = parse_fx_file_name(name);
      if (parsed) {
        found.push_back({std::move(*parsed), join_path(directory, name)});
      } else {
        messages.warning("files that are not called like a tensor of an FX node",
                         "The file " + join_path(directory, name) + " is not called like a tensor of an FX node.");
      }
    }
  }
  // The newest file of one tensor comes last; of equal ones the full dump rather than what was made of it.
  const auto order = [](const FoundTensor& tensor) {
    return std::make_tuple(std::cref(tensor.name.key), tensor.name.is_input, std::cref(tensor.name.place),
                           parse_number<std::uint64_t>(tensor.name.timestamp).value_or(0),
                           std::cref(tensor.name.timestamp), !tensor.name.converted);
  };
  std::sort(found.begin(), found.end(),
            [&](const FoundTensor& a, const FoundTensor& b) { return order(a) < order(b); });
  FxToken token;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const FxFileName& name = found[i].name;
    const bool replaced = i + 1 < found.size() && found[i + 1].name.key == name.key &&
                          found[i + 1].name.is_input == name.is_input && found[i + 1].name.place == name.place;
    if (replaced) continue;
    FxNode& node = token[name.key];
    (name.is_input ? node.inputs : node.outputs)
        .push_back({std::move(found[i].path), name.converted, name.place.front()});
  }
  return token;
}

}  // namespace msrun::torchair
