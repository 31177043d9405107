#include "runner/results/stored_results.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace msrun {
namespace {

constexpr std::uint8_t no_status = 0xFF;

// The bytes of stored results never leave this process: they are as the machine has them.
template <class T>
void append(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <class T>
T take(const char*& at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  at += sizeof(value);
  return value;
}

// Numbers that are mostly small: seven bits per byte, lowest first.
void append_short(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

std::uint64_t take_short(const char*& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace

std::string time_note(double time) {
  std::string record(sizeof(time_marker) + sizeof(time), '\0');
  std::memcpy(record.data(), &time_marker, sizeof(time_marker));
  std::memcpy(record.data() + sizeof(time_marker), &time, sizeof(time));
  return record;
}

std::optional<double> time_of(std::string_view time_note) {
  double time = 0;
  if (time_note.size() != sizeof(time_marker) + sizeof(time)) return std::nullopt;
  std::memcpy(&time, time_note.data() + sizeof(time_marker), sizeof(time));
  return time;
}

void StoredResults::put(const ApiResult& result) {
  bytes_.clear();
  append(bytes_, result.forward);
  append(bytes_, result.rounding_only);
  append(bytes_, result.backward ? static_cast<std::uint8_t>(*result.backward) : no_status);
  append(bytes_, result.device);
  append_short(bytes_, result.name.size());
  bytes_ += result.name;
  append_short(bytes_, number_of_text(result.message));
  for (const std::uint64_t time :
       {result.times.materialise, result.times.device, result.times.benchmark, result.times.compare}) {
    append_short(bytes_, time);
  }
  append(bytes_, result.inputs);
  append(bytes_, result.overflow.has_value());
  if (result.overflow) append(bytes_, *result.overflow);
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    append_short(bytes_, rows->size());
    for (const DetailsRow& row : *rows) {
      append_short(bytes_, number_of_row(row));
      for (const Cell& cell : row.cells) {
        if (cell.kind != Cell::Kind::blank) append(bytes_, cell.value);
      }
    }
  }
  store(result.task, bytes_);
}

ApiResult StoredResults::get(std::uint32_t task) const { return decode(task, true); }
ApiResult StoredResults::outline(std::uint32_t task) const { return decode(task, false); }

ApiResult StoredResults::decode(std::uint32_t task, bool with_rows) const {
  const char* at = blocks_[places_[task].block].get() + places_[task].offset;
  ApiResult result;
  result.task = task;
  result.forward = take<Status>(at);
  result.rounding_only = take<bool>(at);
  const auto backward = take<std::uint8_t>(at);
  if (backward != no_status) result.backward = static_cast<Status>(backward);
  result.device = take<std::int32_t>(at);
  const std::size_t length = take_short(at);
  result.name.assign(at, length);
  at += length;
  result.message = texts_[take_short(at)];
  for (std::uint64_t* time :
       {&result.times.materialise, &result.times.device, &result.times.benchmark, &result.times.compare}) {
    *time = take_short(at);
  }
  result.inputs = take<std::uint64_t>(at);
  if (take<bool>(at)) result.overflow = take<OverflowFinding>(at);
  if (!with_rows) return result;
  for (auto* rows : {&result.forward_rows, &result.backward_rows}) {
    const std::size_t count = take_short(at);
    rows->reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      DetailsRow& row = rows->emplace_back(rows_[take_short(at)]);
      for (Cell& cell : row.cells) {
        if (cell.kind != Cell::Kind::blank) cell.value = take<double>(at);
      }
    }
  }
  return result;
}

std::uint32_t StoredResults::number_of_text(const std::string& text) {
  const auto found = text_numbers_.find(std::string_view(text));
  if (found != text_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(text);
  text_numbers_.emplace(text, number);
  return number;
}

std::uint32_t StoredResults::number_of_row(const DetailsRow& row) {
  key_.clear();
  append(key_, row.status);
  append(key_, row.rounding_only);
  for (const Cell& cell : row.cells) append(key_, cell.kind);
  for (const std::string* text : {&row.bench_dtype, &row.device_dtype, &row.shape, &row.message}) {
    append_short(key_, text->size());
    key_ += *text;
  }
  const auto found = row_numbers_.find(std::string_view(key_));
  if (found != row_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back(row);
  for (Cell& cell : rows_.back().cells) cell.value = 0;
  row_numbers_.emplace(key_, number);
  return number;
}

void StoredResults::store(std::uint32_t task, std::string_view bytes) {
  if (blocks_.empty() || room_ < bytes.size()) {
    room_ = std::max(block_size, bytes.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
  }
  // The free bytes are at the front of the block.
  room_ -= bytes.size();
  std::memcpy(blocks_.back().get() + room_, bytes.data(), bytes.size());
  Place& place = places_[task];
  if (place.size == 0) ++count_;
  place = {static_cast<std::uint32_t>(blocks_.size() - 1), static_cast<std::uint32_t>(room_),
           static_cast<std::uint32_t>(bytes.size())};
}

void StoredResults::remove(std::uint32_t task) {
  if (places_[task].size > 0) --count_;
  places_[task] = {};
}

}  // namespace msrun
