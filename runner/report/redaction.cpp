#include "runner/report/redaction.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "kernels/base/digits.h"
#include "kernels/base/shell_words.h"
#include "runner/results/rank_calls.h"

namespace msrun::report {
namespace {

constexpr std::string_view punctuation = "\"'`()[]{}<>,;:";
constexpr std::array<std::string_view, 8> file_endings{".pt",  ".npy", ".npz",  ".json",
                                                       ".csv", ".so",  ".yaml", ".journal"};
constexpr std::array<std::string_view, 10> file_options{"-api_info", "-forward",  "-backward", "-real_data_path",
                                                        "-config",   "-csv_path", "-o",        "--python",
                                                        "-i",        "--backend"};

bool names_file(std::string_view word) {
  while (!word.empty() && (punctuation.find(word.back()) != std::string_view::npos || word.back() == '.'))
    word.remove_suffix(1);
  if (word.find('/') != std::string_view::npos || word.find('\\') != std::string_view::npos) return true;
  return std::ranges::any_of(file_endings, [&](std::string_view ending) { return word.ends_with(ending); });
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string without_numbers(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins =
        std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
        (i == 0 || (!is_word_char(text[i - 1]) && (text[i - 1] != '.' || i == 1 || !is_word_char(text[i - 2]))));
    if (!begins) {
      out += text[i++];
      continue;
    }
    while (i < text.size() &&
           (is_word_char(text[i]) || (text[i] == '.' && i + 1 < text.size() && is_word_char(text[i + 1]))))
      ++i;
    out += "[number]";
  }
  return out;
}

// Whole words alone: a host may be called like a part of one.
void replace_words(std::string& text, const std::string& from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;) {
    const std::size_t end = at + from.size();
    const bool is_word = (at == 0 || !is_word_char(text[at - 1])) && (end == text.size() || !is_word_char(text[end]));
    if (is_word) text.replace(at, from.size(), to);
    at = text.find(from, at + (is_word ? to.size() : 1));
  }
}

}  // namespace

std::string Redaction::without_files(std::string_view sentence) const {
  std::string text(sentence);
  for (const std::string& known : known_) replace_words(text, known, "[file]");
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    if (names_file(word)) {
      const std::size_t front = std::min(word.find_first_not_of(punctuation), word.size());
      const std::size_t back = word.find_last_not_of("\"'`()[]{}<>,;:.");
      out.append(word.substr(0, front)).append("[file]");
      if (back != std::string_view::npos) out += word.substr(back + 1);
    } else {
      out += word;
    }
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

std::string Redaction::name(std::string_view title) const {
  const std::string_view rank = rank_in(title);
  const auto found = ranks_.find(std::string(rank));
  if (!on_ || rank.empty() || found == ranks_.end()) return std::string(title);
  return found->second + ":" + std::string(without_rank(title));
}

std::map<std::string, std::string> shared_rank_names(const std::vector<std::string>& ranks) {
  const auto last_part = [](const std::string& rank) { return rank.substr(rank.rfind('/') + 1); };
  std::map<std::string, std::size_t> having;
  for (const std::string& rank : ranks) ++having[last_part(rank)];
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string part = last_part(ranks[i]);
    names[ranks[i]] = is_numbered(part, "rank") && having[part] == 1 ? part : "rank #" + std::to_string(i + 1);
  }
  return names;
}

std::string Redaction::text(std::string_view sentence) const {
  return on_ ? without_files(sentence) : std::string(sentence);
}

std::string Redaction::reason(std::string_view sentence) const {
  return on_ ? without_numbers(without_files(sentence)) : std::string(sentence);
}

std::string Redaction::line(const DetailsRow* row, std::string_view sentence) const {
  return row != nullptr && row->difference ? text(sentence) : reason(sentence);
}

std::string Redaction::command(std::string_view line) const {
  if (!on_) return std::string(line);
  std::string out = "msrun";
  std::vector<std::string> words = shell_words(line);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_value = std::ranges::find(file_options, std::string_view(words[i - 1])) != file_options.end();
    const bool is_backend = words[i - 1] == "--backend";
    const bool hidden = (is_value && !is_backend) || names_file(words[i]);
    out += " " + (hidden ? std::string("FILE") : words[i]);
  }
  return out;
}

}  // namespace msrun::report
