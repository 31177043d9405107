// What an action says when it fails.
#pragma once

#include <string>

namespace msrun::testing {

// The text of the exception that action throws; empty if it throws none.
template <class Error, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace msrun::testing
