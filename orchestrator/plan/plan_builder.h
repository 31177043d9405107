// Collects the calls of a plan, and the bytes that they are described by, while a recording streams by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/io/dump/dump_entry.h"
#include "orchestrator/plan/call_filter.h"
#include "orchestrator/plan/call_identity.h"
#include "orchestrator/plan/plan.h"
#include "runner/dialects/dialect.h"
#include "runner/shared/plan_view.h"

namespace msrun {

// The call of a record among those bytes.
ApiCall planned_call(const PlanRecord& record, std::string_view bytes);
// Fills in what the call of a record costs, unless it is not run.
void estimate_cost(PlanRecord& record, std::string_view bytes);

class PlanBuilder {
 public:
  // path is that of the recording, for messages. All references must outlive the builder.
  PlanBuilder(const std::string& path, const PlanOptions& options, const Dialect& dialect)
      : path_(path), options_(options), dialect_(&dialect), filter_(options.only, options.except) {}
  // That of one of several ranks, whose calls have identities unless options.across_ranks is off.
  PlanBuilder(const std::string& path, const PlanOptions& options, const Dialect& dialect, const std::string& rank)
      : path_(path),
        options_(options),
        dialect_(&dialect),
        rank_(rank),
        filter_(options.only, options.except, rank),
        identifies_(options.across_ranks != AcrossRanks::off),
        statistics_(options.across_ranks == AcrossRanks::values ? Statistics::compared : Statistics::ignored) {}

  // To be called before any entry is added.
  void use(const Dialect& dialect) { dialect_ = &dialect; }
  const Dialect& dialect() const { return *dialect_; }

  // Takes the next entry of the recording. A name may come again: its last entry counts, in the order of the first.
  // Throws UserError for a name that a spreadsheet would run as a formula.
  void add(std::string_view entry, DumpEntry&& content);

  // Call once, when all entries are added, before warnings() and pair(): finds backwards without a forward.
  void end_entries();
  // Refuses for this reason the calls with a tensor of which neither extrema nor a file were recorded. Returns how
  // many.
  std::size_t refuse_without_values(const std::string& reason);
  // Call once after that: pairs forward and backward, drops repeated calls if that is asked for, and
  // gives the calls their places in the random stream.
  void pair(bool real_data);
  // pair(), and estimates what the calls cost.
  void finish(bool real_data);

  const std::vector<PlanRecord>& records() const { return records_; }
  // Those of a rank's records, one each.
  const std::vector<CallIdentity>& identities() const { return identities_; }
  const std::string& bytes() const { return bytes_; }
  // Forward entries, those that are not wanted included.
  std::size_t calls() const { return calls_; }
  const CallFilter& filter() const { return filter_; }
  // What was dropped as duplicates, in the order of the recording.
  const std::vector<RepeatedCall>& repeated() const { return repeated_; }
  // What the user should know about the entries; one sentence each.
  std::vector<std::string> warnings() const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Backward {
    Piece gradients;
    Piece results;
    CallIdentity identity;  // of the gradients
  };

  Piece put(std::string_view text);
  Piece put_list(List&& list);
  void put_gradients(DumpEntry&& content, Backward& backward);
  void add_forward(std::string_view base, DumpEntry&& content);
  // Plans a call of which so far the backward alone was read, if the dialect has a reason to refuse such a call.
  void add_lone_backward(std::string_view base);
  // Throws UserError for a name that a spreadsheet would run as a formula; else the name as it may be shown.
  std::string shown_name(std::string_view base) const;
  void set_reason(const std::string& reason, PlanRecord& record);
  // In place of an earlier record of that name, or behind all others.
  void put_record(const std::string& name, PlanRecord record, const CallIdentity& identity);
  // Puts the call among the bytes.
  CallIdentity describe(const std::string& name, DumpEntry&& content, PlanRecord& record);
  CallIdentity identity_of_refused(const std::string& name, const std::string& reason, const PlanRecord& record) const;
  void count_duplicate(std::string_view name);
  void pair_backward();
  std::string_view text(std::uint64_t offset, std::uint32_t size) const;
  ApiCall call_of(const PlanRecord& record) const { return planned_call(record, bytes_); }
  void drop_duplicates();
  void place_in_stream(bool real_data);
  void tell_apart();

  const std::string& path_;
  const PlanOptions& options_;
  const Dialect* dialect_;
  std::vector<PlanRecord> records_;
  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::unordered_map<std::string, Backward> backward_;
  std::unordered_map<std::string, std::string> signatures_;  // by name; for filter_compat alone
  std::string rank_;
  CallFilter filter_;
  bool identifies_ = false;
  Statistics statistics_ = Statistics::ignored;
  std::vector<CallIdentity> identities_;
  std::size_t calls_ = 0;
  std::vector<RepeatedCall> repeated_;
  std::size_t unknown_directions_ = 0;
  std::string first_unknown_;
  std::size_t duplicates_ = 0;
  std::string first_duplicate_;
  std::size_t without_range_ = 0;
  std::string first_without_range_;
  std::size_t impossible_gradients_ = 0;
  std::string first_impossible_gradient_;
  std::size_t lone_backwards_ = 0;  // that nothing is planned for
  std::string first_lone_backward_;
};

}  // namespace msrun
