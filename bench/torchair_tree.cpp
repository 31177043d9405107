#include "bench/torchair_tree.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include "kernels/io/files/file.h"
#include "kernels/io/numpy/npy_header.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t tensors_per_operator = 3;
constexpr std::uint64_t first_microsecond = 1'767'607'200'000'000;

std::string number(std::uint64_t value, std::size_t digits) {
  std::string text = std::to_string(value);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

// The same values for GE and FX: a tensor is known by token, operator and place. A run of a fixed sequence, so that
// writing large trees takes no longer than the disk does.
class Values {
 public:
  explicit Values(const TorchairTree& tree) : tree_(tree), sequence_(tree.elements + period) {
    std::mt19937_64 random(tree.seed);
    std::uniform_real_distribution<float> distribution(-2, 2);
    for (std::size_t i = 0; i < period; ++i) sequence_[i] = distribution(random);
    for (std::size_t i = period; i < sequence_.size(); ++i) sequence_[i] = sequence_[i - period];
  }
  std::span<const float> fx(std::uint64_t token, std::uint64_t op, std::uint64_t place) const {
    const std::uint64_t first = (token * 7919 + op * tensors_per_operator + place) * 31 % period;
    return std::span(sequence_).subspan(first, tree_.elements);
  }
  std::string ge(std::uint64_t token, std::uint64_t op, std::uint64_t place) {
    const std::span<const float> exact = fx(token, op, place);
    const auto wrong = static_cast<float>(1 + tree_.noise);
    bytes_.resize(tree_.elements * (tree_.half ? sizeof(Half) : sizeof(float)));
    char* target = bytes_.data();
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const float value = i % 2 == 0 ? exact[i] : exact[i] * wrong;
      if (tree_.half) {
        const Half narrow = to_half(value);
        std::memcpy(target, &narrow, sizeof(narrow));
        target += sizeof(narrow);
      } else {
        std::memcpy(target, &value, sizeof(value));
        target += sizeof(value);
      }
    }
    return bytes_;
  }

 private:
  static constexpr std::size_t period = 65521;
  const TorchairTree& tree_;
  std::vector<float> sequence_;
  std::string bytes_;
};

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  out += static_cast<char>(value);
}

void append_number(std::string& out, std::uint64_t field, std::uint64_t value) {
  append_varint(out, field << 3);
  append_varint(out, value);
}

void append_bytes(std::string& out, std::uint64_t field, const std::string& bytes) {
  append_varint(out, field << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

std::string tensor_message(const TorchairTree& tree, bool output) {
  constexpr std::uint64_t float32 = 1;
  constexpr std::uint64_t float16 = 2;
  constexpr std::uint64_t nd = 2;
  std::string dims;
  append_varint(dims, tree.elements);
  std::string shape;
  append_bytes(shape, 1, dims);
  std::string message;
  append_number(message, 1, tree.half ? float16 : float32);
  append_number(message, 2, nd);
  append_bytes(message, 3, shape);
  append_number(message, output ? 6 : 5, tree.elements * (tree.half ? sizeof(Half) : sizeof(float)));
  append_bytes(message, output ? 7 : 6, shape);
  return message;
}

std::string op_name(std::uint64_t op) { return "Add_" + std::to_string(op); }
std::string node_name(std::uint64_t op) { return "add_" + std::to_string(op) + "-aten.add.Tensor"; }

std::string graph_text(const TorchairTree& tree) {
  std::string text = "name: \"graph_1\"\n";
  for (std::uint64_t op = 0; op < tree.operators; ++op) {
    text += "op {\n  name: \"" + op_name(op) + "\"\n  type: \"Add\"\n";
    text += "  input: \"" + (op == 0 ? std::string("Data") : op_name(op - 1)) + ":0\"\n  input: \"Const:0\"\n";
    text += "  output_desc {\n    name: \"y\"\n    dtype: DT_FLOAT\n    attr {\n      key: \"_fx_tensor_name\"\n";
    text += "      value {\n        s: \"" + node_name(op) + ".OUTPUT.0\"\n      }\n    }\n  }\n}\n";
  }
  return text;
}

void write(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts, TreeSize& size) {
  OutputFile file(path.string());
  for (const std::span<const std::byte> part : parts) {
    file.write(part);
    size.bytes += part.size();
  }
  file.close();
  ++size.files;
}

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TreeSize write_ge_tree(const TorchairTree& tree, const std::string& directory) {
  const fs::path root = fs::path(directory) / "msprobe_ge_dump";
  fs::create_directories(root);
  TreeSize size;
  TreeSize ignored;
  write(root / "dynamo_original_graph_1_rank_0_pid_1_ts_20260105101500123456.txt", {bytes_of(graph_text(tree))},
        ignored);
  Values values(tree);
  std::uint64_t count = 0;
  for (std::uint64_t token = 0; token < tree.tokens; ++token) {
    const fs::path folder =
        root / "worldsize1_global_rank0" / "20260105101501" / "0" / "graph_1_0" / "1" / std::to_string(token);
    fs::create_directories(folder);
    for (std::uint64_t op = 0; op < tree.operators; ++op, ++count) {
      std::string message;
      append_bytes(message, 1, "2.0");
      append_bytes(message, 3, tensor_message(tree, true));
      append_bytes(message, 4, tensor_message(tree, false));
      append_bytes(message, 4, tensor_message(tree, false));
      append_bytes(message, 6, op_name(op));
      const std::array<std::uint64_t, 1> length{message.size()};
      const std::string data = values.ge(token, op, 0) + values.ge(token, op, 1) + values.ge(token, op, 2);
      const std::string name =
          "Add." + op_name(op) + "." + std::to_string(op + 1) + ".2." + std::to_string(first_microsecond + count * 100);
      write(folder / name, {bytes_of(length), bytes_of(message), bytes_of(data)}, size);
    }
  }
  return size;
}

TreeSize write_fx_tree(const TorchairTree& tree, const std::string& directory) {
  const fs::path root = fs::path(directory) / "msprobe_fx_dump";
  TreeSize size;
  const Values values(tree);
  const auto elements = static_cast<std::int64_t>(tree.elements);
  const std::string header = npy_header_bytes(NumpyType::float32, {&elements, 1});
  std::uint64_t count = 0;
  for (std::uint64_t token = 0; token < tree.tokens; ++token) {
    const fs::path folder = root / "worldsize1_global_rank0" / "graph_1" / std::to_string(token);
    fs::create_directories(folder);
    for (std::uint64_t op = 0; op < tree.operators; ++op, ++count) {
      const std::array<std::string, tensors_per_operator> places{".INPUT.0", ".INPUT.1", ".OUTPUT.0"};
      for (std::uint64_t place = 0; place < tensors_per_operator; ++place) {
        const std::string name = node_name(op) + places[place] + ".20260105" + number(count, 12) + ".npy";
        write(folder / name, {bytes_of(header), bytes_of(values.fx(token, op, place))}, size);
      }
    }
  }
  return size;
}

}  // namespace msrun::bench
