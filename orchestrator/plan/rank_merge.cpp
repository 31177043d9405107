#include "orchestrator/plan/rank_merge.h"

#include "kernels/base/error.h"

namespace msrun {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

std::string_view name_in(const PlanRecord& record, std::string_view bytes) {
  return bytes.substr(record.name_offset, record.name_size);
}

}  // namespace

void RankMerge::add(const RankFile& file, const ReadRecording& read) {
  const PlanBuilder& builder = *read.builder;
  const std::vector<PlanRecord>& records = builder.records();
  if (records.size() >= none - records_.size()) throw UserError(file.path + ": more calls than can be planned.");
  PlannedRank& rank = ranks_.emplace_back();
  rank.path = file.path;
  rank.real_data = read.real_data;
  rank.tensor_folder = read.tensor_folder;
  rank.contents = read.contents();
  rank.calls.number = static_cast<std::uint32_t>(ranks_.size() - 1);
  rank.calls.rank = file.rank;
  const bool shares = shares_ && !read.real_data;
  std::vector<std::uint32_t> tasks(records.size(), none);
  if (shares) tasks = tasks_of_the_same_names(builder);
  Fingerprint fingerprint;
  for (std::size_t place = 0; place < records.size(); ++place) {
    std::uint32_t task = tasks[place];
    if (task == none && shares) task = shared_task(builder.identities()[place]);
    if (task == none) {
      task = own_task(builder, place, shares);
      ++rank.own;
    }
    const std::string_view name = name_in(records[place], builder.bytes());
    if (name != name_in(records_[task], bytes_)) {
      rank.calls.other_names.push_back({static_cast<std::uint32_t>(place), std::string(name)});
    }
    rank.calls.add(task);
    const PlanRecord& record = records[place];
    const std::string_view bytes = builder.bytes();
    for (const std::string_view part :
         {name, bytes.substr(record.call_offset, record.call_size), bytes.substr(record.grad_offset, record.grad_size),
          bytes.substr(record.skip_offset, record.skip_size)}) {
      fingerprint.add(part);
    }
  }
  rank.fingerprint = fingerprint.value();
}

void RankMerge::finish() {
  for (PlanRecord& record : records_) estimate_cost(record, bytes_);
}

std::vector<std::uint32_t> RankMerge::tasks_of_the_same_names(const PlanBuilder& builder) {
  const auto rank = static_cast<std::uint32_t>(ranks_.size());
  std::vector<std::uint32_t> tasks(builder.records().size(), none);
  for (std::size_t place = 0; place < tasks.size(); ++place) {
    const std::string_view name = name_in(builder.records()[place], builder.bytes());
    const auto found = named_.find(with_name(builder.identities()[place], name));
    if (found == named_.end() || users_[found->second] == rank) continue;
    tasks[place] = found->second;
    users_[found->second] = rank;
  }
  return tasks;
}

// One that no call of this rank has yet.
std::uint32_t RankMerge::shared_task(const CallIdentity& identity) {
  const auto found = same_.find(identity);
  if (found == same_.end()) return none;
  Tasks& same = found->second;
  const auto rank = static_cast<std::uint32_t>(ranks_.size());
  if (same.rank != rank) {
    same.rank = rank;
    same.next = 0;
  }
  for (; same.next < same.tasks.size(); ++same.next) {
    const std::uint32_t task = same.tasks[same.next];
    if (users_[task] == rank) continue;
    users_[task] = rank;
    return task;
  }
  return none;
}

std::uint32_t RankMerge::own_task(const PlanBuilder& builder, std::size_t place, bool is_shared) {
  const std::string_view bytes = builder.bytes();
  const auto task = static_cast<std::uint32_t>(records_.size());
  PlanRecord record = builder.records()[place];
  const std::string name(name_in(record, bytes));
  copy(bytes, record.name_offset, record.name_size);
  copy(bytes, record.call_offset, record.call_size);
  copy(bytes, record.grad_offset, record.grad_size);
  copy(bytes, record.skip_offset, record.skip_size);
  copy(bytes, record.output_offset, record.output_size);
  copy(bytes, record.output_grad_offset, record.output_grad_size);
  copy(bytes, record.output_forms_offset, record.output_forms_size);
  copy(bytes, record.recorded_name_offset, record.recorded_name_size);
  const std::string title = ranks_.back().calls.rank + ":" + name;
  record.title_offset = bytes_.size();
  record.title_size = static_cast<std::uint32_t>(title.size());
  bytes_ += title;
  record.rank = ranks_.back().calls.number;
  records_.push_back(record);
  users_.push_back(static_cast<std::uint32_t>(ranks_.size()));
  if (is_shared) {
    const CallIdentity& identity = builder.identities()[place];
    same_[identity].tasks.push_back(task);
    named_.emplace(with_name(identity, name), task);
  }
  return task;
}

void RankMerge::copy(std::string_view bytes, std::uint64_t& offset, std::uint32_t size) {
  const std::string_view text = bytes.substr(offset, size);
  offset = bytes_.size();
  bytes_ += text;
}

}  // namespace msrun
