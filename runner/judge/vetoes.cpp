#include "runner/judge/vetoes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace msrun {
namespace {

constexpr std::array table{
    Veto{1, "common factor", "All elements are off by one factor, too large for rounding or chance.", true,
         veto::errs_in_common},
    Veto{2, "another call", "Bit by bit the result is that of a call with another flag, text or number.", false,
         veto::is_otherwise_chosen},
};

}  // namespace

std::span<const Veto> vetoes() { return table; }

const Veto* find_veto(std::uint8_t code) {
  const auto* const found = std::ranges::find(table, code, &Veto::code);
  return found == table.end() ? nullptr : &*found;
}

std::string name_of_veto(std::uint8_t code) {
  const Veto* const veto = find_veto(code);
  return veto == nullptr ? "veto " + std::to_string(code) : std::string(veto->name);
}

const Veto* objecting(const RowCase& row, const Explanation& known, bool silent) {
  const auto* const found = std::ranges::find_if(
      table, [&](const Veto& veto) { return (!silent || veto.asked_of_compat) && veto.objects(row, known); });
  return found == table.end() ? nullptr : &*found;
}

void refuse(const RowCase& row, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  ErrorBudget nothing;
  nothing.exact = true;
  RoundingFit fit = fit_rounding(bench, device, nothing);
  fit.max_share = 1;
  fit.shares_beyond.assign(fit.shares_beyond.size(), 1);
  judged.fit = std::move(fit);
  judged.on_steps = 0;
  judged.alternatives = 0;
  judged.in_half = "";
  if (!judged.part.defined()) return;
  // What is known of the elements of a part is of another shape.
  ErrorBudget of_all;
  of_all.longest = judged.budget.longest;
  of_all.chain = judged.budget.chain;
  of_all.of_logarithms = judged.budget.of_logarithms;
  judged.budget = std::move(of_all);
  judged.part = {};
}

}  // namespace msrun
