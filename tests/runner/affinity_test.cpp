// A runner's processors, from trees that look like /sys.
#include "runner/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

class Affinity : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((sysfs_ / file).parent_path());
    write_file(sysfs_ / file, text + "\n");
  }
  void node(int number, const std::string& processors) const {
    write("devices/system/node/node" + std::to_string(number) + "/cpulist", processors);
  }
  void device(const std::string& address, const std::string& kind, const std::string& vendor,
              const std::string& of_node) const {
    write("bus/pci/devices/" + address + "/class", kind);
    write("bus/pci/devices/" + address + "/vendor", vendor);
    write("bus/pci/devices/" + address + "/numa_node", of_node);
  }
  // Two nodes, an NPU on each and one that does not say where it is, a GPU and a network card.
  void host() const {
    write("devices/system/node/online", "0-1");
    node(0, "0-2,8");
    node(1, "3-5");
    device("0000:81:00.0", "0x120000", "0x19e5", "0");
    device("0000:01:00.0", "0x120000", "0x19e5", "1");
    device("0000:c1:00.0", "0x120000", "0x19e5", "-1");
    device("0000:02:00.0", "0x030200", "0x10de", "0");
    device("0000:00:01.0", "0x020000", "0x8086", "0");
  }

  const TemporaryDirectory sysfs_;
};

TEST_F(Affinity, IsTheNodeOfTheDeviceById) {
  host();
  EXPECT_THAT(processors_near(sysfs_.path(), 0), Optional(ElementsAre(3, 4, 5)));
  EXPECT_THAT(processors_near(sysfs_.path(), 1), Optional(ElementsAre(0, 1, 2, 8)));
  EXPECT_EQ(processors_near(sysfs_.path(), 2), std::nullopt);
  EXPECT_EQ(processors_near(sysfs_.path(), 3), std::nullopt);
}

TEST_F(Affinity, OfGpusWhereThereAreNoNpus) {
  write("devices/system/node/online", "0-1");
  node(1, "6-7");
  device("0000:02:00.0", "0x030000", "0x10de", "1");
  device("0000:00:02.0", "0x030000", "0x1a03", "0");
  EXPECT_THAT(processors_near(sysfs_.path(), 0), Optional(ElementsAre(6, 7)));
}

TEST_F(Affinity, HeedsWhatTheDriverWasToldToShow) {
  host();
  EXPECT_THAT(processors_near(sysfs_.path(), 0, {1, 0}), Optional(ElementsAre(0, 1, 2, 8)));
  EXPECT_EQ(processors_near(sysfs_.path(), 2, {1, 0}), std::nullopt);
  setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  EXPECT_THAT(visible_devices(), Optional(ElementsAre(3, 1)));
  // Which ids these have nobody here knows, so that none is taken for that of another device.
  for (const char* other : {"GPU-1f2e", "MIG-1f2e", "-1", ""}) {
    setenv("CUDA_VISIBLE_DEVICES", other, 1);
    EXPECT_EQ(visible_devices(), std::nullopt) << other;
  }
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(visible_devices(), Optional(IsEmpty()));
}

TEST_F(Affinity, IsNoneWithASingleNodeOrATreeThatSaysNothing) {
  EXPECT_EQ(processors_near(sysfs_.path(), 0), std::nullopt);
  host();
  write("devices/system/node/online", "0");
  EXPECT_EQ(processors_near(sysfs_.path(), 0), std::nullopt);
  for (const char* list : {"", "x", "5-1", "0-99999999", "-3"}) {
    write("devices/system/node/online", "0-1");
    node(1, list);
    EXPECT_EQ(processors_near(sysfs_.path(), 0), std::nullopt) << list;
  }
}

TEST_F(Affinity, IsKeptByThreadsThatAreStartedLater) {
  std::thread([] {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    stay_on({CPU_SETSIZE - 1, CPU_SETSIZE + 5});
    cpu_set_t now;
    ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
    const bool is_usual = !CPU_ISSET(CPU_SETSIZE - 1, &before);
    EXPECT_TRUE(!is_usual || CPU_EQUAL(&before, &now));
    stay_on({first});
    std::thread([first] {
      cpu_set_t of_child;
      ASSERT_EQ(sched_getaffinity(0, sizeof(of_child), &of_child), 0);
      EXPECT_EQ(CPU_COUNT(&of_child), 1);
      EXPECT_TRUE(CPU_ISSET(first, &of_child));
    }).join();
  }).join();
}

}  // namespace
}  // namespace msrun::testing
