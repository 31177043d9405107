#include "kernels/io/graph_engine/ge_graph.h"

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "kernels/base/digits.h"

namespace msrun {
namespace {

// Nesting of real graphs stays below 20.
constexpr std::size_t max_depth = 1000;
// Longest name, string or number that is kept; constants of a graph may be longer and are skipped.
constexpr std::size_t max_kept_text = std::size_t{1} << 20;

class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Token : std::uint8_t { end, word, text, open, close, colon, separator };

class Tokenizer {
 public:
  explicit Tokenizer(InputFile& file) : file_(file) {}

  std::size_t line() const { return line_; }
  // The token's value, if it is a word or a text; empty if it was longer than max_kept_text.
  const std::string& value() const { return value_; }
  // The bracket of the last open or close: '{' or '<', '}' or '>', '[' or ']'.
  char bracket() const { return bracket_; }

  Token next() {
    skip_space();
    if (at_end()) return Token::end;
    const char c = peek();
    switch (c) {
      case '{':
      case '<':
      case '[':
        bracket_ = take();
        return Token::open;
      case '}':
      case '>':
      case ']':
        bracket_ = take();
        return Token::close;
      case ':':
        take();
        return Token::colon;
      case ',':
      case ';':
        take();
        return Token::separator;
      case '"':
      case '\'':
        read_texts();
        return Token::text;
      default:
        break;
    }
    if (!is_word_character(c)) throw Damage("an unexpected character");
    value_.clear();
    kept_ = true;
    while (!at_end() && is_word_character(peek())) keep(take());
    return Token::word;
  }

 private:
  static bool is_word_character(char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == '-' || c == '+' || c == '/';
  }
  bool at_end() {
    if (position_ < size_) return false;
    size_ = file_.read(buffer_);
    position_ = 0;
    return size_ == 0;
  }
  char peek() const { return buffer_[position_]; }
  char take() {
    const char c = buffer_[position_++];
    if (c == '\n') ++line_;
    return c;
  }
  void skip_space() {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n') take();
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
        take();
      } else {
        return;
      }
    }
  }
  void keep(char c) {
    if (!kept_) return;
    if (value_.size() == max_kept_text) {
      value_.clear();
      kept_ = false;
      return;
    }
    value_ += c;
  }
  // Adjacent texts are one.
  void read_texts() {
    value_.clear();
    kept_ = true;
    while (!at_end() && (peek() == '"' || peek() == '\'')) {
      read_text();
      skip_space();
    }
  }
  void read_text() {
    const char quote = take();
    while (true) {
      if (at_end()) throw Damage("a text that does not end");
      const char c = take();
      if (c == quote) return;
      if (c == '\n') throw Damage("a text that does not end with its line");
      if (c == '\\') {
        read_escape();
      } else {
        keep(c);
      }
    }
  }
  void read_escape() {
    if (at_end()) throw Damage("a text that does not end");
    const char c = take();
    if (c >= '0' && c <= '7') {
      unsigned code = static_cast<unsigned>(c - '0');
      for (int digits = 1; digits < 3 && !at_end() && peek() >= '0' && peek() <= '7'; ++digits) {
        code = code * 8 + static_cast<unsigned>(take() - '0');
      }
      keep(static_cast<char>(code & 0xFFU));
      return;
    }
    if (c == 'x' || c == 'X') {
      unsigned code = 0;
      for (int digits = 0; digits < 2 && !at_end(); ++digits) {
        const std::optional<unsigned> digit = hex_digit(peek());
        if (!digit) break;
        code = code * 16 + *digit;
        take();
      }
      keep(static_cast<char>(code));
      return;
    }
    constexpr std::array<std::array<char, 2>, 7> letters{
        {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'a', '\a'}, {'b', '\b'}, {'f', '\f'}, {'v', '\v'}}};
    for (const auto& [letter, meaning] : letters) {
      if (c == letter) {
        keep(meaning);
        return;
      }
    }
    keep(c);
  }
  static std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    return std::nullopt;
  }

  InputFile& file_;
  std::array<char, 65536> buffer_;
  std::size_t position_ = 0;
  std::size_t size_ = 0;
  std::size_t line_ = 1;
  std::string value_;
  bool kept_ = true;
  char bracket_ = 0;
};

// Where in the graph a block lies; everything that is of no interest is `other`.
enum class Block : std::uint8_t { graph, op, output, attribute, value, list, other };

Block block_inside(Block outer, std::string_view name) {
  if (outer == Block::graph && name == "op") return Block::op;
  if (outer == Block::op && name == "output_desc") return Block::output;
  if (outer == Block::output && name == "attr") return Block::attribute;
  if (outer == Block::attribute && name == "value") return Block::value;
  return Block::other;
}

class Parser {
 public:
  Parser(InputFile& file, GeGraph& graph) : tokens_(file), graph_(graph) {}

  std::size_t line() const { return tokens_.line(); }

  void parse() {
    std::string name;       // of the item that is being read
    bool has_name = false;  // a name was read, its value not yet
    bool has_colon = false;
    while (true) {
      const Token token = tokens_.next();
      if (token == Token::end) break;
      if (token == Token::separator) continue;
      if (token == Token::open) {
        if (tokens_.bracket() == '[' && !has_name) {
          // An extension name in brackets.
          skip_extension_name();
          name.clear();
          has_name = true;
          continue;
        }
        if (!has_name && (stack_.empty() || stack_.back().kind != Block::list)) {
          throw Damage("a block without a name");
        }
        if (tokens_.bracket() == '[' && !has_colon) throw Damage("a list without a colon");
        open(name, tokens_.bracket());
        has_name = has_colon = false;
      } else if (token == Token::close) {
        if (has_name) throw Damage("a name without a value");
        close(tokens_.bracket());
      } else if (token == Token::colon) {
        if (!has_name || has_colon) throw Damage("a colon without a name");
        has_colon = true;
      } else if (has_colon) {
        scalar(name, token);
        has_name = has_colon = false;
      } else if (!stack_.empty() && stack_.back().kind == Block::list) {
        scalar(stack_.back().name, token);
      } else {
        if (has_name || token == Token::text) throw Damage("a name without a value");
        name = tokens_.value();
        has_name = true;
      }
    }
    if (has_name || !stack_.empty()) throw Damage("the end of the file inside a block");
  }

 private:
  struct Open {
    Block kind = Block::other;
    char bracket = 0;
    std::string name;  // of a list
  };

  Block place() const {
    for (std::size_t i = stack_.size(); i-- > 0;) {
      if (stack_[i].kind != Block::list) return stack_[i].kind;
    }
    return Block::graph;
  }

  void skip_extension_name() {
    while (true) {
      const Token token = tokens_.next();
      if (token == Token::close && tokens_.bracket() == ']') return;
      if (token != Token::word) throw Damage("a name in brackets that does not end");
    }
  }

  void open(const std::string& name, char bracket) {
    if (stack_.size() == max_depth) throw Damage("too many blocks inside one another");
    if (bracket == '[') {
      stack_.push_back({Block::list, bracket, name});
      return;
    }
    // A block in a list has the list's name.
    const bool listed = !stack_.empty() && stack_.back().kind == Block::list;
    const Block kind = block_inside(place(), listed ? stack_.back().name : name);
    stack_.push_back({kind, bracket, {}});
    if (kind == Block::op) {
      op_ = {};
      op_.line = tokens_.line();
    } else if (kind == Block::attribute) {
      key_.clear();
      text_.reset();
    }
  }

  void close(char bracket) {
    constexpr std::array<std::array<char, 2>, 3> pairs{{{'{', '}'}, {'<', '>'}, {'[', ']'}}};
    bool fits = false;
    for (const auto& [opening, closing] : pairs) {
      fits = fits || (!stack_.empty() && stack_.back().bracket == opening && bracket == closing);
    }
    if (!fits) throw Damage("a closing bracket that nothing opened");
    const Block kind = stack_.back().kind;
    stack_.pop_back();
    if (kind == Block::op) {
      graph_.by_name.emplace(op_.name, graph_.ops.size());
      graph_.ops.push_back(std::move(op_));
    } else if (kind == Block::attribute && key_ == "_fx_tensor_name" && text_) {
      op_.fx_names.push_back(std::move(*text_));
    }
  }

  void scalar(const std::string& name, Token token) {
    if (token != Token::text) return;
    const Block where = place();
    if (where == Block::op) {
      if (name == "name") op_.name = tokens_.value();
      if (name == "type") op_.type = tokens_.value();
      if (name == "input") op_.inputs.push_back(tokens_.value());
    } else if (where == Block::attribute && name == "key") {
      key_ = tokens_.value();
    } else if (where == Block::value && name == "s") {
      text_ = tokens_.value();
    }
  }

  Tokenizer tokens_;
  GeGraph& graph_;
  std::vector<Open> stack_;
  GeGraphOp op_;
  std::string key_;
  std::optional<std::string> text_;
};

}  // namespace

const GeGraphOp* GeGraph::find(const std::string& name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &ops[found->second];
}

GeGraph read_ge_graph(InputFile& file) {
  GeGraph graph;
  Parser parser(file, graph);
  try {
    parser.parse();
  } catch (const Damage& damage) {
    graph.damage = "The graph text " + file.path() + " is damaged in line " + std::to_string(parser.line()) + ": " +
                   damage.what() + ".";
  }
  return graph;
}

std::string_view fx_node_key(std::string_view tensor_name) {
  const std::size_t last = tensor_name.rfind('.');
  if (last == std::string_view::npos) return tensor_name;
  const std::string_view rest = tensor_name.substr(0, last);
  return rest.ends_with(".OUTPUT") ? rest.substr(0, rest.size() - std::string_view(".OUTPUT").size()) : tensor_name;
}

}  // namespace msrun
