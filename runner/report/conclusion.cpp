#include "runner/report/conclusion.h"

#include "kernels/base/counted.h"
#include "kernels/base/text.h"

namespace msrun::report {
namespace {

std::string findings(const RunRecords& records, const Foremost& foremost) {
  const VerdictCounts& counts = records.counts;
  const std::uint64_t checked = counts.compared();
  std::string text;
  if (counts.suspicious() > 0 && !records.sources.judges_rounding) {
    text = with_commas(counts.error) + " of " + counted_with_commas(checked, "checked call") +
           (counts.error == 1 ? " is an error" : " are errors") + " and " + with_commas(counts.warning) +
           (counts.warning == 1 ? " is a warning" : " are warnings") + " by the documented limits, in " +
           counted_with_commas(foremost.apis, "API") + "; what rounding explains is not known. Look at " +
           foremost.name + " first.";
  } else if (counts.suspicious() > 0) {
    text = with_commas(counts.suspicious()) + " of " + counted_with_commas(checked, "checked call") +
           (counts.suspicious() == 1 ? " is" : " are") + " suspicious, in " +
           counted_with_commas(foremost.apis, "API") + "; look at " + foremost.name + " first";
    if (!foremost.cause.empty()) text += ": " + foremost.cause;
    if (!text.ends_with('.')) text += '.';
  } else if (checked > 0) {
    text = "No call is suspicious: " +
           std::string(checked == 1 ? "the one call" : "all " + counted_with_commas(checked, "call")) + " that " +
           (checked == 1 ? "was" : "were") + " checked agree" + (checked == 1 ? "s" : "") + " with the benchmark, " +
           (records.sources.judges_rounding ? "as far as rounding allows." : "by the documented limits.");
  } else {
    text = "Nothing was checked.";
  }
  return text;
}

}  // namespace

Conclusion conclusion_of(const RunRecords& records, const Foremost& foremost) {
  const VerdictCounts& counts = records.counts;
  Conclusion conclusion{"good", findings(records, foremost)};
  if (counts.failed_to_run > 0) {
    conclusion.tone = "caution";
    conclusion.sentence += " " + counted_with_commas(counts.failed_to_run, "call") + " failed to run.";
  }
  if (counts.nothing_compared > 0) {
    conclusion.tone = "caution";
    conclusion.sentence += " " + counted_with_commas(counts.nothing_compared, "call") +
                           (counts.nothing_compared == 1 ? " has" : " have") + " no output that can be compared.";
  }
  if (counts.backward_unchecked > 0) {
    conclusion.tone = "caution";
    conclusion.sentence +=
        " The backward of " + counted_with_commas(counts.backward_unchecked, "call") + " could not be checked.";
  }
  if (counts.compared() == 0) conclusion.tone = "caution";
  if (!records.part.name.empty()) {
    conclusion.sentence += " Only " + sanitised(records.part.name) +
                           " was to be checked here: " + with_commas(records.part.calls.value_or(records.finished)) +
                           " of " + counted_with_commas(records.planned, "call") + ".";
  }
  if (const std::uint64_t missing = missing_calls(records); missing > 0) {
    conclusion.tone = "caution";
    conclusion.sentence += " The run is not complete: " + counted_with_commas(missing, "call") +
                           (missing == 1 ? " has" : " have") + " no result yet.";
  }
  if (counts.suspicious() > 0) conclusion.tone = "bad";
  return conclusion;
}

}  // namespace msrun::report
