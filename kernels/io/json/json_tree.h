// One JSON value in memory, for the small parts of a large file whose keys may come in any order. A tree is reused from
// value to value, so that reading many needs no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/json_text.h"
#include "kernels/io/json/json_reader.h"

namespace msrun {

class JsonTree;

// A value in a tree; it is valid until the tree reads again.
class JsonNode {
 public:
  class Iterator;

  // What the value began with: begin_object, begin_array, string, integer, real, boolean or null.
  JsonEvent kind() const;
  bool is_object() const { return kind() == JsonEvent::begin_object; }
  bool is_array() const { return kind() == JsonEvent::begin_array; }
  bool is_string() const { return kind() == JsonEvent::string; }
  bool is_integer() const { return kind() == JsonEvent::integer; }
  bool is_number() const { return is_integer() || kind() == JsonEvent::real; }
  bool is_boolean() const { return kind() == JsonEvent::boolean; }
  bool is_null() const { return kind() == JsonEvent::null; }

  std::string_view key() const;  // under which the enclosing object holds it; empty elsewhere
  std::string_view text() const;
  std::int64_t integer() const;
  double number() const;  // of an integer too
  // The digits of an integer that does not fit 64 bits, whose kind is real; empty for any other value.
  std::string_view large_integer() const;
  bool boolean() const;

  // Values of an array or object in order; of anything else none. Keys that repeat are all there.
  Iterator begin() const;
  Iterator end() const;
  // Values that begin() to end() passes.
  std::size_t count() const;

 private:
  friend class JsonTree;
  JsonNode(const JsonTree& tree, std::size_t index) : tree_(&tree), index_(index) {}

  const JsonTree* tree_;
  std::size_t index_;
};

class JsonTree {
 public:
  static constexpr std::size_t max_depth = max_json_depth;
  static constexpr std::size_t max_values = 250'000;
  static constexpr std::size_t max_text = std::size_t{64} << 20;

  enum class Outcome : std::uint8_t { complete, too_deep, too_large };

  // Reads the value that comes next. If it passes a limit, it is read to its end all the same and root() is null.
  Outcome read(JsonReader& reader);

  JsonNode root() const { return {*this, 0}; }

 private:
  friend class JsonNode;

  struct Text {
    std::uint32_t begin;
    std::uint32_t length;
  };
  // In order of appearance: the values of a container follow it, up to but not including the one at end.
  struct Entry {
    JsonEvent kind = JsonEvent::null;
    bool large_integer = false;  // real, and `text` holds its digits
    std::uint32_t end = 1;
    Text key{};
    union {
      std::int64_t integer = 0;
      double real;
      Text text;
    };
  };

  Text keep(std::string_view text);
  std::string_view view(Text text) const { return std::string_view(text_).substr(text.begin, text.length); }

  std::vector<Entry> entries_ = std::vector<Entry>(1);
  std::vector<std::size_t> open_;
  std::string text_;
};

class JsonNode::Iterator {
 public:
  JsonNode operator*() const { return {*tree_, index_}; }
  Iterator& operator++() {
    index_ = tree_->entries_[index_].end;
    return *this;
  }
  bool operator==(const Iterator& other) const { return index_ == other.index_; }

 private:
  friend class JsonNode;
  Iterator(const JsonTree& tree, std::size_t index) : tree_(&tree), index_(index) {}

  const JsonTree* tree_;
  std::size_t index_;
};

// The member of that name, the last if there are several; nothing if node is no object or has none.
std::optional<JsonNode> find_member(const JsonNode& node, std::string_view key);

inline JsonEvent JsonNode::kind() const { return tree_->entries_[index_].kind; }
inline std::string_view JsonNode::key() const { return tree_->view(tree_->entries_[index_].key); }
inline std::string_view JsonNode::text() const { return tree_->view(tree_->entries_[index_].text); }
inline std::int64_t JsonNode::integer() const { return tree_->entries_[index_].integer; }
inline bool JsonNode::boolean() const { return integer() != 0; }
inline double JsonNode::number() const {
  if (is_integer()) return static_cast<double>(integer());
  const std::string_view digits = large_integer();
  return digits.empty() ? tree_->entries_[index_].real : json_real(digits);
}
inline std::string_view JsonNode::large_integer() const {
  const JsonTree::Entry& entry = tree_->entries_[index_];
  return entry.large_integer ? tree_->view(entry.text) : std::string_view();
}
inline JsonNode::Iterator JsonNode::begin() const { return {*tree_, index_ + 1}; }
inline JsonNode::Iterator JsonNode::end() const { return {*tree_, tree_->entries_[index_].end}; }

}  // namespace msrun
