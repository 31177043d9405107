// What a mistyped word was probably meant to be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace msrun {

// Index of the candidate that is nearest to word: one that begins with it, or one that few edits lead to. Nothing if
// none is near. '-' and '_' are the same. Of several equally near ones it is the first.
std::optional<std::size_t> nearest_word(std::string_view word, std::span<const std::string> candidates);

// Text with '_' as '-', by which spellings are compared.
std::string with_hyphens(std::string_view text);

}  // namespace msrun
