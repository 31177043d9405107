#include "runner/results/stored_results.h"

#include <algorithm>
#include <cstring>

#include "runner/results/bytes.h"
#include "runner/results/fields.h"

namespace msrun {
namespace {

// What rows may have in common: all but the values of their cells and what they have apart.
class RowKeyWriter : public ByteWriter {
 public:
  using ByteWriter::ByteWriter;
  void cells(const ColumnSet* columns, const std::vector<Cell>& cells) {
    number(columns == nullptr ? std::uint8_t{0} : columns->id());
    for (const Cell& cell : cells) enumerator(cell.kind, Cell::Kind::integer);
  }
  template <class T, class F>
  void optional_apart(const std::optional<T>& /*value*/, const F& /*fields_of*/) {}
};

}  // namespace

// Texts and rows that were seen before become their numbers.
class StoredResults::Writer : public ByteWriter {
 public:
  Writer(std::string& bytes, StoredResults& results) : ByteWriter(bytes), results_(results) {}
  void task(std::uint32_t /*value*/) {}
  void common_text(const std::string& value) { number(results_.number_of_text(value)); }
  void rows(const std::vector<DetailsRow>& values) {
    list(values, [this](const DetailsRow& row) {
      number(results_.number_of_row(row));
      for (const Cell& cell : row.cells) {
        if (cell.kind != Cell::Kind::blank) real(cell.value);
      }
      optional(row.difference, [this](const Difference& difference) { fields(*this, difference); });
      optional(row.judgement, [this](const AskedRules& judgement) { fields(*this, judgement); });
    });
  }

 private:
  StoredResults& results_;
};

class StoredResults::Reader : public ByteReader {
 public:
  Reader(std::string_view bytes, const StoredResults& results, bool with_rows)
      : ByteReader(bytes, RecordType<ApiResult>::version), results_(results), with_rows_(with_rows) {}
  void task(std::uint32_t& /*value*/) {}
  void common_text(std::string& value) {
    std::uint32_t text = 0;
    number(text);
    value = results_.texts_[text];
  }
  void rows(std::vector<DetailsRow>& values) {
    if (!with_rows_) return;
    list(values, [this](DetailsRow& row) {
      std::uint32_t common = 0;
      number(common);
      row = results_.rows_[common];
      for (Cell& cell : row.cells) {
        if (cell.kind != Cell::Kind::blank) real(cell.value);
      }
      optional(row.difference, [this](Difference& difference) { fields(*this, difference); });
      optional(row.judgement, [this](AskedRules& judgement) { fields(*this, judgement); });
    });
  }

 private:
  const StoredResults& results_;
  bool with_rows_;
};

void StoredResults::put(const ApiResult& result) {
  bytes_.clear();
  Writer writer(bytes_, *this);
  fields(writer, result);
  store(result.task, bytes_);
}

ApiResult StoredResults::get(std::uint32_t task) const { return read(task, true); }
ApiResult StoredResults::outline(std::uint32_t task) const { return read(task, false); }

ApiResult StoredResults::read(std::uint32_t task, bool with_rows) const {
  const Place& place = places_[task];
  ApiResult result;
  result.task = task;
  Reader reader({blocks_[place.block].get() + place.offset, place.size}, *this, with_rows);
  fields(reader, result);
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
  RowKeyWriter key(key_);
  fields(key, row);
  const auto found = row_numbers_.find(std::string_view(key_));
  if (found != row_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back(row);
  for (Cell& cell : rows_.back().cells) cell.value = 0;
  rows_.back().difference.reset();
  rows_.back().judgement.reset();
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
