// Lanes into a worker whose framework is made of NumPy (tests/e2e/mindspore/fake), where descriptors run short.
#include "runner/device/python/python_device.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "kernels/api/operators.h"
#include "kernels/evaluate/materialise.h"
#include "tests/runner/check/support.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

// So many descriptors beside those that are open, while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDIN_FILENO);
    close(next);
    const rlimit few{static_cast<rlim_t>(next + more), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// The call fails that was under way, and none of those that come after it.
TEST(PythonDevice, ALaneThatCouldNotBeOpenedIsOpenedForTheNextCall) {
  if (sanitized) GTEST_SKIP() << sanitizer_opens_files;
  if (std::system((torch_python() + " -c 'import numpy' >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << torch_python() << " has no numpy";
  }
  setenv("PYTHONPATH", (source_root() + "/tests/e2e/mindspore/fake").c_str(), 1);
  WorkerOptions options;
  options.framework = &mindspore_framework;
  options.kind = "cpu";
  options.python = torch_python();
  const std::unique_ptr<Device> device = make_python_device(options, {});
  unsetenv("PYTHONPATH");
  ApiCall recorded = call_of("Mint.add.0", {{2, 3}, {2, 3}}, {2, 3});
  recorded.has_backward = false;
  const MaterialisedCall inputs = materialise(recorded, {});
  const DeviceCall call{inputs, "add", ordinary_traits, std::nullopt};
  for (const int more : {0, 1, 2}) {
    const FewDescriptors few(more);
    EXPECT_THROW(device->run(call), std::system_error) << more;
  }
  const DeviceResult result = device->run(call);
  ASSERT_NE(result.output.get<Tensor>(), nullptr);
  EXPECT_EQ(result.output.get<Tensor>()->numel(), 6);
}

}  // namespace
}  // namespace msrun::testing
