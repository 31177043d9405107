#include "runner/device/plugin/plugin.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/device/plugin/library.h"
#include "runner/device/plugin/values.h"
#include "runner/device/reply.h"

namespace msrun {
namespace {

// Has the plugin take its results back, whatever becomes of them here.
class Result {
 public:
  Result(const msrun_plugin& functions, void* device) : functions_(functions), device_(device) {
    result_.size = sizeof(result_);
  }
  ~Result() {
    if (functions_.release != nullptr) functions_.release(device_, &result_);
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  msrun_result* get() { return &result_; }

 private:
  const msrun_plugin& functions_;
  void* device_;
  msrun_result result_{};
};

class LoadedPlugin final : public Device {
 public:
  LoadedPlugin(const std::string& path, std::string name, bool jit_compile, const DeviceArithmetic& arithmetic,
               const DeviceSeat& seat)
      : library_(path), name_(std::move(name)), arithmetic_(arithmetic), seat_(seat) {
    msrun_seat how{};
    how.size = sizeof(how);
    how.device_id = seat.device_id;
    how.jit_compile = jit_compile ? 1 : 0;
    how.blocking = seat.alone ? 1 : 0;
    how.memory = seat.memory;
    PluginError error;
    if (functions().open(&how, &device_, error.buffer(), PluginError::size()) != MSRUN_OK) {
      throw UserError(name_ + " does not open device " + std::to_string(seat.device_id) + ": " + error.text());
    }
  }

  ~LoadedPlugin() override {
    if (functions().close != nullptr) functions().close(device_);
  }

  DeviceArithmetic arithmetic() const override { return arithmetic_; }

  DeviceResult run(const DeviceCall& call) override {
    void* thread = attached_thread();
    const PluginCall request(call);
    Reply reply = turns_.run([&] { return ask(thread, request); },
                             [&] {
                               if (functions().trim != nullptr) functions().trim(device_);
                             });
    if (reply.status == ReplyStatus::lost) {
      end_runner(seat_.device_id, name_ + " lost the device: " + readable(bounded(reply.error)));
    }
    return result_of(std::move(reply), call, name_);
  }

 private:
  const msrun_plugin& functions() const { return library_.functions(); }

  void* attached_thread() {
    if (functions().attach_thread == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto known = threads_.find(std::this_thread::get_id());
    if (known != threads_.end()) return known->second;
    void* thread = nullptr;
    PluginError error;
    if (functions().attach_thread(device_, &thread, error.buffer(), PluginError::size()) != MSRUN_OK) {
      throw DeviceError(name_ + " does not take a further thread: " + error.text());
    }
    threads_.emplace(std::this_thread::get_id(), thread);
    return thread;
  }

  Reply ask(void* thread, const PluginCall& request) {
    Result result(functions(), device_);
    const msrun_status status = functions().run(device_, thread, &request.call(), result.get());
    Reply reply;
    reply.status = status_of(status);
    // Before the result is read, and before the call runs again for want of memory.
    if (reply.status != ReplyStatus::lost) {
      if (const auto changed = request.changed_tensor()) throw broken("it changed its " + *changed);
    }
    if (reply.status != ReplyStatus::done) {
      const char* error = result.get()->error;
      reply.error = error == nullptr ? "no reason is given" : error;
      return reply;
    }
    try {
      reply.result = read_result(*result.get(), request.tensors());
    } catch (const DeviceError& error) {
      throw broken(error.what());
    }
    return reply;
  }

  ReplyStatus status_of(msrun_status status) const {
    switch (status) {
      case MSRUN_OK:
        return ReplyStatus::done;
      case MSRUN_UNSUPPORTED:
        return ReplyStatus::unsupported;
      case MSRUN_ARGUMENTS:
        return ReplyStatus::arguments;
      case MSRUN_FAILED:
        return ReplyStatus::failed;
      case MSRUN_OUT_OF_MEMORY:
        return ReplyStatus::out_of_memory;
      case MSRUN_LOST:
        return ReplyStatus::lost;
      default:
        throw broken("there is no status " + std::to_string(status));
    }
  }

  DeviceError broken(const std::string& what) const {
    return DeviceError(name_ + " does not keep to the plugin interface: " + what + ".");
  }

  PluginLibrary library_;
  std::string name_;
  DeviceArithmetic arithmetic_;
  DeviceSeat seat_;
  void* device_ = nullptr;
  std::mutex mutex_;
  std::map<std::thread::id, void*> threads_;
  CallTurns turns_;
};

}  // namespace

std::unique_ptr<Device> make_plugin_device(const std::string& path, const std::string& name, bool jit_compile,
                                           const DeviceArithmetic& arithmetic, const DeviceSeat& seat) {
  // Whatever libraries print is not to come between the results on stdout.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return std::make_unique<LoadedPlugin>(path, name, jit_compile, arithmetic, seat);
}

}  // namespace msrun
