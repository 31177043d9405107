#include "runner/results/agreement.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/api/operators.h"
#include "kernels/base/hash.h"
#include "runner/results/counts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// The place of the first difference among those that are there in either list.
std::optional<std::size_t> differing_place(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  const auto at = [](const std::vector<std::uint64_t>& list, std::size_t i) { return i < list.size() ? list[i] : 0; };
  std::size_t place = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (at(a, i) != at(b, i)) return place;
    if (at(a, i) != 0) ++place;
  }
  return std::nullopt;
}

const OperatorTraits& traits_of_call(const std::string& name) {
  const std::optional<ApiName> parts = ApiName::parse(without_rank(name));
  return parts ? traits_of(*parts) : ordinary_traits;
}

bool gave_something(const ApiResult& result) {
  return result.forward != Status::skip || result.checksums != Checksums{};
}

class Judgement {
 public:
  explicit Judgement(const Answers& answers)
      : answers_(answers), runs_(answers.runs), traits_(traits_of_call(runs_.front().name)), blames_(runs_.size()) {
    for (std::uint32_t part = 0; part < runs_.size(); ++part) {
      if (gave_something(runs_[part])) giving_.push_back(part);
    }
    blame_silent();
    blame_unsteady();
    compare_bits();
    choose_stand_in();
  }

  const std::vector<std::uint32_t>& wanted() const { return wanted_; }

  // The check that says how the call stands.
  const ApiResult& check() const { return stand_in_ == 0 ? runs_.front() : answers_.checks.at(stand_in_); }

  Agreement agreement() const {
    using Verdict = Agreement::Verdict;
    Agreement agreement;
    bool any = false;
    for (std::uint32_t part = 0; part < runs_.size(); ++part) {
      const ApiResult& run = runs_[part];
      const bool blamed = !blames_[part].empty();
      agreement.answers.push_back({run.device, gave_something(run) ? digest_of(run.checksums) : 0, blamed});
      if (blamed && !any) agreement.reason = blames_[part] == fewer ? "" : blames_[part];
      any = any || blamed;
    }
    std::ranges::sort(agreement.answers, {}, &DeviceAnswer::device);
    agreement.verdict = any          ? Verdict::blamed
                        : undecided_ ? Verdict::undecided
                        : varies_    ? Verdict::may_vary
                                     : Verdict::same;
    agreement.output = output_;
    return agreement;
  }

 private:
  static constexpr std::string_view fewer = "they are the fewer";

  // Equal answers, by the parts that they are from.
  using Group = std::vector<std::uint32_t>;

  void blame_silent() {
    const std::size_t silent = runs_.size() - giving_.size();
    if (silent == 0 || giving_.empty()) return;
    if (silent > giving_.size()) {
      undecided_ = true;
      return;
    }
    for (std::uint32_t part = 0; part < runs_.size(); ++part) {
      if (!gave_something(runs_[part])) blames_[part] = "it did not run the call: " + first_line(runs_[part].message);
    }
  }

  bool is_unsteady_on(std::uint32_t part) const {
    if (is_unsteady(runs_[part])) return true;
    const auto check = answers_.checks.find(part);
    return check != answers_.checks.end() && gave_something(check->second) &&
           !may_differ(runs_[part].checksums, check->second.checksums, traits_);
  }

  // Those that are left are the ones whose bits mean something.
  void blame_unsteady() {
    Group steady;
    for (const std::uint32_t part : giving_) {
      if (!is_unsteady_on(part)) steady.push_back(part);
    }
    none_is_steady_ = steady.empty() && !giving_.empty();
    if (steady.empty() || steady.size() == giving_.size()) return;
    for (const std::uint32_t part : giving_) {
      if (std::ranges::find(steady, part) == steady.end()) blames_[part] = "it does not give the same bits each time";
    }
    giving_ = std::move(steady);
  }

  std::vector<Group> groups() const {
    std::vector<Group> groups;
    for (const std::uint32_t part : giving_) {
      const auto same = std::ranges::find_if(
          groups, [&](const Group& group) { return runs_[group.front()].checksums == runs_[part].checksums; });
      if (same != groups.end()) {
        same->push_back(part);
      } else {
        groups.push_back({part});
      }
    }
    return groups;
  }

  void compare_bits() {
    const std::vector<Group> all = groups();
    if (all.size() < 2) return;
    const Group& largest = *std::ranges::max_element(all, {}, &Group::size);
    varies_ = true;
    for (const Group& group : all) {
      if (&group == &largest) continue;
      const Checksums& usual = runs_[largest.front()].checksums;
      const Checksums& other = runs_[group.front()].checksums;
      if (output_.empty()) output_ = first_difference(usual, other);
      varies_ = varies_ && may_differ(usual, other, traits_);
    }
    if (varies_) return;
    if (none_is_steady_) {
      // It is the call, and who gave what is chance.
      undecided_ = true;
    } else if (2 * largest.size() > giving_.size()) {
      for (const Group& group : all) {
        if (&group == &largest) continue;
        for (const std::uint32_t part : group) blames_[part] = fewer;
      }
    } else {
      ask_benchmark(all);
    }
  }

  // The check of a group's first device, if there is one yet.
  const ApiResult* check_of(const Group& group) const {
    if (group.front() == 0) return &runs_.front();
    const auto found = answers_.checks.find(group.front());
    return found == answers_.checks.end() ? nullptr : &found->second;
  }

  void ask_benchmark(const std::vector<Group>& all) {
    undecided_ = true;
    for (const Group& group : all) {
      if (check_of(group) == nullptr) wanted_.push_back(group.front());
    }
    if (!wanted_.empty()) return;
    const auto is_clean = [&](const Group& group) {
      const ApiResult& check = *check_of(group);
      return check.forward != Status::skip && !is_suspicious_by_values(check);
    };
    if (std::ranges::none_of(all, is_clean)) return;
    for (const Group& group : all) {
      const ApiResult& check = *check_of(group);
      if (!is_suspicious_by_values(check)) continue;
      undecided_ = false;
      ApiResult values = check;
      values.repeats.reset();
      const std::string reason = "the benchmark speaks against it: " + reason_text(reason_of(values));
      for (const std::uint32_t part : group) blames_[part] = reason;
    }
  }

  // A device that refuses the call leaves it unchecked where it was to check it: one that gave something checks it
  // then. A call that failed to run there stays one that may run another time.
  void choose_stand_in() {
    const ApiResult& first = runs_.front();
    if (giving_.empty() || gave_something(first) || first.outcome == Outcome::failed_to_run) return;
    const std::uint32_t part = giving_.front();
    if (answers_.checks.contains(part)) {
      stand_in_ = part;
    } else if (std::ranges::find(wanted_, part) == wanted_.end()) {
      wanted_.push_back(part);
    }
  }

  const Answers& answers_;
  const std::vector<ApiResult>& runs_;
  const OperatorTraits& traits_;
  std::vector<std::string> blames_;  // by part: what speaks against its device; empty if nothing does
  Group giving_;
  std::vector<std::uint32_t> wanted_;
  std::uint32_t stand_in_ = 0;  // the part of the check in place of that of the first device; 0: none
  std::string output_;
  bool none_is_steady_ = false;
  bool varies_ = false;
  bool undecided_ = false;
};

}  // namespace

std::uint64_t digest_of(const Checksums& checksums) {
  std::uint64_t digest = fnv1a_start;
  for (const auto* list : {&checksums.outputs, &checksums.gradients}) {
    const std::string_view bytes(reinterpret_cast<const char*>(list->data()), list->size() * sizeof(std::uint64_t));
    digest = fnv1a(bytes, fnv1a(std::to_string(list->size()), digest));
  }
  return digest == 0 ? 1 : digest;
}

std::string first_difference(const Checksums& a, const Checksums& b) {
  if (const auto place = differing_place(a.outputs, b.outputs)) return "forward.output." + std::to_string(*place);
  if (const auto place = differing_place(a.gradients, b.gradients)) return "backward.output." + std::to_string(*place);
  return {};
}

bool may_differ(const Checksums& a, const Checksums& b, const OperatorTraits& traits) {
  return (a.outputs == b.outputs || traits.outputs_vary()) && (a.gradients == b.gradients || traits.gradients_vary());
}

std::vector<std::uint32_t> wanted_checks(const Answers& answers) { return Judgement(answers).wanted(); }

ApiResult joined(const Answers& answers) {
  const Judgement judgement(answers);
  ApiResult result = judgement.check();
  result.agreement = judgement.agreement();
  // Whoever continues the run has the tensors of all checks kept.
  for (const auto& [part, check] : answers.checks) {
    if (result.unsaved.empty()) result.unsaved = check.unsaved;
  }
  result.times = {};
  const auto add = [&](const PhaseTimes& times) {
    result.times.materialise += times.materialise;
    result.times.device += times.device;
    result.times.benchmark += times.benchmark;
    result.times.compare += times.compare;
  };
  for (const ApiResult& run : answers.runs) add(run.times);
  for (const auto& [part, check] : answers.checks) add(check.times);
  return result;
}

}  // namespace msrun
