#include "orchestrator/command/journal_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "journal/holder.h"
#include "kernels/base/counted.h"
#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "runner/results/journal_records.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

std::string unsteady_text(const VerdictCounts& counts) {
  std::string text;
  if (counts.unsteady > 0) text += ", unsteady " + with_commas(counts.unsteady);
  if (counts.devices_differ > 0) text += ", not the same on every device " + with_commas(counts.devices_differ);
  return text;
}

std::string counts_line(const VerdictCounts& counts) {
  return "pass " + with_commas(counts.pass) + ", warning " + with_commas(counts.warning) + ", error " +
         with_commas(counts.error) + ", SKIP " + with_commas(counts.skip) + " (" + with_commas(counts.failed_to_run) +
         " failed to run, " + with_commas(counts.skipped_by_rule) + " by rule), suspicious " +
         with_commas(counts.suspicious()) + ", proves little " + with_commas(counts.weak) + unsteady_text(counts);
}

// Text or number of the metadata, fit for one line.
std::string plain(const Json& value) {
  if (value.is_string()) return sanitised(value.get<std::string>());
  return value.is_null() ? "?" : sanitised(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

class Text {
 public:
  void line(std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size() + 1, 14), ' ');
    text_ += title + value + "\n";
  }

  void metadata(const JournalContents& contents) {
    const Json& data = contents.metadata;
    if (data.is_null()) {
      line("Written by", "another program: its " + counted_with_commas(contents.recovery.metadata.size(), "byte") +
                             " of metadata are not msrun's");
      return;
    }
    const auto get = [&](const char* key) { return data.value(key, Json()); };
    line("Written by", "msrun " + plain(get("version")));
    const Json print = get("fingerprint").is_object() ? get("fingerprint") : Json::object();
    const auto option = [&](const char* key) { return plain(print.value(key, Json())); };
    const std::string old_dump = plain(get("forward"));
    const std::string dump = plain(get("api_info"));
    line("Dump", (dump.empty() ? old_dump : dump) + ", " + option("calls") + " calls, fingerprint " + option("dump"));
    std::string faults;
    const Json given = get("sim_faults");
    if (given.is_array()) {
      for (const Json& fault : given) faults += " " + plain(fault);
    }
    line("Backend", plain(get("backend")) + (faults.empty() ? "" : ", faults:" + faults));
    if (contents.simulated()) line("", std::string(simulated_notice));
    line("Options", "seed " + option("seed") + " (" + option("seed_mode") + "), standard " + option("standard") +
                        (print.contains("limits") ? ", limits " + option("limits") : "") +
                        (print.contains("benchmark") ? ", benchmark " + option("benchmark") : "") + ", compat " +
                        option("compat"));
    line("Begun with", plain(get("threads")) + " threads on devices " + plain(get("devices")));
    part(get, print);
    line("Command", plain(get("command")));
  }

  // What there is to say of a run that is one of many, or was made of them.
  template <class Get>
  void part(const Get& get, const Json& print) {
    const std::string shard = plain(print.value("shard", Json()));
    const Json calls = get("shard_calls");
    if (shard == "stolen") line("Part", "what " + plain(get("node")) + " took of the leases");
    if (shard.find('/') != std::string::npos) {
      line("Part", shard + ", " + plain(calls) + " calls, on " + plain(get("host")));
    }
    for (const Json& merged : get("merged")) {
      if (!merged.is_object()) continue;
      line("Merged from", plain(merged.value("journal", Json())) + " (" + plain(merged.value("part", Json())) + ", " +
                              plain(merged.value("host", Json())) + ", " + plain(merged.value("device", Json())) + ")");
    }
  }

  void times(const JournalContents& contents) {
    if (contents.started) line("Begun", local_time_text(*contents.started));
    if (!contents.last_result) return;
    line("Results", "from " + local_time_text(*contents.first_result) + " to " +
                        local_time_text(*contents.last_result) + ", " +
                        duration_text(*contents.last_result - *contents.first_result));
  }

  void results(const JournalContents& contents) {
    line("Calls", with_commas(contents.finished) + " of " + with_commas(contents.calls) +
                      " finished: " + counts_line(contents.counts));
    for (const auto& [device, counts] : contents.devices) {
      const bool none = device < 0;
      line(none ? "  no device" : "  device " + std::to_string(device),
           with_commas(counts.total() + counts.skip) + ": " + counts_line(counts));
    }
    if (!contents.ranks.empty()) {
      std::vector<std::string> names;
      std::uint64_t calls = 0;
      for (const RankCounts& rank : contents.rank_counts) {
        names.push_back(rank.rank);
        calls += rank.calls;
      }
      line("Ranks", with_commas(names.size()) + ", whose " + plural(calls, "call") +
                        " these stand for: " + sanitised(some_ranks(names)));
    }
    if (contents.kept > 0) {
      line("Kept", counted_with_commas(contents.kept, "result") + " of calls that the options of this run leave out");
    }
    if (contents.waiting > 0) {
      line("Waiting", counted_with_commas(contents.waiting, "call") + " that not all devices have run");
    }
    if (contents.replaced > 0) {
      line("Replaced", counted_with_commas(contents.replaced, "result") + " of calls that were run again");
    }
  }

  void size(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    line("Records", with_commas(recovery.records) + " in " +
                        (recovery.frames == 1 ? "1 batch" : with_commas(recovery.frames) + " batches") + ", " +
                        counted_with_commas(contents.attempt_notes, "note") + " of calls in flight among them");
    line("Size", counted_with_commas(contents.disk_bytes, "byte") + ", " +
                     with_commas(contents.recovery.uncompressed_bytes) + " uncompressed; format " +
                     std::to_string(recovery.version));
  }

  void damage(const JournalContents& contents) {
    const journal::Recovery& recovery = contents.recovery;
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    const std::string losses = losses_text(recovery, 0);
    if (!losses.empty()) add(losses + ": the calls recorded there run again with -csv_path");
    if (recovery.torn_tail && contents.writer) add("what is torn may be being written just now");
    if (recovery.repeated_frames > 0)
      add(counted_with_commas(recovery.repeated_frames, "repeated frame") + " passed over");
    if (recovery.displaced_frames > 0) add(counted_with_commas(recovery.displaced_frames, "frame") + " out of place");
    // With these no run goes on.
    if (contents.unreadable > 0) add(losses_text({}, contents.unreadable));
    line("Damage", text.empty() ? "none" : text);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

Slowest slowest_of(const JournalContents& contents, std::size_t most) {
  Slowest slowest(most);
  for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
    if (contents.results.has(task)) slowest.see(contents.results.outline(task));
  }
  return slowest;
}

std::string journal_text(const JournalContents& contents, std::size_t durations) {
  Text text;
  text.line("Journal", contents.path);
  text.metadata(contents);
  text.times(contents);
  if (!contents.metadata.is_null()) text.results(contents);
  text.size(contents);
  text.damage(contents);
  text.line("Writer", contents.writer ? journal::holder_text(*contents.writer) : "none");
  return text.text() + slowest_of(contents, durations).text();
}

}  // namespace msrun
