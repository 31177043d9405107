#include "orchestrator/command/why.h"

#include <array>
#include <charconv>

#include "kernels/base/text.h"
#include "orchestrator/command/page_width.h"
#include "runner/judge/rules.h"
#include "runner/judge/vetoes.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

constexpr std::size_t width_of_rule = 30;
constexpr std::size_t width_of_open = 12;

std::string share_text(double share) {
  if (share == 0) return "-";
  std::array<char, 32> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), share, std::chars_format::general, 3);
  return {buffer.data(), end};
}

std::string verdict_text(const DetailsRow& row) {
  if (row.status == Status::skip) return is_suspicious(row) ? "SKIP, suspicious" : "SKIP: it was not compared";
  const std::string status = status_text(row.status);
  if (is_suspicious(row)) return status + ", suspicious";
  return status + (row.rounding_only ? ", explained" : "");
}

std::string row_text(const std::string& name, const DetailsRow& row) {
  std::string text =
      "  " + name + "  " + sanitised(row.device_dtype + " " + row.shape) + "  " + verdict_text(row) + "\n";
  if (!row.judgement) {
    return text + (row.status == Status::skip
                       ? ""
                       : "    One of the first five rules decided at a glance, or it is compared exactly.\n");
  }
  const AskedRules& judgement = *row.judgement;
  text += "    " + padded_to("rule", width_of_rule) + padded_to("left open", width_of_open) + "largest error / bound\n";
  for (const AskedRules::Asked& asked : judgement.asked) {
    // A rule that measured nothing does not apply to the row.
    const bool applies = asked.open > 0 || asked.share > 0 || &asked == &judgement.asked.back();
    text += "    " + padded_to(name_of_rule(asked.rule), width_of_rule) +
            padded_to(applies ? std::to_string(asked.open) : "-", width_of_open) + share_text(asked.share) + "\n";
  }
  if (judgement.asked.empty()) return text;
  const AskedRules::Asked& last = judgement.asked.back();
  if (judgement.explained) {
    text += "    Explained by: " + name_of_rule(last.rule) + ".\n";
  } else {
    // Every element may be within its bound, and too many of them not the nearest number (RoundingFit::misrounded).
    text += last.open > 0 ? "    No rule explains it.\n"
                          : "    No rule explains it. No element is open, but too many are not the nearest number.\n";
  }
  if (judgement.veto == 0) return text;
  const Veto* const veto = find_veto(judgement.veto);
  return text + "    Vetoed: " + name_of_veto(judgement.veto) + "." +
         (veto == nullptr ? "" : " " + std::string(veto->reason)) + "\n";
}

}  // namespace

std::string why_text(const ApiResult& result) {
  std::string text = sanitised(result.name) + "\n";
  for (const auto& [prefix, rows] :
       {std::pair{"forward.output.", &result.forward_rows}, {"backward.output.", &result.backward_rows}}) {
    for (std::size_t i = 0; i < rows->size(); ++i) text += row_text(prefix + std::to_string(i), (*rows)[i]);
  }
  if (result.forward_rows.empty() && result.backward_rows.empty()) text += sanitised(result.message) + "\n";
  return text;
}

}  // namespace msrun
