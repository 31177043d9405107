#include "tools/graph/text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "kernels/base/digits.h"
#include "kernels/base/text.h"

namespace msrun::graph {
namespace {

constexpr int decimals = 6;
constexpr std::string_view null_text = "null";

void append_escape(std::string& out, unsigned unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[(unit >> shift) & 15];
}

// One character of UTF-8 that begins the text, or a bad byte; returns the bytes that it takes.
std::size_t append_wide(std::string& out, std::string_view text) {
  const std::size_t length = utf8_length(text);
  if (length == 0) {
    append_escape(out, 0xFFFD);
    return 1;
  }
  unsigned code = static_cast<unsigned char>(text[0]) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  if (code < 0x10000) {
    append_escape(out, code);
  } else {
    append_escape(out, 0xD800 + ((code - 0x10000) >> 10));
    append_escape(out, 0xDC00 + ((code - 0x10000) & 0x3FF));
  }
  return length;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// The decimal number text with six decimals, half to even on the nearest double.
std::string with_six_decimals(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  std::array<char, 400> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed, decimals);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string(text);
}

// Every decimal number with more than six decimals gets six; at most 20 digits on either side of the point are looked
// at. whole: only if nothing else stands in the text but a percent sign.
std::string shortened(std::string_view text, bool whole) {
  std::string out;
  std::size_t at = 0;
  constexpr std::size_t most = 20;
  while (at < text.size()) {
    if (!is_digit(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t point = at;
    while (point < text.size() && is_digit(text[point])) ++point;
    const std::size_t begin = point - at > most ? point - most : at;
    std::size_t end = point;
    if (point < text.size() && text[point] == '.') {
      end = point + 1;
      while (end < text.size() && end - point <= most && is_digit(text[end])) ++end;
    }
    const bool number = end > point + 1;
    const bool alone = begin == 0 && (end == text.size() || (end + 1 == text.size() && text[end] == '%'));
    out += text.substr(at, begin - at);
    if (number && end - point - 1 > static_cast<std::size_t>(decimals) && (!whole || alone)) {
      out += with_six_decimals(text.substr(begin, end - begin));
    } else {
      out += text.substr(begin, end - begin);
    }
    at = end;
  }
  return out;
}

bool has_long_decimals(std::string_view text) {
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    if (at == 0 || !is_digit(text[at - 1])) continue;
    std::size_t end = at + 1;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end - at - 1 > static_cast<std::size_t>(decimals)) return true;
  }
  return false;
}

void append_text(std::string& out, std::string_view text, Dialect dialect) {
  const bool odd = text.find('\'') != std::string_view::npos || text.find("None") != std::string_view::npos;
  if (!odd && !has_long_decimals(text)) return append_json(out, text);
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\'') clean += text[i];
  }
  for (std::size_t at = clean.find("None"); at != std::string::npos; at = clean.find("None", at + 4)) {
    clean.replace(at, 4, null_text);
  }
  append_json(out, shortened(clean, dialect == Dialect::db));
}

std::string_view without_point_zeros(std::string_view fixed) {
  while (fixed.ends_with('0') && !fixed.ends_with(".0")) fixed.remove_suffix(1);
  return fixed;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  out += text;
  out += '"';
}

// The percentage as the formats shorten it.
void append_percent(std::string& out, double value, Dialect dialect) {
  std::string text;
  recordings::append_real(text, value);
  text += '%';
  out += has_long_decimals(text) ? shortened(text, dialect == Dialect::db) : text;
}

class DataWriter {
 public:
  DataWriter(std::string& out, const ShownData& data, const JsonStyle& style, int depth)
      : out_(out), data_(data), style_(style), depth_(depth) {}

  void write(bool outputs) {
    out_ += '{';
    bool first = true;
    if (data_.entry != nullptr) {
      const Entry& entry = *data_.entry;
      for (std::uint32_t i = entry.first; i < entry.last; ++i) {
        const Parameter& parameter = data_.side.parameters[i];
        if (parameter.output != outputs) continue;
        style_.member(out_, first, depth_ + 1);
        first = false;
        name_.clear();
        data_.side.append_name(name_, entry, parameter);
        append_json(out_, name_);
        out_ += ": ";
        write_parameter(parameter, data_.judged.empty() ? nullptr : &data_.judged[i - entry.first]);
      }
    }
    if (!first) style_.close(out_, depth_);
    out_ += '}';
  }

 private:
  Dialect dialect() const { return data_.rules.dialect; }

  bool is_null(const Parameter& parameter) const {
    const Form& form = data_.side.form(parameter);
    if (form.null) return true;
    const Value max = data_.side.role(parameter, Role::max, dialect());
    if (max.kind == Kind::none) return !is_group(parameter);
    if (max.kind != Kind::text && max.kind != Kind::nested) return false;
    const std::string_view text = data_.side.text(max.text);
    return (text == "None" || text == null_text) && !is_group(parameter);
  }

  bool is_group(const Parameter& parameter) const {
    const Value type = data_.side.role(parameter, Role::type);
    return type.kind == Kind::text && data_.side.text(type.text) == "torch.ProcessGroup";
  }

  bool is_shown(const FormField& field, bool group, bool operations) const {
    const bool db = dialect() == Dialect::db;
    if (group) {
      return field.role == Role::type || field.role == Role::group_ranks || field.role == Role::group_id ||
             field.role == Role::data_name;
    }
    switch (field.role) {
      case Role::full_op_name:
        return false;
      case Role::requires_grad:
        return db;
      case Role::state:
        return !db;
      case Role::md5:
        return data_.rules.mode == Mode::md5 || data_.rules.compat;
      case Role::op:
      case Role::peer:
      case Role::tag:
      case Role::group_id:
        return !operations;
      default:
        return true;
    }
  }

  void member(std::string_view key) {
    style_.member(out_, first_member_, depth_ + 2);
    first_member_ = false;
    append_json(out_, key);
    out_ += ": ";
  }

  void write_parameter(const Parameter& parameter, const Judged* judged) {
    out_ += '{';
    first_member_ = true;
    if (is_null(parameter)) {
      member("value");
      append_quoted(out_, null_text);
    } else {
      const bool group = is_group(parameter);
      const bool operations = data_.side.text(data_.entry->name).find("batch_isend_irecv") != std::string_view::npos;
      for (const FormField& field : data_.side.form(parameter).fields) {
        if (!is_shown(field, group, operations)) continue;
        member(data_.side.text(field.key));
        const Value value = field.role == Role::dtype || field.role == Role::md5
                                ? data_.side.role(parameter, field.role, dialect())
                                : data_.side.field(parameter, field);
        append_value(out_, data_.side, value, dialect());
      }
      if (judged != nullptr && !group) write_metrics(*judged);
    }
    style_.close(out_, depth_ + 1);
    out_ += '}';
  }

  void write_metrics(const Judged& judged) {
    if (data_.rules.mode == Mode::summary) write_differences(judged);
    if (data_.rules.mode == Mode::tensors) write_tensor_metrics(judged);
    if (data_.rules.mode == Mode::md5 && dialect() == Dialect::vis) {
      member("Result");
      append_quoted(out_, judged.bench == no_index ? "Nan" : judged.equal_checksums ? "pass" : "Different");
    }
    if (dialect() == Dialect::vis) return;
    const auto result = [&] {
      member("Result");
      append_quoted(out_, level_text(judged.level));
    };
    const bool md5 = data_.rules.mode == Mode::md5;
    if (md5) result();
    member("Requires_grad Consistent");
    append_quoted(out_, judged.same_requires_grad ? "True" : "False");
    if (!md5) result();
    member("Err_message");
    std::string texts = "[";
    for (const Finding finding : judged.findings) {
      if (texts.size() > 1) texts += ", ";
      append_quoted(texts, finding_text(finding));
    }
    append_json(out_, texts + "]");
  }

  void write_differences(const Judged& judged) {
    constexpr std::array<std::string_view, 4> names{"Max diff", "Min diff", "Mean diff", "L2norm diff"};
    constexpr std::array<std::string_view, 4> relative_names{"MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr",
                                                             "NormRelativeErr"};
    for (std::size_t i = 0; i < statistic_count; ++i) {
      member(names[i]);
      out_ += '"';
      write_difference(judged, judged.differences[i]);
      out_ += '"';
    }
    for (std::size_t i = 0; i < statistic_count; ++i) {
      const Difference& difference = judged.differences[i];
      member(relative_names[i]);
      out_ += '"';
      if (judged.bench == no_index) {
        out_ += null_text;
      } else if (difference.form == Difference::Form::nan) {
        out_ += "Nan";
      } else if (difference.form == Difference::Form::none || !difference.has_relative) {
        out_ += "N/A";
      } else {
        append_percent(out_, difference.relative, dialect());
      }
      out_ += '"';
    }
  }

  void write_difference(const Judged& judged, const Difference& difference) {
    if (judged.bench == no_index) {
      out_ += null_text;
      return;
    }
    switch (difference.form) {
      case Difference::Form::none:
        out_ += "N/A";
        return;
      case Difference::Form::nan:
        out_ += "Nan";
        return;
      case Difference::Form::integer:
        out_ += std::to_string(difference.integer);
        return;
      case Difference::Form::real:
        append_real(out_, difference.real, dialect());
        if (std::isinf(difference.real)) out_ += "\\t";
    }
  }

  void write_tensor_metrics(const Judged& judged) {
    using dump_compare::Metric;
    struct Column {
      std::string_view name;
      Metric metric;
    };
    constexpr std::array<Column, 6> columns{{{"Cosine", dump_compare::cosine},
                                             {"EucDist", dump_compare::euclidean_distance},
                                             {"MaxAbsErr", dump_compare::max_absolute_error},
                                             {"MaxRelativeErr", dump_compare::max_relative_error},
                                             {"One Thousandth Err Ratio", dump_compare::one_thousandth},
                                             {"Five Thousandths Err Ratio", dump_compare::five_thousandths}}};
    for (const Column& column : columns) {
      if (column.metric == dump_compare::euclidean_distance && dialect() == Dialect::vis) continue;
      member(column.name);
      if (judged.bench == no_index) {
        append_quoted(out_, null_text);
      } else if (judged.tensors == nullptr) {
        append_quoted(out_, "unsupported");
      } else if (const dump_compare::MetricCell& cell = judged.tensors->cells[column.metric]; cell.word != nullptr) {
        append_quoted(out_, cell.word);
      } else {
        out_ += '"';
        append_real(out_, cell.number, dialect());
        out_ += '"';
      }
    }
  }

  std::string& out_;
  const ShownData& data_;
  const JsonStyle& style_;
  const int depth_;
  bool first_member_ = true;
  std::string name_;
};

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      ++at;
      continue;
    }
    out += text.substr(begin, at - begin);
    const char c = text[at];
    std::size_t taken = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else if (static_cast<unsigned char>(c) < 0x80) {
      append_escape(out, static_cast<unsigned char>(c));
    } else {
      taken = append_wide(out, text.substr(at));
    }
    at += taken;
    begin = at;
  }
  out += text.substr(begin);
  out += '"';
}

void append_real(std::string& out, double value, Dialect dialect) {
  const double size = std::abs(value);
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  if (dialect == Dialect::db || !std::isfinite(value)) return recordings::append_real(out, value);
  std::array<char, 64> buffer{};
  char* const last = buffer.data() + buffer.size();
  if (scientific) {
    const auto end = std::to_chars(buffer.data(), last, value, std::chars_format::scientific, decimals).ptr;
    out.append(buffer.data(), end);
    return;
  }
  const auto end = std::to_chars(buffer.data(), last, value, std::chars_format::fixed, decimals).ptr;
  const std::string_view fixed(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  // With at most 15 digits the decimals without their last zeros are the shortest text that reads back.
  if (size < 1e8) {
    out += without_point_zeros(fixed);
    return;
  }
  double rounded = value;
  std::from_chars(buffer.data(), end, rounded);
  recordings::append_real(out, rounded);
}

void append_value(std::string& out, const Side& side, const Value& value, Dialect dialect) {
  switch (value.kind) {
    case Kind::text:
      return append_text(out, side.text(value.text), dialect);
    case Kind::nested:
      return append_json(out, side.text(value.text));
    case Kind::none:
      return append_quoted(out, null_text);
    case Kind::real:
      if (value.digits != 0) return append_quoted(out, side.text(value.digits));
      out += '"';
      append_real(out, value.real, dialect);
      out += '"';
      return;
    default:
      append_quoted(out, side.value_text(value));
  }
}

void append_index(std::string& out, const Index& index) {
  if (index.whole) {
    out += index.value == 0 ? '0' : '1';
    return;
  }
  recordings::append_real(out, index.value);
}

void append_data(std::string& out, const ShownData& data, bool outputs, const JsonStyle& style, int depth) {
  DataWriter(out, data, style, depth).write(outputs);
}

}  // namespace msrun::graph
