// What is known about an operator is written in its file (kernels/api/operator_traits.h): no other source names one,
// but for the inventory, the documented standards, and what is listed here with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/operators.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::array searched_folders{"kernels", "runner", "orchestrator", "journal", "tools"};
constexpr std::array homes{"kernels/ops/", "kernels/fused/", "kernels/inventory/", "kernels/compare/standards.cpp"};

// Operators that are words of Python, of C++, of options and file formats first: one of them alone says nothing about
// the operator.
const std::set<std::string, std::less<>> vocabulary{
    "any", "bfloat16", "bool", "byte",   "cdouble", "cfloat", "dim",   "double", "float", "full", "half",
    "int", "long",     "mode", "normal", "repeat",  "short",  "slice", "stride", "t",     "type"};

struct Allowed {
  std::string file;
  std::string name;
  std::string reason;

  bool operator==(const Allowed& other) const { return file == other.file && name == other.name; }
};

// A name that is listed here but no longer found fails the test, too.
const std::vector<Allowed>& allowed() {
  static const std::vector<Allowed> list = [] {
    std::vector<Allowed> result;
    const auto add = [&](const char* file, std::initializer_list<const char*> names, const char* reason) {
      for (const char* name : names) result.push_back({file, name, reason});
    };
    add("kernels/numeric/decompositions.cpp", {"cholesky", "det", "inverse", "solve"}, "algorithms, in error messages");
    add("runner/dialects/att.cpp", {"dropout"}, "a documented rule about names");
    add("orchestrator/command/sharing_options.cpp", {"all"}, "which part of a run is checked");
    add("orchestrator/merge/merge_report.cpp", {"empty"}, "a key of JSON");
    add("orchestrator/merge/part_journal.cpp", {"all"}, "which part of a run is checked");
    add("orchestrator/session/run_identity.cpp", {"all"}, "which part of a run is checked");
    add("runner/report/call_rows.cpp", {"index"}, "a key of JSON");
    add("tools/dump_compare/difference_analysis.cpp", {"npu_fusion_attention"}, "a documented rule about names");
    add("tools/dump_compare/difference_search.cpp", {"gather", "scatter"}, "communications, by documented names");
    add("tools/graph/communication.cpp", {"gather", "scatter"}, "communications, by documented names");
    add("tools/graph/options.cpp", {"all"}, "which files are written");
    add("tools/graph/verdict.cpp",
        {"__setitem__", "all", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "numpy", "to"},
        "documented rules about names, and a mode");
    add("kernels/io/dump/mindspore_dump.cpp",
        {"add",
         "add_",
         "addmm_",
         "all",
         "allclose",
         "ceil",
         "clamp",
         "clamp_",
         "clone",
         "contiguous",
         "copy_",
         "cos",
         "cumprod",
         "expand_as",
         "fill_",
         "flash_attention_score",
         "flatten",
         "floor_",
         "is_contiguous",
         "isnan",
         "item",
         "log",
         "log2",
         "masked_fill",
         "max",
         "mean",
         "min",
         "numel",
         "numpy",
         "repeat_interleave",
         "reshape",
         "round",
         "select",
         "sin",
         "size",
         "split",
         "sqrt",
         "square",
         "sub",
         "swapaxes",
         "to",
         "tolist",
         "topk",
         "transpose",
         "trunc",
         "type_as",
         "unsqueeze",
         "view",
         "view_as",
         "zero_"},
        "the pre-check's documented list of what it checks of MindSpore");
    add("runner/dialects/mindspore.cpp", {"flash_attention_score", "numpy"},
        "documented rules of MindSpore's pre-check about its benchmark and its results");
    add("runner/dialects/pytorch.cpp", {"to", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"},
        "the pre-check's documented list of what it never runs");
    add("tools/api_precision_compare/comparison.cpp", {"topk"}, "a documented rule of that command");
    add("tools/dump_compare/divergence_report.cpp", {"stack"}, "a key of the report");
    add("tools/dump_compare/judge.cpp",
        {"__setitem__", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "numpy", "to"},
        "calls that the documented rules leave out");
    add("tools/dump_compare/mapping.cpp",
        {"adaptive_avg_pool2d",
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
         "unfold"},
        "names that MindSpore and PyTorch share, a documented table");
    add("tools/dump_compare/rank_divergence.cpp",
        {"bernoulli", "clone", "contiguous", "dropout", "empty", "exponential_", "multinomial", "new_empty", "normal_",
         "npu_fusion_attention", "rand", "randperm", "reshape", "to", "uniform_", "view"},
        "copies, memory without values and random numbers, as the search for a divergence is specified");
    add("tools/dump_compare/rows.cpp", {"complex"}, "names of dtypes");
    add("tools/recordings/alignment.cpp",
        {"add", "bmm", "div", "divide", "matmul", "mul", "multiply", "reshape", "sub", "subtract", "true_divide",
         "view"},
        "aliases of calls, as their alignment is specified");
    add("tools/recordings/communication.cpp", {"gather", "scatter"}, "calls between ranks");
    add("tools/recordings/written_inputs.cpp",
        {"bernoulli_", "copy_", "exponential_", "fill_", "gather", "normal_", "random_", "scatter", "uniform_",
         "zero_"},
        "calls that write an argument without reading it");
    add("tools/html/table.cpp", {"sort"}, "how a table is sorted");
    add("orchestrator/command/tool_commands.cpp", {"diff"}, "a command");
    add("tools/run_diff/options.cpp", {"all"}, "an option");
    add("tools/torchair_compare/html_report.cpp", {"cosine_similarity"}, "a column of metrics");
    add("tools/torchair_compare/reported_row.cpp", {"max", "min"}, "statistics that are compared");
    add("tools/torchair_compare/row.cpp", {"cosine_similarity"}, "a column of metrics");
    return result;
  }();
  return list;
}

struct Literal {
  int line = 0;
  std::string text;  // escapes as they are written

  bool operator==(const Literal&) const = default;
};

// The string literals of C++ source outside of comments and #include lines; of raw ones only those without a delimiter.
std::vector<Literal> literals_of(std::string_view source) {
  std::vector<Literal> result;
  int line = 1;
  std::size_t i = 0;
  const auto at = [&](std::string_view text) { return source.substr(i).starts_with(text); };
  // Moves to the first `end` from here, or to the end of the source.
  const auto skip_to = [&](std::string_view end) {
    const std::size_t found = std::min(source.find(end, i), source.size());
    line += static_cast<int>(std::count(source.begin() + static_cast<std::ptrdiff_t>(i),
                                        source.begin() + static_cast<std::ptrdiff_t>(found), '\n'));
    i = found;
  };
  const auto take_quoted = [&](char quote) {
    std::string text;
    for (++i; i < source.size() && source[i] != quote && source[i] != '\n'; ++i) {
      text += source[i];
      if (source[i] == '\\' && i + 1 < source.size()) text += source[++i];
    }
    ++i;
    return text;
  };
  while (i < source.size()) {
    if (at("//") || at("#include")) {
      skip_to("\n");
    } else if (at("/*")) {
      skip_to("*/");
      i += 2;
    } else if (at("R\"(")) {
      const int first_line = line;
      const std::size_t start = i + 3;
      skip_to(")\"");
      result.push_back({first_line, std::string(source.substr(start, i - std::min(start, i)))});
      i += 2;
    } else if (source[i] == '"') {
      result.push_back({line, take_quoted('"')});
    } else if (source[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(source[i - 1])) == 0)) {
      take_quoted('\'');  // not the separator in 1'000
    } else {
      line += source[i] == '\n' ? 1 : 0;
      ++i;
    }
  }
  return result;
}

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

// Every API name and every canonical name.
std::set<std::string, std::less<>> operator_names() {
  std::set<std::string, std::less<>> names;
  for (const ApiListing& entry : list_apis()) names.insert({entry.api, entry.canonical});
  return names;
}

// The operators that a literal names: itself, or the words of a list of them. What has a blank at its ends or other
// words is part of a sentence, and so are words without a digit, dot or underscore among them.
std::vector<std::string> operators_in(const std::string& literal, const std::set<std::string, std::less<>>& names) {
  std::vector<std::string> words = words_of(literal);
  if (words.empty() || literal.starts_with(' ') || literal.ends_with(' ')) return {};
  if (!std::ranges::all_of(words, [&](const std::string& word) { return names.contains(word); })) return {};
  const auto technical = [](const std::string& word) {
    return word.find_first_of("_.0123456789") != std::string::npos;
  };
  if (words.size() > 1 && std::ranges::none_of(words, technical)) return {};
  std::erase_if(words, [](const std::string& word) { return vocabulary.contains(word); });
  return words;
}

TEST(OperatorNames, LiteralsAreFoundInCode) {
  EXPECT_THAT(
      literals_of(
          "#include \"sort.h\"\n// \"topk\"\n/* \"max\"\n */ f(\"a\\\"b\", '\"', 1'000);\ng(R\"(c\nd)\", \"e\");"),
      ElementsAre(Literal{4, "a\\\"b"}, Literal{5, "c\nd"}, Literal{6, "e"}));
}

TEST(OperatorNames, ListsNameOperatorsAndSentencesDoNot) {
  const auto names = operator_names();
  EXPECT_THAT(operators_in("topk", names), ElementsAre("topk"));
  EXPECT_THAT(operators_in("conv1d, linalg.inv; float", names), ElementsAre("conv1d", "linalg.inv"));
  EXPECT_THAT(operators_in("sort the values", names), IsEmpty());
  EXPECT_THAT(operators_in(" to ", names), IsEmpty());
  EXPECT_THAT(operators_in("absolute threshold", names), IsEmpty());
  EXPECT_THAT(operators_in("type", names), IsEmpty());
  EXPECT_THAT(operators_in("", names), IsEmpty());
}

TEST(OperatorNames, StandInTheFilesOfTheirOperatorsAlone) {
  const std::filesystem::path root = source_root();
  const auto names = operator_names();
  ASSERT_GT(names.size(), 1000U);
  std::vector<Allowed> unused = allowed();
  std::size_t files = 0;
  for (const char* folder : searched_folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string file = entry.path().lexically_relative(root).generic_string();
      if (!file.ends_with(".cpp") && !file.ends_with(".h")) continue;
      if (std::ranges::any_of(homes, [&](const char* home) { return file.starts_with(home); })) continue;
      ++files;
      for (const Literal& literal : literals_of(read_file(entry.path()))) {
        for (const std::string& name : operators_in(literal.text, names)) {
          std::erase(unused, Allowed{file, name, ""});
          const bool may = std::ranges::count(allowed(), Allowed{file, name, ""}) > 0;
          EXPECT_TRUE(may) << file << ":" << literal.line << " names the operator " << name
                           << ". What is known about it belongs to its TRAITS.";
        }
      }
    }
  }
  EXPECT_GT(files, 150U);
  for (const Allowed& entry : unused) ADD_FAILURE() << entry.file << " no longer names " << entry.name;
}

}  // namespace
}  // namespace msrun::testing
