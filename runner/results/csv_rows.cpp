#include "runner/results/csv_rows.h"

#include <string>

#include "kernels/compare/bounds/trust.h"
#include "kernels/compare/metrics/message_lines.h"

namespace msrun {
namespace {

// The first of several reasons, in their own order, counts.
WeakEvidence weak_evidence_in(std::string_view message) {
  for (std::size_t i = 1; i < weak_evidence_count; ++i) {
    const auto weak_evidence = static_cast<WeakEvidence>(i);
    if (find_verdict(message, weak_evidence_sentence(weak_evidence)) != std::string_view::npos) return weak_evidence;
  }
  return WeakEvidence::none;
}

}  // namespace

std::optional<RowName> parse_row_name(std::string_view text) {
  const std::size_t last = text.rfind('.');
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, last);
  const bool forward = before.ends_with(".forward.output");
  const std::string_view suffix = forward ? ".forward.output" : ".backward.output";
  if (!before.ends_with(suffix)) return std::nullopt;
  return RowName{before.substr(0, before.size() - suffix.size()), forward, text.substr(last + 1)};
}

std::optional<Status> parse_status(std::string_view text) {
  for (const Status status : {Status::pass, Status::warning, Status::error, Status::skip}) {
    if (text == status_text(status)) return status;
  }
  return std::nullopt;
}

void read_verdict(DetailsRow& row) {
  const auto says = [&](std::string_view line) { return find_verdict(row.message, line) != std::string_view::npos; };
  row.rounding_only = says(explained_line) || (row.status != Status::pass && says(half_steps_line));
  row.beyond_rounding = says(unexplained_line);
  row.trust.weak_evidence = weak_evidence_in(row.message);
}

}  // namespace msrun
