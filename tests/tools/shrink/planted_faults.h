// Calls with planted faults of the simulated device, which are to be shrunk.
#pragma once

#include <string>
#include <vector>

namespace msrun::testing {

struct PlantedFault {
  std::string call;  // "Torch.matmul"
  std::string args;  // JSON of input_args
  std::string kwargs = {};
  std::string output;  // shape of the output, "[64, 48]"
  std::string fault;
  // Input elements of the smallest per element of the original, at most; 1: nothing smaller fails.
  double share = 0.01;
  bool has_backward = false;
  std::string dtype = "float32";
};

// A tensor by its statistics.
inline std::string tensor_json(const std::string& shape, const std::string& dtype = "float32", double low = -2,
                               double high = 2, bool requires_grad = true) {
  return R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": )" + shape + R"(, "Max": )" +
         std::to_string(high) + R"(, "Min": )" + std::to_string(low) + R"(, "Mean": 0, "Norm": 1, "requires_grad": )" +
         (requires_grad ? "true}" : "false}");
}

inline std::string integer_json(std::int64_t value) {
  return R"({"type": "int", "value": )" + std::to_string(value) + "}";
}

// A dump of the one call NAME.0.
inline std::string dump_of(const PlantedFault& planted) {
  const std::string name = planted.call + ".0";
  const std::string output = tensor_json(planted.output, planted.dtype);
  std::string text =
      R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {")" + name +
      R"(.forward": {"input_args": [)" + planted.args + R"(], "input_kwargs": {)" + planted.kwargs +
      R"(}, "output": [)" + output + "]}";
  if (planted.has_backward) {
    text += ", \"" + name + R"(.backward": {"input": [)" + tensor_json(planted.output, planted.dtype, -1, 1) +
            R"(], "output": []})";
  }
  return text + "}}";
}

inline std::vector<PlantedFault> planted_faults() {
  const auto t = [](const std::string& shape) { return tensor_json(shape); };
  const auto b = [](const std::string& shape) { return tensor_json(shape, "bfloat16"); };
  const auto i = integer_json;
  const std::string matmul = t("[64, 96]") + "," + t("[96, 48]");
  const std::string linear = t("[32, 128]") + "," + t("[64, 128]") + "," + t("[64]");
  const std::string conv = t("[4, 8, 20, 20]") + "," + t("[16, 8, 3, 3]") + "," + t("[16]");
  const std::string sum = t("[100, 200]") + "," + i(1);
  const std::string norm =
      t("[50, 128]") + ",[" + i(128) + "]," + t("[128]") + "," + t("[128]") + R"(,{"type": "float", "value": 1e-5})";
  const std::string group =
      t("[4, 32, 12, 12]") + "," + i(8) + "," + t("[32]") + "," + t("[32]") + R"(,{"type": "float", "value": 1e-5})";
  const std::string attention = t("[2, 4, 32, 16]") + "," + t("[2, 4, 32, 16]") + "," + t("[2, 4, 32, 16]");
  const std::string ids = tensor_json("[40, 50]", "int64", 0, 99, false);
  return {
      // The first six show each kind of step, and what keeps its shape.
      {"Torch.matmul", matmul, {}, "[64, 48]", "acc-fp16"},
      {"Torch.add", t("[200, 100]") + "," + t("[200, 100]"), {}, "[200, 100]", "wrong-tail"},
      {"Functional.layer_norm", norm, {}, "[50, 128]", "gradient-sign", 0.01, true},
      {"Tensor.exp", t("[64, 64]"), {}, "[64, 64]", "wrong-core=4096/4096", 1},
      {"Functional.conv2d", conv, {}, "[4, 16, 18, 18]", "acc-bf16"},
      {"Functional.embedding", ids + "," + t("[100, 64]"), {}, "[40, 50, 64]", "wrong-core=3/8"},
      // The others.
      {"Torch.matmul", matmul, {}, "[64, 48]", "acc-bf16"},
      {"Torch.matmul", matmul, {}, "[64, 48]", "dropped-term"},
      {"Torch.matmul", matmul, {}, "[64, 48]", "hf32"},
      {"Torch.matmul", matmul, {}, "[64, 48]", "wrong-element"},
      {"Torch.matmul", matmul, {}, "[64, 48]", "transposed"},
      {"Torch.matmul", matmul, {}, "[64, 48]", "stale"},
      {"Torch.matmul", b("[64, 96]") + "," + b("[96, 48]"), {}, "[64, 48]", "round-to-zero", 0.01, false, "bfloat16"},
      {"Functional.linear", linear, {}, "[32, 64]", "acc-fp16"},
      {"Functional.linear", linear, {}, "[32, 64]", "missing-gradient-term", 0.01, true},
      {"Functional.linear", linear, {}, "[32, 64]", "swapped-rows"},
      {"Functional.conv2d", conv, {}, "[4, 16, 18, 18]", "dropped-term"},
      {"Functional.conv2d", conv, {}, "[4, 16, 18, 18]", "wrong-block"},
      {"Torch.add", t("[200, 100]") + "," + t("[200, 100]"), {}, "[200, 100]", "wrong-block"},
      {"Tensor.mul", t("[200, 100]") + "," + t("[100]"), {}, "[200, 100]", "nan-tail"},
      {"Tensor.mul", t("[200, 100]") + "," + t("[100]"), {}, "[200, 100]", "scale=1.5"},
      {"Functional.softmax", t("[80, 100]"), R"("dim": {"type": "int", "value": -1})", "[80, 100]", "uninitialised"},
      {"Functional.softmax", t("[80, 100]"), R"("dim": {"type": "int", "value": -1})", "[80, 100]", "swapped-rows"},
      {"Functional.relu", t("[90, 90]"), {}, "[90, 90]", "wrong-element"},
      {"Functional.gelu", t("[90, 90]"), {}, "[90, 90]", "scale=1.001"},
      {"Functional.gelu", t("[90, 90]"), {}, "[90, 90]", "gradient-sign", 0.01, true},
      {"Torch.sum", sum, {}, "[100]", "dropped-term"},
      {"Torch.sum", sum, {}, "[100]", "acc-fp16"},
      {"Torch.bmm", t("[4, 40, 30]") + "," + t("[4, 30, 40]"), {}, "[4, 40, 40]", "transposed"},
      {"Torch.exp", tensor_json("[90, 90]", "float32", -95, -90), {}, "[90, 90]", "ftz"},
      {"Functional.group_norm", group, {}, "[4, 32, 12, 12]", "wrong-tail"},
      {"Functional.scaled_dot_product_attention", attention, {}, "[2, 4, 32, 16]", "acc-fp16"},
      {"Torch.cat", "[" + t("[60, 50]") + "," + t("[60, 50]") + "]", {}, "[120, 50]", "swapped-rows"},
      {"Tensor.view", t("[8, 24, 32]") + "," + i(192) + "," + i(32), {}, "[192, 32]", "wrong-element"},
      {"Functional.relu", t("[90, 90]"), {}, "[90, 90]", "crash"},
  };
}

}  // namespace msrun::testing
