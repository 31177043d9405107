// The Python process that runs calls with a framework, as msrun holds it. Where the interpreter and the worker's files
// are, how it is started, and how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/unique_fd.h"
#include "runner/workers/worker_options.h"

namespace msrun {

// The path of the interpreter: python if it is given, else MSRUN_PYTHON, else "python3"; a plain name is looked for in
// PATH. Throws UserError if there is no such program; framework is the one that it is meant to have.
std::string find_python(const std::string& python, const WorkerFramework& framework);

// The folder of the framework's worker package, in the place that msrun sees it. Throws UserError if it is not there.
std::string find_worker(const WorkerFramework& framework);

// A process that forks workers: where it is asked, and its number. It may have ended.
struct ForkServer {
  int socket = -1;
  pid_t pid = -1;
};

// Seconds without a sign of life after which a process is killed that would be there at once, or that is stopped.
inline constexpr int silence_of_workers = 30;

class WorkerProcess {
 public:
  struct Start {
    WorkerOptions options;
    std::int32_t device_id = 0;
    bool inspect = false;      // says what there is, and ends; or, if it can_fork(), is the process that forks workers
    bool blocking = false;     // kernels are waited for one by one, so that an error is that of the call that caused it
    std::uint64_t memory = 0;  // bytes of the host that calls may take; 0: as many as there are
    // The process that forks workers, which are there at once. None, or one that has ended, or that is silent for so
    // many seconds, and is killed then if it is stopped: Python is started, and imports the framework first.
    ForkServer forks = {};
    int silence = silence_of_workers;
    int output = 2;  // descriptor that takes what libraries print; of a forked worker it is that of who forks it
  };

  // Starts the process; what is told to it waits until it has imported the framework. It is killed when this process
  // ends, or, unless it is forked elsewhere, the calling thread. Throws std::system_error.
  explicit WorkerProcess(const Start& start);
  // Kills and reaps it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int control() const { return control_.get(); }
  // What is asked of it goes to an inspecting process that can_fork().
  ForkServer forks() const { return {control_.get(), pid_}; }

  // How it ended: its wait status, and what Python's faulthandler said. Waits for the end, which whoever has seen the
  // end of one of its sockets knows to be near; after a few seconds it is made. Once.
  struct End {
    int wait_status = 0;
    std::string fault;
  };
  End end();

  // Lets it end by itself, for a moment. Nothing is running in it.
  void dismiss();

  // Whether the inspection of such a kind is left to the process that forks workers (ask_for_hello): the framework
  // alone may be in it, and torch_npu comes with more than that.
  static bool can_fork(const WorkerOptions& options) { return options.framework->forks && options.kind != "npu"; }

 private:
  void launch(const Start& start, int control, int fault);
  bool ask_for_fork(const Start& start, int control, int fault);
  bool reap(double seconds);
  bool read_status(double seconds);

  pid_t pid_ = -1;
  UniqueFd control_;
  UniqueFd fault_;
  // Of a process that was forked elsewhere: its number and then its wait status come in it.
  UniqueFd status_;
  // With the end of this pipe the Python ends.
  UniqueFd lifeline_;
  int wait_status_ = 0;
};

// The identity of the thread, as Python's threading.get_ident() has it, in which a fatal signal was caught; nothing if
// faulthandler does not say.
std::optional<std::uint64_t> faulting_thread(const std::string& fault);

}  // namespace msrun
