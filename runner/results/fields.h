// What the records are made of, field by field: the one description from which their bytes in rings and journals
// (record.cpp, format.md) and their form in memory (stored_results.cpp) follow.
//
// A new field is one line here, and one more version of its record:
//
//     if (archive.has(2)) archive.number(result.new_field);
//
// A record of an earlier version lacks it, and the field keeps the value that it is declared with. Fields are never
// taken away nor changed, as there are journals that have them. A later version than that is refused (format.md).
#pragma once

#include <concepts>
#include <type_traits>

#include "runner/results/attempts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/record.h"
#include "runner/results/result.h"

namespace msrun {

// The number that tells what a record is, and the latest version of its fields.
template <class T>
struct RecordType;

// Const for archives that write, not const for those that read.
template <class T, class Of>
concept Fields = std::same_as<std::remove_const_t<T>, Of>;

template <>
struct RecordType<ApiResult> {
  static constexpr RecordKind kind = RecordKind::result;
  static constexpr std::uint8_t version = 7;
};

// Part of a row from version 3 on.
template <class Archive>
void fields(Archive& archive, Fields<Difference> auto& difference) {
  auto& map = difference.map;
  archive.enumerator(map.kind, DifferenceMap::Kind::period);
  for (auto* number : {&map.elements, &map.wrong, &map.region, &map.first, &map.last, &map.block, &map.period,
                       &map.axis, &map.cell_rows, &map.cell_columns}) {
    archive.number(*number);
  }
  archive.text(map.place);
  archive.list(map.picture, [&](auto& line) { archive.text(line); });
  archive.list(difference.errors.relative, [&](auto& count) { archive.number(count); });
  archive.list(difference.errors.ulps, [&](auto& count) { archive.number(count); });
  if (archive.has(5)) archive.real(difference.explained);
}

// Part of a row from version 7 on.
template <class Archive>
void fields(Archive& archive, Fields<AskedRules> auto& judgement) {
  archive.list(judgement.asked, [&](auto& asked) {
    archive.number(asked.rule);
    archive.number(asked.open);
    archive.real(asked.share);
  });
  archive.flag(judgement.explained);
  archive.number(judgement.veto);
}

template <class Archive>
void fields(Archive& archive, Fields<DetailsRow> auto& row) {
  archive.common_text(row.bench_dtype);
  archive.common_text(row.device_dtype);
  archive.common_text(row.shape);
  archive.common_text(row.message);
  archive.enumerator(row.status, Status::skip);
  archive.flag(row.rounding_only);
  if (archive.has(3)) {
    archive.flag(row.beyond_rounding);
    archive.enumerator(row.trust.weak_evidence, last_weak_evidence);
    archive.optional(row.trust.visible, [&](auto& visible) {
      archive.number(visible.of_one);
      archive.number(visible.of_all);
    });
  }
  archive.cells(row.columns, row.cells);
  if (archive.has(3)) {
    archive.optional_apart(row.difference, [&](auto& difference) { fields(archive, difference); });
  }
  if (archive.has(7)) archive.optional_apart(row.judgement, [&](auto& judgement) { fields(archive, judgement); });
}

// Part of a result from version 4 on.
template <class Archive>
void fields(Archive& archive, Fields<Repeats> auto& repeats) {
  archive.number(repeats.runs);
  archive.number(repeats.different);
  archive.flag(repeats.may_vary);
  archive.text(repeats.output);
  archive.text(repeats.problem);
}

// Part of a result from version 4 on.
template <class Archive>
void fields(Archive& archive, Fields<Agreement> auto& agreement) {
  archive.enumerator(agreement.verdict, Agreement::Verdict::blamed);
  archive.text(agreement.output);
  archive.text(agreement.reason);
  archive.list(agreement.answers, [&](auto& answer) {
    archive.number(answer.device);
    archive.bits(answer.digest);
    archive.flag(answer.blamed);
  });
}

// Part of a result from version 5 on.
template <class Archive>
void fields(Archive& archive, Fields<InputNote> auto& input) {
  archive.text(input.name);
  archive.common_text(input.dtype);
  archive.common_text(input.shape);
  archive.optional(input.least, [&](auto& value) { archive.real(value); });
  archive.optional(input.most, [&](auto& value) { archive.real(value); });
  archive.flag(input.is_finite);
}

template <class Archive>
void fields(Archive& archive, Fields<ApiResult> auto& result) {
  archive.task(result.task);
  archive.text(result.name);
  archive.number(result.device);
  archive.enumerator(result.forward, Status::skip);
  archive.optional(result.backward, [&](auto& backward) { archive.enumerator(backward, Status::skip); });
  archive.flag(result.rounding_only);
  archive.common_text(result.message);
  archive.number(result.times.materialise);
  archive.number(result.times.device);
  archive.number(result.times.benchmark);
  archive.number(result.times.compare);
  archive.bits(result.inputs);
  archive.optional(result.overflow, [&](auto& finding) {
    archive.enumerator(finding.verdict, OverflowFinding::Verdict::not_judged);
    archive.flag(finding.bench);
    archive.flag(finding.device);
  });
  if (archive.has(2)) archive.enumerator(result.outcome, Outcome::failed_to_run);
  if (archive.has(2)) archive.enumerator(result.tested_on, TestedOn::hardware);
  if (archive.has(3)) archive.flag(result.beyond_rounding);
  if (archive.has(3)) archive.enumerator(result.weak_evidence, last_weak_evidence);
  if (archive.has(4)) {
    archive.list(result.checksums.outputs, [&](auto& checksum) { archive.bits(checksum); });
    archive.list(result.checksums.gradients, [&](auto& checksum) { archive.bits(checksum); });
    archive.optional(result.repeats, [&](auto& repeats) { fields(archive, repeats); });
    archive.optional(result.agreement, [&](auto& agreement) { fields(archive, agreement); });
  }
  if (archive.has(5)) {
    archive.number(result.run.thread);
    archive.number(result.run.began);
    archive.number(result.run.took);
    archive.list(result.input_notes, [&](auto& input) { fields(archive, input); });
  }
  if (archive.has(6)) archive.text(result.unsaved);
  // The rows stay last, so that an outline (StoredResults) can be read without them.
  archive.rows(result.forward_rows);
  archive.rows(result.backward_rows);
}

// A part has the versions of the result that it holds.
template <>
struct RecordType<ResultPart> {
  static constexpr RecordKind kind = RecordKind::part;
  static constexpr std::uint8_t version = RecordType<ApiResult>::version;
};

template <class Archive>
void fields(Archive& archive, Fields<ResultPart> auto& part) {
  archive.number(part.part);
  fields(archive, part.result);
}

template <>
struct RecordType<AttemptNote> {
  static constexpr RecordKind kind = RecordKind::attempt_note;
  static constexpr std::uint8_t version = 1;
};

template <class Archive>
void fields(Archive& archive, Fields<AttemptNote> auto& note) {
  archive.enumerator(note.event, AttemptNote::Event::end);
  archive.list(note.tasks, [&](auto& task) { archive.number(task); });
}

template <>
struct RecordType<TimeNote> {
  static constexpr RecordKind kind = RecordKind::time_note;
  static constexpr std::uint8_t version = 1;
};

template <class Archive>
void fields(Archive& archive, Fields<TimeNote> auto& note) {
  archive.real(note.time);
}

template <>
struct RecordType<DeathNote> {
  static constexpr RecordKind kind = RecordKind::death_note;
  static constexpr std::uint8_t version = 1;
};

template <class Archive>
void fields(Archive& archive, Fields<DeathNote> auto& note) {
  archive.number(note.time);
  archive.number(note.device);
  archive.text(note.reason);
  archive.flag(note.given_up);
  archive.list(note.calls, [&](auto& call) {
    archive.number(call.task);
    archive.number(call.thread);
    archive.number(call.began);
    archive.flag(call.blamed);
    archive.flag(call.again);
  });
}

template <>
struct RecordType<RankCalls> {
  static constexpr RecordKind kind = RecordKind::rank_calls;
  static constexpr std::uint8_t version = 1;
};

template <class Archive>
void fields(Archive& archive, Fields<RankCalls> auto& calls) {
  archive.number(calls.number);
  archive.text(calls.rank);
  archive.list(calls.runs, [&](auto& run) {
    archive.number(run.first);
    archive.number(run.count);
  });
  archive.list(calls.other_names, [&](auto& other) {
    archive.number(other.place);
    archive.text(other.name);
  });
}

}  // namespace msrun
