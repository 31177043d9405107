// The torchair_convert command.
#include <atomic>
#include <csignal>

#include "kernels/base/command_line/program.h"
#include "kernels/base/guarded_main.h"
#include "tools/torchair_convert/command_line.h"
#include "tools/torchair_convert/converter.h"

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask_to_stop(int) { stop = true; }

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGIO, SIG_IGN);  // somebody waits for a lease, which is given back anyway
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the program at once, which is safe too
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return msrun::guarded_main("torchair_convert", [&] {
    return msrun::print_or_run(
        msrun::convert::parse_command_line(argc, argv),
        [](const msrun::convert::Options& options) { return msrun::convert::run(options, stop); });
  });
}
