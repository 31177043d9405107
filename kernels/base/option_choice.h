// Options of command lines that take one of a few words.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {

// The choice that text names. Throws UserError, which names flag and the words there are, if it is none of them.
template <class T>
T option_choice(const std::string& flag, const std::string& text,
                std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::string known;
  for (const auto& [spelling, value] : choices) {
    if (text == spelling) return value;
    known += (known.empty() ? "" : ", ") + std::string(spelling);
  }
  throw UserError(flag + (choices.size() == 1 ? " must be " : " must be one of ") + known + ", not " +
                  shell_quoted(sanitised(text)));
}

}  // namespace msrun
