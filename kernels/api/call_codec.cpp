#include "kernels/api/call_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace msrun {
namespace {

// Dumps nest at most 400 levels (acc_check_pytorch.md 2.6).
constexpr int max_depth = 500;

enum class Tag : std::uint8_t {
  none,
  no,
  yes,
  integer,
  real,
  text,
  dtype,
  slice,
  ellipsis,
  device,
  unsupported,
  tensor,
  list,
  dict,
};

// The statistics that a tensor has follow in this order, then its flags.
constexpr std::array statistics{&TensorSpec::max,        &TensorSpec::min,  &TensorSpec::max_finite,
                                &TensorSpec::min_finite, &TensorSpec::mean, &TensorSpec::norm};
constexpr unsigned requires_grad_bit = 1U << statistics.size();
constexpr unsigned files_bit = requires_grad_bit << 1;

// Elements for which room is made before they are seen to exist.
constexpr std::size_t max_reserve = 32;

// In place of a DType: its text follows.
constexpr std::uint8_t other_dtype = 0xFF;

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}
  // Bytes that are not to be decoded, but compared.
  Encoder(std::string& out, Statistics wanted)
      : out_(out), dicts_sorted_(true), with_statistics_(wanted == Statistics::compared) {}

  void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
  void tag(Tag value) { byte(static_cast<std::uint8_t>(value)); }

  // Seven bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  // Small magnitudes of either sign are short.
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void real(double value) {
    std::array<char, sizeof(double)> bytes{};
    std::memcpy(bytes.data(), &value, sizeof(value));
    out_.append(bytes.data(), bytes.size());
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }
  void optional(const std::optional<std::int64_t>& value) {
    byte(value.has_value() ? 1 : 0);
    if (value) signed_number(*value);
  }
  void list(const List& values) {
    number(values.size());
    for (const Value& value : values) std::visit(*this, value.variant());
  }
  void dict(const Dict& values) {
    number(values.size());
    if (dicts_sorted_ && !std::ranges::is_sorted(values, {}, &Dict::value_type::first)) {
      std::vector<const Dict::value_type*> sorted;
      sorted.reserve(values.size());
      for (const auto& entry : values) sorted.push_back(&entry);
      std::ranges::stable_sort(sorted, {}, [](const auto* entry) -> const std::string& { return entry->first; });
      for (const auto* entry : sorted) item(*entry);
      return;
    }
    for (const auto& entry : values) item(entry);
  }

  void operator()(const None&) { tag(Tag::none); }
  void operator()(bool value) { tag(value ? Tag::yes : Tag::no); }
  void operator()(std::int64_t value) {
    tag(Tag::integer);
    signed_number(value);
  }
  void operator()(double value) {
    tag(Tag::real);
    real(value);
  }
  void operator()(const std::string& value) {
    tag(Tag::text);
    text(value);
  }
  void operator()(DType value) {
    tag(Tag::dtype);
    byte(static_cast<std::uint8_t>(value));
  }
  void operator()(const Slice& value) {
    tag(Tag::slice);
    optional(value.start);
    optional(value.stop);
    optional(value.step);
  }
  void operator()(const Ellipsis&) { tag(Tag::ellipsis); }
  void operator()(const DeviceName& value) {
    tag(Tag::device);
    text(value.text);
  }
  void operator()(const Unsupported& value) {
    tag(Tag::unsupported);
    text(value.reason);
  }
  void operator()(const List& values) {
    tag(Tag::list);
    list(values);
  }
  void operator()(const Dict& values) {
    tag(Tag::dict);
    dict(values);
  }
  void operator()(const std::shared_ptr<const TensorSpec>& spec) {
    tag(Tag::tensor);
    const auto dtype = parse_dtype(spec->dtype);
    if (dtype && torch_name(*dtype) == spec->dtype) {
      byte(static_cast<std::uint8_t>(*dtype));
    } else {
      byte(other_dtype);
      text(spec->dtype);
    }
    number(spec->shape.size());
    for (const std::int64_t size : spec->shape) signed_number(size);
    unsigned mask = spec->requires_grad ? requires_grad_bit : 0;
    if (!spec->data_name.empty() || !spec->data_path.empty()) mask |= files_bit;
    for (std::size_t i = 0; with_statistics_ && i < statistics.size(); ++i) {
      if (((*spec).*statistics[i]).has_value()) mask |= 1U << i;
    }
    byte(static_cast<std::uint8_t>(mask));
    for (std::size_t i = 0; i < statistics.size(); ++i) {
      if ((mask & (1U << i)) != 0) real(*((*spec).*statistics[i]));
    }
    if ((mask & files_bit) != 0) {
      text(spec->data_name);
      text(spec->data_path);
    }
  }
  void operator()(const Tensor&) { materialised(); }
  void operator()(const Var&) { materialised(); }

 private:
  [[noreturn]] static void materialised() { throw std::logic_error("A materialised tensor cannot be encoded."); }

  void item(const Dict::value_type& entry) {
    text(entry.first);
    std::visit(*this, entry.second.variant());
  }

  std::string& out_;
  bool dicts_sorted_ = false;
  bool with_statistics_ = true;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::string_view rest() const { return bytes_; }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) foreign();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1).front()); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      value |= (next & 0x7FU) << shift;
      if (next < 0x80) return value;
    }
    foreign();
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  double real() {
    double value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string text() { return std::string(take(number())); }
  bool flag() {
    const std::uint8_t value = byte();
    if (value > 1) foreign();
    return value == 1;
  }
  std::optional<std::int64_t> optional() {
    if (!flag()) return std::nullopt;
    return signed_number();
  }
  // Every element takes a byte at least.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > bytes_.size()) foreign();
    return value;
  }
  List list(int depth) {
    const std::size_t size = count();
    List values;
    values.reserve(std::min(size, max_reserve));
    for (std::size_t i = 0; i < size; ++i) values.push_back(value(depth + 1));
    return values;
  }
  Dict dict(int depth) {
    const std::size_t size = count();
    Dict values;
    values.reserve(std::min(size, max_reserve));
    for (std::size_t i = 0; i < size; ++i) {
      std::string key = text();
      values.emplace_back(std::move(key), value(depth + 1));
    }
    return values;
  }
  std::shared_ptr<const TensorSpec> tensor() {
    auto spec = std::make_shared<TensorSpec>();
    const std::uint8_t dtype = byte();
    if (dtype == other_dtype) {
      spec->dtype = text();
    } else {
      spec->dtype = torch_name(checked(dtype));
    }
    spec->shape.resize(count());
    for (std::int64_t& size : spec->shape) size = signed_number();
    const unsigned mask = byte();
    for (std::size_t i = 0; i < statistics.size(); ++i) {
      if ((mask & (1U << i)) != 0) (*spec).*statistics[i] = real();
    }
    spec->requires_grad = (mask & requires_grad_bit) != 0;
    if ((mask & files_bit) != 0) {
      spec->data_name = text();
      spec->data_path = text();
    }
    return spec;
  }
  Value value(int depth) {
    if (depth > max_depth) foreign();
    switch (static_cast<Tag>(byte())) {
      case Tag::none:
        return None{};
      case Tag::no:
        return false;
      case Tag::yes:
        return true;
      case Tag::integer:
        return signed_number();
      case Tag::real:
        return real();
      case Tag::text:
        return text();
      case Tag::dtype:
        return checked(byte());
      case Tag::slice: {
        Slice slice;
        slice.start = optional();
        slice.stop = optional();
        slice.step = optional();
        return slice;
      }
      case Tag::ellipsis:
        return Ellipsis{};
      case Tag::device:
        return DeviceName{text()};
      case Tag::unsupported:
        return Unsupported{text()};
      case Tag::tensor:
        return tensor();
      case Tag::list:
        return list(depth);
      case Tag::dict:
        return dict(depth);
    }
    foreign();
  }
  void end() const {
    if (!bytes_.empty()) foreign();
  }

 private:
  [[noreturn]] static void foreign() { throw std::runtime_error("These bytes are no encoded API call."); }

  static DType checked(std::uint8_t dtype) {
    if (dtype >= dtype_count) foreign();
    return static_cast<DType>(dtype);
  }

  std::string_view bytes_;
};

}  // namespace

void encode_value(const Value& value, std::string& out) { std::visit(Encoder(out), value.variant()); }

Value decode_value(std::string_view& bytes) {
  Decoder decoder(bytes);
  Value value = decoder.value(0);
  bytes = decoder.rest();
  return value;
}

void append_identity(const List& values, Statistics wanted, std::string& out) { Encoder(out, wanted).list(values); }

void append_identity(const Dict& values, Statistics wanted, std::string& out) { Encoder(out, wanted).dict(values); }

std::string encode(const ApiCall& call) {
  std::string bytes;
  bytes.reserve(64 + 80 * (call.args.size() + call.kwargs.size() + call.grad_inputs.size()));
  Encoder encoder(bytes);
  encoder.text(call.name);
  encoder.text(call.output_dtype);
  encoder.byte(call.has_backward ? 1 : 0);
  encoder.list(call.args);
  encoder.dict(call.kwargs);
  encoder.list(call.grad_inputs);
  return bytes;
}

ApiCall decode_call(std::string_view bytes) {
  Decoder decoder(bytes);
  ApiCall call;
  call.name = decoder.text();
  call.output_dtype = decoder.text();
  call.has_backward = decoder.flag();
  call.args = decoder.list(0);
  call.kwargs = decoder.dict(0);
  call.grad_inputs = decoder.list(0);
  decoder.end();
  return call;
}

}  // namespace msrun
