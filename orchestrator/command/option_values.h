// Options whose one value has a grammar of its own: devices, times, sizes, backends. All throw UserError with the
// option and what it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/base/command_line/arguments.h"
#include "orchestrator/command/command_line.h"

namespace msrun {

// -d: device ids, each once, as words or as "0,1,2"; device 0 if it is not given. The layout decides the words of an
// error.
std::vector<int> parse_devices(const Arguments& arguments, ReportLayout layout);

// --task-timeout: "90", "90s", "5m", "1h", as seconds; nothing if it is not given.
std::optional<double> parse_timeout(const Arguments& arguments);

// --memory: "2G", "512MiB", or "50%" of what is free.
MemoryLimit parse_memory(const Arguments& arguments);

// --max-abs-err: a limit above 0.
double parse_max_abs_error(const Arguments& arguments);

// --benchmark: the multiply-adds from which a product is sampled; nothing for the whole benchmark. Files in the form of
// another tool hold that tool's results, which are those of the whole benchmark.
std::optional<double> parse_benchmark(const Arguments& arguments, const Options& options);

// "full", "sampled" or "sampled=1000": --benchmark as it is written.
std::string benchmark_text(const std::optional<double>& sampled_work);

// --backend: sets backend, and backend_kind of one with a kind or a file behind the colon.
void parse_backend(const Arguments& arguments, Options& options);

}  // namespace msrun
