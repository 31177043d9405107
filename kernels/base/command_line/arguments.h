// What a command line holds, read by the description of its command: the first step of every program, before the
// meaning of the values is looked at.
#pragma once

#include <array>
#include <charconv>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/base/command_line/option.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {

// A text to print on stdout before ending with exit code 0.
struct PrintAndExit {
  std::string text;
};

// Options and operands that were given. Options are asked for by any spelling without its dashes, and it must be in the
// description; std::logic_error otherwise. All errors about a value name the option and the text it was given.
class Arguments {
 public:
  // Throws UserError on unknown, repeated and incomplete options and on too many operands.
  Arguments(const CommandDescription& command, const std::vector<std::string>& words);

  bool given(std::string_view name) const;
  // The value of the option; fallback if it is not given, or given without a value.
  std::string text(std::string_view name, std::string_view fallback = "") const;
  // The value of the option, which is given. Throws UserError if it is missing or empty.
  std::string filled(std::string_view name) const;
  // All values of the option.
  std::vector<std::string> texts(std::string_view name) const;
  // The words that are no options, at most as many as the command takes.
  const std::vector<std::string>& operands() const { return operands_; }

  // What the value means, one of a few words; fallback if the option is not given. Throws UserError.
  template <class T>
  T choice(std::string_view name, T fallback, std::initializer_list<std::pair<std::string_view, T>> choices) const {
    if (!given(name)) return fallback;
    const std::string word = text(name);
    std::string known;
    for (const auto& [spelling, value] : choices) {
      if (word == spelling) return value;
      known += (known.empty() ? "" : ", ") + std::string(spelling);
    }
    throw wrong(name, word, (choices.size() == 1 ? "must be " : "must be one of ") + known);
  }

  // A whole number from least to most; fallback if the option is not given. Throws UserError that says what it must be,
  // "a number".
  template <class T>
  T number(std::string_view name, T fallback, T least, T most, std::string_view what = "a number") const {
    if (!given(name)) return fallback;
    const std::optional<T> value = parse_number<T>(text(name));
    if (value && *value >= least && *value <= most) return *value;
    throw wrong(name, text(name),
                "must be " + std::string(what) + " from " + number_text(least) + " to " + number_text(most));
  }

  // "<option> <rule>, not <text>".
  UserError wrong(std::string_view name, std::string_view text, const std::string& rule) const;
  // The option as messages name it: "-api_info", "-n", "--only".
  std::string shown(std::string_view name) const;

 private:
  friend class ArgumentParser;

  // Without the zeros behind the point that std::to_string gives a double.
  template <class T>
  static std::string number_text(T number) {
    std::array<char, 400> digits;  // the largest double has 309
    if constexpr (std::is_floating_point_v<T>) {
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
      return {digits.data(), end.ptr};
    } else {
      return std::to_string(number);
    }
  }

  const Option& option(std::string_view name) const;

  std::vector<OptionGroup> groups_;
  std::map<const Option*, std::vector<std::string>> values_;
  std::vector<std::string> operands_;
};

// The words behind the program's name, or the help or the version if one of the words asks for it. Throws UserError.
std::variant<Arguments, PrintAndExit> parse_arguments(const CommandDescription& command,
                                                      const std::vector<std::string>& words);
std::variant<Arguments, PrintAndExit> parse_arguments(const CommandDescription& command, int argc,
                                                      const char* const* argv);

}  // namespace msrun
