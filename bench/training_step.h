// The API calls of one training step of a decoder-only language model, as the dumper sees them: with the calls that
// only change a shape left out, which is its default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/dump_writer.h"

namespace msrun::bench {

enum class Blocks : std::uint8_t {
  llama,  // rms norm spelled out, rotary positions, grouped key/value heads, gated SiLU feed-forward
  gpt,    // layer norm, learned positions, GELU feed-forward, biases
};

struct ModelShape {
  Blocks blocks = Blocks::llama;
  DType dtype = DType::bfloat16;
  std::int64_t layers = 2;
  std::int64_t hidden = 64;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t ffn = 176;
  std::int64_t vocab = 128;
  std::int64_t sequence = 16;
  std::int64_t batch = 2;
};

// Throws UserError if there is no such model.
void check(const ModelShape& model);

// Forward calls, loss and backward of one micro batch.
void write_training_step(const ModelShape& model, DumpWriter& out);

// Writes dump.json, whose path is returned, into a directory that is made: so many steps, or more until the file has so
// many bytes, of sixteen layers of tensors of some thousand elements, 560 calls each. They show what a call costs
// whatever its size.
std::filesystem::path write_small_calls(const std::filesystem::path& directory, std::uint64_t steps,
                                        std::uint64_t min_bytes = 0);

}  // namespace msrun::bench
