#include "kernels/base/command_line/arguments.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "kernels/base/command_line/completion.h"
#include "kernels/base/command_line/help.h"
#include "kernels/base/command_line/manual.h"
#include "kernels/base/command_line/suggestion.h"

namespace msrun {

namespace {

constexpr auto options_of_all = std::to_array<Option>({
    {"-h, --help", "print this text"},
    {"--version", "print the version"},
});

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

const Option* find_option(std::span<const OptionGroup> groups, std::string_view name) {
  const std::string wanted = with_hyphens(name);
  for (const OptionGroup& group : groups) {
    for (const Option& option : group.options) {
      for (const std::string_view spelling : spellings(option)) {
        if (with_hyphens(without_dashes(spelling)) == wanted) return &option;
      }
    }
  }
  return nullptr;
}

std::string shown_name(const Option& option) { return std::string(spellings(option).front()); }

bool is_negative_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && !is_negative_number(word); }

UserError unknown_option(const CommandDescription& command, std::span<const OptionGroup> groups, std::string_view word,
                         std::string_view name) {
  std::vector<std::string> shown;
  std::vector<std::string> names;
  for (const OptionGroup& group : groups) {
    for (const Option& option : group.options) {
      for (const std::string_view spelling : spellings(option)) {
        if (without_dashes(spelling).size() == 1) continue;
        shown.emplace_back(spelling);
        names.emplace_back(without_dashes(spelling));
      }
    }
  }
  const std::optional<std::size_t> nearest = nearest_word(name, names);
  return UserError("unknown option " + sanitised(word) +
                   (nearest ? ", did you mean " + shown[*nearest] + "?"
                            : " (" + std::string(command.program) + " -h lists all options)"));
}

}  // namespace

std::span<const Option> common_options() { return options_of_all; }

bool may_name_input(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".json") || std::filesystem::exists(word, ignored);
}

std::vector<std::string_view> spellings(const Option& option) {
  std::vector<std::string_view> found;
  for (std::string_view rest = option.written; rest.starts_with('-');) {
    const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
    found.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.find_first_not_of(", ", end), rest.size()));
  }
  return found;
}

// Goes through the words of one command line.
class ArgumentParser {
 public:
  ArgumentParser(const CommandDescription& command, const std::vector<std::string>& words, Arguments& result)
      : command_(command), words_(words), result_(result) {}

  void run() {
    bool options_ended = false;
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "--" && !options_ended) {
        options_ended = true;
      } else if (is_option(word) && !options_ended) {
        add_option(word);
      } else {
        add_operand(word);
      }
    }
  }

 private:
  void add_operand(const std::string& word) {
    if (result_.operands_.size() == command_.most_operands) {
      std::string text = "unexpected argument " + shell_quoted(sanitised(word));
      if (!command_.input_option.empty() && may_name_input(word)) {
        throw UserError(text + ", did you mean " + std::string(command_.input_option) + " " +
                        shell_quoted(sanitised(word)) + "?");
      }
      if (!command_.operands.empty()) {
        text += ": " + std::string(command_.program) + " takes " + std::string(command_.operands);
      }
      throw UserError(text);
    }
    result_.operands_.push_back(word);
  }

  void add_option(std::string_view word) {
    const std::string_view body = word.substr(word[1] == '-' ? 2 : 1);
    const std::size_t equals = body.find('=');
    const std::string_view name = body.substr(0, equals);
    std::optional<std::string> tied;
    if (equals != std::string_view::npos) tied = body.substr(equals + 1);
    const Option* option = find_option(result_.groups_, name);
    const bool number_follows = body.size() > 1 && body.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (option == nullptr && word[1] != '-' && number_follows) {  // -n32
      option = find_option(result_.groups_, body.substr(0, 1));
      if (option != nullptr && option->takes == Takes::nothing) option = nullptr;
      tied = body.substr(1);
    }
    if (option == nullptr) throw unknown_option(command_, result_.groups_, word, name);
    add_values(*option, tied);
  }

  void add_values(const Option& option, const std::optional<std::string>& tied) {
    const bool first = !result_.values_.contains(&option);
    const bool repeatable = option.takes == Takes::values || option.takes == Takes::one_value_each_time;
    std::vector<std::string>& values = result_.values_[&option];
    if (option.takes == Takes::nothing) {
      if (tied) throw UserError(shown_name(option) + " takes no value");
    } else if (tied) {
      values.push_back(*tied);
    } else if (value_follows()) {
      values.push_back(words_[next_++]);
    } else if (option.takes != Takes::optional_value) {
      throw UserError(shown_name(option) + " needs a value");
    }
    if (!first && !repeatable) throw UserError(shown_name(option) + " is given more than once");
    while (option.takes == Takes::values && value_follows()) values.push_back(words_[next_++]);
  }

  bool value_follows() const { return next_ < words_.size() && !is_option(words_[next_]); }

  const CommandDescription& command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  Arguments& result_;
};

Arguments::Arguments(const CommandDescription& command, const std::vector<std::string>& words)
    : groups_(command.groups) {
  groups_.push_back({"Help", common_options()});
  ArgumentParser(command, words, *this).run();
}

const Option& Arguments::option(std::string_view name) const {
  const Option* found = find_option(groups_, name);
  if (found == nullptr) throw std::logic_error("There is no option " + std::string(name) + ".");
  return *found;
}

bool Arguments::given(std::string_view name) const { return values_.contains(&option(name)); }

std::string Arguments::text(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(&option(name));
  return found == values_.end() || found->second.empty() ? std::string(fallback) : found->second.front();
}

std::string Arguments::filled(std::string_view name) const {
  const std::string value = text(name);
  if (value.empty()) throw UserError(shown(name) + " needs a value");
  return value;
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  const auto found = values_.find(&option(name));
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

UserError Arguments::wrong(std::string_view name, std::string_view text, const std::string& rule) const {
  return UserError(shown(name) + " " + rule + ", not " + shell_quoted(sanitised(text)));
}

std::string Arguments::shown(std::string_view name) const { return shown_name(option(name)); }

std::variant<Arguments, PrintAndExit> parse_arguments(const CommandDescription& command,
                                                      const std::vector<std::string>& words) {
  // For the build, which installs what they print.
  if (words.size() == 1 && words[0] == "--print-manual") return PrintAndExit{manual_page(command)};
  if (words.size() == 3 && words[0] == "--print-completion") {
    return PrintAndExit{completion_table(command, words[1], words[2])};
  }
  const std::array<OptionGroup, 1> common{{{"Help", common_options()}}};
  for (const std::string& word : words) {
    if (word == "--") break;
    if (!is_option(word)) continue;
    const Option* option = find_option(common, without_dashes(word));
    if (option == &options_of_all[0]) return PrintAndExit{help_text(command)};
    if (option == &options_of_all[1]) return PrintAndExit{version_text(command)};
  }
  return Arguments(command, words);
}

std::variant<Arguments, PrintAndExit> parse_arguments(const CommandDescription& command, int argc,
                                                      const char* const* argv) {
  return parse_arguments(command, {argv + std::min(argc, 1), argv + argc});
}

}  // namespace msrun
