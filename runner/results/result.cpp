#include "runner/results/result.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace msrun {
namespace {

// In the byte of a status: explained by rounding.
constexpr std::uint8_t rounding_mark = 0x80;

std::uint8_t with_mark(Status status, bool rounding_only) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(status) | (rounding_only ? rounding_mark : 0U));
}

class Encoder {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  void rows(const std::vector<DetailsRow>& rows) {
    number(static_cast<std::uint32_t>(rows.size()));
    for (const DetailsRow& row : rows) {
      text(row.bench_dtype);
      text(row.device_dtype);
      text(row.shape);
      text(row.message);
      number(with_mark(row.status, row.rounding_only));
      for (const Cell& cell : row.cells) {
        number(cell.kind);
        if (cell.kind != Cell::Kind::blank) number(cell.value);
      }
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class E>
  E enumerator(E last) {
    const auto value = number<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) throw std::runtime_error("result record: value out of range");
    return static_cast<E>(value);
  }
  Status marked_status(bool& rounding_only) {
    const auto byte = number<std::uint8_t>();
    rounding_only = (byte & rounding_mark) != 0;
    const auto status = static_cast<std::uint8_t>(byte & ~rounding_mark);
    if (status > static_cast<std::uint8_t>(Status::skip)) throw std::runtime_error("result record: unknown status");
    return static_cast<Status>(status);
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }
  std::vector<DetailsRow> rows() {
    // A row takes at least its fixed part, which bounds what a damaged count can ask for.
    const auto count = number<std::uint32_t>();
    if (count > rest_.size() / (metric_count + 17)) throw std::runtime_error("result record: too many rows");
    std::vector<DetailsRow> result(count);
    for (DetailsRow& row : result) {
      row.bench_dtype = text();
      row.device_dtype = text();
      row.shape = text();
      row.message = text();
      row.status = marked_status(row.rounding_only);
      for (Cell& cell : row.cells) {
        cell.kind = enumerator(Cell::Kind::integer);
        if (cell.kind != Cell::Kind::blank) cell.value = number<double>();
      }
    }
    return result;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw std::runtime_error("result record: cut short");
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  std::string_view rest_;
};

constexpr std::uint8_t no_status = 0xFF;

}  // namespace

bool explained_by_rounding(const ApiResult& result) {
  const auto failed = [](Status status) { return status == Status::warning || status == Status::error; };
  const auto unexplained = [&](const DetailsRow& row) { return failed(row.status) && !row.rounding_only; };
  bool any = false;
  const auto direction_is = [&](std::optional<Status> status, const std::vector<DetailsRow>& rows) {
    if (!status || !failed(*status)) return true;
    any = true;
    const bool has_row =
        std::any_of(rows.begin(), rows.end(), [&](const DetailsRow& row) { return failed(row.status); });
    return has_row && std::none_of(rows.begin(), rows.end(), unexplained);
  };
  return direction_is(result.forward, result.forward_rows) && direction_is(result.backward, result.backward_rows) &&
         any;
}

ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason) {
  ApiResult result;
  result.task = task;
  result.name = std::move(name);
  result.backward = Status::skip;
  result.message = reason;
  DetailsRow row;
  row.status = Status::skip;
  row.message = reason;
  result.forward_rows.push_back(std::move(row));
  return result;
}

std::string encode(const ApiResult& result) {
  Encoder out;
  out.number(result.task);
  out.text(result.name);
  out.number(result.device);
  out.number(with_mark(result.forward, result.rounding_only));
  out.number(result.backward ? static_cast<std::uint8_t>(*result.backward) : no_status);
  out.text(result.message);
  out.rows(result.forward_rows);
  out.rows(result.backward_rows);
  out.number(result.times.materialise);
  out.number(result.times.device);
  out.number(result.times.benchmark);
  out.number(result.times.compare);
  out.number(result.inputs);
  if (result.overflow) {
    out.number(result.overflow->verdict);
    out.number(result.overflow->bench);
    out.number(result.overflow->device);
  }
  return out.take();
}

ApiResult decode_result(std::string_view bytes) {
  Decoder in(bytes);
  ApiResult result;
  result.task = in.number<std::uint32_t>();
  result.name = in.text();
  result.device = in.number<std::int32_t>();
  result.forward = in.marked_status(result.rounding_only);
  const auto backward = in.number<std::uint8_t>();
  if (backward != no_status) {
    if (backward > static_cast<std::uint8_t>(Status::skip)) throw std::runtime_error("result record: unknown status");
    result.backward = static_cast<Status>(backward);
  }
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
    finding.verdict = in.enumerator(OverflowFinding::Verdict::not_judged);
    finding.bench = in.number<std::uint8_t>() != 0;
    finding.device = in.number<std::uint8_t>() != 0;
  }
  if (!in.at_end()) throw std::runtime_error("result record: surplus bytes");
  return result;
}

}  // namespace msrun
