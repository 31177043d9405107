#include "tools/dump_compare/mapping.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/yaml/yaml.h"
#include "tools/common/whole_file.h"
#include "tools/recordings/layer_mapping.h"

namespace msrun::dump_compare {
namespace {

using Warn = std::function<void(const std::string&)>;

constexpr std::uint64_t max_mapping_bytes = std::uint64_t{64} << 20;

// Names of the functional namespace that MindSpore's functional has as well (dump_compare.md 5.3).
constexpr auto functional_names = std::to_array<std::string_view>({
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool2d",
    "affine_grid",
    "conv1d",
    "conv2d",
    "conv3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "gumbel_softmax",
    "hardsigmoid",
    "hardtanh",
    "hinge_embedding_loss",
    "l1_loss",
    "margin_ranking_loss",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "relu",
    "sigmoid",
    "smooth_l1_loss",
    "soft_margin_loss",
    "tanh",
    "tanhshrink",
    "unfold",
});
constexpr auto renamed_apis = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Functional.bidense", "Functional.bilinear"},
    {"Functional.dense", "Functional.linear"},
    {"Functional.equal", "Torch.eq"},
    {"Functional.swapaxes", "Torch.transpose"},
    {"Tensor.asnumpy", "Tensor.numpy"},
    {"Tensor.cauchy", "Tensor.cauchy_"},
    {"Tensor.equal", "Tensor.eq"},
    {"Tensor.fill_diagonal", "Tensor.fill_diagonal_"},
    {"Tensor.gather_elements", "Tensor.gather"},
    {"Tensor.swapaxes", "Tensor.transpose"},
});

YamlNode parse(const std::string& name, std::string_view text, bool compat) {
  std::vector<std::string> repeated;
  YamlNode document = parse_yaml_in_order(name, text, repeated);
  if (!repeated.empty() && !compat) {
    throw UserError("The mapping file " + name + " has the key " + bounded(repeated.front()) + " twice.");
  }
  return document;
}

// Tells of entries that name nothing, or what another entry names, the first of them one by one, and in the end how
// many more there are.
class Unmatched {
 public:
  Unmatched(std::string file, const Warn& warn) : file_(std::move(file)), warn_(warn) {}

  void add(std::size_t line, const std::string& name, const char* what, const Recording& side) {
    if (++count_ > most_told) return;
    warn_(file_ + ", line " + std::to_string(line) + ": " + bounded(name) + " is no " + what + " of " + side.path +
          "; the entry matches nothing.");
  }

  // pair maps to the row that belongs to the target row of another name already.
  void add_shared(const NamePair& pair, const std::string& other) {
    if (++shared_ > most_told) return;
    warn_(file_ + ", line " + std::to_string(pair.line) + ": " + bounded(pair.from) + " and " + bounded(other) +
          " both belong to " + bounded(pair.to) + ", which is compared with one of them alone.");
  }

  // Once all entries are looked at.
  void tell_rest() const {
    if (count_ > most_told) {
      warn_(file_ + ": " + std::to_string(count_ - most_told) + " more names match nothing.");
    }
    if (shared_ > most_told) {
      warn_(file_ + ": " + std::to_string(shared_ - most_told) + " more rows are wanted by two.");
    }
  }

 private:
  static constexpr std::size_t most_told = 10;
  const std::string file_;
  const Warn& warn_;
  std::size_t count_ = 0;
  std::size_t shared_ = 0;
};

// First two parts of a name, and the rest with its dot.
std::pair<std::string, std::string> split_api(const std::string& name) {
  const std::size_t first = name.find('.');
  const std::size_t second = first == std::string::npos ? first : name.find('.', first + 1);
  if (second == std::string::npos) return {name, {}};
  return {name.substr(0, second), name.substr(second)};
}

using Apis = std::unordered_set<std::string>;

Apis apis_of(const Recording& side) {
  Apis apis;
  for (const Call& call : side.calls) apis.insert(split_api(std::string(side.name(call))).first);
  return apis;
}

std::string golden_api(const std::string& api, const Apis& golden) {
  const std::size_t dot = api.find('.');
  if (dot == std::string::npos) return api;
  const std::string type = api.substr(0, dot);
  const std::string name = api.substr(dot + 1);
  if (type == "Mint") return "Torch." + name;
  if (type == "MintFunctional") return "Functional." + name;
  for (const auto& [from, to] : renamed_apis) {
    if (api == from) return std::string(to);
  }
  if (type != "Functional" || std::ranges::find(functional_names, name) != functional_names.end()) return api;
  const std::string as_torch = "Torch." + name;
  return golden.contains(as_torch) && !golden.contains(api) ? as_torch : api;
}

std::optional<std::string> map_by_api(const std::string& name, const std::vector<ApiMapping>& entries,
                                      const Apis& golden) {
  const auto [api, rest] = split_api(name);
  const auto entry = std::ranges::find(entries, api, &ApiMapping::target_api);
  if (entry == entries.end()) return golden_api(api, golden) + rest;
  for (const ApiMapping::Part& part : entry->parts) {
    const std::size_t at = rest.find(part.target);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + part.target.size();
    const std::string_view argument = std::string_view(rest).substr(begin);
    for (const auto& [from, to] : part.places) {
      // What is below a listed argument goes with it.
      if (!argument.starts_with(from)) continue;
      const std::string_view below = argument.substr(from.size());
      if (below.empty() || below.front() == '.')
        return entry->golden_api + rest.substr(0, begin) + to + std::string(below);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

using NamePairs = std::vector<NamePair>;

// used, if it is not nullptr, says of each pair whether a cell has its name.
std::optional<std::string> map_by_cell(std::string name, const NamePairs& pairs, std::vector<bool>* used) {
  const auto use = [&](const NamePair& pair) {
    if (used != nullptr) (*used)[static_cast<std::size_t>(&pair - pairs.data())] = true;
  };
  std::size_t end = std::string::npos;
  for (const char* word : {".forward.", ".backward.", ".parameters_grad."}) end = std::min(end, name.find(word));
  if (end == std::string::npos) return std::nullopt;
  if (name.starts_with("Cell.")) {
    name.replace(0, 4, "Module");
    end += 2;
  }
  const std::size_t begin = name.find('.') + 1;
  if (begin == 0 || begin > end) return name;
  std::string cell = name.substr(begin, end - begin);
  const auto whole = std::ranges::find(pairs, cell, &NamePair::from);
  if (whole != pairs.end()) {
    cell = whole->to;
    use(*whole);
  } else {
    for (const NamePair& pair : pairs) {
      const std::size_t at = pair.from.empty() ? std::string::npos : cell.find(pair.from);
      if (at == std::string::npos) continue;
      cell.replace(at, pair.from.size(), pair.to);
      use(pair);
    }
  }
  return name.substr(0, begin) + cell + name.substr(end);
}

const YamlNode* member(const YamlNode& object, const std::string& key) {
  const auto found = std::ranges::find(object.members, key, &YamlMember::key);
  return found == object.members.end() ? nullptr : &found->value;
}

// The place of an argument or a result: "0", "1.0", "weight".
std::string place_text(const YamlNode& node) {
  return node.value.is_string() ? node.value.get<std::string>() : node.value.dump();
}

std::optional<ApiMapping> api_entry(const YamlNode& object, const std::string& file, const Warn& warn) {
  const auto text = [&](const char* key) {
    const YamlNode* const found = member(object, key);
    return found != nullptr && found->value.is_string() ? found->value.get<std::string>() : std::string();
  };
  ApiMapping entry;
  entry.target_api = text("ms_api");
  entry.golden_api = text("pt_api");
  entry.line = object.line;
  const std::string place = file + ", line " + std::to_string(object.line) + ": ";
  if (entry.target_api.empty() || entry.golden_api.empty()) {
    warn(place + "an entry needs ms_api and pt_api; it is left out.");
    return std::nullopt;
  }
  constexpr auto parts = std::to_array<std::pair<const char*, const char*>>({{"args", ".input."},
                                                                             {"outputs", ".output."},
                                                                             {"output", ".output."},
                                                                             {"parameters", ".parameters."},
                                                                             {"parameters_grad", ".parameters_grad."}});
  for (const auto& [key, name] : parts) {
    const YamlNode* const from = member(object, std::string("ms_") + key);
    const YamlNode* const to = member(object, std::string("pt_") + key);
    if (from == nullptr && to == nullptr) continue;
    const std::size_t count = from == nullptr ? 0 : from->items.size();
    if (count != (to == nullptr ? 0 : to->items.size())) {
      warn(place +
           "The user-defined mapping table is incorrect, make sure that the number of parameters is equal (ms_" + key +
           ", pt_" + key + " of " + bounded(entry.target_api) + ")");
      return std::nullopt;
    }
    ApiMapping::Part part{name, {}};
    for (std::size_t i = 0; i < count; ++i)
      part.places.emplace_back(place_text(from->items[i]), place_text(to->items[i]));
    entry.parts.push_back(std::move(part));
  }
  return entry;
}

NameMap by_api(const Pair& pair, const std::string& file, bool compat, const Warn& warn) {
  if (!pair.mindspore) throw UserError("Argument -am is not supported in PyTorch framework");
  const auto golden = std::make_shared<const Apis>(apis_of(pair.golden));
  auto entries = std::make_shared<std::vector<ApiMapping>>();
  if (!file.empty()) *entries = parse_api_mapping(file, read_whole_file(file, max_mapping_bytes), compat, warn);
  const Apis mine = entries->empty() ? Apis() : apis_of(pair.target);
  Unmatched unmatched(file, warn);
  std::erase_if(*entries, [&](const ApiMapping& entry) {
    const bool there = mine.contains(entry.target_api);
    if (!there) unmatched.add(entry.line, entry.target_api, "API", pair.target);
    if (there && !golden->contains(entry.golden_api)) unmatched.add(entry.line, entry.golden_api, "API", pair.golden);
    return !there || !golden->contains(entry.golden_api);
  });
  unmatched.tell_rest();
  return {false, [golden, entries](const std::string& name) { return map_by_api(name, *entries, *golden); }, {}};
}

NameMap by_cell(const Pair& pair, const std::string& file, bool compat, const Warn& warn) {
  auto pairs = std::make_shared<NamePairs>();
  if (!file.empty()) *pairs = parse_name_pairs(file, read_whole_file(file, max_mapping_bytes), compat);
  std::vector<bool> used(pairs->size());
  for (const Call& call : pair.target.calls) {
    if (!pairs->empty()) map_by_cell(std::string(pair.target.name(call)) + ".", *pairs, &used);
  }
  Unmatched unmatched(file, warn);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) unmatched.add((*pairs)[i].line, (*pairs)[i].from, "cell", pair.target);
  }
  unmatched.tell_rest();
  return {false, [pairs](const std::string& name) { return map_by_cell(name, *pairs, nullptr); }, {}};
}

NameMap by_data(const Pair& pair, const std::string& file, bool compat, const Warn& warn) {
  const NamePairs listed = parse_name_pairs(file, read_whole_file(file, max_mapping_bytes), compat);
  auto pairs = std::make_shared<std::unordered_map<std::string, std::string>>();
  std::unordered_set<std::string_view> mine;  // names that no row was seen to have
  std::unordered_set<std::string_view> theirs;
  for (const NamePair& each : listed) {
    (*pairs)[each.from] = each.to;
    mine.insert(each.from);
    theirs.insert(each.to);
  }
  const auto strike_out = [](const Recording& side, std::unordered_set<std::string_view>& names) {
    std::string name;
    for (const Call& call : side.calls) {
      for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end && !names.empty(); ++leaf) {
        side.set_row_key(name, call, side.leaves[leaf], false);
        names.erase(name);
      }
    }
  };
  // A row that is not listed keeps its own name, which a listed one may have taken.
  std::unordered_set<std::string_view> kept;
  for (const NamePair& each : listed) {
    if (!pairs->contains(each.to)) kept.insert(each.to);
  }
  std::unordered_set<std::string_view> absent = kept;
  strike_out(pair.target, absent);
  strike_out(pair.target, mine);
  strike_out(pair.golden, theirs);
  std::unordered_map<std::string_view, std::string_view> owners;  // golden row -> the first target row that gets it
  Unmatched unmatched(file, warn);
  for (const NamePair& each : listed) {
    if (mine.contains(each.from)) {
      unmatched.add(each.line, each.from, "row", pair.target);
    } else if (theirs.contains(each.to)) {
      unmatched.add(each.line, each.to, "row", pair.golden);
    } else if (compat) {
      continue;
    } else if (kept.contains(each.to) && !absent.contains(each.to)) {
      unmatched.add_shared(each, each.to);
    } else if (const auto [owner, first] = owners.emplace(each.to, each.from); !first) {
      unmatched.add_shared(each, std::string(owner->second));
    }
  }
  unmatched.tell_rest();
  return {true,
          [pairs](const std::string& name) -> std::optional<std::string> {
            const auto found = pairs->find(name);
            return found == pairs->end() ? name : found->second;
          },
          {}};
}

// A text as PyYAML writes it for a key or a value.
std::string yaml_text(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == '/';
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// The rows of the target that are mapped, in their order, as a data mapping file.
std::string listed_rows(const Recording& side,
                        const std::unordered_map<std::string, std::optional<std::string>>& pairs) {
  constexpr std::size_t longest_simple_key = 127;
  std::string text;
  for (const Call& call : side.calls) {
    for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
      const std::string name = side.row_name(call, side.leaves[leaf]);
      const auto found = pairs.find(name);
      if (found == pairs.end()) continue;
      const std::string key = yaml_text(name);
      text += key.size() > longest_simple_key ? "? " + key + "\n: " : key + ": ";
      text += yaml_text(found->second.value_or("N/A")) + "\n";
    }
  }
  return text.empty() ? "{}\n" : text;
}

NameMap by_layer(const Pair& pair, const std::string& file, bool compat, const Warn& warn) {
  std::vector<recordings::UnusedLayerRule> unused;
  auto pairs =
      std::make_shared<std::unordered_map<std::string, std::optional<std::string>>>(recordings::map_rows_by_layer(
          pair.target, pair.golden, file.empty() ? "" : read_whole_file(file, max_mapping_bytes), file,
          compat ? recordings::RepeatedKeys::last_counts : recordings::RepeatedKeys::refused, unused));
  Unmatched unmatched(file, warn);
  for (const recordings::UnusedLayerRule& rule : unused) unmatched.add(rule.line, rule.name, "layer", pair.target);
  unmatched.tell_rest();
  return {true,
          [pairs](const std::string& name) -> std::optional<std::string> {
            const auto found = pairs->find(name);
            return found == pairs->end() ? std::optional(name) : found->second;
          },
          listed_rows(pair.target, *pairs)};
}

}  // namespace

std::vector<NamePair> parse_name_pairs(const std::string& name, std::string_view text, bool compat) {
  const YamlNode document = parse(name, text, compat);
  if (document.value.is_null()) return {};
  if (!document.is_object()) throw UserError("The mapping file " + name + " is no object of names.");
  NamePairs pairs;
  for (const auto& [key, value] : document.members) {
    if (!value.value.is_string()) {
      throw UserError("The mapping file " + name + ", line " + std::to_string(value.line) + ": the value of " +
                      bounded(key) + " is no name.");
    }
    pairs.push_back({key, value.value.get<std::string>(), value.line});
  }
  return pairs;
}

std::vector<ApiMapping> parse_api_mapping(const std::string& name, std::string_view text, bool compat,
                                          const Warn& warn) {
  const YamlNode document = parse(name, text, compat);
  std::vector<ApiMapping> entries;
  const auto add = [&](const YamlNode& object) {
    if (std::optional<ApiMapping> entry = api_entry(object, name, warn)) entries.push_back(std::move(*entry));
  };
  if (document.is_list()) {
    for (const YamlNode& object : document.items) add(object);
  } else if (document.is_object()) {
    add(document);
  } else {
    throw UserError("The mapping file " + name + " holds neither an entry nor a list of entries.");
  }
  return entries;
}

std::optional<NameMap> name_map(const Pair& pair, const MappingFiles& mapping, bool compat, const Warn& warn) {
  if (compat && (mapping.api || mapping.cell)) {
    // msProbe takes the names from one of several mappings, and the way in which rows are joined from another.
    NameMap names = mapping.api ? by_api(pair, *mapping.api, compat, warn) : by_cell(pair, *mapping.cell, compat, warn);
    names.real_names = !mapping.data.empty() || (mapping.layer && pair.mindspore);
    return names;
  }
  if (mapping.layer && (pair.mindspore || !compat)) return by_layer(pair, *mapping.layer, compat, warn);
  if (!mapping.data.empty()) return by_data(pair, mapping.data, compat, warn);
  if (mapping.api) return by_api(pair, *mapping.api, compat, warn);
  if (!mapping.cell) return std::nullopt;
  return by_cell(pair, *mapping.cell, compat, warn);
}

}  // namespace msrun::dump_compare
