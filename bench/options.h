// The command lines of the benchmarks.
#pragma once

#include <boost/program_options.hpp>
#include <iostream>

#include "kernels/base/error.h"

namespace msrun::bench {

// Sets the variables behind the options, to which --help is added; prints them and returns false if that is given.
// Throws UserError.
inline bool parse_options(int argc, char** argv, boost::program_options::options_description& options) {
  namespace po = boost::program_options;
  options.add_options()("help,h", "print this text");
  po::variables_map given;
  try {
    po::store(po::parse_command_line(argc, argv, options), given);
    po::notify(given);
  } catch (const po::error& error) {
    throw UserError(error.what());
  }
  if (given.contains("help")) std::cout << options;
  return !given.contains("help");
}

}  // namespace msrun::bench
