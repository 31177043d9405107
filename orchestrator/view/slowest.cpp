#include "orchestrator/view/slowest.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>

#include "kernels/base/text.h"

namespace msrun {
namespace {

bool is_slower(const SlowCall& a, const SlowCall& b) {
  return std::tuple(b.total(), a.task) < std::tuple(a.total(), b.task);
}

std::string short_time_text(std::uint64_t nanoseconds) {
  std::array<char, 48> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%9.3f s",
                                                              static_cast<double>(nanoseconds) * 1e-9))};
}

}  // namespace

void Slowest::see(const ApiResult& result) {
  SlowCall call{result.task, result.name, result.times};
  if (call.total() == 0) return;
  if (calls_.size() == most_ && (most_ == 0 || !is_slower(call, calls_.back()))) return;
  calls_.insert(std::ranges::upper_bound(calls_, call, is_slower), std::move(call));
  if (calls_.size() > most_) calls_.pop_back();
}

std::string Slowest::text() const {
  if (calls_.empty()) return {};
  std::string text = "Slowest calls             total       inputs       device    benchmark   comparison\n";
  for (const SlowCall& call : calls_) {
    std::string name = cut_to_width(sanitised(call.name), 60);
    text += "  " + name + "\n                    " + short_time_text(call.total());
    for (const std::uint64_t part :
         {call.times.materialise, call.times.device, call.times.benchmark, call.times.compare}) {
      text += "  " + short_time_text(part);
    }
    text += "\n";
  }
  return text;
}

}  // namespace msrun
