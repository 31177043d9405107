#include "orchestrator/plan/plan.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/hash.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/dump_json.h"
#include "orchestrator/plan/att_pair.h"
#include "orchestrator/plan/plan_builder.h"
#include "orchestrator/plan/read_recording.h"
#include "runner/shared/region.h"

namespace msrun {
namespace {

// Every bit of the result depends on every byte.
std::uint64_t spread_hash(std::string_view bytes, std::uint64_t hash) {
  hash = fnv1a(bytes, hash);
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15U;
}

// framework is in lower case (acc_check_pytorch.md 1.1).
const Dialect& require_dialect(const std::string& framework, const std::string& path) {
  if (const Dialect* dialect = find_dialect(framework)) return *dialect;
  throw UserError(path + ": Unsupported framework in api_info: " + bounded(sanitised(framework)));
}

RecordingContents contents_of(const DumpHeader& header, std::size_t calls) {
  return {header.entries, header.left_out, calls, header.left_out_by_type, header.only_checksums};
}

// path: of the recording, which stands before what is wrong with its header; may be empty.
bool has_tensor_files(const Dialect& dialect, const DumpHeader& header, const std::string& path) {
  try {
    return dialect.has_tensor_files(header);
  } catch (const UserError& error) {
    if (path.empty() || std::string_view(error.what()).starts_with(path)) throw;
    throw UserError(sanitised(path) + ": " + error.what());
  }
}

// The task nan_check records whether a call has overflowed, and no values of its tensors.
void refuse_overflow_flags(const std::string& path, ReadRecording& read) {
  if (read.header.task != "nan_check") return;
  const std::size_t refused = read.builder->refuse_without_values(
      "The task nan_check records no values of tensors, from which inputs could be made; record statistics or "
      "tensors.");
  if (refused == 0) return;
  read.warnings.push_back(sanitised(path) +
                          " was recorded with the task nan_check, which keeps no values of tensors: " +
                          std::to_string(refused) + " calls are not checkable; record statistics or tensors.");
}

}  // namespace

RecordingContents ReadRecording::contents() const { return contents_of(header, builder->calls()); }

ReadRecording read_recording(const std::string& path, const PlanOptions& options, const std::string* rank) {
  const auto in_layout = [&](const Dialect& of_framework) -> const Dialect& {
    return dialect_in_layout(of_framework, options.layout);
  };
  const Dialect* dialect = &in_layout(*dialects().front());
  for (bool is_certain = false;; is_certain = true) {
    auto builder = rank == nullptr ? std::make_unique<PlanBuilder>(path, options, *dialect)
                                   : std::make_unique<PlanBuilder>(path, options, *dialect, *rank);
    DumpReader reader(path);
    if (options.keep_results) reader.keep_outputs();
    if (options.filter_compat) reader.keep_signatures();
    reader.choose_dialect([&](std::string_view framework) -> const DumpDialect& {
      const Dialect* told = find_dialect(framework);
      if (told != nullptr && !is_certain) builder->use(in_layout(*told));
      return builder->dialect().dump();
    });
    DumpHeader header =
        reader.read([&](std::string_view entry, DumpEntry&& content) { builder->add(entry, std::move(content)); });
    if (!header.names_framework && !options.framework.empty()) header.framework = options.framework;
    dialect = &in_layout(require_dialect(header.framework, path));
    // The file may name its framework behind the calls only, or leave it to their values: then they are read again.
    if (dialect != &builder->dialect()) continue;
    const bool real_data = has_tensor_files(*dialect, header, options.upstream_errors ? "" : path);
    builder->end_entries();
    ReadRecording read{std::move(builder), std::move(header), real_data, {}, {}};
    if (read.real_data) read.tensor_folder = dialect->tensor_folder(path, read.header);
    read.warnings = read.builder->warnings();
    if (!options.upstream_errors) refuse_overflow_flags(path, read);
    if (!read.header.names_framework && dialect != dialects().front()) {
      read.warnings.push_back("JSON parsing error in framework field: " + path + " does not name its framework, " +
                              std::string(dialect->spellings().front()) + " is assumed.");
    }
    return read;
  }
}

Plan Plan::read(const std::string& path, const PlanOptions& options) {
  ReadRecording read = read_recording(path, options, nullptr);
  read.builder->finish(read.real_data);
  Plan plan = of(*read.builder, read.real_data, path);
  plan.contents_ = read.contents();
  plan.tensor_folder_ = std::move(read.tensor_folder);
  plan.origin_ = std::move(read.header.origin);
  plan.warnings_ = std::move(read.warnings);
  return plan;
}

Plan Plan::read_att(const std::string& forward, const std::string& backward, const PlanOptions& options) {
  PlanBuilder builder(forward, options, dialect_in_layout(pytorch_dialect(), options.layout));
  AttPair pair(forward, backward);
  const auto add = [&](std::string_view entry, DumpEntry&& content) {
    pair.see(entry, content);
    builder.add(entry, std::move(content));
  };
  const DumpHeader header = read_att_pair(forward, backward, add, options.filter_compat);
  pair.check();
  builder.end_entries();
  builder.finish(header.real_data);

  Plan plan = of(builder, header.real_data, forward);
  plan.contents_ = contents_of(header, builder.calls());
  // The older tool recorded paths that are absolute, or begin at a directory beside its two files.
  std::filesystem::path folder = std::filesystem::path(forward).parent_path();
  if (folder.empty()) folder = ".";
  plan.tensor_folder_ = {folder, {folder}};
  return plan;
}

Plan Plan::of(PlanBuilder& builder, bool real_data, const std::string& path) {
  Plan plan;
  plan.dialect_ = &builder.dialect();
  plan.real_data_ = real_data;
  plan.repeated_ = builder.repeated();
  plan.unmet_patterns_ = builder.filter().warnings();
  if (builder.records().empty() && builder.calls() > 0) plan.refusal_ = builder.filter().refusal();
  plan.warnings_ = builder.warnings();
  plan.lay_out(builder.records(), builder.bytes(), path);
  return plan;
}

void Plan::lay_out(const std::vector<PlanRecord>& records, const std::string& bytes, const std::string& path) {
  if (records.size() >= UINT32_MAX) throw UserError(path + ": more calls than can be planned.");
  const std::size_t record_bytes = records.size() * sizeof(PlanRecord);
  region_ = shared_memory(std::max<std::size_t>(record_bytes + bytes.size(), 1));
  auto* at = static_cast<char*>(region_.get_address());
  std::copy(records.begin(), records.end(), reinterpret_cast<PlanRecord*>(at));
  std::copy(bytes.begin(), bytes.end(), at + record_bytes);
  view_.tasks = {reinterpret_cast<const PlanRecord*>(at), records.size()};
  view_.bytes = at + record_bytes;

  fingerprint_ = fnv1a_start;
  for (std::uint32_t task = 0; task < records.size(); ++task) {
    for (const std::string_view part :
         {view_.title(task), view_.call(task), view_.gradients(task), view_.skip_reason(task)}) {
      fingerprint_ = spread_hash(part, fingerprint_);
    }
  }
  for (const PlannedRank& rank : ranks_) {
    fingerprint_ = spread_hash(rank.calls.rank, fingerprint_) ^ rank.fingerprint;
  }
}

std::vector<std::uint32_t> Plan::order(const std::vector<bool>& finished, bool dump_order) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t task = 0; task < size(); ++task) {
    if (!finished[task] && view_.tasks[task].skip_size == 0) order.push_back(task);
  }
  if (!dump_order) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return view_.tasks[a].cost > view_.tasks[b].cost; });
  }
  return order;
}

}  // namespace msrun
