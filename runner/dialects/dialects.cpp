#include <algorithm>
#include <array>

#include "runner/dialects/dialect.h"

namespace msrun {

std::span<const Dialect* const> dialects() {
  static const std::array<const Dialect*, 3> all{&pytorch_dialect(), &mindspore_dialect(), &mindtorch_dialect()};
  return all;
}

const Dialect* find_dialect(std::string_view framework) {
  const auto found = std::ranges::find_if(dialects(), [&](const Dialect* dialect) {
    return std::ranges::find(dialect->spellings(), framework) != dialect->spellings().end();
  });
  return found == dialects().end() ? nullptr : *found;
}

}  // namespace msrun
