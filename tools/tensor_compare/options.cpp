#include "tools/tensor_compare/options.h"

#include <boost/program_options.hpp>
#include <charconv>

#include "kernels/base/error.h"
#include "kernels/base/option_choice.h"
#include "kernels/base/text.h"

namespace msrun::tensor_compare {

namespace po = boost::program_options;

namespace {

std::optional<DType> dtype_option(const po::variables_map& values, const std::string& name) {
  if (!values.contains(name)) return std::nullopt;
  const std::string text = values[name].as<std::string>();
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype) throw UserError("--" + name + " is no known dtype: " + shell_quoted(sanitised(text)));
  return dtype;
}

Options options_from(const po::variables_map& values) {
  const auto given = [&](const char* name) { return values.contains(name); };
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  Options options;
  const auto files = given("file") ? values["file"].as<std::vector<std::string>>() : std::vector<std::string>{};
  if (given("cases")) {
    options.cases_path = text("cases");
    if (!files.empty()) throw UserError("--cases takes no further files");
    for (const char* name : {"api", "bench-dtype", "device-dtype"}) {
      if (given(name)) throw UserError(std::string("--cases says itself what --") + name + " would");
    }
  } else if (files.size() == 2) {
    options.bench_path = files[0];
    options.device_path = files[1];
  } else {
    throw UserError(
        "two files are needed, the benchmark's first: tensor_compare BENCHMARK DEVICE, or --cases FILE.json; "
        "tensor_compare -h lists all options");
  }
  if (given("api")) options.api = text("api");
  options.bench_dtype = dtype_option(values, "bench-dtype");
  options.device_dtype = dtype_option(values, "device-dtype");
  if (given("standard")) {
    options.policy = option_choice<Policy>("--standard", text("standard"),
                                           {{"per_api", Policy::per_api}, {"current", Policy::current}});
  }
  if (given("compat")) options.compat_msprobe = option_choice<bool>("--compat", text("compat"), {{"msprobe", true}});
  if (given("format")) {
    options.format =
        option_choice<Format>("--format", text("format"), {{"csv", Format::csv}, {"table", Format::table}});
  }
  if (given("titles")) {
    options.english = option_choice<bool>("--titles", text("titles"), {{"zh", false}, {"cn", false}, {"en", true}});
  }
  if (given("fail-on")) {
    options.fail_on =
        option_choice<FailOn>("--fail-on", text("fail-on"), {{"error", FailOn::error}, {"warning", FailOn::warning}});
  }
  if (given("precision")) {
    const std::string digits = text("precision");
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, options.precision);
    if (error != std::errc{} || stop != end || options.precision < 0 || options.precision > 20) {
      throw UserError("--precision must be a number from 0 to 20, not " + shell_quoted(sanitised(digits)));
    }
  }
  return options;
}

po::options_description description() {
  po::options_description result;
  const auto value = [] { return po::value<std::string>(); };
  result.add_options()("help,h", "")("cases", value())("api", value())("bench-dtype", value())("device-dtype", value())(
      "standard", value())("compat", value())("format", value())("titles", value())("precision", value())(
      "fail-on", value())("file", po::value<std::vector<std::string>>());
  return result;
}

}  // namespace

std::string help_text() {
  return "tensor_compare compares two tensors as the pre-check does and prints the row of the details file.\n"
         "\n"
         "Usage: tensor_compare BENCHMARK DEVICE [OPTIONS]     two .npy or .pt files: the first is the benchmark, the\n"
         "                                                     second what the device computed\n"
         "       tensor_compare --cases FILE.json [OPTIONS]    all pairs of a file laid out like a golden file\n"
         "\n"
         "Options:\n"
         "  --api NAME                        the API that made the tensors: it decides the standard. Default: from "
         "the\n"
         "                                    device's file name if that is a dump's, else none\n"
         "  --bench-dtype, --device-dtype DT  what the file holds, where the file cannot say it: bfloat16 and float8 "
         "are\n"
         "                                    integers in .npy; other values are converted\n"
         "  --standard POLICY                 per_api (default): the documented standard of each API; current: newest\n"
         "                                    msProbe\n"
         "  --compat msprobe                  reproduce msProbe's cells, known errors included\n"
         "  --format FORMAT                   table (default for two files on a terminal) or csv\n"
         "  --titles LANGUAGE                 zh (default in CSV) or en (default in a table)\n"
         "  --precision N                     decimals of double precision cells, 0 to 20 (default 14)\n"
         "  --fail-on LEVEL                   exit code 1 if a row is an error, or a warning\n"
         "  -h, --help                        print this text\n"
         "\n"
         "Exit codes: 0 compared, whatever the verdict, 1 compared and --fail-on met, 2 wrong usage, input that "
         "cannot\n"
         "be used or output that cannot be written, 4 internal error.\n";
}

std::variant<Options, PrintAndExit> parse_options(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const po::options_description known = description();
  po::positional_options_description positions;
  positions.add("file", -1);
  po::variables_map values;
  try {
    using namespace po::command_line_style;
    po::store(po::command_line_parser(words)
                  .options(known)
                  .positional(positions)
                  .style(allow_long | long_allow_adjacent | long_allow_next | allow_long_disguise | allow_short |
                         short_allow_next | allow_dash_for_short)
                  .run(),
              values);
  } catch (const po::error& error) {
    throw UserError(std::string(error.what()) + " (tensor_compare -h lists all options)");
  }
  if (values.contains("help")) return PrintAndExit{help_text()};
  return options_from(values);
}

}  // namespace msrun::tensor_compare
