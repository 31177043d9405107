// The bytes of records: kinds, versions and fields, and what is refused.
#include "runner/results/record.h"

#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "runner/results/bytes.h"
#include "tests/runner/results/support.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class F>
std::string error_of(const F& body) {
  try {
    body();
  } catch (const RecordError& error) {
    return error.what();
  }
  return "no error";
}

void expect_equal(const std::optional<Difference>& difference, const std::optional<Difference>& expected) {
  ASSERT_EQ(difference.has_value(), expected.has_value());
  if (!difference) return;
  const DifferenceMap& map = difference->map;
  const DifferenceMap& other = expected->map;
  EXPECT_EQ(map.kind, other.kind);
  EXPECT_EQ(map.elements, other.elements);
  EXPECT_EQ(map.wrong, other.wrong);
  EXPECT_EQ(map.region, other.region);
  EXPECT_EQ(map.first, other.first);
  EXPECT_EQ(map.last, other.last);
  EXPECT_EQ(map.place, other.place);
  EXPECT_EQ(map.block, other.block);
  EXPECT_EQ(map.period, other.period);
  EXPECT_EQ(map.axis, other.axis);
  EXPECT_EQ(map.picture, other.picture);
  EXPECT_EQ(map.cell_rows, other.cell_rows);
  EXPECT_EQ(map.cell_columns, other.cell_columns);
  EXPECT_EQ(difference->errors.relative, expected->errors.relative);
  EXPECT_EQ(difference->errors.ulps, expected->errors.ulps);
  EXPECT_EQ(difference->explained, expected->explained);
}

void expect_equal(const std::optional<AskedRules>& judgement, const std::optional<AskedRules>& expected) {
  ASSERT_EQ(judgement.has_value(), expected.has_value());
  if (!judgement) return;
  EXPECT_EQ(judgement->explained, expected->explained);
  EXPECT_EQ(judgement->veto, expected->veto);
  ASSERT_EQ(judgement->asked.size(), expected->asked.size());
  for (std::size_t i = 0; i < judgement->asked.size(); ++i) {
    EXPECT_EQ(judgement->asked[i].rule, expected->asked[i].rule);
    EXPECT_EQ(judgement->asked[i].open, expected->asked[i].open);
    EXPECT_EQ(judgement->asked[i].share, expected->asked[i].share);
  }
}

void expect_equal(const std::vector<DetailsRow>& rows, const std::vector<DetailsRow>& expected) {
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].bench_dtype, expected[i].bench_dtype);
    EXPECT_EQ(rows[i].device_dtype, expected[i].device_dtype);
    EXPECT_EQ(rows[i].shape, expected[i].shape);
    EXPECT_EQ(rows[i].message, expected[i].message);
    EXPECT_EQ(rows[i].status, expected[i].status);
    EXPECT_EQ(rows[i].rounding_only, expected[i].rounding_only);
    EXPECT_EQ(rows[i].cells, expected[i].cells);
    expect_equal(rows[i].judgement, expected[i].judgement);
    expect_equal(rows[i].difference, expected[i].difference);
  }
}

TEST(Records, GiveBackEveryFieldOfAResult) {
  for (const ApiResult& result : varied_results(300)) {
    const ApiResult back = decode_result(encode(result));
    EXPECT_EQ(back.task, result.task);
    EXPECT_EQ(back.name, result.name);
    EXPECT_EQ(back.device, result.device);
    EXPECT_EQ(back.forward, result.forward);
    EXPECT_EQ(back.backward, result.backward);
    EXPECT_EQ(back.rounding_only, result.rounding_only);
    EXPECT_EQ(back.outcome, result.outcome);
    EXPECT_EQ(back.tested_on, result.tested_on);
    EXPECT_EQ(back.message, result.message);
    EXPECT_EQ(back.unsaved, result.unsaved);
    EXPECT_EQ(back.times.materialise, result.times.materialise);
    EXPECT_EQ(back.times.device, result.times.device);
    EXPECT_EQ(back.times.benchmark, result.times.benchmark);
    EXPECT_EQ(back.times.compare, result.times.compare);
    EXPECT_EQ(back.inputs, result.inputs);
    EXPECT_EQ(back.run.thread, result.run.thread);
    EXPECT_EQ(back.run.began, result.run.began);
    EXPECT_EQ(back.run.took, result.run.took);
    ASSERT_EQ(back.input_notes.size(), result.input_notes.size());
    for (std::size_t i = 0; i < back.input_notes.size(); ++i) {
      EXPECT_EQ(back.input_notes[i].name, result.input_notes[i].name);
      EXPECT_EQ(back.input_notes[i].dtype, result.input_notes[i].dtype);
      EXPECT_EQ(back.input_notes[i].shape, result.input_notes[i].shape);
      EXPECT_EQ(back.input_notes[i].least, result.input_notes[i].least);
      EXPECT_EQ(back.input_notes[i].most, result.input_notes[i].most);
      EXPECT_EQ(back.input_notes[i].is_finite, result.input_notes[i].is_finite);
    }
    ASSERT_EQ(back.overflow.has_value(), result.overflow.has_value());
    if (back.overflow) {
      EXPECT_EQ(back.overflow->verdict, result.overflow->verdict);
      EXPECT_EQ(back.overflow->bench, result.overflow->bench);
      EXPECT_EQ(back.overflow->device, result.overflow->device);
    }
    expect_equal(back.forward_rows, result.forward_rows);
    expect_equal(back.backward_rows, result.backward_rows);
    EXPECT_EQ(encode(back), encode(result));
  }
}

TEST(Records, GiveBackNotes) {
  const Record attempt = decode_record(encode(AttemptNote{AttemptNote::Event::in_flight, {7, 1'000'000, 0}}));
  ASSERT_TRUE(std::holds_alternative<AttemptNote>(attempt));
  EXPECT_EQ(std::get<AttemptNote>(attempt).event, AttemptNote::Event::in_flight);
  EXPECT_THAT(std::get<AttemptNote>(attempt).tasks, ElementsAre(7, 1'000'000, 0));
  const Record time = decode_record(encode(TimeNote{12.5}));
  ASSERT_TRUE(std::holds_alternative<TimeNote>(time));
  EXPECT_EQ(std::get<TimeNote>(time).time, 12.5);
  EXPECT_THAT(error_of([] { decode_result(encode(TimeNote{})); }), HasSubstr("no result"));
  const Record death = decode_record(encode(DeathNote{7, -1, "killed", true, {{3, 2, 5, true, false}}}));
  ASSERT_TRUE(std::holds_alternative<DeathNote>(death));
  const DeathNote& note = std::get<DeathNote>(death);
  EXPECT_EQ(note.time, 7U);
  EXPECT_EQ(note.device, -1);
  EXPECT_EQ(note.reason, "killed");
  EXPECT_TRUE(note.given_up);
  ASSERT_EQ(note.calls.size(), 1U);
  EXPECT_EQ(note.calls[0].task, 3U);
  EXPECT_EQ(note.calls[0].thread, 2U);
  EXPECT_EQ(note.calls[0].began, 5U);
  EXPECT_TRUE(note.calls[0].blamed);
  EXPECT_FALSE(note.calls[0].again);
}

// The bytes that format.md gives.
TEST(Records, AreWhatTheFormatSays) {
  using namespace std::string_literals;
  EXPECT_EQ(encode(AttemptNote{AttemptNote::Event::in_flight, {3, 300}}),
            "\x02\x01R\xD2"
            "\x01"          // in flight
            "\x02"          // two tasks
            "\x03\xAC\x02"  // 3 and 300
            ""s);
  EXPECT_EQ(encode(TimeNote{1.0}), "\x81\x01R\xD2\0\0\0\0\0\0\xF0\x3F"s);
  ApiResult result;
  result.task = 300;
  result.name = "Torch.add.0";
  result.device = -1;
  result.forward = Status::warning;
  result.backward = Status::pass;
  result.message = "m";
  result.times = {1, 2, 128, 4};
  result.inputs = 0x0807060504030201;
  DetailsRow row(pytorch_columns());
  row.bench_dtype = "b";
  row.device_dtype = "d";
  row.shape = "()";
  row.message = "";
  row.status = Status::error;
  row.rounding_only = true;
  row[Metric::max_abs_error] = Cell::fp32(1.0);
  row.trust = {WeakEvidence::constant, VisibleFault{-8, -10}};
  row.judgement = {{{11, 3, 0.5}}, true, 2};
  result.backward_rows = {row};
  result.beyond_rounding = true;
  result.weak_evidence = WeakEvidence::nothing_compared;
  result.outcome = Outcome::failed_to_run;
  result.tested_on = TestedOn::recorded;
  result.checksums.outputs = {9};
  result.repeats = {3, 1, false, "of", ""};
  result.agreement = {Agreement::Verdict::blamed, "", "", {{2, 8, true}}};
  result.run = {3, 129, 7};
  result.unsaved = "w";
  result.input_notes = {{"x", "e", "s", std::nullopt, 1.0, false}};
  EXPECT_EQ(encode(result),
            "\x01\x07R\xD2"
            "\xAC\x02"                               // task
            "\x0BTorch.add.0"                        // name
            "\x01"                                   // device
            "\x01"                                   // warning
            "\x01\0"                                 // there is a backward: pass
            "\0"                                     // not explained by rounding
            "\x01m"                                  // message
            "\x01\x02\x80\x01\x04"                   // times
            "\x01\x02\x03\x04\x05\x06\x07\x08"       // inputs
            "\0"                                     // no finding of an overflow check
            "\x03\x02"                               // failed to run, tested on what was recorded
            "\1\6"                                   // an output is beyond rounding, nothing was compared
            "\1\x09\0\0\0\0\0\0\0"                   // the checksum of one output
            "\0"                                     // no gradients
            "\1\3\1\0\2of\0"                         // one of three runs differs: of
            "\1\3\0\0\1\4\x08\0\0\0\0\0\0\0\1"       // a device is to blame: 2, which gave 8
            "\3\x81\1\7"                             // on thread 3, at 129 for 7 microseconds
            "\1\1x\1e\1s\0\1\0\0\0\0\0\0\xF0\x3F\0"  // an input: x, e, s; no least, 1.0; not all finite
            "\1w"                                    // its tensors could not be saved: w
            "\0"                                     // no rows of the forward
            "\x01"                                   // one of the backward
            "\x01"
            "b\x01"
            "d\x02()\0"
            "\x02\x01"                            // error, explained by rounding
            "\0\2\1\x0F\x13"                      // not beyond it; constant; of one -8, of all -10
            "\x01\x11\0\x02\0\0\0\0\0\0\xF0\x3F"  // of columns 1, 17 cells: blank, fp32 1.0
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
            "\0"                                     // nothing is known about a difference
            "\1\1\x0B\3\0\0\0\0\0\0\xE0\x3F\1\2"s);  // rule 11 left 3 open, 0.5; explained; veto 2
}

// The bytes that a result without rows had before there were outcomes.
std::string in_version_1(const ApiResult& result) {
  std::string bytes = encode(result);
  bytes[1] = 1;
  bytes.erase(bytes.size() - 15, 13);
  return bytes;
}

TEST(Records, OfVersion2SayNothingOfTrust) {
  ApiResult result;
  result.name = "Torch.add.0";
  result.outcome = Outcome::failed_to_run;
  result.beyond_rounding = true;
  result.weak_evidence = WeakEvidence::constant;
  std::string bytes = encode(result);
  bytes[1] = 2;
  bytes.erase(bytes.size() - 13, 11);
  const ApiResult read = decode_result(bytes);
  EXPECT_EQ(read.outcome, Outcome::failed_to_run);
  EXPECT_FALSE(read.beyond_rounding);
  EXPECT_EQ(read.weak_evidence, WeakEvidence::none);
}

TEST(Records, OfVersion3SayNothingOfRunsAndDevices) {
  ApiResult result;
  result.name = "Torch.add.0";
  result.weak_evidence = WeakEvidence::constant;
  std::string bytes = encode(result);
  bytes[1] = 3;
  // Three lists, two options and three numbers and a text in front of the two lists of rows.
  bytes.erase(bytes.size() - 11, 9);
  const ApiResult read = decode_result(bytes);
  EXPECT_EQ(read.weak_evidence, WeakEvidence::constant);
  EXPECT_EQ(read.checksums, Checksums());
  EXPECT_FALSE(read.repeats);
  EXPECT_FALSE(read.agreement);
}

TEST(Records, OfVersion1HaveTheOutcomeThatTheirReasonTells) {
  struct Case {
    Status forward;
    std::int32_t device;
    std::string message;
    Outcome outcome;
  };
  for (const Case& expected : {
           Case{Status::warning, 0, "", Outcome::checked},
           Case{Status::skip, -1, "API Torch.to.0 not support for acc_check. SKIP.", Outcome::skipped_by_rule},
           Case{Status::skip, 0, "Dtype is not supported: torch.x", Outcome::not_checkable},
           Case{Status::skip, 0, "Not enough memory to run the call.", Outcome::failed_to_run},
           Case{Status::skip, 3, "Internal error: x", Outcome::failed_to_run},
           Case{Status::skip, 2, "The runner of device 2 died while running this API: killed by signal 9, attempt 3.",
                Outcome::failed_to_run},
           Case{Status::skip, 2, "The call needs more than the 8 MiB of memory that --memory allows: x.",
                Outcome::failed_to_run},
       }) {
    ApiResult result;
    result.name = "Torch.add.0";
    result.device = expected.device;
    result.forward = expected.forward;
    result.message = expected.message;
    const ApiResult read = decode_result(in_version_1(result));
    EXPECT_EQ(read.outcome, expected.outcome) << expected.message;
    EXPECT_EQ(read.tested_on, TestedOn::unknown);
    EXPECT_EQ(read.message, expected.message);
  }
}

TEST(Records, OfVersion2HaveNoDifferences) {
  ApiResult result;
  result.name = "Torch.add.0";
  result.forward = Status::error;
  result.outcome = Outcome::checked;
  result.backward_rows.emplace_back(pytorch_columns());
  std::string bytes = encode(result);
  bytes[1] = 2;
  // Neither difference nor judgement behind the 19 bytes of the cells, no trust of the row in front of them, none of
  // the result in front of the 11 bytes of lists and row.
  bytes.resize(bytes.size() - 2);
  bytes.erase(bytes.size() - 19 - 3, 3);
  bytes.erase(bytes.size() - 19 - 11 - 11, 11);
  const ApiResult read = decode_result(bytes);
  expect_equal(read.backward_rows, result.backward_rows);
  result.backward_rows[0].difference = varied_difference(9);
  expect_equal(decode_result(encode(result)).backward_rows, result.backward_rows);
}

TEST(Records, TellTheColumnsOfARow) {
  ApiResult result = skip_result(0, "Torch.add.0", "reason", Outcome::not_checkable);
  EXPECT_EQ(decode_result(encode(result)).forward_rows.at(0).columns, nullptr);
  result.forward_rows.emplace_back(pytorch_columns());
  EXPECT_EQ(decode_result(encode(result)).forward_rows.at(1).columns, &pytorch_columns());

  static constexpr std::array<Column, 1> column{{{Metric::cosine, "Cosine", "Cosine"}}};
  const ColumnSet later(200, {"a", "b", "c"}, column, append_cell_text);
  result.forward_rows.emplace_back(later);
  EXPECT_EQ(error_of([&] { decode_result(encode(result)); }),
            "a row has columns of set 200, which this msrun does not know");
}

TEST(Records, CutShortOrWithSurplusBytesAreRefused) {
  for (const std::string& bytes : {encode(varied_results(24).back()), encode(AttemptNote{{}, {1, 2}}),
                                   encode(TimeNote{1}), encode(DeathNote{1, 0, "x", false, {{1, 2, 3, true, true}}})}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(decode_record(std::string_view(bytes).substr(0, size)), RecordError) << size;
    }
    EXPECT_THAT(error_of([&] { decode_record(bytes + "x"); }), HasSubstr("1 bytes are left behind its last field"));
  }
}

TEST(Records, WithValuesOutOfRangeAreRefused) {
  const std::string note = encode(AttemptNote{AttemptNote::Event::end, {}});
  std::string event = note;
  event[4] = 3;
  EXPECT_THAT(error_of([&] { decode_record(event); }), HasSubstr("out of its range"));
  const std::string prefix = note.substr(0, 5);
  EXPECT_THROW(decode_record(prefix + std::string("\x01\x80\0", 3)), RecordError) << "a longer number than need be";
  EXPECT_THROW(decode_record(prefix + "\x01\xFF\xFF\xFF\xFF\x10"), RecordError) << "a task of 33 bits";
  EXPECT_THROW(decode_record(prefix + "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), RecordError) << "65 bits";
  EXPECT_THROW(decode_record(prefix + "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), RecordError)
      << "more than there are";
}

TEST(Records, OfALaterProgramAreRefusedInPlainWordsUnlessTheyOnlyAdd) {
  std::string result = encode(skip_result(0, "Torch.add.0", "reason", Outcome::not_checkable));
  result[1] = 8;
  EXPECT_EQ(error_of([&] { decode_record(result); }),
            "a result of version 8, which a later msrun has written; this one reads up to version 7");
  result[1] = 0;
  EXPECT_THAT(error_of([&] { decode_record(result); }), HasSubstr("version 0"));
  const auto of_kind = [](unsigned kind) { return static_cast<char>(kind) + std::string("\x01R\xD2 and whatever"); };
  EXPECT_EQ(error_of([&] { decode_record(of_kind(0x7F)); }),
            "a record of kind 127, which this msrun does not know; a later one may");
  EXPECT_TRUE(std::holds_alternative<UnknownNote>(decode_record(of_kind(0x8F))));
  std::string time = encode(TimeNote{1});
  time[1] = 2;
  EXPECT_TRUE(std::holds_alternative<UnknownNote>(decode_record(time + "more")));
}

// How a record grows: its second version has one field more, in the middle.
struct Growing {
  std::uint32_t first = 1;
  std::string added = "as declared";
  bool last = false;
};

template <class Archive, class T>
void fields_of(Archive& archive, T& growing) {
  archive.number(growing.first);
  if (archive.has(2)) archive.text(growing.added);
  archive.flag(growing.last);
}

TEST(Fields, OfAnEarlierVersionKeepTheirDeclaredValue) {
  Growing read;
  ByteReader earlier(std::string_view("\x09\x01", 2), 1);
  fields_of(earlier, read);
  earlier.end();
  EXPECT_EQ(read.first, 9U);
  EXPECT_EQ(read.added, "as declared");
  EXPECT_TRUE(read.last);
  std::string bytes;
  ByteWriter writer(bytes);
  const Growing written{5, "new", true};
  fields_of(writer, written);
  ByteReader later(bytes, 2);
  fields_of(later, read);
  later.end();
  EXPECT_EQ(read.added, "new");
}

template <class T>
void expect_number(T value) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.number(value);
  ByteReader reader(bytes, 1);
  T back = 0;
  reader.number(back);
  reader.end();
  EXPECT_EQ(back, value);
}

TEST(Fields, NumbersOfAnySizeAndSign) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t off : {0, 1}) {
      expect_number((std::uint64_t{1} << shift) - off);
      expect_number(static_cast<std::int64_t>((std::uint64_t{1} << shift) - off));
      expect_number(-static_cast<std::int64_t>((std::uint64_t{1} << (shift % 63)) - off));
    }
  }
  expect_number(std::numeric_limits<std::int32_t>::min());
  expect_number(std::numeric_limits<std::int64_t>::min());
  expect_number(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace msrun
