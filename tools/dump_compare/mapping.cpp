#include "tools/dump_compare/mapping.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/file.h"
#include "kernels/io/yaml/yaml.h"
#include "tools/recordings/layer_mapping.h"

namespace msrun::dump_compare {
namespace {

using nlohmann::json;

constexpr std::uint64_t max_mapping_bytes = std::uint64_t{64} << 20;

// Names of the functional namespace that MindSpore's functional has as well (dump_compare.md 5.3).
constexpr auto functional_names = std::to_array<std::string_view>({"adaptive_avg_pool2d",
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
                                                                   "unfold"});
constexpr auto renamed_apis =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"Functional.bidense", "Functional.bilinear"},
                                                                  {"Functional.dense", "Functional.linear"},
                                                                  {"Functional.equal", "Torch.eq"},
                                                                  {"Functional.swapaxes", "Torch.transpose"},
                                                                  {"Tensor.asnumpy", "Tensor.numpy"},
                                                                  {"Tensor.cauchy", "Tensor.cauchy_"},
                                                                  {"Tensor.equal", "Tensor.eq"},
                                                                  {"Tensor.fill_diagonal", "Tensor.fill_diagonal_"},
                                                                  {"Tensor.gather_elements", "Tensor.gather"},
                                                                  {"Tensor.swapaxes", "Tensor.transpose"}});

std::string read_text(const std::string& path) {
  try {
    InputFile file(path, max_mapping_bytes);
    std::string text(file.size(), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return text;
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

json parse(const std::string& name, std::string_view text) {
  std::vector<std::string> repeated;
  return parse_yaml(name, text, repeated);
}

// First two parts of a name, and the rest with its dot.
std::pair<std::string, std::string> split_api(const std::string& name) {
  const std::size_t first = name.find('.');
  const std::size_t second = first == std::string::npos ? first : name.find('.', first + 1);
  if (second == std::string::npos) return {name, {}};
  return {name.substr(0, second), name.substr(second)};
}

using GoldenApis = std::unordered_set<std::string>;

std::string golden_api(const std::string& api, const GoldenApis& golden) {
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
                                      const GoldenApis& golden) {
  const auto [api, rest] = split_api(name);
  const auto entry = std::ranges::find(entries, api, &ApiMapping::target_api);
  if (entry == entries.end()) return golden_api(api, golden) + rest;
  for (const ApiMapping::Part& part : entry->parts) {
    const std::size_t at = rest.find(part.target);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + part.target.size();
    const std::size_t end = std::min(rest.find('.', begin), rest.size());
    const auto index = parse_number<std::int64_t>(std::string_view(rest).substr(begin, end - begin));
    const auto place = std::ranges::find_if(part.places, [&](const auto& p) { return index && p.first == *index; });
    if (place == part.places.end()) return std::nullopt;
    return entry->golden_api + rest.substr(0, begin) + std::to_string(place->second) + rest.substr(end);
  }
  return std::nullopt;
}

using NamePairs = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> map_by_cell(std::string name, const NamePairs& pairs) {
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
  const auto whole = std::ranges::find(pairs, cell, &NamePairs::value_type::first);
  if (whole != pairs.end()) {
    cell = whole->second;
  } else {
    for (const auto& [from, to] : pairs) {
      const std::size_t at = from.empty() ? std::string::npos : cell.find(from);
      if (at != std::string::npos) cell.replace(at, from.size(), to);
    }
  }
  return name.substr(0, begin) + cell + name.substr(end);
}

std::optional<std::int64_t> api_place(const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

std::optional<ApiMapping> api_entry(const json& object, const std::function<void(const std::string&)>& warn) {
  const auto text = [&](const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>()
                                                                                 : std::string();
  };
  ApiMapping entry;
  entry.target_api = text("ms_api");
  entry.golden_api = text("pt_api");
  if (entry.target_api.empty() || entry.golden_api.empty()) return std::nullopt;
  constexpr auto parts = std::to_array<std::pair<const char*, const char*>>({{"args", ".input."},
                                                                             {"outputs", ".output."},
                                                                             {"output", ".output."},
                                                                             {"parameters", ".parameters."},
                                                                             {"parameters_grad", ".parameters_grad."}});
  for (const auto& [key, name] : parts) {
    const std::string mine = std::string("ms_") + key;
    const std::string theirs = std::string("pt_") + key;
    if (!object.contains(mine) || !object.contains(theirs)) continue;
    const json& from = object[mine];
    const json& to = object[theirs];
    if (!from.is_array() || !to.is_array() || from.size() != to.size()) {
      warn("The user-defined mapping table is incorrect, make sure that the number of parameters is equal");
      return std::nullopt;
    }
    ApiMapping::Part part{name, {}};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto target = api_place(from[i]);
      const auto golden = api_place(to[i]);
      if (target && golden) part.places.push_back({*target, *golden});
    }
    entry.parts.push_back(std::move(part));
  }
  return entry;
}

NameMap by_api(const Pair& pair, const std::string& file, const std::function<void(const std::string&)>& warn) {
  if (!pair.mindspore) throw UserError("Argument -am is not supported in PyTorch framework");
  auto golden = std::make_shared<GoldenApis>();
  for (const Call& call : pair.golden.calls) golden->insert(std::string(pair.golden.text(call.base)));
  auto entries = std::make_shared<std::vector<ApiMapping>>();
  if (!file.empty()) *entries = parse_api_mapping(file, read_text(file), warn);
  return {false, [golden, entries](const std::string& name) { return map_by_api(name, *entries, *golden); }};
}

NameMap by_layer(const Pair& pair, const std::string& file) {
  auto pairs = std::make_shared<std::unordered_map<std::string, std::optional<std::string>>>(
      recordings::map_rows_by_layer(pair.target, pair.golden, read_text(file), file));
  return {true, [pairs](const std::string& name) -> std::optional<std::string> {
            const auto found = pairs->find(name);
            return found == pairs->end() ? std::optional(name) : found->second;
          }};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_name_pairs(const std::string& name, std::string_view text) {
  const json document = parse(name, text);
  if (document.is_null()) return {};
  if (!document.is_object()) throw UserError("The mapping file " + name + " is no object of names.");
  NamePairs pairs;
  for (const auto& [key, value] : document.items()) {
    if (!value.is_string())
      throw UserError("The mapping file " + name + ": the value of " + bounded(key) + " is no name.");
    pairs.emplace_back(key, value.get<std::string>());
  }
  return pairs;
}

std::vector<ApiMapping> parse_api_mapping(const std::string& name, std::string_view text,
                                          const std::function<void(const std::string&)>& warn) {
  const json document = parse(name, text);
  std::vector<ApiMapping> entries;
  const auto add = [&](const json& object) {
    if (std::optional<ApiMapping> entry = api_entry(object, warn)) entries.push_back(std::move(*entry));
  };
  if (document.is_array()) {
    for (const json& object : document) add(object);
  } else if (document.is_object()) {
    add(document);
  } else {
    throw UserError("The mapping file " + name + " holds neither an entry nor a list of entries.");
  }
  return entries;
}

std::optional<NameMap> name_map(const Pair& pair, const MappingFiles& mapping, bool compat,
                                const std::function<void(const std::string&)>& warn) {
  if (!mapping.layer.empty() && (pair.mindspore || !compat)) return by_layer(pair, mapping.layer);
  if (!mapping.data.empty()) {
    auto pairs = std::make_shared<std::unordered_map<std::string, std::string>>();
    for (auto& [from, to] : parse_name_pairs(mapping.data, read_text(mapping.data))) (*pairs)[from] = to;
    return NameMap{true, [pairs](const std::string& name) -> std::optional<std::string> {
                     const auto found = pairs->find(name);
                     return found == pairs->end() ? name : found->second;
                   }};
  }
  if (mapping.api) return by_api(pair, *mapping.api, warn);
  if (!mapping.cell) return std::nullopt;
  auto pairs = std::make_shared<NamePairs>();
  if (!mapping.cell->empty()) *pairs = parse_name_pairs(*mapping.cell, read_text(*mapping.cell));
  return NameMap{false, [pairs](const std::string& name) { return map_by_cell(name, *pairs); }};
}

}  // namespace msrun::dump_compare
