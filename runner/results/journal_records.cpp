#include "runner/results/journal_records.h"

#include <optional>
#include <utility>
#include <variant>

#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "runner/results/bytes.h"

namespace msrun {
namespace {

void handle(Record&& record, const RecordHandlers& handlers) {
  if (auto* result = std::get_if<ApiResult>(&record)) {
    if (handlers.result) handlers.result(std::move(*result));
  } else if (auto* part = std::get_if<ResultPart>(&record)) {
    if (handlers.part) handlers.part(std::move(*part));
  } else if (const auto* attempt = std::get_if<AttemptNote>(&record)) {
    if (handlers.attempt) handlers.attempt(*attempt);
  } else if (const auto* time = std::get_if<TimeNote>(&record)) {
    if (handlers.time) handlers.time(*time);
  } else if (const auto* death = std::get_if<DeathNote>(&record)) {
    if (handlers.death) handlers.death(*death);
  } else if (auto* rank = std::get_if<RankCalls>(&record)) {
    if (handlers.rank) handlers.rank(std::move(*rank));
  }
}

}  // namespace

journal::Recovery read_records(const journal::Source& source, const RecordHandlers& handlers) {
  std::uint64_t number = 0;
  return journal::read(source, [&](std::string_view bytes) {
    ++number;
    std::optional<Record> record;
    try {
      record = decode_record(bytes);
    } catch (const RecordError& error) {
      const std::string what =
          source.name() + ": record " + std::to_string(number) + " cannot be read: " + error.what();
      if (!handlers.unreadable) throw UserError(what);
      handlers.unreadable(what);
      return;
    }
    handle(std::move(*record), handlers);
  });
}

std::vector<std::string> losses_of(const journal::Recovery& recovery, std::uint64_t unreadable) {
  std::vector<std::string> losses;
  const auto is = [](std::uint64_t count) { return count == 1 ? " is " : " are "; };
  if (recovery.damaged_regions > 0) {
    losses.push_back(counted_with_commas(recovery.damaged_bytes, "byte") + " in " +
                     counted_with_commas(recovery.damaged_regions, "place") + is(recovery.damaged_bytes) + "damaged");
  }
  if (recovery.torn_tail) {
    losses.push_back(counted_with_commas(recovery.torn_bytes, "byte") + " at the end" + is(recovery.torn_bytes) +
                     "torn");
  }
  if (recovery.missing_frames > 0) {
    losses.push_back(with_commas(recovery.missing_frames) + (recovery.missing_frames == 1 ? " batch" : " batches") +
                     is(recovery.missing_frames) + "missing by number");
  }
  if (unreadable > 0) losses.push_back(counted_with_commas(unreadable, "record") + " cannot be read");
  return losses;
}

std::string losses_text(const journal::Recovery& recovery, std::uint64_t unreadable) {
  std::string text;
  for (const std::string& loss : losses_of(recovery, unreadable)) text += (text.empty() ? "" : ", ") + loss;
  return text;
}

}  // namespace msrun
