// The results of a run in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runner/results/task_results.h"

namespace msrun {

// Results by task. They are kept as bytes, made of the same fields as a record (fields.h) but for what many results
// have in common, the dtypes, shapes and messages of their rows: that is kept once, so that a million results take some
// 220 bytes each.
class StoredResults final : public TaskResults {
 public:
  explicit StoredResults(std::size_t tasks = 0) : places_(tasks) {}

  std::size_t tasks() const override { return places_.size(); }
  // For more tasks.
  void resize(std::size_t tasks) { places_.resize(tasks); }
  // How many tasks have a result.
  std::size_t count() const { return count_; }
  bool has(std::uint32_t task) const override { return places_[task].size > 0; }
  // Takes the place of an earlier result of the same task.
  void put(const ApiResult& result);
  void remove(std::uint32_t task);
  // The result of a task that has one.
  ApiResult get(std::uint32_t task) const;
  void get(std::uint32_t task, ApiResult& result) const override { result = get(task); }
  ApiResult outline(std::uint32_t task) const override;

 private:
  static constexpr std::size_t block_size = std::size_t{1} << 20;

  struct Place {
    std::uint32_t block = 0;
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  // Finds strings by views of them.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Numbers = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

  // The archives of fields.h whose bytes these are.
  class Writer;
  class Reader;
  ApiResult read(std::uint32_t task, bool with_rows) const;
  std::uint32_t number_of_text(const std::string& text);
  std::uint32_t number_of_row(const DetailsRow& row);
  void store(std::uint32_t task, std::string_view bytes);

  std::vector<Place> places_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t room_ = 0;  // bytes left in the last block
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
  std::vector<DetailsRow> rows_;  // without the values of their cells and their differences
  Numbers text_numbers_;
  Numbers row_numbers_;
  std::string bytes_;  // for put()
  std::string key_;
};

}  // namespace msrun
