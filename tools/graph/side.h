// What the files of one rank's recording hold, in the form from which its graph is built and compared: calls and their
// parameters with every field that was recorded, call stacks, and the lines of construct.json.
//
// In this folder: the graph of a recorded model, matched with that of a second recording, and the files .vis and
// .vis.db that viewers open (graph_visualization.md). Reading JSON files of a recording is shared with
// tools/recordings.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::graph {

using recordings::Kind;
using recordings::statistic_count;
using recordings::text_value;
using recordings::TextId;
using recordings::Texts;
using recordings::Value;

inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

// What a field of a leaf means; the four statistics stand in this order everywhere.
enum class Role : std::uint8_t {
  other,
  type,
  dtype,
  shape,
  max,
  min,
  mean,
  norm,
  requires_grad,
  md5,
  data_name,
  value,
  group_ranks,
  group_id,
  class_type,
  op,
  peer,
  tag,
  full_op_name,
  state
};
inline constexpr std::size_t role_count = 20;

// The rules by which a file is written: those of .vis, and those of .vis.db.
enum class Dialect : std::uint8_t { vis, db };

// A field that leaves of one form have: recorded (or derived from what was), or one constant for all of them.
struct FormField {
  TextId key = 0;
  Role role = Role::other;
  std::int32_t place = -1;  // behind Parameter::values; -1: constant
  Value constant;
};

// Fields in the order in which they are shown, those that were not recorded included.
struct Form {
  std::vector<FormField> fields;
  std::array<std::int8_t, role_count> field_of{};  // -1: no such field
  bool null = false;                               // a recorded null
  bool named_rank = false;  // src, dst and process groups: for .vis.db their statistics are texts, not numbers
  bool ellipsis = false;
};

enum class Group : std::uint8_t { inputs, parameters, outputs, parameters_grad };

struct Parameter {
  TextId name = 0;  // behind the name of the call, or the whole one
  bool whole = false;
  bool output = false;  // shown among the outputs
  Group group = Group::inputs;
  std::uint32_t form = 0;
  std::uint32_t values = 0;  // place of the first in Side::values
};

enum class Overflow : std::uint8_t { none, medium, high, critical };
// By which rules it is found; msprobe: as msprobe 1.2.1 finds it, known errors included.
enum class OverflowRules : std::uint8_t { none, repaired, msprobe };

// A call or module of dump.json.
struct Entry {
  TextId name = 0;
  std::uint32_t first = 0;  // parameters
  std::uint32_t last = 0;   // behind the last
  Overflow overflow = Overflow::none;
};

// A line of construct.json.
struct Line {
  TextId name = 0;
  TextId parent = 0;  // 0: the root
  std::int64_t micro_step = 0;
};

// Lines of a stack, as places in Side::frames.
struct Stack {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

using Warn = std::function<void(const std::string&)>;

struct Side {
  std::string folder;
  std::string task;
  std::string framework;      // lower case, "mindspore" or "pytorch"; empty if nothing tells
  bool has_data_dir = false;  // dump.json names a folder, null included
  bool null_data_dir = false;
  std::string data_dir;
  bool has_md5 = false;               // a leaf directly below a call has a checksum
  std::int64_t last_micro_step = -1;  // of construct.json; negative: it does not say

  Texts texts;
  std::vector<Form> forms;
  std::vector<Value> values;
  std::vector<Parameter> parameters;
  std::vector<Entry> entries;
  std::vector<Line> lines;
  std::vector<TextId> frames;
  std::vector<Stack> stacks;  // the first is the empty one

  // Entries of dump.json and lines of construct.json whose names occur again: the later took the place of the earlier.
  struct Repeats {
    std::uint64_t count = 0;
    TextId first = 0;  // its name
  };
  Repeats repeated_entries;
  Repeats repeated_lines;

  std::unordered_map<TextId, std::uint32_t> entry_of;
  std::unordered_map<TextId, std::uint32_t> line_of;
  std::unordered_map<TextId, std::uint32_t> stack_of;

  std::string_view text(TextId id) const { return texts[id]; }
  const Form& form(const Parameter& parameter) const { return forms[parameter.form]; }
  Value field(const Parameter& parameter, const FormField& field) const {
    return field.place < 0 ? field.constant : values[parameter.values + static_cast<std::uint32_t>(field.place)];
  }
  // Nothing if the leaf has no such field.
  Value role(const Parameter& parameter, Role role) const;
  // As the dialect shows it: .vis.db gives src, dst and the like another dtype and checksum.
  Value role(const Parameter& parameter, Role role, Dialect dialect) const;
  // As Python's str() prints it.
  std::string value_text(const Value& value) const { return recordings::value_text(texts, value); }
  void append_name(std::string& out, const Entry& entry, const Parameter& parameter) const;
  std::string name_of(const Entry& entry, const Parameter& parameter) const;
};

}  // namespace msrun::graph
