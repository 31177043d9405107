#include "orchestrator/session/stealing.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "journal/run_files.h"
#include "kernels/base/clock.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/io/files/entries.h"
#include "orchestrator/output/run_paths.h"
#include "orchestrator/plan/dealing.h"
#include "orchestrator/session/run_identity.h"
#include "orchestrator/supervise/signals.h"
#include "runner/results/attempts.h"
#include "runner/results/journal_records.h"

namespace msrun {
namespace {

constexpr std::size_t calls_of_a_lease = 16;
constexpr std::size_t most_usual_leases = 256;

// Where the results are, and the same for all who check the same in the same way.
std::filesystem::path folder_of(const SessionState& session) {
  const Options& options = session.options;
  // The CSVs of a rank lie below the folder of the run.
  const std::filesystem::path results =
      options.csv_path.empty() ? options.out_path : resumed_run_files(options.csv_path).directory;
  return (results.empty() ? "." : results) / ("leases_" + run_key(session));
}

std::uint32_t usual_leases(const SessionState& session) {
  if (session.options.leases > 0) return session.options.leases;
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(session.plan.size() / calls_of_a_lease, 1, most_usual_leases));
}

}  // namespace

Stealing::Stealing(const SessionState& session)
    : session_(session),
      folder_(
          {folder_of(session), node_label(session.options.node), usual_leases(session), session.options.lease_timeout}),
      path_(folder_of(session).string()),
      dealt_(deal(session.plan.view(), folder_.leases())) {
  const std::uint32_t asked = session.options.leases;
  if (asked != 0 && asked != folder_.leases()) {
    spdlog::warn("--leases {}: the {} leases in {} are there already and count.", asked, folder_.leases(), path_);
  }
  spdlog::warn("The {} calls are shared by all processes that take leases in {}: {} of them. This is {}.",
               session.plan.size(), path_, folder_.leases(), session.options.node);
}

std::optional<std::vector<bool>> Stealing::next() {
  while (!interrupted_) {
    const LeaseFolder::Look look = folder_.take(steady_seconds());
    if (look.all_done) return std::nullopt;
    // A signal may have come after the calls of the last lease had been waited for.
    interrupted_ = !wait(0);
    if (interrupted_) break;
    if (look.taken) {
      lease_ = look.taken->lease;
      ++taken_;
      renewed_ = steady_seconds();
      waits_ = false;
      if (!look.taken->from.empty()) {
        find_suspects();
        spdlog::warn("Lease {} is taken over from {}, which was silent for {} s.", lease_, look.taken->from,
                     session_.options.lease_timeout);
      }
      std::vector<bool> share(dealt_.size());
      for (std::size_t task = 0; task < dealt_.size(); ++task) share[task] = dealt_[task] == lease_;
      return share;
    }
    log_wait(look);
    interrupted_ = !wait(folder_.look_interval());
  }
  return std::nullopt;
}

// Each node knows from its own journal only what it died of itself.
void Stealing::find_suspects() {
  AttemptHistory history = own_journal_.earlier;
  std::error_code error;
  const std::filesystem::path results = std::filesystem::path(path_).parent_path();
  for (const std::filesystem::directory_entry& file : entries_of(results, error)) {
    if (file.path().extension() != ".journal") continue;
    std::error_code unknown;
    if (std::filesystem::equivalent(file.path(), own_journal_.path, unknown)) continue;
    try {
      const std::unique_ptr<journal::Source> source = journal::open_source(file.path());
      if (!is_of_run(journal::read_header(*source).metadata, session_)) continue;
      history.see({AttemptNote::Event::start, {}});
      RecordHandlers handlers;
      handlers.attempt = [&](const AttemptNote& note) { history.see(note); };
      handlers.unreadable = [](const std::string&) {};
      read_records(*source, handlers);
    } catch (const journal::Error&) {
      // One that was just begun, or is not ours.
    }
  }
  if (error) {
    spdlog::warn("{} cannot be read to its end ({}): which calls other processes died of may be unknown.",
                 results.string(), error.message());
  }
  suspects_ = history.suspects(2);
}

void Stealing::log_wait(const LeaseFolder::Look& look) {
  if (waits_) return;
  waits_ = true;
  spdlog::info("No lease is free; waiting for those that others are at: {} of {} are done.", look.done,
               folder_.leases());
}

// False if a signal came.
bool Stealing::wait(double seconds) {
  const UniqueFd signals = signal_queue();
  const double end = steady_seconds() + seconds;
  while (true) {
    const double left = std::min(end - steady_seconds(), 0.1);
    pollfd state{signals.get(), POLLIN, 0};
    const int milliseconds = std::max(1, static_cast<int>(left * 1000));
    if (poll(&state, 1, milliseconds) > 0 && next_signal(signals.get())) return false;
    if (idle_) idle_();
    if (steady_seconds() >= end) return true;
  }
}

bool Stealing::may_go_on() {
  const double now = steady_seconds();
  if (now - renewed_ < folder_.renew_interval()) return true;
  renewed_ = now;
  if (folder_.renew()) return true;
  spdlog::warn(
      "Lease {} was taken over by another process, as this one was silent: what of it is not begun is left to "
      "that one.",
      lease_);
  return false;
}

void Stealing::finish() {
  if (!folder_.finish()) {
    spdlog::warn(
        "Lease {} was taken over by another process while its last calls were checked: both have their "
        "results, which msrun merge compares.",
        lease_);
  }
}

void Stealing::give_back() { folder_.give_back(); }

std::string Stealing::text() const {
  return std::to_string(taken_) + " of " + std::to_string(folder_.leases()) + " leases";
}

}  // namespace msrun
