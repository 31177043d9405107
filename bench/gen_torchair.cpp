// gen_torchair: writes GE and FX dump trees of any size, for load tests and benchmarks.
#include <boost/program_options.hpp>
#include <iostream>
#include <string>

#include "bench/options.h"
#include "bench/torchair_tree.h"
#include "kernels/base/error.h"
#include "kernels/base/guarded_main.h"

namespace {

namespace po = boost::program_options;

int run(int argc, char** argv) {
  msrun::bench::TorchairTree tree;
  std::string directory;
  po::options_description options("gen_torchair writes DIR/msprobe_ge_dump and DIR/msprobe_fx_dump.\n\nOptions");
  auto add = options.add_options();
  add("out,o", po::value(&directory)->value_name("DIR"), "where the trees go");
  add("operators", po::value(&tree.operators)->default_value(tree.operators), "of the graph; three tensors each");
  add("tokens", po::value(&tree.tokens)->default_value(tree.tokens), "iterations that are dumped");
  add("elements", po::value(&tree.elements)->default_value(tree.elements), "of every tensor");
  add("half", po::bool_switch(&tree.half), "GE tensors in float16 rather than float32");
  add("noise", po::value(&tree.noise)->default_value(tree.noise), "relative difference of GE from FX");
  add("seed", po::value(&tree.seed)->default_value(tree.seed), "of the values");
  if (!msrun::bench::parse_options(argc, argv, options)) return 0;
  if (directory.empty()) throw msrun::UserError("-o DIR is needed.");
  for (const bool ge : {true, false}) {
    const msrun::bench::TreeSize size = ge ? write_ge_tree(tree, directory) : write_fx_tree(tree, directory);
    std::cout << (ge ? "GE: " : "FX: ") << size.files << " files, " << size.bytes << " bytes\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return msrun::guarded_main("gen_torchair", [&] { return run(argc, argv); });
}
