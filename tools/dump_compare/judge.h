// What the rows of one call add up to: Result and Err_message (dump_compare.md 10).
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tools/dump_compare/cells.h"
#include "tools/dump_compare/tensor_metrics.h"

namespace msrun::dump_compare {

enum class Level : std::uint8_t { pass, warning, error };
const char* level_text(Level level);

// A row with all that is judged.
struct ComparedRow {
  Row row;
  std::array<Difference, statistic_count> differences{};
  TensorMetrics metrics;  // tensor mode
  Level level = Level::pass;
  bool input_apart = false;  // an input further from the golden one than outputs may be
  std::vector<std::string> messages;

  void add(Level at_least, std::string message) {
    if (at_least > level) level = at_least;
    messages.push_back(std::move(message));
  }
};

// rows: those of one target call, or golden rows alone. Sets level and messages.
void judge(const Sides& sides, Mode mode, std::span<ComparedRow> rows);

}  // namespace msrun::dump_compare
