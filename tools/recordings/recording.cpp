#include "tools/recordings/recording.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/compare/details.h"

namespace msrun::recordings {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t first_places = 1024;

}  // namespace

std::string_view Texts::keep(std::string_view text) {
  if (text.size() > room_) {
    room_ = std::max(block_bytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    next_ = blocks_.back().get();
  }
  if (!text.empty()) std::memcpy(next_, text.data(), text.size());
  const std::string_view kept(next_, text.size());
  next_ += text.size();
  room_ -= text.size();
  return kept;
}

TextId Texts::shared(std::string_view text) {
  if (text.empty()) return 0;
  if (2 * taken_ >= known_.size()) grow();
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
  Known& place = place_of(text, hash);
  if (place.id == 0) {
    place = {hash, own(text)};
    ++taken_;
  }
  return place.id;
}

Texts::Known& Texts::place_of(std::string_view text, std::uint32_t hash) {
  for (std::size_t at = hash;; ++at) {
    Known& known = known_[at & (known_.size() - 1)];
    if (known.id == 0 || (known.hash == hash && views_[known.id] == text)) return known;
  }
}

void Texts::grow() {
  std::vector<Known> before(std::max(first_places, 2 * known_.size()));
  before.swap(known_);
  for (const Known& known : before) {
    if (known.id != 0) place_of(views_[known.id], known.hash) = known;
  }
}

TextId Texts::own(std::string_view text) {
  if (text.empty()) return 0;
  views_.push_back(keep(text));
  return static_cast<TextId>(views_.size() - 1);
}

std::string Recording::row_name(const Call& call, const Leaf& leaf) const {
  std::string name;
  set_row_key(name, call, leaf, false);
  return name;
}

std::string Recording::row_key(const Call& call, const Leaf& leaf, bool renumbered) const {
  std::string key;
  set_row_key(key, call, leaf, renumbered);
  return key;
}

void Recording::set_row_key(std::string& key, const Call& call, const Leaf& leaf, bool renumbered) const {
  const std::string_view own = name(call);
  std::string_view suffix = text(leaf.suffix);
  key.clear();
  if (leaf.data_name != 0) {
    const std::string_view file = text(leaf.data_name);
    const std::size_t dot = file.rfind('.');
    const std::string_view stem = file.substr(0, dot == 0 ? file.size() : dot);
    if (!stem.starts_with(own)) {
      key = stem;
      return;
    }
    suffix = stem.substr(own.size());
  }
  if (!renumbered || call.direction != Direction::backward || debug) {
    key.append(own).append(suffix);
    return;
  }
  key.append(text(call.base)).append(call.module ? ".backward." : ".");
  key.append(std::to_string(call.order)).append(call.module ? "" : ".backward").append(suffix);
}

void read_name(std::string_view name, Call& call, Texts& texts) {
  const auto direction_of = [](std::string_view part) {
    if (part == "forward") return Direction::forward;
    if (part == "backward") return Direction::backward;
    if (part == "parameters_grad") return Direction::parameters_grad;
    return Direction::none;
  };
  const std::size_t last_dot = name.rfind('.');
  if (last_dot == std::string_view::npos || last_dot == 0) return;
  const std::string_view before = name.substr(0, last_dot);
  const std::size_t second_dot = before.rfind('.');
  if (const Direction direction = direction_of(name.substr(last_dot + 1)); direction != Direction::none) {
    call.direction = direction;
    const bool numbered = direction != Direction::parameters_grad && second_dot != std::string_view::npos;
    call.base = texts.shared(numbered ? before.substr(0, second_dot) : before);
    call.module = false;
    return;
  }
  if (second_dot == std::string_view::npos || second_dot == 0) return;
  call.direction = direction_of(before.substr(second_dot + 1));
  if (call.direction == Direction::none) return;
  call.base = texts.shared(before.substr(0, second_dot));
  call.module = true;
}

std::string_view api_of(std::string_view name, const Call& call) {
  std::string_view base = name;
  if (call.direction != Direction::none) {
    base = name.substr(0, name.rfind('.'));
    if (call.direction != Direction::parameters_grad) base = base.substr(0, base.rfind('.'));
  }
  const std::size_t dot = base.rfind('.');
  return dot == std::string_view::npos ? base : base.substr(dot + 1);
}

void append_real(std::string& out, double value) { append_python_number(out, value); }

std::string value_text(const Texts& texts, const Value& value) {
  std::string text;
  switch (value.kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.integer != 0 ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer);
    case Kind::real:
      if (value.digits != 0) return std::string(texts[value.digits]);
      append_real(text, value.real);
      return text;
    case Kind::text:
    case Kind::nested:
      return std::string(texts[value.text]);
  }
  return text;
}

std::int64_t elements_of(std::string_view shape) {
  if (shape.size() < 2 || shape.front() != '[' || shape.back() != ']') return -1;
  std::int64_t elements = 1;
  std::string_view rest = shape.substr(1, shape.size() - 2);
  while (!rest.empty()) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc{} || size < 0 || __builtin_mul_overflow(elements, size, &elements)) return -1;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::size_t next = rest.find_first_not_of(", ");
    rest.remove_prefix(next == std::string_view::npos ? rest.size() : next);
  }
  return elements;
}

}  // namespace msrun::recordings
