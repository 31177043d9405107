#include "tools/torchair_convert/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <thread>

#include "kernels/base/error.h"

namespace msrun::convert {
namespace {

namespace po = boost::program_options;

constexpr double longest_wait = 86400;  // seconds
constexpr int max_workers = 256;

void check_seconds(const char* option, double seconds, double least) {
  if (!(seconds >= least && seconds <= longest_wait)) {
    std::ostringstream text;
    text << "--" << option << " must be a number of seconds from " << least << " to " << longest_wait << ".";
    throw UserError(text.str());
  }
}

}  // namespace

std::variant<Options, PrintAndExit> parse_command_line(int argc, const char* const* argv) {
  Options options;
  std::string statistics;
  const int processors = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, max_workers);
  po::options_description described(
      "torchair_convert PATH [options]\n\n"
      "Shrinks a dump of a compiled graph while it is being written, or afterwards: every tensor file becomes a small\n"
      "one with the least and the largest value of each tensor, and is then deleted. Also: msrun convert PATH ...\n\n"
      "Options");
  auto add = described.add_options();
  add("help,h", "print this text");
  add("once", "convert what is there and end; without it the tree is watched until Ctrl-C");
  add("stats", po::value(&statistics)->default_value("minmax")->value_name("WHAT"),
      "minmax, or full: mean, L2 norm, NaN and infinity counts and a CRC-32 as well");
  add("interval", po::value(&options.interval)->default_value(options.interval)->value_name("SEC"),
      "between two looks at the tree");
  add("settle", po::value(&options.settle)->default_value(options.settle)->value_name("SEC"),
      "a file must have been left alone for");
  add("workers", po::value(&options.workers)->default_value(processors)->value_name("N"),
      "files to convert at the same time");
  add("quiet", "no line per file");
  add("verbose", "a warning for every file that is left; without it the first five of a kind and their number");
  po::options_description all;
  all.add(described).add_options()("data_path", po::value(&options.data_path));
  po::positional_options_description positional;
  positional.add("data_path", 1);
  po::variables_map given;
  try {
    po::store(po::command_line_parser(argc, argv)
                  .options(all)
                  .positional(positional)
                  .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& error) {
    throw UserError(std::string(error.what()) + "; torchair_convert -h lists all options.");
  }
  if (given.count("help") != 0) {
    std::ostringstream text;
    text << described
         << "\nExit codes: 0 done, or stopped while watching; 1 --once: a file could not be converted; 2 wrong "
            "options, a\n"
            "directory that cannot be used, or another converter at work on it; 3 stopped early, or the disk is full: "
            "the\n"
            "same command goes on; 4 internal error.\n";
    return PrintAndExit{text.str()};
  }
  if (options.data_path.empty()) throw UserError("The directory of the dump is missing: torchair_convert PATH.");
  if (statistics != "minmax" && statistics != "full") {
    throw UserError("--stats must be minmax or full, not " + statistics + ".");
  }
  options.statistics = statistics == "full" ? Statistics::full : Statistics::minmax;
  options.once = given.count("once") != 0;
  options.quiet = given.count("quiet") != 0;
  options.verbose = given.count("verbose") != 0;
  check_seconds("interval", options.interval, 0.01);
  check_seconds("settle", options.settle, 0);
  if (options.workers < 1 || options.workers > max_workers) {
    throw UserError("--workers must be a number from 1 to " + std::to_string(max_workers) + ".");
  }
  return options;
}

}  // namespace msrun::convert
