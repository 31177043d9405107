// gen_dump: writes a dump.json of training steps of a language model of any size, for load tests and benchmarks.
#include <boost/program_options.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "bench/dump_writer.h"
#include "bench/options.h"
#include "bench/training_step.h"
#include "kernels/base/error.h"
#include "kernels/base/guarded_main.h"

namespace {

namespace po = boost::program_options;

msrun::DType dtype_of(const std::string& text) {
  if (text == "bf16") return msrun::DType::bfloat16;
  if (text == "fp16") return msrun::DType::float16;
  if (text == "fp32") return msrun::DType::float32;
  throw msrun::UserError("--dtype " + text + ": expected bf16, fp16 or fp32.");
}

msrun::bench::Blocks blocks_of(const std::string& text) {
  if (text == "llama") return msrun::bench::Blocks::llama;
  if (text == "gpt") return msrun::bench::Blocks::gpt;
  throw msrun::UserError("--blocks " + text + ": expected llama or gpt.");
}

int run(int argc, char** argv) {
  msrun::bench::ModelShape model;
  std::string blocks;
  std::string dtype;
  std::string directory;
  std::uint64_t micro_batches = 1;
  std::uint64_t min_bytes = 0;
  std::uint64_t seed = 1;
  po::options_description options(
      "gen_dump writes a statistics-mode dump.json of a language model's training step.\n\nOptions");
  auto add = options.add_options();
  add("out,o", po::value(&directory)->value_name("DIR"), "directory for dump.json");
  add("blocks", po::value(&blocks)->default_value("llama"), "llama or gpt");
  add("dtype", po::value(&dtype)->default_value("bf16"), "bf16, fp16 or fp32");
  add("layers", po::value(&model.layers)->default_value(model.layers));
  add("hidden", po::value(&model.hidden)->default_value(model.hidden));
  add("heads", po::value(&model.heads)->default_value(model.heads), "query heads");
  add("kv-heads", po::value(&model.kv_heads)->default_value(model.kv_heads), "key and value heads");
  add("ffn", po::value(&model.ffn)->default_value(model.ffn), "width of the feed-forward part");
  add("vocab", po::value(&model.vocab)->default_value(model.vocab));
  add("sequence", po::value(&model.sequence)->default_value(model.sequence));
  add("batch", po::value(&model.batch)->default_value(model.batch));
  add("micro-batches", po::value(&micro_batches)->default_value(micro_batches), "forward and backward passes");
  add("min-bytes", po::value(&min_bytes)->default_value(min_bytes), "add micro batches until the file has this size");
  add("seed", po::value(&seed)->default_value(seed), "of the recorded statistics");
  if (!msrun::bench::parse_options(argc, argv, options)) return 0;
  if (directory.empty()) throw msrun::UserError("-o DIR is needed.");
  model.dtype = dtype_of(dtype);
  model.blocks = blocks_of(blocks);
  msrun::bench::check(model);
  std::filesystem::create_directories(directory);
  msrun::bench::DumpWriter out((std::filesystem::path(directory) / "dump.json").string(), seed);
  for (std::uint64_t i = 0; i < micro_batches || out.bytes() < min_bytes; ++i)
    msrun::bench::write_training_step(model, out);
  out.close();
  std::cout << out.calls() << " calls, " << out.bytes() << " bytes\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return msrun::guarded_main("gen_dump", [&] { return run(argc, argv); });
}
