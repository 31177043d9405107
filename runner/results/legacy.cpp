#include "runner/results/legacy.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runner/results/bytes.h"

namespace msrun {
namespace {

constexpr std::uint32_t attempt_marker = 0xFFFFFFFF;
constexpr std::uint32_t time_marker = 0xFFFFFFFE;
constexpr std::uint8_t rounding_bit = 0x80;
constexpr std::uint8_t no_status = 0xFF;
constexpr std::size_t cells_of_a_row = 17;
constexpr std::size_t least_row = 4 * sizeof(std::uint32_t) + 1 + cells_of_a_row;  // bytes

class LegacyReader {
 public:
  explicit LegacyReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    const std::string_view bytes = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<T>(value);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  bool flag() { return number<std::uint8_t>() != 0; }

  template <class E>
  static E enumerator(std::uint8_t value, E last) {
    if (value > static_cast<std::uint8_t>(last)) throw RecordError("a value is out of its range");
    return static_cast<E>(value);
  }
  Status marked_status(bool& rounding_only) {
    const auto byte = number<std::uint8_t>();
    rounding_only = (byte & rounding_bit) != 0;
    return enumerator(static_cast<std::uint8_t>(byte & ~rounding_bit), Status::skip);
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }

  std::vector<DetailsRow> rows() {
    const auto count = number<std::uint32_t>();
    if (count > rest_.size() / least_row) throw RecordError("it is cut short");
    std::vector<DetailsRow> rows(count, DetailsRow(pytorch_columns()));
    for (DetailsRow& row : rows) {
      row.bench_dtype = text();
      row.device_dtype = text();
      row.shape = text();
      row.message = text();
      row.status = marked_status(row.rounding_only);
      for (Cell& cell : std::span(row.cells).first<cells_of_a_row>()) {
        cell.kind = enumerator(number<std::uint8_t>(), Cell::Kind::integer);
        if (cell.kind != Cell::Kind::blank) cell.value = real();
      }
    }
    return rows;
  }

  bool at_end() const { return rest_.empty(); }
  void end() const {
    if (!at_end()) throw RecordError(std::to_string(rest_.size()) + " bytes are left behind its last field");
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw RecordError("it is cut short");
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }

  std::string_view rest_;
};

ApiResult result_of(std::uint32_t task, LegacyReader& in) {
  ApiResult result;
  result.task = task;
  result.name = in.text();
  result.device = in.number<std::int32_t>();
  result.forward = in.marked_status(result.rounding_only);
  const auto backward = in.number<std::uint8_t>();
  if (backward != no_status) result.backward = LegacyReader::enumerator(backward, Status::skip);
  result.message = in.text();
  result.forward_rows = in.rows();
  result.backward_rows = in.rows();
  result.times.materialise = in.number<std::uint64_t>();
  result.times.device = in.number<std::uint64_t>();
  result.times.benchmark = in.number<std::uint64_t>();
  result.times.compare = in.number<std::uint64_t>();
  result.inputs = in.number<std::uint64_t>();
  if (!in.at_end()) {
    OverflowFinding& finding = result.overflow.emplace();
    finding.verdict = LegacyReader::enumerator(in.number<std::uint8_t>(), OverflowFinding::Verdict::not_judged);
    finding.bench = in.flag();
    finding.device = in.flag();
  }
  return result;
}

AttemptNote attempt_of(LegacyReader& in) {
  AttemptNote note;
  note.event = LegacyReader::enumerator(in.number<std::uint8_t>(), AttemptNote::Event::end);
  while (!in.at_end()) note.tasks.push_back(in.number<std::uint32_t>());
  return note;
}

}  // namespace

Record decode_legacy_record(std::string_view bytes) {
  LegacyReader in(bytes);
  const auto task = in.number<std::uint32_t>();
  Record record;
  if (task == attempt_marker) {
    record = attempt_of(in);
  } else if (task == time_marker) {
    record = TimeNote{in.real()};
  } else {
    record = result_of(task, in);
  }
  in.end();
  return record;
}

}  // namespace msrun
