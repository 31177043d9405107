// Pages as a browser shows them, where one is installed that can run without a screen.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/msrun_process.h"

namespace msrun::testing {

// The name of the browser; empty if there is none.
inline std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system(("command -v " + std::string(name) + " > /dev/null 2>&1").c_str()) == 0) return name;
  }
  return "";
}

// The document after its scripts have run. options are further ones of the browser.
inline std::string document_of(const fs::path& html, const TemporaryDirectory& scratch,
                               const std::string& options = "") {
  const fs::path out = scratch / "document.txt";
  const std::string command =
      "timeout 100 " + browser() +
      " --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
      " --disable-component-update --disable-sync --user-data-dir='" +
      (scratch / "profile").string() + "' --virtual-time-budget=5000 " + options + " --dump-dom 'file://" +
      html.string() + "' > '" + out.string() + "' 2> /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return read_file(out);
}

}  // namespace msrun::testing
