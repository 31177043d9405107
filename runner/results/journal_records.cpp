#include "runner/results/journal_records.h"

#include <optional>
#include <utility>
#include <variant>

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

}  // namespace msrun
