#include "tools/api_precision_compare/gpu_index.h"

#include <algorithm>

namespace msrun::api_precision_compare {

namespace {

// What judge() may ask of the GPU's row.
constexpr std::array<Metric, 8> kept{
    Metric::small_value_error_ratio, Metric::rmse,     Metric::max_relative_error, Metric::mean_relative_error,
    Metric::error_balance,           Metric::ulp_mean, Metric::ulp_over_limit,     Metric::max_abs_error,
};
constexpr std::array<const char*, 5> statuses{"", "pass", "warning", "error", "SKIP"};

}  // namespace

GpuIndex::GpuIndex(DetailsFile& file, const std::function<void(const std::string&)>& problem) {
  index_.reserve(file.expected_rows());
  entries_.reserve(file.expected_rows());
  OutputRow row;
  while (file.next(row)) {
    const auto [place, fresh] = index_.try_emplace(row.name, static_cast<std::uint32_t>(entries_.size()));
    if (!row.damage.empty()) {
      problem(file.path() + ", row " + std::to_string(file.row_number()) + ": " + row.damage + ".");
    }
    if (!fresh) {
      entries_[place->second].repeated = true;
      continue;
    }
    Entry& entry = entries_.emplace_back();
    entry.name = &place->first;
    entry.damaged = !row.damage.empty();
    const auto status = std::ranges::find(statuses, row.status);
    entry.status = status == statuses.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(status - statuses.begin());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      entry.values[i] = row[kept[i]].value;
      entry.kinds[i] = row[kept[i]].kind;
    }
  }
}

GpuIndex::Found GpuIndex::find(const std::string& name, OutputRow& row) {
  const auto place = index_.find(name);
  if (place == index_.end()) return Found::none;
  Entry& entry = entries_[place->second];
  entry.seen = true;
  if (entry.repeated) return Found::several;
  if (entry.damaged) return Found::damaged;
  row.status = statuses[entry.status];
  for (std::size_t i = 0; i < kept.size(); ++i) {
    InputCell& cell = row.cells[static_cast<std::size_t>(kept[i])];
    cell.kind = entry.kinds[i];
    cell.value = entry.values[i];
  }
  return Found::one;
}

std::vector<std::string_view> GpuIndex::unseen() const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) {
    if (!entry.seen) names.push_back(*entry.name);
  }
  return names;
}

}  // namespace msrun::api_precision_compare
