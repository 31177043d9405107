#include "tools/code_mapping/graph_text.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "kernels/base/digits.h"

namespace msrun::code_mapping {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::string_view gradients = "Gradients";

std::string_view trimmed(std::string_view text, std::string_view characters) {
  const std::size_t first = text.find_first_not_of(characters);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

// Whether a line without blanks at its ends begins a node: "%7(CNode_47$a) = " or "%7 = ".
bool begins_node(std::string_view line) {
  std::size_t at = 1;
  if (line.empty() || line[0] != '%') return false;
  while (at < line.size() && is_digit(line[at])) ++at;
  if (at == 1) return false;
  const auto equals_follows = [&](std::size_t behind) {
    const std::size_t next = line.find_first_not_of(blanks, behind);
    return next != std::string_view::npos && line[next] == '=';
  };
  if (equals_follows(at)) return true;
  if (at == line.size() || line[at] != '(') return false;
  const std::size_t close = line.find(')', at);
  return close != std::string_view::npos && equals_follows(close + 1);
}

bool begins_return(std::string_view line) { return line.starts_with("Return(") || line.starts_with("return("); }

bool ends_or_begins_graph(std::string_view line) { return line == "}" || line.starts_with("subgraph @"); }

// The scope of a comment such as "# Fullname with scope: (Default/Add-op1)". Source lines are none, whatever they say.
std::optional<std::string_view> scope_of(std::string_view comment) {
  constexpr std::string_view word = "scope";
  constexpr std::string_view source = "In file ";
  if (trimmed(comment, "# \t").starts_with(source)) return std::nullopt;
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; };
  const auto found = std::search(comment.begin(), comment.end(), word.begin(), word.end(), same);
  if (found == comment.end()) return std::nullopt;
  const std::size_t colon = comment.find(':', static_cast<std::size_t>(found - comment.begin()) + word.size());
  if (colon == std::string_view::npos) return std::nullopt;
  const std::size_t open = comment.find('(', colon);
  const std::size_t close = comment.find(')', open == std::string_view::npos ? comment.size() : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return comment.substr(open + 1, close - open - 1);
}

// What a line of the code stack says; nothing if the line, without blanks at its ends, is none.
std::optional<std::string_view> stack_line(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  const std::size_t mark = line.find("# ");
  if (mark == std::string_view::npos) return std::nullopt;
  return trimmed(trimmed(line.substr(mark), "# \t"), "/");
}

// The number of the last 'unique_id: "N"' or 'forward_unique_id: "N"' of a line. What stands in strings is none, unless
// the line's strings do not end, so that nobody can tell what is in them.
std::string_view unique_id(std::string_view line, bool with_strings = false) {
  constexpr std::string_view key = "unique_id: \"";
  std::string_view id;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"' && !with_strings) {
      in_string = !in_string;
    } else if (!in_string && line[i] == 'u' && line.substr(i).starts_with(key)) {
      const std::size_t begin = i + key.size();
      const std::size_t end = line.find('"', begin);
      if (end == std::string_view::npos) break;
      id = line.substr(begin, end - begin);
      i = end;
    }
  }
  return in_string ? unique_id(line, true) : id;
}

}  // namespace

// Fills a graph with what its text says, line by line.
class GraphReader {
 public:
  explicit GraphReader(Graph& graph) : graph_(graph) {}

  void read() {
    std::string_view rest = graph_.text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line(trimmed(rest.substr(0, end), blanks));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    link_gradients();
  }

 private:
  // between: whoever comes next has nothing to say about a node. node: a node's scope may come. stack: its source lines
  // may.
  enum class State : std::uint8_t { between, node, stack };

  void line(std::string_view text) {
    if (state_ == State::stack) {
      if (const auto source = stack_line(text)) {
        if (source->empty()) return;
        graph_.lines_.push_back(*source);
        ++graph_.nodes_.back().lines;
        return;
      }
      state_ = State::between;
    }
    if (begins_node(text)) {
      state_ = State::node;
      id_ = unique_id(text);
    } else if (begins_return(text) || ends_or_begins_graph(text)) {
      state_ = State::between;
    } else if (state_ == State::node && text.starts_with('#')) {
      if (const auto scope = scope_of(text)) add(*scope);
    } else if (state_ == State::node) {
      if (const std::string_view later = unique_id(text); !later.empty()) id_ = later;
    }
  }

  void add(std::string_view scope) {
    graph_.nodes_.push_back({scope, graph_.lines_.size(), 0});
    if (!id_.empty()) identified_.push_back({id_, graph_.nodes_.size() - 1});
    state_ = State::stack;
  }

  // A node that computes gradients takes the code stack of the last node with its number that does not.
  void link_gradients() {
    std::unordered_map<std::string_view, std::size_t> forward;
    for (const Identified& node : identified_) {
      if (!graph_.nodes_[node.index].scope.starts_with(gradients)) forward[node.id] = node.index;
    }
    for (const Identified& node : identified_) {
      Node& backward = graph_.nodes_[node.index];
      const auto found = forward.find(node.id);
      if (found == forward.end() || !backward.scope.starts_with(gradients)) continue;
      backward.first_line = graph_.nodes_[found->second].first_line;
      backward.lines = graph_.nodes_[found->second].lines;
    }
  }

  struct Identified {
    std::string_view id;
    std::size_t index;
  };

  Graph& graph_;
  State state_ = State::between;
  std::string_view id_;
  std::vector<Identified> identified_;
};

Graph::Graph(std::string text) : text_(std::move(text)) { GraphReader(*this).read(); }

std::string Graph::code_stack(const Node& node) const {
  std::string text;
  for (std::size_t i = 0; i < node.lines; ++i) {
    if (i > 0) text += '\n';
    text += lines_[node.first_line + i];
  }
  return text;
}

}  // namespace msrun::code_mapping
