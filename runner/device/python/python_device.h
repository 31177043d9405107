// The user's own torch or MindSpore as the device under test, in a Python process beside the runner that calls the very
// function that was recorded.
//
// In this folder: the workers' files (msrun_worker, which all have in common, and a package for each framework), their
// processes, the shared memory and the frames between, and
// which thread is to blame when it dies. Not here: which backend a command line means (runner/device/backends).
#pragma once

#include <memory>

#include "runner/device/device.h"
#include "runner/workers/worker_options.h"
#include "runner/workers/worker_process.h"

namespace msrun {

// Starts the workers and waits until they have imported the framework. To be called by the main thread of the runner,
// before there are others that use the device. forks: see WorkerProcess::Start. Throws UserError where a worker cannot
// be had, std::system_error.
//
// run() gives each thread that calls it a lane of its own. When a worker dies the process does not survive it either:
// the thread whose call it was dies of the same signal; where nobody can say whose it was, all calls that are under way
// are to blame and the process is killed.
std::unique_ptr<Device> make_python_device(const WorkerOptions& options, const DeviceSeat& seat, ForkServer forks = {});

}  // namespace msrun
