// What is known about an operator is written in its file (kernels/api/operator_traits.h): no other source names one,
// but for the inventory, the documented standards, and what operator_name_exceptions lists with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "tests/structure/operator_name_exceptions.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array searched_folders{"kernels", "runner", "orchestrator", "journal", "tools"};
constexpr std::array homes{"kernels/ops/", "kernels/fused/", "kernels/inventory/",
                           "kernels/compare/metrics/standards.cpp"};

// Further ways to write the namespaces that ApiListing::type has; a longer one stands before what it begins with.
constexpr std::array other_namespaces{"torch.nn.functional.", "torch.Tensor.", "torch_npu.", "torch.",
                                      "functional.",          "tensor.",       "npu."};

// Operators that are words of Python, of C++, of options and file formats first: one of them alone says nothing about
// the operator.
const std::set<std::string, std::less<>> vocabulary{
    "any", "bfloat16", "bool", "byte",   "cdouble", "cfloat", "dim",   "double", "float", "full", "half",
    "int", "long",     "mode", "normal", "repeat",  "short",  "slice", "stride", "t",     "type"};

struct Literal {
  int line = 0;
  std::string text;  // escapes as they are written

  bool operator==(const Literal&) const = default;
};

// Reads the string literals of source outside of comments: in C++ without those of #include lines, and of raw ones only
// those without a delimiter; in Python without documentation strings.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view source) : source_(source) {}

  std::vector<Literal> of_cpp() {
    while (at_ < source_.size()) {
      if (is_here("//") || is_here("#include")) {
        skip_to("\n");
      } else if (is_here("/*")) {
        skip_behind("*/");
      } else if (is_here("R\"(")) {
        take_raw();
      } else if (is_here("\"")) {
        result_.push_back({line_, quoted()});
      } else if (is_here("'") && (at_ == 0 || std::isalnum(static_cast<unsigned char>(source_[at_ - 1])) == 0)) {
        quoted();  // not the separator in 1'000
      } else {
        step();
      }
    }
    return std::move(result_);
  }

  std::vector<Literal> of_python() {
    while (at_ < source_.size()) {
      if (is_here("#")) {
        skip_to("\n");
      } else if (is_here(R"(""")") || is_here("'''")) {
        const std::string_view quotes = source_.substr(at_, 3);
        at_ += quotes.size();
        skip_behind(quotes);
      } else if (is_here("\"") || is_here("'")) {
        result_.push_back({line_, quoted()});
      } else {
        step();
      }
    }
    return std::move(result_);
  }

 private:
  bool is_here(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void step() {
    line_ += source_[at_] == '\n' ? 1 : 0;
    ++at_;
  }

  // To the first `end` from here, or to the end of the source.
  void skip_to(std::string_view end) {
    const std::size_t found = std::min(source_.find(end, at_), source_.size());
    while (at_ < found) step();
  }

  void skip_behind(std::string_view end) {
    skip_to(end);
    at_ += end.size();
  }

  void take_raw() {
    const int first_line = line_;
    at_ += 3;
    const std::size_t start = std::min(at_, source_.size());
    skip_to(")\"");
    result_.push_back({first_line, std::string(source_.substr(start, at_ - start))});
    at_ += 2;
  }

  // The text in quotes that begins here and ends with its line at the latest.
  std::string quoted() {
    const char quote = source_[at_];
    std::string text;
    for (++at_; at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n'; ++at_) {
      text += source_[at_];
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) text += source_[++at_];
    }
    ++at_;
    return text;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Literal> result_;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == ',' || c == ';') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

// What literals are looked up in: every API name and every canonical name, and the namespaces in front of them.
struct KnownNames {
  std::set<std::string, std::less<>> operators;
  std::vector<std::string> namespaces;  // with their dots
};

KnownNames known_names() {
  KnownNames known;
  std::set<std::string> types;
  for (const ApiListing& entry : list_apis()) {
    known.operators.insert({entry.api, entry.canonical});
    types.insert(entry.type + ".");
  }
  known.namespaces.assign(types.begin(), types.end());
  known.namespaces.insert(known.namespaces.end(), other_namespaces.begin(), other_namespaces.end());
  return known;
}

// "add" of "Torch.add", of "Torch.add.0" and of "Torch.add.", with which names of calls begin. A word without a
// namespace stays as it is.
std::string bare(const std::string& word, const KnownNames& known) {
  const auto space =
      std::ranges::find_if(known.namespaces, [&](const std::string& name) { return word.starts_with(name); });
  if (space == known.namespaces.end()) return word;
  const std::string name = word.substr(space->size());
  const std::size_t last = name.find_last_not_of("0123456789");
  return last != std::string::npos && name[last] == '.' ? name.substr(0, last) : name;
}

// The operators that a literal names: itself, or the words of a list of them. What has a blank at its ends or other
// words is part of a sentence, and so are words without a digit, dot or underscore among them.
std::vector<std::string> operators_in(const std::string& literal, const KnownNames& known) {
  std::vector<std::string> words = words_of(literal);
  if (words.empty() || literal.starts_with(' ') || literal.ends_with(' ')) return {};
  const auto technical = [](const std::string& word) {
    return word.find_first_of("_.0123456789") != std::string::npos;
  };
  if (words.size() > 1 && std::ranges::none_of(words, technical)) return {};
  for (std::string& word : words) word = bare(word, known);
  if (!std::ranges::all_of(words, [&](const std::string& word) { return known.operators.contains(word); })) return {};
  std::erase_if(words, [](const std::string& word) { return vocabulary.contains(word); });
  return words;
}

// A file and an operator that it names.
using Naming = std::pair<std::string, std::string>;

std::set<Naming> excepted() {
  std::set<Naming> result;
  for (const OperatorNameException& entry : operator_name_exceptions()) {
    for (const std::string& name : words_of(std::string(entry.names))) result.emplace(entry.file, name);
  }
  return result;
}

std::vector<Literal> literals_of(const std::string& file) {
  const std::string source = read_file(std::filesystem::path(source_root()) / file);
  return file.ends_with(".py") ? LiteralReader(source).of_python() : LiteralReader(source).of_cpp();
}

// The sources that are to name no operator, below the top of the tree.
std::vector<std::string> searched_files() {
  const std::filesystem::path root = source_root();
  std::vector<std::string> files;
  for (const char* folder : searched_folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string file = entry.path().lexically_relative(root).generic_string();
      const bool is_source = file.ends_with(".cpp") || file.ends_with(".h") || file.ends_with(".py");
      if (is_source && std::ranges::none_of(homes, [&](const char* home) { return file.starts_with(home); })) {
        files.push_back(file);
      }
    }
  }
  return files;
}

TEST(OperatorNames, LiteralsAreFoundInCode) {
  EXPECT_THAT(
      LiteralReader(
          "#include \"sort.h\"\n// \"topk\"\n/* \"max\"\n */ f(\"a\\\"b\", '\"', 1'000);\ng(R\"(c\nd)\", \"e\");")
          .of_cpp(),
      ElementsAre(Literal{4, "a\\\"b"}, Literal{5, "c\nd"}, Literal{6, "e"}));
  EXPECT_THAT(
      LiteralReader("# \"topk\"\n\"\"\"The 'max'.\n\"\"\"\nf('a\"b', \"c's\")\n'''\"x\"'''\ng(r\"d\")").of_python(),
      ElementsAre(Literal{4, "a\"b"}, Literal{4, "c's"}, Literal{6, "d"}));
}

TEST(OperatorNames, ListsNameOperatorsAndSentencesDoNot) {
  const KnownNames known = known_names();
  EXPECT_THAT(operators_in("topk", known), ElementsAre("topk"));
  EXPECT_THAT(operators_in("conv1d, linalg.inv; float", known), ElementsAre("conv1d", "linalg.inv"));
  EXPECT_THAT(operators_in("sort the values", known), IsEmpty());
  EXPECT_THAT(operators_in(" to ", known), IsEmpty());
  EXPECT_THAT(operators_in("absolute threshold", known), IsEmpty());
  EXPECT_THAT(operators_in("type", known), IsEmpty());
  EXPECT_THAT(operators_in("", known), IsEmpty());
}

TEST(OperatorNames, MayHaveTheirNamespaceInFront) {
  const KnownNames known = known_names();
  EXPECT_THAT(operators_in("Torch.topk", known), ElementsAre("topk"));
  EXPECT_THAT(operators_in("torch.nn.functional.relu", known), ElementsAre("relu"));
  EXPECT_THAT(operators_in("Tensor.__getitem__.", known), ElementsAre("__getitem__"));
  EXPECT_THAT(operators_in("Torch.linalg.inv.12", known), ElementsAre("linalg.inv"));
  EXPECT_THAT(operators_in("torch.add, tensor.topk", known), ElementsAre("add", "topk"));
  EXPECT_THAT(operators_in("Torch.", known), IsEmpty());
  EXPECT_THAT(operators_in("torch.float", known), IsEmpty());
  EXPECT_THAT(operators_in("Module.topk", known), IsEmpty());
}

TEST(OperatorNames, StandInTheFilesOfTheirOperatorsAlone) {
  const KnownNames known = known_names();
  ASSERT_GT(known.operators.size(), 1000U);
  const std::set<Naming> allowed = excepted();
  std::set<Naming> unused = allowed;
  const std::vector<std::string> files = searched_files();
  EXPECT_GT(files.size(), 150U);
  for (const std::string& file : files) {
    for (const Literal& literal : literals_of(file)) {
      for (const std::string& name : operators_in(literal.text, known)) {
        unused.erase({file, name});
        EXPECT_TRUE(allowed.contains({file, name})) << file << ":" << literal.line << " names the operator " << name
                                                    << ". What is known about it belongs to its TRAITS.";
      }
    }
  }
  for (const auto& [file, name] : unused) ADD_FAILURE() << file << " no longer names " << name;
}

TEST(OperatorNames, AreExceptedForAReason) {
  for (const OperatorNameException& entry : operator_name_exceptions()) EXPECT_NE(entry.reason, "") << entry.file;
}

}  // namespace
}  // namespace msrun::testing
