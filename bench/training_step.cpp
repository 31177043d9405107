#include "bench/training_step.h"

#include <cmath>

#include "kernels/base/error.h"

namespace msrun::bench {
namespace {

constexpr double norm_epsilon = 1e-5;
constexpr double rotary_base = 10000;

Shape with_last(Shape shape, std::int64_t size) {
  shape.back() = size;
  return shape;
}

class Step {
 public:
  Step(const ModelShape& model, DumpWriter& out) : m_(model), out_(out), head_(model.hidden / model.heads) {}

  void write() {
    const Shape tokens{m_.batch, m_.sequence};
    const Shape activations{m_.batch, m_.sequence, m_.hidden};
    embedding(integers(tokens, 0, m_.vocab - 1), m_.vocab, activations);
    if (m_.blocks == Blocks::llama) {
      rotary_tables();
    } else {
      embedding(integers(tokens, 0, m_.sequence - 1), m_.sequence, activations);
      same_shape("Tensor.__add__", activations, 1, 2);
    }
    for (std::int64_t layer = 0; layer < m_.layers; ++layer) {
      norm(activations);
      attention(activations);
      same_shape("Tensor.__add__", activations, 1, 2);
      norm(activations);
      feed_forward(activations);
      same_shape("Tensor.__add__", activations, 1, 2);
    }
    norm(activations);
    linear(activations, m_.vocab, false);
    loss();
    out_.backward();
  }

 private:
  Described value(Shape shape, double spread) const { return {m_.dtype, std::move(shape), 0, spread, {}, true}; }
  Described weight(Shape shape, double centre, double spread) const {
    return {m_.dtype, std::move(shape), centre, spread, {}, true};
  }
  static Described single(Shape shape, double centre, double spread) {
    return {DType::float32, std::move(shape), centre, spread, {}, true};
  }
  // Computed from nothing trainable, with values in [low, high].
  static Described constant(DType dtype, Shape shape, double low, double high) {
    return {dtype, std::move(shape), 0, 1, std::pair(low, high), false};
  }
  static Described integers(Shape shape, std::int64_t low, std::int64_t high) {
    return constant(DType::int64, std::move(shape), static_cast<double>(low), static_cast<double>(high));
  }

  void call(std::string api, std::vector<Argument> args, Described output, Gradients gradients = {},
            std::vector<Keyword> kwargs = {}) {
    out_.forward({std::move(api), std::move(args), std::move(kwargs), std::move(output), std::move(gradients)});
  }

  // operands tensors of one shape give one of that shape.
  void same_shape(const std::string& api, const Shape& shape, double spread, std::size_t operands) {
    const Described tensor = value(shape, spread);
    call(api, std::vector<Argument>(operands, tensor), tensor, Gradients(operands, tensor));
  }

  void embedding(const Described& indices, std::int64_t rows, const Shape& output) {
    const Described table = value({rows, m_.hidden}, 1);
    call("Functional.embedding", {indices, table, Nothing{}, Nothing{}, 2.0, false, false}, value(output, 1), {table});
  }

  // Frequencies base^(-2i/head), their products with the positions, cosine and sine.
  void rotary_tables() {
    const std::int64_t half = head_ / 2;
    const double largest = std::pow(rotary_base, static_cast<double>(head_ - 2) / static_cast<double>(head_));
    const double last = static_cast<double>(m_.sequence - 1);
    const auto row = [&](double low, double high) { return constant(DType::float32, {half}, low, high); };
    const Described exponents = row(0, static_cast<double>(head_ - 2) / static_cast<double>(head_));
    const Described frequencies = row(1 / largest, 1);
    call("Tensor.__truediv__", {row(0, static_cast<double>(head_ - 2)), head_}, exponents);
    call("Tensor.__rpow__", {exponents, rotary_base}, row(1, largest));
    call("Tensor.reciprocal", {row(1, largest)}, frequencies);
    call("Tensor.__mul__", {frequencies, 1.0}, frequencies);
    call("Torch.outer", {constant(DType::float32, {m_.sequence}, 0, last), frequencies},
         constant(DType::float32, {m_.sequence, half}, 0, last));
    for (const char* api : {"Tensor.cos", "Tensor.sin"}) {
      call(api, {constant(DType::float32, {m_.sequence, head_}, 0, last)},
           constant(DType::float32, {m_.sequence, head_}, -1, 1));
    }
  }

  void norm(const Shape& shape) {
    if (m_.blocks == Blocks::gpt) {
      const Described scale = weight({m_.hidden}, 1, 0.1);
      const Described shift = weight({m_.hidden}, 0, 0.1);
      call("Functional.layer_norm", {value(shape, 2), Shape{m_.hidden}, scale, shift, norm_epsilon}, value(shape, 1),
           {value(shape, 1), scale, shift});
      return;
    }
    const Described x = single(shape, 0, 1);
    const Described squares{DType::float32, shape, 0, 1, std::pair(0.0, 16.0), true};
    const Described variance = single(with_last(shape, 1), 1, 0.05);
    call("Tensor.pow", {x, std::int64_t{2}}, squares, {x});
    call("Tensor.mean", {squares, std::int64_t{-1}}, variance, {squares}, {{"keepdim", true}});
    call("Tensor.__add__", {variance, norm_epsilon}, variance, {variance, std::nullopt});
    call("Torch.rsqrt", {variance}, variance, {variance});
    call("Tensor.__mul__", {x, variance}, x, {x, variance});
    const Described scale = weight({m_.hidden}, 1, 0.1);
    call("Tensor.__mul__", {scale, value(shape, 1)}, value(shape, 1), {scale, value(shape, 1)});
  }

  void linear(const Shape& input, std::int64_t outputs, bool with_bias) {
    const std::int64_t inputs = input.back();
    const Described bias = weight({outputs}, 0, 0.1);
    call("Functional.linear",
         {value(input, 1), weight({outputs, inputs}, 0, 1 / std::sqrt(static_cast<double>(inputs))),
          with_bias ? Argument(bias) : Argument(Nothing{})},
         value(with_last(input, outputs), 0.6), {value(input, 1)});
  }

  // x * cos + rotated(x) * sin.
  void rotate(std::int64_t heads) {
    const Shape shape{m_.batch, heads, m_.sequence, head_};
    const Described x = value(shape, 0.6);
    const Described table = constant(m_.dtype, {m_.sequence, head_}, -1, 1);
    call("Tensor.__mul__", {x, table}, x, {x, std::nullopt});
    call("Tensor.__mul__", {x, table}, x, {x, std::nullopt});
    same_shape("Tensor.__add__", shape, 0.6, 2);
  }

  void attention(const Shape& input) {
    const bool biases = m_.blocks == Blocks::gpt;
    linear(input, m_.hidden, biases);
    linear(input, m_.kv_heads * head_, biases);
    linear(input, m_.kv_heads * head_, biases);
    if (m_.blocks == Blocks::llama) {
      rotate(m_.heads);
      rotate(m_.kv_heads);
    }
    const Described heads = value({m_.batch, m_.heads, m_.sequence, head_}, 0.6);
    const Described keys = value({m_.batch, m_.heads, head_, m_.sequence}, 0.6);
    const Described scores = value({m_.batch, m_.heads, m_.sequence, m_.sequence}, 1.5);
    call("Torch.matmul", {heads, keys}, scores, {heads, keys});
    call("Tensor.__truediv__", {scores, std::sqrt(static_cast<double>(head_))}, scores, {scores, std::nullopt});
    const double masked = -max_finite(m_.dtype);
    Described hidden_scores = scores;
    hidden_scores.bounds = std::pair(masked, 4.0);
    call("Tensor.__add__", {scores, constant(m_.dtype, {m_.sequence, m_.sequence}, masked, 0)}, hidden_scores,
         {scores, std::nullopt});
    Described weights = single(scores.shape, 0, 1);
    weights.bounds = std::pair(0.0, 1.0);
    call("Functional.softmax", {hidden_scores}, weights, {scores},
         {{"dim", std::int64_t{-1}}, {"dtype", DType::float32}});
    Described stored = weights;
    stored.dtype = m_.dtype;
    call("Torch.matmul", {stored, heads}, heads, {stored, heads});
    linear(input, m_.hidden, biases);
  }

  void feed_forward(const Shape& input) {
    const Shape wide = with_last(input, m_.ffn);
    linear(input, m_.ffn, m_.blocks == Blocks::gpt);
    if (m_.blocks == Blocks::llama) {
      same_shape("Functional.silu", wide, 0.6, 1);
      linear(input, m_.ffn, false);
      same_shape("Tensor.__mul__", wide, 0.4, 2);
    } else {
      same_shape("Functional.gelu", wide, 0.6, 1);
    }
    linear(wide, m_.hidden, m_.blocks == Blocks::gpt);
  }

  // Every position predicts the next one.
  void loss() {
    const std::int64_t rows = m_.batch * (m_.sequence - 1);
    const Described logits = single({rows, m_.vocab}, 0, 0.6);
    call("Functional.cross_entropy", {logits, integers({rows}, 0, m_.vocab - 1)},
         single({}, std::log(static_cast<double>(m_.vocab)), 0), {logits}, {{"ignore_index", std::int64_t{-100}}});
  }

  const ModelShape& m_;
  DumpWriter& out_;
  std::int64_t head_;  // width of one attention head
};

void require(bool condition, const char* rule) {
  if (!condition) throw UserError(std::string("No such model: ") + rule + ".");
}

}  // namespace

void check(const ModelShape& model) {
  for (const std::int64_t size :
       {model.layers, model.hidden, model.heads, model.kv_heads, model.ffn, model.vocab, model.batch}) {
    require(size >= 1, "every size is at least 1");
  }
  require(model.sequence >= 2, "the sequence needs a token to predict");
  require(model.hidden % model.heads == 0 && model.hidden / model.heads % 2 == 0,
          "--hidden divides into --heads of an even width");
  require(model.heads % model.kv_heads == 0, "--heads is a multiple of --kv-heads");
  require(model.dtype == DType::bfloat16 || model.dtype == DType::float16 || model.dtype == DType::float32,
          "--dtype is bf16, fp16 or fp32");
}

void write_training_step(const ModelShape& model, DumpWriter& out) { Step(model, out).write(); }

std::filesystem::path write_small_calls(const std::filesystem::path& directory, std::uint64_t steps,
                                        std::uint64_t min_bytes) {
  std::filesystem::create_directories(directory);
  std::filesystem::path file = directory / "dump.json";
  ModelShape model;
  model.layers = 16;
  DumpWriter out(file.string(), 1);
  for (std::uint64_t i = 0; i < steps || out.bytes() < min_bytes; ++i) write_training_step(model, out);
  out.close();
  return file;
}

}  // namespace msrun::bench
