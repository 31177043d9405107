// Where sources name an operator outside of its own file, and why they may: rules that are documented by names, tables
// that relate two frameworks, what a framework wants called otherwise than it was recorded, and words that mean
// something else there. What is known about how an operator computes is none of these and belongs to its TRAITS.
#pragma once

#include <span>
#include <string_view>

namespace msrun::testing {

struct OperatorNameException {
  std::string_view file;   // below the top of the tree
  std::string_view names;  // bare names of operators, with a blank between them
  std::string_view reason;
};

std::span<const OperatorNameException> operator_name_exceptions();

}  // namespace msrun::testing
