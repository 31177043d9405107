// Values as Python writes them: numbers, strings that can hold no code, and JSON as its json module lays it out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kernels/io/json/json_tree.h"

namespace msrun::op_generate {

// The shortest decimals that give the number again, in the form of Python's repr: "3.0", "1e-05", "8.1e+16", "nan".
std::string python_float(double value);

// A Python expression of the number: float("nan") of one that has no literal.
std::string python_number(double value);

// String literals of printable ASCII characters in double quotes: in Python's syntax ...
// Bytes that are no UTF-8 become U+FFFD, so that the text can be printed.
std::string string_literal(std::string_view text);
// They are kept, as Python keeps those of file names, so that the file is found.
std::string path_literal(std::string_view path);
// ... and in that of JSON, as json.dumps writes them. They are kept likewise.
std::string json_literal(std::string_view text);

// The value as json.dumps(value, indent=4) gives it, at an indentation of so many blanks. change gives the text that
// stands for a string, by the key under which it is.
using ChangeText = std::function<std::string(std::string_view key, std::string_view text)>;
std::string json_text(const JsonNode& node, std::size_t indentation, const ChangeText& change);

}  // namespace msrun::op_generate
