#include "bench/dump_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "kernels/base/error.h"

namespace msrun::bench {
namespace {

constexpr std::size_t flush_at = 1 << 20;
// Gradients of a training step are small; their size in proportion to each other does not matter here.
constexpr double gradient_spread = 1e-3;

struct Statistics {
  std::optional<double> max;
  std::optional<double> min;
  std::optional<double> mean;
  std::optional<double> norm;
};

// The dumper computes statistics in the tensor's dtype.
double as_stored(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::bfloat16:
      return static_cast<double>(as_bfloat16(single));
    case DType::float16:
      return static_cast<double>(as_half(single));
    case DType::float32:
      return static_cast<double>(single);
    default:
      return value;
  }
}

// jitter is in [-1, 1).
Statistics statistics_of(const Described& tensor, double jitter) {
  double count = 1;
  for (const std::int64_t size : tensor.shape) count *= static_cast<double>(size);
  if (count == 0) return {};
  if (is_integer(tensor.dtype)) return {tensor.bounds->second, tensor.bounds->first, std::nullopt, std::nullopt};
  Statistics result;
  if (tensor.bounds) {
    const auto [low, high] = *tensor.bounds;
    result = {high, low, (low / 2 + high / 2), std::max(std::abs(low), std::abs(high)) * std::sqrt(count / 3)};
  } else {
    // The extremes of that many samples of a normal distribution.
    const double reach = tensor.spread * std::sqrt(2 * std::log(count));
    result.max = tensor.centre + reach * (1 + 0.05 * jitter);
    result.min = tensor.centre - reach * (1 - 0.05 * jitter);
    result.mean = tensor.centre + tensor.spread * jitter / std::sqrt(count);
    result.norm = std::sqrt(count) * std::hypot(tensor.centre, tensor.spread);
  }
  for (auto* value : {&result.max, &result.min, &result.mean, &result.norm}) **value = as_stored(tensor.dtype, **value);
  return result;
}

}  // namespace

DumpWriter::DumpWriter(const std::string& path, std::uint64_t seed)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc), random_state_(seed) {
  if (!file_) throw UserError(path + ": cannot be written.");
  open('{');
  key("task");
  text("statistics");
  key("level");
  text("L1");
  key("framework");
  text("pytorch");
  key("dump_data_dir");
  null();
  key("data");
  open('{');
}

void DumpWriter::forward(const Call& call) {
  const std::string name = call.api + "." + std::to_string(counts_[call.api]++);
  ++calls_;
  key(name + ".forward");
  open('{');
  key("input_args");
  open('[');
  for (const Argument& argument : call.args) write(argument);
  close(']');
  key("input_kwargs");
  open('{');
  for (const auto& [keyword, argument] : call.kwargs) {
    key(keyword);
    write(argument);
  }
  close('}');
  key("output");
  open('[');
  write(call.output);
  close(']');
  close('}');
  if (!call.gradients.empty()) pending_.push_back({name, call.output, call.gradients});
  if (text_.size() >= flush_at) flush();
}

void DumpWriter::backward() {
  const auto gradient = [](Described tensor) {
    tensor.centre = tensor.shape.empty() ? 1 : 0;
    tensor.spread = tensor.shape.empty() ? 0 : gradient_spread;
    tensor.bounds.reset();
    tensor.requires_grad = false;
    return tensor;
  };
  for (auto entry = pending_.rbegin(); entry != pending_.rend(); ++entry) {
    key(entry->name + ".backward");
    open('{');
    key("input");
    open('[');
    write(gradient(entry->output));
    close(']');
    key("output");
    open('[');
    for (const auto& tensor : entry->gradients) write(tensor ? Argument(gradient(*tensor)) : Argument(Nothing{}));
    close(']');
    close('}');
    if (text_.size() >= flush_at) flush();
  }
  pending_.clear();
}

void DumpWriter::close() {
  close('}');
  close('}');
  text_ += '\n';
  flush();
  file_.close();
  if (!file_) throw UserError(path_ + ": cannot be written.");
}

void DumpWriter::flush() {
  file_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  if (!file_) throw UserError(path_ + ": cannot be written.");
  written_ += text_.size();
  text_.clear();
}

double DumpWriter::random() {
  // SplitMix64.
  std::uint64_t x = random_state_ += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1;
}

void DumpWriter::item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) text_ += ',';
  has_items_.back() = true;
  text_ += '\n';
  text_.append(has_items_.size(), ' ');
}

void DumpWriter::open(char bracket) {
  item();
  text_ += bracket;
  has_items_.push_back(false);
}

void DumpWriter::close(char bracket) {
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) {
    text_ += '\n';
    text_.append(has_items_.size(), ' ');
  }
  text_ += bracket;
}

void DumpWriter::key(std::string_view name) {
  text(name);
  text_ += ": ";
  after_key_ = true;
}

// Names are ours: there is nothing to escape.
void DumpWriter::text(std::string_view value) {
  item();
  text_ += '"';
  text_ += value;
  text_ += '"';
}

void DumpWriter::number(double value) {
  item();
  if (!std::isfinite(value)) {
    // As Python's json module writes them: the norm of an attention mask overflows.
    text_ += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  std::array<char, 32> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string_view written(digits.data(), static_cast<std::size_t>(end - digits.data()));
  text_ += written;
  // Python's repr of a float shows that it is one.
  if (written.find_first_of(".en") == std::string_view::npos) text_ += ".0";
}

void DumpWriter::number(std::int64_t value) {
  item();
  std::array<char, 24> digits;
  text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void DumpWriter::optional_number(const std::optional<double>& value) {
  if (value) {
    number(*value);
  } else {
    null();
  }
}

void DumpWriter::boolean(bool value) {
  item();
  text_ += value ? "true" : "false";
}

void DumpWriter::null() {
  item();
  text_ += "null";
}

void DumpWriter::write(const Described& tensor) {
  open('{');
  key("type");
  text("torch.Tensor");
  key("dtype");
  text(torch_name(tensor.dtype));
  key("shape");
  open('[');
  for (const std::int64_t size : tensor.shape) number(size);
  close(']');
  const Statistics statistics = statistics_of(tensor, random());
  if (is_integer(tensor.dtype) && statistics.max) {
    key("Max");
    number(static_cast<std::int64_t>(*statistics.max));
    key("Min");
    number(static_cast<std::int64_t>(*statistics.min));
  } else {
    key("Max");
    optional_number(statistics.max);
    key("Min");
    optional_number(statistics.min);
  }
  key("Mean");
  optional_number(statistics.mean);
  key("Norm");
  optional_number(statistics.norm);
  key("requires_grad");
  boolean(tensor.requires_grad);
  close('}');
}

void DumpWriter::scalar(std::string_view type) {
  open('{');
  key("type");
  text(type);
  key("value");
}

void DumpWriter::write(const Argument& argument) {
  if (const auto* tensor = std::get_if<Described>(&argument)) {
    write(*tensor);
  } else if (const auto* shape = std::get_if<Shape>(&argument)) {
    open('[');
    for (const std::int64_t size : *shape) write(Argument(size));
    close(']');
  } else if (std::holds_alternative<Nothing>(argument)) {
    null();
  } else {
    if (const auto* flag = std::get_if<bool>(&argument)) {
      scalar("bool");
      boolean(*flag);
    } else if (const auto* integer = std::get_if<std::int64_t>(&argument)) {
      scalar("int");
      number(*integer);
    } else if (const auto* real = std::get_if<double>(&argument)) {
      scalar("float");
      number(*real);
    } else {
      scalar("torch.dtype");
      text(torch_name(std::get<DType>(argument)));
    }
    close('}');
  }
}

}  // namespace msrun::bench
