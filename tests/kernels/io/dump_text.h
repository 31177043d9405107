// Dumps read from text, and values shown as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/dump/dump_json.h"

namespace msrun::testing {

struct Dump {
  DumpHeader header;
  std::vector<std::pair<std::string, DumpEntry>> entries;
};

inline Dump read(const std::string& text) {
  Dump dump;
  DumpReader reader("d.json", memory_source(text));
  dump.header = reader.read([&](std::string_view name, DumpEntry&& entry) {
    dump.entries.emplace_back(std::string(name), std::move(entry));
  });
  return dump;
}

inline std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string with_data(const std::string& data) { return R"({"framework": "pytorch", "data": )" + data + "}"; }

inline DumpEntry read_entry(const std::string& entry) {
  Dump dump = read(with_data(R"({"Torch.x.0.forward": )" + entry + "}"));
  EXPECT_EQ(dump.entries.size(), 1U);
  return std::move(dump.entries.at(0).second);
}

// The value as a positional argument; the same text as a keyword argument must give the same.
inline std::string show(const Value& value);
inline Value argument(const std::string& text) {
  DumpEntry entry = read_entry(R"({"input_args": [)" + text + R"(], "input_kwargs": {"k": )" + text + "}}");
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(entry.args.size(), 1U);
  EXPECT_EQ(entry.kwargs.size(), 1U);
  EXPECT_EQ(entry.kwargs.at(0).first, "k");
  if (!entry.args.at(0).is<Unsupported>()) {
    EXPECT_EQ(show(entry.args.at(0)), show(entry.kwargs.at(0).second)) << text;
  }
  return entry.args.at(0);
}

struct Show {
  std::string operator()(const None&) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return "int " + std::to_string(value); }
  std::string operator()(double value) const {
    std::ostringstream text;
    text.precision(17);
    text << "float " << value;
    return text.str();
  }
  std::string operator()(const std::string& value) const { return "'" + value + "'"; }
  std::string operator()(DType value) const { return std::string(torch_name(value)); }
  std::string operator()(const Slice& value) const {
    const auto bound = [](const std::optional<std::int64_t>& b) { return b ? std::to_string(*b) : std::string(); };
    return "slice " + bound(value.start) + ":" + bound(value.stop) + ":" + bound(value.step);
  }
  std::string operator()(const Ellipsis&) const { return "..."; }
  std::string operator()(const DeviceName& value) const { return "device '" + value.text + "'"; }
  std::string operator()(const Unsupported& value) const { return "unsupported: " + value.reason; }
  std::string operator()(const std::shared_ptr<const TensorSpec>& spec) const {
    std::string text = "tensor " + spec->dtype + " [";
    for (const std::int64_t size : spec->shape) text += std::to_string(size) + " ";
    text += "]";
    const auto add = [&](const char* label, const std::optional<double>& value) {
      if (value) text += std::string(" ") + label + (*this)(*value).substr(5);
    };
    add("max", spec->max);
    add("min", spec->min);
    add("max_finite", spec->max_finite);
    add("min_finite", spec->min_finite);
    add("mean", spec->mean);
    add("norm", spec->norm);
    return text + (spec->requires_grad ? " grad" : "") + (spec->data_name.empty() ? "" : " name " + spec->data_name) +
           (spec->data_path.empty() ? "" : " path " + spec->data_path);
  }
  std::string operator()(const Tensor&) const { return "Tensor"; }
  std::string operator()(const Var&) const { return "Var"; }
  std::string operator()(const List& list) const {
    std::string text = "[";
    for (const Value& value : list) text += (text.size() > 1 ? ", " : "") + show(value);
    return text + "]";
  }
  std::string operator()(const Dict& dict) const {
    std::string text = "{";
    for (const auto& [key, value] : dict) text += (text.size() > 1 ? ", " : "") + key + ": " + show(value);
    return text + "}";
  }
};

inline std::string show(const Value& value) { return std::visit(Show{}, value.variant()); }

inline std::string shown(const std::string& text) { return show(argument(text)); }

}  // namespace msrun::testing
