// What people do on a page, done in a browser.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/support/msrun_process.h"

namespace msrun::testing {

// Opens the page, waits until it is ready and does there what steps says: the body of an asynchronous JavaScript
// function, which puts what it sees into the object `seen`. It may use rest(milliseconds), key(name, options), which
// goes to what has the focus, and text(selector). options are further ones of the browser. Fails the test where a step
// throws.
nlohmann::json seen_in_browser(const fs::path& page, const std::string& steps, const TemporaryDirectory& scratch,
                               const std::string& options = "");

}  // namespace msrun::testing
