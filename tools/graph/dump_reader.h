// The leaves of one call of dump.json, flattened in the order in which they are shown (graph_visualization.md 6.1).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/io/json/json_tree.h"
#include "tools/graph/side.h"

namespace msrun::graph {

class EntryReader {
 public:
  // file stands in messages.
  EntryReader(Side& side, std::string file);

  // Appends the parameters of the call. Throws UserError for what is nested deeper than ten levels.
  void read(std::string_view name, const JsonNode& node);

 private:
  enum class Missing : std::uint8_t { nothing, size, slice, ellipsis, scalar };

  void walk_groups(const JsonNode& node);
  void merge_namesakes();
  void under(const JsonNode& node, std::string_view key, std::string_view part, Group group);
  void walk(const JsonNode& node, Group group, int depth);
  void add_null(Group group);
  // more: a P2P operation around the leaf, whose other members are added.
  void add_leaf(const JsonNode& node, Group group, const JsonNode* more);
  void take_fields(const JsonNode& node, bool of_operation);
  void name_parameter(Parameter& parameter, std::string_view data_name);
  std::uint32_t form_of(Missing missing, std::string_view python_class, bool named_rank);
  Form make_form(Missing missing, std::string_view python_class, bool named_rank);
  Role role_of(TextId key);

  Side& side_;
  std::string file_;
  std::string_view call_;
  std::size_t first_ = 0;  // of its parameters, in Side::parameters
  std::vector<std::pair<std::string_view, bool>> names_;
  std::string suffix_;

  // What the leaf has that is being read.
  std::vector<TextId> keys_;
  std::vector<Value> recorded_;
  std::vector<TextId> signature_;

  std::unordered_map<TextId, Role> roles_;
  std::map<std::vector<TextId>, std::uint32_t> forms_;
};

}  // namespace msrun::graph
