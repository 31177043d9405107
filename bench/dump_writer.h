// Writes a statistics-mode dump.json as a training framework's dumper would: a stream of API entries, the forward calls
// of a step in order, then their backward entries in reverse. Nothing but the backward entries of the current step is
// kept.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/tensor/dtype.h"

namespace msrun::bench {

using Shape = std::vector<std::int64_t>;

// A tensor as far as a dump tells of it: values around centre with a standard deviation of spread, or, where bounds are
// given, somewhere between them.
struct Described {
  DType dtype = DType::float32;
  Shape shape;
  double centre = 0;
  double spread = 1;
  std::optional<std::pair<double, double>> bounds;
  bool requires_grad = true;
};

struct Nothing {};  // null in the dump
using Argument = std::variant<Nothing, Described, bool, std::int64_t, double, DType, Shape>;
using Keyword = std::pair<std::string, Argument>;

// One gradient per argument that autograd follows; nothing where an argument gets none.
using Gradients = std::vector<std::optional<Described>>;

struct Call {
  std::string api;  // "Functional.linear"
  std::vector<Argument> args;
  std::vector<Keyword> kwargs;
  Described output;
  Gradients gradients;  // empty: the call has no backward entry
};

class DumpWriter {
 public:
  // Throws UserError if the file cannot be written; so does every other member.
  DumpWriter(const std::string& path, std::uint64_t seed);

  void forward(const Call& call);
  // Writes the backward entries of all forward calls since the last time, latest first.
  void backward();
  // Completes the file. Without it the file is not JSON.
  void close();

  std::uint64_t bytes() const { return written_ + text_.size(); }
  std::uint64_t calls() const { return calls_; }

 private:
  struct Pending {
    std::string name;
    Described output;
    Gradients gradients;
  };

  void flush();
  double random();  // uniform in [-1, 1)

  // JSON, one space of indentation per level.
  void open(char bracket);
  void close(char bracket);
  void item();
  void key(std::string_view name);
  void text(std::string_view value);
  void number(double value);
  void number(std::int64_t value);
  void optional_number(const std::optional<double>& value);
  void boolean(bool value);
  void null();

  void write(const Described& tensor);
  void write(const Argument& argument);
  void scalar(std::string_view type);

  std::string path_;
  std::ofstream file_;
  std::string text_;
  std::vector<bool> has_items_;  // by level
  bool after_key_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t random_state_;
  std::map<std::string, std::uint64_t, std::less<>> counts_;  // calls of each API so far
  std::vector<Pending> pending_;
};

}  // namespace msrun::bench
