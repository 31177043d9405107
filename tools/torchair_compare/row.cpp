#include "tools/torchair_compare/row.h"

#include <array>
#include <charconv>
#include <cmath>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"

namespace msrun::torchair {
namespace {

constexpr std::array documented_columns{"API Name",
                                        "Stack Info",
                                        "Data Name",
                                        "Cosine",
                                        "EucDist",
                                        "MaxAbsErr",
                                        "MaxRelativeErr",
                                        "One Thousandth Err Ratio",
                                        "Five Thousandth Err Ratio",
                                        "Requires_grad Consistent",
                                        "Max diff",
                                        "Min diff",
                                        "Mean diff",
                                        "L2norm diff",
                                        "MinRelativeErr",
                                        "MeanRelativeErr",
                                        "NormRelativeErr",
                                        "NPU MD5",
                                        "BENCH MD5",
                                        "Result",
                                        "Accuracy Reached or Not",
                                        "Err_message"};
constexpr std::array legacy_columns{"token_id",
                                    "data_id",
                                    "golden_data_path",
                                    "golden_op_type",
                                    "golden_dtype",
                                    "golden_shape",
                                    "golden_max_value",
                                    "golden_min_value",
                                    "golden_mean_value",
                                    "my_data_path",
                                    "my_op_type",
                                    "my_dtype",
                                    "my_shape",
                                    "my_max_value",
                                    "my_min_value",
                                    "my_mean_value",
                                    "cosine_similarity",
                                    "max_relative_error",
                                    "mean_relative_error",
                                    "max_absolute_error",
                                    "mean_absolute_error",
                                    "kl_divergence",
                                    "relative_euclidean_distance",
                                    "cmp_fail_reason"};
constexpr const char* not_available = "N/A";
constexpr std::uint64_t first_output = std::uint64_t{1} << 32;

// The cells of a row; each begins with the comma that parts it from the one before.
class Cells {
 public:
  explicit Cells(std::string& out) : out_(out) {}

  void text(std::string_view value) {
    separate();
    append_csv_text(out_, value);
  }
  // Columns 1 to 22: what cannot be computed and NaN have names.
  void documented(std::optional<double> value, const char* behind = "") {
    separate();
    if (!value) {
      out_ += not_available;
    } else if (std::isnan(*value)) {
      out_ += "NaN";
    } else {
      append_number(out_, *value);
      out_ += behind;
    }
  }
  // Columns 23 to 46: they are empty.
  void legacy(std::optional<double> value) {
    separate();
    if (value && !std::isnan(*value)) append_number(out_, *value);
  }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

// In percent of the golden value; none where that is zero or the result is not finite.
std::optional<double> percentage(std::optional<double> difference, std::optional<double> golden) {
  if (!difference || !golden || *golden == 0 || !std::isfinite(*difference)) return std::nullopt;
  const double percent = std::abs(*difference / *golden * 100);
  if (!std::isfinite(percent)) return std::nullopt;
  return percent;
}

void append_documented(std::string& out, const Row& row) {
  using Number = std::optional<double>;
  const auto of_summaries = [&](auto value) -> Number {
    if (!row.golden.summary || !row.mine.summary) return std::nullopt;
    return value(*row.mine.summary) - value(*row.golden.summary);
  };
  const auto of_golden = [&](auto value) -> Number {
    if (!row.golden.summary) return std::nullopt;
    return value(*row.golden.summary);
  };
  const auto max = [](const DumpSummary& side) { return side.max; };
  const auto min = [](const DumpSummary& side) { return side.min; };
  const auto mean = [](const DumpSummary& side) { return side.mean; };
  const bool real = !row.statistics;
  const auto metric = [&](auto value) -> Number {
    if (!row.metrics || !real) return std::nullopt;
    return static_cast<double>(value(*row.metrics));
  };
  const Number max_difference = of_summaries(max);
  const Number min_difference = of_summaries(min);
  const auto difference = [](const Number& a, const Number& b) -> Number {
    return a && b ? Number(*a - *b) : std::nullopt;
  };
  const Number golden_mean = real ? of_golden(mean) : row.golden.recorded_mean;
  const Number mean_difference =
      real ? of_summaries(mean) : difference(row.mine.recorded_mean, row.golden.recorded_mean);
  const Number golden_norm =
      real ? metric([](const DumpMetrics& m) { return m.golden.l2_norm; }) : row.golden.recorded_norm;
  const Number my_norm = real ? metric([](const DumpMetrics& m) { return m.mine.l2_norm; }) : row.mine.recorded_norm;
  const Number norm_difference = difference(my_norm, golden_norm);

  Cells cells(out);
  cells.text(row.api_name);
  cells.text(row.stack_info);
  const auto name = [](const RowSide& side) {
    return side.path.empty() ? std::string(not_available) : std::string(base_name(side.path));
  };
  cells.text("['" + name(row.mine) + "', '" + name(row.golden) + "']");
  cells.documented(metric([](const DumpMetrics& m) { return m.cosine; }));
  cells.documented(metric([](const DumpMetrics& m) { return m.euclidean_distance; }));
  cells.documented(metric([](const DumpMetrics& m) { return m.max_difference; }));
  if (real) {
    cells.documented(metric([](const DumpMetrics& m) { return m.max_relative_error; }));
  } else {
    cells.documented(percentage(max_difference, of_golden(max)), "%");
  }
  cells.documented(metric([](const DumpMetrics& m) { return m.within_thousandth; }));
  cells.documented(metric([](const DumpMetrics& m) { return m.within_five_thousandths; }));
  cells.text("True");
  cells.documented(max_difference);
  cells.documented(min_difference);
  cells.documented(mean_difference);
  cells.documented(norm_difference);
  cells.documented(percentage(min_difference, of_golden(min)), "%");
  cells.documented(percentage(mean_difference, golden_mean), "%");
  cells.documented(percentage(norm_difference, golden_norm), "%");
  cells.text(row.mine.md5.empty() ? not_available : row.mine.md5);
  cells.text(row.golden.md5.empty() ? not_available : row.golden.md5);
  cells.text(row.verdict == Verdict::pass ? "PASS" : "FAIL");
  cells.text(row.verdict == Verdict::pass ? "Yes" : "No");
  cells.text(row.metrics || row.fail_reason.empty() ? row.note : row.fail_reason);
}

void append_side(Cells& cells, const RowSide& side) {
  cells.text(side.path);
  cells.text("");
  cells.text(side.dtype);
  cells.text(side.shape);
  // These are float32 in msProbe, whatever the tensor is.
  const auto narrow = [&](auto value) -> std::optional<double> {
    if (!side.summary) return std::nullopt;
    return static_cast<double>(static_cast<float>(value(*side.summary)));
  };
  cells.legacy(narrow([](const DumpSummary& summary) { return summary.max; }));
  cells.legacy(narrow([](const DumpSummary& summary) { return summary.min; }));
  cells.legacy(narrow([](const DumpSummary& summary) { return summary.mean; }));
}

template <class Titles>
void append_titles(std::string& out, const Titles& titles) {
  for (const char* title : titles) {
    if (title != titles.front()) out += ',';
    out += title;
  }
}

}  // namespace

void add_note(Row& row, const std::string& sentence) {
  if (!row.note.empty()) row.note += ' ';
  row.note += sentence;
}

std::uint64_t input_place(std::size_t index) { return 1 + index; }
std::uint64_t output_place(std::size_t index) { return first_output + index; }

std::string report_header(Columns columns) {
  std::string header;
  if (columns == Columns::all) {
    append_titles(header, documented_columns);
    header += ',';
  }
  append_titles(header, legacy_columns);
  return header + "\n";
}

std::string skipped_header() {
  return "token_id,data_id,golden_data_path,golden_dtype,golden_shape,my_data_path,my_dtype,my_shape,reason\n";
}

RowText row_text(const Row& row) {
  RowText text;
  append_documented(text.documented, row);
  text.documented += ',';
  text.before = std::to_string(row.token) + ",";
  text.behind = ",";
  Cells cells(text.behind);
  append_side(cells, row.golden);
  append_side(cells, row.mine);
  const auto metric = [&](auto value) {
    const bool computed = row.metrics && row.fail_reason.empty();
    cells.legacy(computed ? std::optional<double>(value(*row.metrics)) : std::nullopt);
  };
  metric([](const DumpMetrics& m) { return m.cosine; });
  metric([](const DumpMetrics& m) { return m.max_relative_error; });
  metric([](const DumpMetrics& m) { return m.mean_relative_error; });
  metric([](const DumpMetrics& m) { return m.max_absolute_error; });
  metric([](const DumpMetrics& m) { return m.mean_absolute_error; });
  metric([](const DumpMetrics& m) { return m.kl_divergence; });
  metric([](const DumpMetrics& m) { return m.relative_euclidean_distance; });
  cells.text(row.fail_reason);
  text.behind += '\n';
  return text;
}

RowText skipped_text(const Row& row) {
  RowText text;
  text.before = std::to_string(row.token) + ",";
  text.behind = ",";
  Cells cells(text.behind);
  for (const RowSide* side : {&row.golden, &row.mine}) {
    cells.text(side->path);
    cells.text(side->dtype);
    cells.text(side->shape);
  }
  cells.text(row.fail_reason);
  text.behind += '\n';
  return text;
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return;
  }
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t mark = text.find('e');
  std::string digits(text.substr(0, 1));
  if (mark > 2) digits += text.substr(2, mark - 2);
  int exponent = 0;
  const std::string_view power = text.substr(mark + (text[mark + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    out += digits.front();
    if (digits.size() > 1) {
      out += '.';
      out.append(digits, 1);
    }
    out += exponent < 0 ? "e-" : "e+";
    const int size = std::abs(exponent);
    if (size < 10) out += '0';
    out += std::to_string(size);
  } else if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() < whole) digits.resize(whole, '0');
    out.append(digits, 0, whole);
    out += '.';
    out += digits.size() > whole ? digits.substr(whole) : "0";
  }
}

}  // namespace msrun::torchair
