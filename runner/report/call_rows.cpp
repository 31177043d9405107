#include "runner/report/call_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "kernels/base/text.h"
#include "kernels/io/html/text.h"
#include "runner/report/shortened.h"
#include "runner/results/api_name.h"
#include "runner/results/counts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"

namespace msrun::report {
namespace {

// Letters for exponents from least_visible on, and one for what is not known.
constexpr std::string_view letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
constexpr int least_visible = -59;
constexpr char not_known = '.';
// What all notes may take together.
constexpr std::size_t most_note_bytes = 700'000;
constexpr std::size_t most_rounding_bytes = 200'000;
constexpr std::size_t longest_note = 400;

char letter(Status status) { return std::string_view("pwek")[static_cast<std::size_t>(status)]; }

// Three digits tell enough.
std::uint64_t rounded(std::uint64_t value) {
  std::uint64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return (value + unit / 2) / unit * unit;
}

std::string plain_dtype(const std::string& dtype) {
  constexpr std::string_view torch = "torch.";
  if (dtype == " ") return {};
  return dtype.starts_with(torch) ? dtype.substr(torch.size()) : dtype;
}

const DetailsRow* first_row(const ApiResult& result) {
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    const auto found = std::ranges::find_if(*rows, [](const DetailsRow& row) { return row.device_dtype != " "; });
    if (found != rows->end()) return &*found;
  }
  return nullptr;
}

// That of the least sensitive output.
char visible_letter(const ApiResult& result) {
  std::optional<int> exponent;
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (const DetailsRow& row : *rows) {
      if (row.trust.visible)
        exponent = std::max(exponent.value_or(row.trust.visible->of_one), row.trust.visible->of_one);
    }
  }
  if (!exponent) return not_known;
  const int most = least_visible + static_cast<int>(letters.size()) - 1;
  return letters[static_cast<std::size_t>(std::clamp(*exponent, least_visible, most) - least_visible)];
}

// Two letters: 32 steps to a power of two, from least_error on; a zero comes first, what is no number last.
std::string error_letters(const std::optional<double>& error) {
  constexpr double least_error = -80;
  constexpr double steps = 32;
  constexpr double most = 4095;
  if (!error) return {not_known, not_known};
  double code = 0;
  if (!std::isfinite(*error)) {
    code = most;
  } else if (*error > 0) {
    code = std::clamp(std::round((std::log2(*error) - least_error) * steps) + 1, 1.0, most - 1);
  }
  const auto number = static_cast<std::size_t>(code);
  return {letters[number / letters.size()], letters[number % letters.size()]};
}

// Three letters, which take less room than digits. Of texts that a page holds there are fewer than they can tell apart.
std::string number_letters(std::size_t number) {
  const std::size_t base = letters.size();
  return {letters[number / base / base % base], letters[number / base % base], letters[number % base]};
}

// Of all outputs and gradients; nothing where none has that metric.
std::optional<double> largest(const ApiResult& result, Metric metric) {
  std::optional<double> found;
  for (const auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (const DetailsRow& row : *rows) {
      const Cell& cell = row[metric];
      if (cell.kind == Cell::Kind::blank) continue;
      // NaN is larger than any number.
      if (!found || !(cell.value <= *found)) found = cell.value;
      if (std::isnan(cell.value)) return found;
    }
  }
  return found;
}

std::string note_of(const ApiResult& result, Standing standing, const Redaction& redaction) {
  std::string note;
  if (standing == Standing::suspicious || standing == Standing::inconsistent || standing == Standing::rounding) {
    // The cause tells more than the count in front of it.
    const Reason reason = reason_of(result);
    if (!reason.output.empty()) note = reason.output + ":";
    for (std::size_t i = reason.lines.size() > 1 ? 1 : 0; i < reason.lines.size(); ++i) {
      note += (note.empty() ? "" : " ") + redaction.line(reason.row, reason.lines[i]);
    }
  } else if (!result.message.empty()) {
    note = redaction.reason(first_line(result.message));
  } else if (standing == Standing::weak) {
    note = weak_evidence_sentence(result.weak_evidence);
  } else {
    for (const std::string& line : consistency_lines(result))
      note += (note.empty() ? "" : " ") + redaction.reason(line);
  }
  return note;
}

}  // namespace

std::size_t TextTable::number_of(const std::string& text) {
  const auto [found, is_new] = numbers_.emplace(text, numbers_.size());
  if (is_new) texts_.push_back(text);
  return found->second;
}

void CallRows::add(const ApiResult& result, Standing standing, const std::string& module, const std::string& line) {
  add_name(result.name);
  standings_ += report::letter(standing);
  statuses_ += letter(result.forward);
  statuses_ += result.backward ? letter(*result.backward) : '-';
  const DetailsRow* row = first_row(result);
  dtype_.push_back(dtypes_.number_of(row == nullptr ? "" : bounded(plain_dtype(row->device_dtype))));
  shape_.push_back(shapes_.number_of(row == nullptr || row->shape == " " ? "" : row->shape));
  device_.push_back(result.device);
  const PhaseTimes& times = result.times;
  const std::uint64_t phases = (times.materialise + times.device + times.benchmark + times.compare) / 1000;
  took_.push_back(rounded((result.run.took > 0 ? result.run.took : phases) / 10));
  visible_ += visible_letter(result);
  // Absolute errors are on the scale of the values.
  errors_ += error_letters(redaction_.on() ? std::nullopt : largest(result, Metric::max_abs_error));
  errors_ += error_letters(largest(result, Metric::max_relative_error));
  module_ += number_letters(modules_.number_of(module));
  line_ += number_letters(lines_.number_of(line));
  has_modules_ = has_modules_ || !module.empty();
  has_lines_ = has_lines_ || !line.empty();
  add_note(result, standing);
  ++size_;
}

void CallRows::add_name(const std::string& title) {
  const std::string shown = redaction_.name(title);
  const std::string rank(rank_in(shown));
  const std::string name(without_rank(shown));
  const std::string_view api = api_of(name);
  const std::optional<std::uint64_t> index =
      api.size() + 1 < name.size() ? parse_number<std::uint64_t>(std::string_view(name).substr(api.size() + 1))
                                   : std::nullopt;
  const bool is_plain =
      index && *index < (std::uint64_t{1} << 53) && std::string(api) + "." + std::to_string(*index) == name;
  if (!is_plain) odd_names_[std::to_string(size_)] = shown;
  const std::size_t number = apis_.number_of(is_plain ? std::string(api) : name);
  if (next_.size() <= number) next_.resize(number + 1);
  api_.push_back(number);
  rank_.push_back(ranks_.number_of(rank));
  has_ranks_ = has_ranks_ || !rank.empty();
  index_.push_back(is_plain ? static_cast<std::int64_t>(*index) - static_cast<std::int64_t>(next_[number]) : 0);
  if (is_plain) next_[number] = *index + 1;
}

// Why a call is what it is, in one line. Of calls that nothing speaks against less is told where there are very many.
void CallRows::add_note(const ApiResult& result, Standing standing) {
  std::string note = shortened(note_of(result, standing, redaction_), longest_note);
  const bool is_rounding = standing == Standing::rounding;
  if (!note.empty() && !notes_.has(note)) {
    const std::size_t bytes = note.size() + 4;
    if (is_rounding && rounding_bytes_ + bytes > most_rounding_bytes) {
      note.clear();
    } else if (note_bytes_ + bytes > most_note_bytes) {
      note = "more is in the details file";
    } else {
      note_bytes_ += bytes;
      if (is_rounding) rounding_bytes_ += bytes;
    }
  }
  note_.push_back(note.empty() ? 0 : notes_.number_of(note) + 1);
}

std::string CallRows::json() const {
  std::string text = "{";
  const auto add = [&](const char* name, const std::string& value) {
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":" + value;
  };
  add("apis", html::script_json(apis_.texts()));
  add("dtypes", html::script_json(dtypes_.texts()));
  add("shapes", html::script_json(shapes_.texts()));
  add("notes", html::script_json(notes_.texts()));
  add("odd", html::script_json(odd_names_));
  add("api", api_.json());
  if (has_ranks_) {
    add("ranks", html::script_json(ranks_.texts()));
    add("rank", rank_.json());
  }
  add("index", index_.json());
  add("standing", "\"" + standings_ + "\"");
  add("status", "\"" + statuses_ + "\"");
  add("dtype", dtype_.json());
  add("shape", shape_.json());
  add("device", device_.json());
  add("took", took_.json());
  add("visible", "\"" + visible_ + "\"");
  add("errors", "\"" + errors_ + "\"");
  if (has_modules_) {
    add("modules", html::script_json(modules_.texts()));
    add("module", "\"" + module_ + "\"");
  }
  if (has_lines_) {
    add("lines", html::script_json(lines_.texts()));
    add("line", "\"" + line_ + "\"");
  }
  add("note", note_.json());
  return text + "}";
}

}  // namespace msrun::report
