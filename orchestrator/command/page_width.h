// Pages that lists are printed on: --list-standards, --list-faults and --list-judgement.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msrun {

inline constexpr std::size_t page_width = 110;  // columns

// The text with spaces up to that width, with one at least.
std::string padded_to(std::string text, std::size_t width);

// The words of text behind a first column of that width, broken into lines of the page's width.
std::string beside_column(std::string first, std::size_t width, std::string_view text);

}  // namespace msrun
