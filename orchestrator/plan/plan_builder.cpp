#include "orchestrator/plan/plan_builder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/api/call_codec.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "orchestrator/plan/cost.h"
#include "orchestrator/plan/duplicates.h"

namespace msrun {

namespace {

// Whether a tensor has extrema that leave no sensible numbers to draw, and no file.
bool has_no_range(const Value& recorded) {
  bool any = false;
  for_each_leaf(recorded, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr || !spec->file().empty()) return;
    for (const auto& extremum : {spec->max_finite ? spec->max_finite : spec->max,  //
                                 spec->min_finite ? spec->min_finite : spec->min}) {
      any = any || !std::isfinite(extremum.value_or(0));
    }
  });
  return any;
}

// Whether of a tensor nothing was recorded from which its elements could be made.
bool has_no_values(const Value& recorded) {
  bool any = false;
  for_each_leaf(recorded, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    any = any || (spec != nullptr && spec->file().empty() && !spec->max && !spec->min && recorded_elements(*spec) > 0);
  });
  return any;
}

// Whether a tensor is recorded to take part in the backward that cannot: one of integers or flags.
bool has_impossible_gradient(const Value& recorded) {
  bool any = false;
  for_each_leaf(recorded, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    const std::optional<DType> dtype =
        spec == nullptr || !spec->requires_grad ? std::nullopt : parse_dtype(spec->dtype);
    any = any || (dtype && !is_floating(*dtype) && !is_complex(*dtype));
  });
  return any;
}

template <class Test>
bool any_argument(const ApiCall& call, const Test& test) {
  return std::ranges::any_of(call.args, test) ||
         std::ranges::any_of(call.kwargs, [&](const auto& entry) { return test(entry.second); });
}

}  // namespace

ApiCall planned_call(const PlanRecord& record, std::string_view bytes) {
  ApiCall call = decode_call(bytes.substr(record.call_offset, record.call_size));
  call.has_backward = record.grad_size > 0;
  if (call.has_backward) {
    std::string_view gradients = bytes.substr(record.grad_offset, record.grad_size);
    call.grad_inputs = *decode_value(gradients).get<List>();
  }
  return call;
}

void estimate_cost(PlanRecord& record, std::string_view bytes) {
  if (record.skip_size > 0) return;
  const CostEstimate estimate = estimate_cost(planned_call(record, bytes));
  record.cost = static_cast<float>(estimate.work);
  record.memory = estimate.memory;
}

void PlanBuilder::add(std::string_view entry, DumpEntry&& content) {
  std::string_view base;
  const std::optional<Direction> direction = split_direction(entry, base);
  if (!direction) {
    ++unknown_directions_;
    if (first_unknown_.empty()) first_unknown_ = bounded(sanitised(entry));
    return;
  }
  if (*direction == Direction::forward) {
    add_forward(base, std::move(content));
  } else if (!options_.forward_only) {
    add_lone_backward(base);
    const auto [place, is_first] = backward_.try_emplace(std::string(base));
    if (!is_first) count_duplicate(base);
    Backward& backward = place->second;
    if (options_.keep_results) backward.results = put_list(std::move(content.outputs));
    put_gradients(std::move(content), backward);
  }
}

void PlanBuilder::end_entries() {
  // A copy: a pattern that means nothing but such entries has met no call.
  CallFilter filter = filter_;
  std::uint64_t first = UINT64_MAX;
  for (const auto& [name, backward] : backward_) {
    const std::string shown = bounded(without_controls(name));
    if (index_.contains(shown) || !filter.is_wanted(name)) continue;
    ++lone_backwards_;
    if (backward.gradients.offset >= first) continue;
    first = backward.gradients.offset;
    first_lone_backward_ = shown;
  }
}

std::size_t PlanBuilder::refuse_without_values(const std::string& reason) {
  std::size_t refused = 0;
  for (PlanRecord& record : records_) {
    if (record.skip_size > 0 || !any_argument(planned_call(record, bytes_), has_no_values)) continue;
    set_reason(reason, record);
    ++refused;
  }
  return refused;
}

void PlanBuilder::pair(bool real_data) {
  pair_backward();
  if (options_.filter_duplicates) drop_duplicates();
  if (options_.stream_words) place_in_stream(real_data);
  if (identifies_) tell_apart();
}

void PlanBuilder::finish(bool real_data) {
  pair(real_data);
  for (PlanRecord& record : records_) estimate_cost(record, bytes_);
}

std::vector<std::string> PlanBuilder::warnings() const {
  std::vector<std::string> result;
  if (unknown_directions_ > 0) {
    result.push_back("Entries of " + path_ + " that are neither forward nor backward and are left out: " +
                     std::to_string(unknown_directions_) + "; the first is '" + first_unknown_ + "'.");
  }
  if (duplicates_ > 0) {
    result.push_back("Entries of " + path_ + " that occur again, the later in place of the earlier: " +
                     std::to_string(duplicates_) + "; the first is '" + first_duplicate_ + "'.");
  }
  if (without_range_ > 0) {
    result.push_back(
        "Calls of " + path_ + " with extrema that are NaN or infinite: " + std::to_string(without_range_) +
        "; the first is '" + first_without_range_ +
        "'. Inputs that are drawn from these prove little; a recording with \"task\": \"tensor\" has those "
        "that there were.");
  }
  if (impossible_gradients_ > 0) {
    result.push_back("Calls of " + path_ +
                     " with requires_grad on tensors that are not floating, which is not heeded: " +
                     std::to_string(impossible_gradients_) + "; the first is '" + first_impossible_gradient_ + "'.");
  }
  if (lone_backwards_ > 0) {
    result.push_back("Backward entries that have no forward entry in " + path_ + " and are left out: " +
                     std::to_string(lone_backwards_) + "; the first is '" + first_lone_backward_ + "'.");
  }
  return result;
}

PlanBuilder::Piece PlanBuilder::put(std::string_view text) {
  if (text.size() > UINT32_MAX) throw UserError(path_ + ": an entry is larger than 4 GiB.");
  const Piece piece{bytes_.size(), static_cast<std::uint32_t>(text.size())};
  bytes_ += text;
  return piece;
}

PlanBuilder::Piece PlanBuilder::put_list(List&& list) {
  std::string encoded;
  encode_value(std::move(list), encoded);
  return put(encoded);
}

void PlanBuilder::put_gradients(DumpEntry&& content, Backward& backward) {
  if (!content.problem.empty()) content.grad_inputs = List{Unsupported{content.problem}};
  if (identifies_) backward.identity = identity_of(content.grad_inputs, statistics_);
  backward.gradients = put_list(std::move(content.grad_inputs));
}

std::string PlanBuilder::shown_name(std::string_view base) const {
  // acc_check_pytorch.md 5.1, row 1.
  if (is_formula(base)) {
    throw UserError(path_ + ": api name contains special characters, please check! The entry is '" +
                    bounded(sanitised(base)) + "'.");
  }
  return bounded(without_controls(base));
}

void PlanBuilder::set_reason(const std::string& reason, PlanRecord& record) {
  const Piece piece = put(reason);
  record.skip_offset = piece.offset;
  record.skip_size = piece.size;
}

void PlanBuilder::add_lone_backward(std::string_view base) {
  const std::optional<std::string> reason = dialect_->lone_backward();
  if (!reason) return;
  const std::string name = shown_name(base);
  if (index_.contains(name) || name != base) return;
  ++calls_;
  if (!filter_.is_wanted(name)) return;
  PlanRecord record;
  record.lone_backward = true;
  set_reason(*reason, record);
  put_record(name, record, identity_of_refused(name, *reason, record));
}

CallIdentity PlanBuilder::identity_of_refused(const std::string& name, const std::string& reason,
                                              const PlanRecord& record) const {
  return identifies_ ? identity_of_skip(name, reason, record.skip_by_rule) : CallIdentity();
}

void PlanBuilder::add_forward(std::string_view base, DumpEntry&& content) {
  const std::string name = shown_name(base);
  const auto known = index_.find(name);
  if (known == index_.end() || !records_[known->second].lone_backward) {
    ++calls_;
    if (!filter_.is_wanted(name)) return;
  }
  const Refusal refusal = name == base ? options_.refusal(*dialect_, name)
                          : base.size() > longest_foreign_text
                              ? Refusal{"The API name is too long.", false}
                              : Refusal{"The API name contains control characters.", false};
  const std::string& reason = refusal.reason.empty() ? content.problem : refusal.reason;
  PlanRecord record;
  record.skip_by_rule = !refusal.reason.empty() && refusal.by_rule;
  if (!content.recorded_name.empty()) {
    const Piece piece = put(bounded(without_controls(content.recorded_name)));
    record.recorded_name_offset = piece.offset;
    record.recorded_name_size = piece.size;
  }
  if (options_.filter_compat) signatures_[name] = std::move(content.signature);
  if (reason.empty()) {
    const CallIdentity identity = describe(name, std::move(content), record);
    put_record(name, record, identity);
  } else {
    set_reason(reason, record);
    put_record(name, record, identity_of_refused(name, reason, record));
  }
}

void PlanBuilder::put_record(const std::string& name, PlanRecord record, const CallIdentity& identity) {
  const auto [position, fresh] = index_.try_emplace(name, static_cast<std::uint32_t>(records_.size()));
  if (fresh) {
    const Piece piece = put(name);
    record.name_offset = piece.offset;
    record.name_size = piece.size;
    records_.push_back(record);
    if (identifies_) identities_.push_back(identity);
    return;
  }
  if (identifies_) identities_[position->second] = identity;
  // The last entry of a name wins, at the position of the first.
  PlanRecord& earlier = records_[position->second];
  const bool is_repeated = !earlier.lone_backward;
  record.name_offset = earlier.name_offset;
  record.name_size = earlier.name_size;
  earlier = record;
  if (is_repeated) count_duplicate(name);
}

void PlanBuilder::count_duplicate(std::string_view name) {
  ++duplicates_;
  if (first_duplicate_.empty()) first_duplicate_ = bounded(without_controls(name));
}

CallIdentity PlanBuilder::describe(const std::string& name, DumpEntry&& content, PlanRecord& record) {
  ApiCall call;
  call.name = name;
  call.args = std::move(content.args);
  call.kwargs = std::move(content.kwargs);
  call.output_dtype = std::move(content.output_dtype);
  // Whether a forward overflows is asked of infinite inputs, too.
  if (!options_.forward_only) {
    if (any_argument(call, has_no_range) && without_range_++ == 0) first_without_range_ = name;
    if (any_argument(call, has_impossible_gradient) && impossible_gradients_++ == 0) first_impossible_gradient_ = name;
  }
  const Piece piece = put(encode(call));
  record.call_offset = piece.offset;
  record.call_size = piece.size;
  // What a call gives without its data is not part of what is planned: no fingerprint has it.
  if (!options_.forward_only && !content.output_forms.empty()) {
    const Piece forms = put_list(std::move(content.output_forms));
    record.output_forms_offset = forms.offset;
    record.output_forms_size = forms.size;
  }
  if (options_.keep_results) {
    const Piece results = put_list(std::move(content.outputs));
    record.output_offset = results.offset;
    record.output_size = results.size;
  }
  return identifies_ ? identity_of(call, statistics_) : CallIdentity();
}

void PlanBuilder::pair_backward() {
  for (const auto& [name, backward] : backward_) {
    const auto found = index_.find(name);
    if (found == index_.end()) continue;
    PlanRecord& record = records_[found->second];
    record.grad_offset = backward.gradients.offset;
    record.grad_size = backward.gradients.size;
    record.output_grad_offset = backward.results.offset;
    record.output_grad_size = backward.results.size;
    if (identifies_) identities_[found->second] = combined(identities_[found->second], backward.identity);
  }
  backward_ = {};
  index_ = {};
}

std::string_view PlanBuilder::text(std::uint64_t offset, std::uint32_t size) const {
  return std::string_view(bytes_).substr(offset, size);
}

void PlanBuilder::drop_duplicates() {
  DuplicateFilter filter;
  const auto first_equal = [&](const PlanRecord& record, std::uint32_t number) {
    if (!options_.filter_compat) return filter.first_equal(call_of(record), number);
    const std::string name(text(record.name_offset, record.name_size));
    return filter.first_equal(name, signatures_[name], number);
  };
  std::unordered_map<std::uint32_t, std::size_t> places;  // of a kept record in repeated_
  // Records move while they are gone through.
  std::vector<std::string_view> names;
  for (const PlanRecord& record : records_) names.push_back(text(record.name_offset, record.name_size));
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < records_.size(); ++i) {
    const PlanRecord record = records_[i];
    const std::uint32_t first = record.skip_size > 0 ? i : first_equal(record, i);
    if (first == i) {
      if (identifies_) identities_[kept] = identities_[i];
      records_[kept++] = record;
      continue;
    }
    const auto [place, is_new] = places.try_emplace(first, repeated_.size());
    if (is_new) repeated_.push_back({std::string(names[first]), {}});
    repeated_[place->second].left_out.emplace_back(names[i]);
  }
  signatures_ = {};
  records_.resize(kept);
  if (identifies_) identities_.resize(kept);
}

void PlanBuilder::tell_apart() {
  for (const RankedPattern& pattern : options_.apart) {
    if (!matches_rank(pattern.rank, rank_)) continue;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const std::string name(text(records_[i].name_offset, records_[i].name_size));
      if (!matches_call_of_rank(pattern, rank_, name)) continue;
      identities_[i] = with_name(identities_[i], pattern.rank + ':' + pattern.calls);
    }
  }
}

void PlanBuilder::place_in_stream(bool real_data) {
  std::uint64_t next_word = 0;
  for (PlanRecord& record : records_) {
    if (record.skip_size > 0) continue;
    record.stream_word = next_word;
    next_word += dialect_->stream_words(call_of(record), real_data);
  }
}

}  // namespace msrun
