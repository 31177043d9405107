#include <algorithm>
#include <array>

#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/csv.h"
#include "runner/dialects/att.h"
#include "runner/dialects/dialect.h"
#include "runner/results/counts.h"

namespace msrun {

// Upstream looks at positional tensors only; keyword tensors count where they have a gradient.
List Dialect::compared_gradients(const MaterialisedCall& call, const List& all, bool compat) const {
  std::size_t positional = 0;
  for (const Value& leaf : leaves(call.args)) positional += leaf.is<Tensor>() ? 1 : 0;
  List gradients(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(positional, all.size())));
  if (compat) return gradients;
  for (std::size_t i = positional; i < all.size(); ++i) {
    if (!all[i].is_none()) gradients.push_back(all[i]);
  }
  return gradients;
}

std::string Dialect::result_header() const {
  std::string header(byte_order_mark);
  for (const std::string_view title : result_titles()) {
    if (header.size() > byte_order_mark.size()) header += ',';
    append_csv_field(header, title);
  }
  return header.append(csv_row_end);
}

std::string Dialect::details_header(bool english_titles) const {
  return std::string(byte_order_mark) + "API Name," + details_titles(columns(), english_titles);
}

bool Dialect::keeps_error_data(const ApiResult& result) const {
  return result.forward != Status::pass || (result.backward && *result.backward != Status::pass) ||
         is_suspicious(result);
}

const Dialect& dialect_in_layout(const Dialect& of_framework, ReportLayout layout) {
  if (layout == ReportLayout::current) return of_framework;
  if (&of_framework != &pytorch_dialect()) {
    throw UserError("--layout att is that of recordings of PyTorch; this one is of " +
                    std::string(of_framework.spellings().front()) + ".");
  }
  return att_dialect(layout == ReportLayout::att_raw);
}

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
