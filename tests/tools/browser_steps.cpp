#include "tests/tools/browser_steps.h"

#include <nlohmann/json.hpp>

#include "tests/tools/browser.h"

namespace msrun::testing {

namespace {

constexpr const char* before_steps = R"(<script>addEventListener('load', async () => {
    const seen = {};
    const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const key = (name, options = {}) => document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...options }));
    const text = (selector) => document.querySelector(selector).innerText.replace(/\s+/g, ' ').trim();
    try {
      while (!document.documentElement.dataset.ready) await rest(10);
      await (async () => {)";
constexpr const char* behind_steps = R"(})();
    } catch (error) { seen.error = String(error); }
    document.documentElement.dataset.seen = encodeURIComponent(JSON.stringify(seen));
  });</script>)";

std::string percent_decoded(const std::string& text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%';
    decoded += escape ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    if (escape) i += 2;
  }
  return decoded;
}

}  // namespace

nlohmann::json seen_in_browser(const fs::path& page, const std::string& steps, const TemporaryDirectory& scratch,
                               const std::string& options) {
  std::string html = read_file(page);
  html.insert(html.rfind("</body>"), before_steps + steps + behind_steps);
  const fs::path copy = scratch / "steps.html";
  write_file(copy, html);
  // The browser's clock stands still while nothing is to be done, so that the budget is spent by work alone.
  const std::string document = document_of(copy, scratch, options + " --virtual-time-budget=100000");
  const std::string attribute = "data-seen=\"";
  const std::size_t at = document.find(attribute);
  if (at == std::string::npos) {
    ADD_FAILURE() << "the steps did not end";
    return {};
  }
  const std::size_t begin = at + attribute.size();
  nlohmann::json seen =
      nlohmann::json::parse(percent_decoded(document.substr(begin, document.find('"', begin) - begin)));
  EXPECT_FALSE(seen.contains("error")) << seen["error"];
  return seen;
}

}  // namespace msrun::testing
