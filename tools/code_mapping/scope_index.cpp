#include "tools/code_mapping/scope_index.h"

#include <algorithm>
#include <string>

#include "kernels/base/digits.h"

namespace msrun::code_mapping {

namespace {

// A polynomial hash modulo 2^61 - 1, because that of any part of a text follows from those of its beginnings.
constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t base = 0x0B7E151628AED2A6;
constexpr std::size_t most_kept_names = 100'000;  // so that a table of a million operators needs little memory

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide whole = static_cast<Wide>(a) * b;
  const std::uint64_t sum = static_cast<std::uint64_t>(whole & modulus) + static_cast<std::uint64_t>(whole >> 61);
  return sum >= modulus ? sum - modulus : sum;
}

char key_character(char c) { return c == '/' ? '_' : c; }

std::uint64_t extended(std::uint64_t hash, char c) {
  return (product(hash, base) + static_cast<unsigned char>(c) + 1) % modulus;
}

std::uint64_t key_hash(std::string_view scope) {
  std::uint64_t hash = 0;
  for (const char c : scope) hash = extended(hash, key_character(c));
  return hash;
}

bool is_key(std::string_view key, std::string_view scope) {
  return std::ranges::equal(key, scope, {}, {}, key_character);
}

bool may_match(std::string_view scope) { return scope.find_first_not_of("0123456789") != std::string_view::npos; }

}  // namespace

ScopeIndex::ScopeIndex(const Graph& graph) {
  nodes_.reserve(graph.nodes().size());
  std::vector<bool> has_length(longest_searched + 1);
  for (const Node& node : graph.nodes()) {
    if (!may_match(node.scope)) continue;
    add(node);
    if (node.scope.size() <= longest_searched) has_length[node.scope.size()] = true;
  }
  for (std::size_t length = longest_searched; length > 0; --length) {
    if (has_length[length]) lengths_.push_back(length);
  }
}

void ScopeIndex::add(const Node& node) {
  const std::uint64_t hash = key_hash(node.scope);
  const auto [first, last] = nodes_.equal_range(hash);
  for (auto same = first; same != last; ++same) {
    if (!std::ranges::equal(same->second->scope, node.scope, {}, key_character, key_character)) continue;
    same->second = &node;
    return;
  }
  nodes_.emplace(hash, &node);
}

const Node* ScopeIndex::with_key(std::string_view key, std::uint64_t hash) const {
  const auto [first, last] = nodes_.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return is_key(key, entry.second->scope); });
  return found == last ? nullptr : found->second;
}

const Node* ScopeIndex::find(std::string_view name) {
  if (name.empty()) return nullptr;
  if (name.size() > longest_searched) return with_key(name, key_hash(name));
  const auto known = found_.find(std::string(name));
  if (known != found_.end()) return known->second;
  const Node* node = search(name);
  if (found_.size() >= most_kept_names) found_.clear();
  found_.emplace(name, node);
  return node;
}

const Node* ScopeIndex::search(std::string_view name) const {
  std::vector<std::uint64_t> hashes{0};  // of the first characters
  std::vector<std::uint64_t> powers{1};
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    hashes.push_back(extended(hashes.back(), name[i]));
    powers.push_back(product(powers.back(), base));
    if (i == 0 || !is_alphanumeric(name[i - 1])) starts.push_back(i);
  }
  if (const Node* whole = with_key(name, hashes.back())) return whole;
  for (const std::size_t length : lengths_) {
    if (length > name.size()) continue;
    for (const std::size_t start : starts) {
      const std::size_t end = start + length;
      if (end > name.size()) break;
      if (end < name.size() && is_alphanumeric(name[end])) continue;
      const std::uint64_t hash = (hashes[end] + modulus - product(hashes[start], powers[length])) % modulus;
      if (const Node* node = with_key(name.substr(start, length), hash)) return node;
    }
  }
  return nullptr;
}

}  // namespace msrun::code_mapping
