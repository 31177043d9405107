#include "orchestrator/command/framework_options.h"

#include <algorithm>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "runner/dialects/dialect.h"

namespace msrun {

std::string take_framework(std::vector<std::string>& words) {
  if (words.size() < 2 || words[0] != "-f" || words[1].starts_with('-')) return {};
  std::string framework = lower_case(words[1]);
  if (find_dialect(framework) == nullptr) {
    throw UserError("-f before the command names the framework: pytorch or mindspore, not " +
                    shell_quoted(sanitised(words[1])));
  }
  words.erase(words.begin(), words.begin() + 2);
  return framework;
}

std::vector<std::string> given_for_some(const Arguments& arguments) {
  std::vector<std::string> given;
  for (const Dialect* dialect : dialects()) {
    for (const std::string_view option : dialect->unheeded_options()) {
      std::string name(option.substr(option.find_first_not_of('-')));
      std::ranges::replace(name, '-', '_');
      if (arguments.given(name) && std::ranges::find(given, option) == given.end()) given.emplace_back(option);
    }
  }
  return given;
}

}  // namespace msrun
