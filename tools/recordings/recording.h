// What a dump.json holds, in the form in which two of them are compared: calls in the order of the file, and of each
// its leaves (tensors and scalars), flattened. Compact, so that a file of several hundred megabytes fits into memory
// twice.
//
// In this folder: reading dump.json of PyTorch and MindSpore, the folders of steps and ranks, and which calls of
// several ranks belong together. How two recordings are compared is told in the folders that use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace msrun::recordings {

// Texts that are kept once for a whole recording; a number stands for each. Number 0 is the empty text.
using TextId = std::uint32_t;

class Texts {
 public:
  Texts() { views_.emplace_back(); }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  Texts(Texts&&) = default;
  Texts& operator=(Texts&&) = default;

  // Equal texts have one number.
  TextId shared(std::string_view text);
  // For texts that rarely repeat: not looked up.
  TextId own(std::string_view text);
  // Valid as long as this, also when it is moved.
  std::string_view operator[](TextId id) const { return views_[id]; }
  std::size_t size() const { return views_.size(); }

 private:
  // A table in one piece, as millions of texts are looked up while a recording is read. id 0: the place is free.
  struct Known {
    std::uint32_t hash = 0;
    TextId id = 0;
  };

  std::string_view keep(std::string_view text);
  // The place of the text in known_, or the free one that it belongs to.
  Known& place_of(std::string_view text, std::uint32_t hash);
  void grow();

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t room_ = 0;
  char* next_ = nullptr;
  std::vector<std::string_view> views_;
  std::vector<Known> known_;  // a power of two of places, at most half of them taken
  std::size_t taken_ = 0;     // of them
};

enum class Kind : std::uint8_t { none, boolean, integer, real, text, nested };

// One recorded value: what kind it has decides which member counts; none has no value. One that is nested, a list or
// object, is the text that Python prints.
struct Value {
  Kind kind = Kind::none;
  TextId digits = 0;  // of a real that was written as an integer which does not fit 64 bits
  union {
    std::int64_t integer = 0;  // of a boolean too
    double real;
    TextId text;
  };

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  bool is_whole() const { return kind == Kind::integer || digits != 0; }
  double number() const { return kind == Kind::real ? real : static_cast<double>(integer); }
};

inline Value text_value(TextId text) {
  Value value;
  value.kind = Kind::text;
  value.text = text;
  return value;
}

enum class State : std::uint8_t { input, parameters, output, parameters_grad };
enum class RequiresGrad : std::uint8_t { absent, no, yes };

// Places in Leaf::statistics.
inline constexpr std::size_t statistic_count = 4;
enum Statistic : std::uint8_t { max_value, min_value, mean_value, norm_value };

// One tensor or scalar of a call; dump_compare.md 3.
struct Leaf {
  TextId suffix = 0;     // behind the call's name: ".input.0"
  TextId type = 0;       // "torch.Tensor", "int"; empty for null
  TextId dtype = 0;      // as the table of results shows it: "torch.float32", "<class 'int'>", "None"
  TextId shape = 0;      // likewise: "[2, 4]"
  TextId md5 = 0;        // recorded, or CRC-32 of the value's text; empty for null
  TextId data_name = 0;  // file of the tensor; empty if there is none
  State state = State::input;
  RequiresGrad requires_grad = RequiresGrad::absent;
  bool tensor = false;        // has a dtype of its own
  bool recorded_md5 = false;  // the recording has a checksum
  bool xor_sum = false;       // which combines the words of the data by XOR, where others are a CRC-32
  std::array<Value, statistic_count> statistics{};
};

enum class Direction : std::uint8_t { none, forward, backward, parameters_grad };

struct Call {
  TextId name = 0;
  TextId base = 0;  // "Functional.linear" of "Functional.linear.0.forward", "Module.fc.Linear" of a module's
  Direction direction = Direction::none;
  bool module = false;       // the direction stands before the number
  std::uint32_t order = 0;   // among the calls of this base and direction, from 0
  std::uint32_t leaves = 0;  // place of the first in Recording::leaves
  std::uint32_t leaf_end = 0;
};

// What a batch of sends and receives says of one of its tensors: the operation and the other rank.
struct PeerOperation {
  TextId operation = 0;
  TextId peer = 0;
};

struct Recording {
  std::string path;       // of dump.json
  std::string folder;     // that it lies in
  std::string framework;  // lower case; empty if the file does not say
  std::string task;
  std::string level;
  bool has_task = false;
  bool debug = false;  // debug.json, whose entries are values and no calls
  bool has_md5 = false;
  bool has_half = false;  // some tensor is of a half type
  // Entries of `data` of which nothing is known: they are no objects, or nested too deep or too large to be read.
  std::size_t no_objects = 0;
  TextId first_no_object = 0;  // its name
  std::size_t repeated = 0;    // entries whose name an earlier one has
  TextId first_repeated = 0;   // its name
  std::vector<Call> calls;
  std::vector<Leaf> leaves;
  std::unordered_map<std::uint32_t, PeerOperation> peer_operations;  // by the place of the leaf
  Texts texts;
  // The first text that a spreadsheet would run, as msProbe's refusal names it; empty if there is none.
  std::string odd_text;

  std::string_view name(const Call& call) const { return texts[call.name]; }
  std::string_view text(TextId id) const { return texts[id]; }
  // Name of the row of a leaf: its file's name without extension if it has one, else call and suffix.
  std::string row_name(const Call& call, const Leaf& leaf) const;
  // The key under which rows are matched: the name, with the number of a backward call replaced by its order
  // (dump_compare.md 4.1). renumbered false: the name.
  std::string row_key(const Call& call, const Leaf& leaf, bool renumbered) const;
  // Puts what row_key() gives into a text that is used again and again.
  void set_row_key(std::string& key, const Call& call, const Leaf& leaf, bool renumbered) const;
};

// What the name of a call tells: fills all of call but its name and leaves and order.
void read_name(std::string_view name, Call& call, Texts& texts);

// Middle part of "Functional.linear.0.forward": "linear"; of a module its class.
std::string_view api_of(std::string_view name, const Call& call);

// As Python's repr() prints it: "1e-05", "7.0", "inf", "nan".
void append_real(std::string& out, double value);
// As Python's str() prints the value; None, True and False for those.
std::string value_text(const Texts& texts, const Value& value);

// Elements of a tensor by the text of its shape, "[2, 4]"; -1 if that is none.
std::int64_t elements_of(std::string_view shape);

}  // namespace msrun::recordings
