// SPDX-License-Identifier: Apache-2.0
// A fake /sys: one switch with a GPU and a NIC below it, a BMC, and two memory nodes.
#include "topology/readers/sysfs_pci.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ringcomm/topology/discover.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

namespace fs = std::filesystem;

class SysfsPciTest : public testing::Test {
 protected:
  void SetUp() override {
    write("proc/sys/kernel/hostname", "node01\n");
    write("sys/class/dmi/id/product_name", "Example\n");
    const std::string bridge = "sys/devices/pci0000:00/0000:00:01.0";
    device(bridge, "0x060400", "0x1000", "0xc030", "32.0 GT/s PCIe", "16");
    device(bridge + "/0000:02:00.0", "0x030200", "0x10de", "0x2330", "2.5 GT/s PCIe", "16");
    write(bridge + "/0000:02:00.0/driver/name", "");
    device(bridge + "/0000:03:00.0", "0x020700", "0x15b3", "0x1021", "Unknown", "0");
    write(bridge + "/0000:03:00.0/infiniband/mlx5_0/fw_ver", "28\n");
    write(bridge + "/0000:03:00.0/net/ib0/mtu", "2044\n");
    device("sys/devices/pci0000:00/0000:00:02.0", "0x030000", "0x1a03", "0x2000", "", "");
    device("sys/devices/pci0000:00/0000:00:03.0", "0x030200", "0x10de", "0x2330", "", "");
    device("sys/devices/pci0000:00/0000:00:04.0", "0x010802", "0x144d", "0xa822", "", "");
    node("0", "0-3", "10 21 40");
    node("1", "4-7", "21 10 40");
    node("10", "", "40 40 10");
  }
  fs::path root() const { return dir_.path(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name) << text;
  }
  void device(const std::string& folder, const std::string& pci_class, const std::string& vendor,
              const std::string& number, const std::string& speed, const std::string& width) const {
    write(folder + "/class", pci_class + "\n");
    write(folder + "/vendor", vendor + "\n");
    write(folder + "/device", number + "\n");
    write(folder + "/current_link_speed", speed + "\n");
    write(folder + "/current_link_width", width + "\n");
    write(folder + "/max_link_speed", "32.0 GT/s PCIe\n");
    write(folder + "/max_link_width", "255\n");
    write(folder + "/numa_node", folder.ends_with("03:00.0") ? "-1\n" : "1\n");
    fs::create_directories(root() / "sys/bus/pci/devices");
    fs::create_directory_symlink(root() / folder,
                                 root() / "sys/bus/pci/devices" / fs::path(folder).filename());
  }
  void node(const std::string& id, const std::string& cpus, const std::string& distance) const {
    write("sys/devices/system/node/node" + id + "/cpulist", cpus + "\n");
    write("sys/devices/system/node/node" + id + "/distance", distance + "\n");
  }
  test::TempDir dir_;
};

TEST_F(SysfsPciTest, TreeAndLinks) {
  const Machine machine = topology::sysfs_pci::read(root()).machine;
  ASSERT_EQ(machine.pci.size(), 5U) << "an NVMe disk is not wanted";
  const PciDevice& gpu = machine.pci[3];
  EXPECT_EQ(gpu.id.to_text(), "0000:02:00.0");
  EXPECT_EQ(gpu.parent, 0);
  EXPECT_TRUE(machine.pci[0].is_bridge);
  EXPECT_FALSE(machine.pci[0].parent);
  EXPECT_EQ(gpu.link.gt_per_s, 2.5);
  EXPECT_EQ(gpu.slot.gt_per_s, 32.0);
  EXPECT_FALSE(gpu.slot.width) << "255 is what the kernel writes for unknown";
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.root_bus, (PciRootBus{.domain = 0, .bus = 0}));
  const PciDevice& nic = machine.pci[4];
  EXPECT_FALSE(nic.link.gt_per_s || nic.link.width || nic.numa_node);
}

TEST_F(SysfsPciTest, RootBusIsThatOfTheFolder) {
  const std::string port = "sys/devices/pci0001:17/0001:17:00.0";
  device(port, "0x060400", "0x8086", "0x2030", "", "");
  device(port + "/0001:18:00.0", "0x020700", "0x15b3", "0x1021", "", "");
  const Machine machine = topology::sysfs_pci::read(root()).machine;
  ASSERT_EQ(machine.pci.size(), 7U);
  EXPECT_EQ(machine.pci[5].root_bus, (PciRootBus{.domain = 1, .bus = 0x17}));
  EXPECT_EQ(machine.pci[6].root_bus, machine.pci[5].root_bus);
  EXPECT_EQ(machine.pci[6].root_bus->to_text(), "0001:17");
}

TEST_F(SysfsPciTest, DevicesThatADriverServes) {
  const Reading reading = topology::sysfs_pci::read(root());
  ASSERT_EQ(reading.machine.gpus.size(), 1U);
  EXPECT_EQ(reading.machine.gpus[0].bus->to_text(), "0000:02:00.0");
  EXPECT_EQ(reading.machine.gpus[0].vendor, GpuVendor::nvidia);
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  EXPECT_EQ(reading.machine.nics[0].name, "mlx5_0");
  EXPECT_TRUE(reading.machine.nics[0].is_rdma);
  EXPECT_TRUE(
      std::ranges::any_of(reading.skipped, [](const Skipped& s) { return s.text == "0000:00:03.0"; }));
  EXPECT_EQ(reading.machine.hosts.at(0).name, "node01");
}

TEST_F(SysfsPciTest, MemoryNodesByNumber) {
  const Machine machine = topology::sysfs_pci::read(root()).machine;
  ASSERT_EQ(machine.numa_nodes.size(), 3U);
  EXPECT_EQ(machine.numa_nodes[1].cpus, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_TRUE(machine.numa_nodes[2].is_memory_only());
  ASSERT_EQ(machine.numa_distances.size(), 9U);
  EXPECT_EQ(machine.numa_distances[2].to, 10);
  EXPECT_EQ(machine.numa_distances[2].value, 40);
}

TEST_F(SysfsPciTest, VirtualMachinesAreToldByTheFlags) {
  const auto is_virtual = [&] { return topology::sysfs_pci::read(root()).machine.hosts.at(0).is_virtual; };
  EXPECT_EQ(is_virtual(), std::nullopt);
  write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor avx\nbugs\t:\n");
  EXPECT_EQ(is_virtual(), true);
  write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme avx\nbugs\t: hypervisor\n");
  EXPECT_EQ(is_virtual(), false);
}

TEST_F(SysfsPciTest, HiddenCapabilitiesAreSaidOnce) {
  const Reading reading = topology::sysfs_pci::read(root());
  EXPECT_EQ(std::ranges::count(reading.skipped, std::string("config"), &Skipped::text), 1);
}

TEST_F(SysfsPciTest, WithoutPciNothingIsSaidOfDevices) {
  fs::remove_all(root() / "sys/bus");
  const Reading reading = topology::sysfs_pci::read(root());
  EXPECT_FALSE(reading.machine.has_gpu_evidence || reading.machine.has_nic_evidence);
  EXPECT_TRUE(std::ranges::any_of(
      reading.skipped, [](const Skipped& s) { return s.reason.find("no PCI") != std::string::npos; }));
}

TEST_F(SysfsPciTest, DiscoveryReadsTheRootItIsGiven) {
  const MergedEvidence found = discover_machine({.root = root(), .use_hwloc = true, .use_nvml = false});
  EXPECT_EQ(found.machine.gpus.size(), 1U);
  EXPECT_EQ(found.machine.hosts.at(0).name, "node01") << "and nothing of this machine";
}

TEST_F(SysfsPciTest, DiscoveryAddsThePortsOfInfiniBand) {
  const fs::path device = root() / "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0";
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  fs::create_directory_symlink(device, root() / "sys/class/infiniband/mlx5_0/device");
  const Machine machine = discover_machine({.root = root(), .use_hwloc = false, .use_nvml = false}).machine;
  ASSERT_EQ(machine.nics.size(), 1U) << "one adapter in two places of /sys";
  EXPECT_EQ(machine.nics[0].bus->to_text(), "0000:03:00.0");
  ASSERT_EQ(machine.nics[0].ports.size(), 1U);
  EXPECT_EQ(machine.nics[0].ports[0].state, PortState::active);
  EXPECT_EQ(machine.nics[0].ports[0].gbit_per_s, 400.0);
}

}  // namespace
}  // namespace ringcomm
