// SPDX-License-Identifier: Apache-2.0
// The reader against a table of functions that stand for a driver with two GPUs.
#include "topology/readers/nvml.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/fake_nvml.hpp"

namespace ringcomm {
namespace {

using topology::nvml::Api;
using topology::nvml::Device;

bool is_skipped(const Reading& reading, const std::string& text) {
  return std::ranges::any_of(reading.skipped,
                             [&](const Skipped& s) { return s.text.find(text) != std::string::npos; });
}

TEST(NvmlTest, IdentityAndPci) {
  const Reading reading = topology::nvml::read(fake_nvml::two_gpus());
  EXPECT_TRUE(reading.skipped.empty());
  ASSERT_EQ(reading.machine.gpus.size(), 2U);
  const Gpu& gpu = reading.machine.gpus[1];
  EXPECT_EQ(gpu.bus->to_text(), "0000:2b:00.0");
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.name, "Example GPU");
  EXPECT_EQ(gpu.compute_capability, 90);
  const PciDevice& pci = reading.machine.pci.at(static_cast<std::size_t>(*gpu.pci));
  EXPECT_EQ(pci.link.gt_per_s, 2.5);
  EXPECT_EQ(pci.slot.gt_per_s, 32.0);
  EXPECT_EQ(pci.device, 0x2330);
  EXPECT_EQ(pci.vendor, 0x10de);
}

TEST(NvmlTest, LinksAreGroupedByTheirTarget) {
  const Machine machine = topology::nvml::read(fake_nvml::two_gpus()).machine;
  EXPECT_TRUE(machine.has_link_evidence);
  ASSERT_EQ(machine.links.size(), 4U);
  EXPECT_EQ(machine.links[0].end, LinkEnd::gpu);
  EXPECT_EQ(machine.links[0].peer, 1);
  EXPECT_EQ(machine.links[0].count, 2);
  EXPECT_EQ(machine.links[1].end, LinkEnd::nvswitch);
  EXPECT_EQ(machine.links[1].count, 1);
  ASSERT_EQ(machine.gpus[0].nvlink_ports.size(), 4U);
  EXPECT_EQ(machine.gpus[0].nvlink_ports[3].is_active, false) << "down, and counted nowhere";
}

TEST(NvmlTest, ALinkWhoseStateFailsIsUnknownAndSaid) {
  Api api = fake_nvml::two_gpus();
  api.link_state = [](Device, unsigned link, int* state) {
    return link == 0 ? 999 : link < 2 ? (*state = 1, 0) : 2;
  };
  const Reading reading = topology::nvml::read(api);
  EXPECT_FALSE(reading.machine.gpus[0].nvlink_ports.at(0).is_active);
  EXPECT_TRUE(is_skipped(reading, "GPU0 NVLink 0 state"));
  EXPECT_EQ(reading.machine.links.at(0).count, 1);
}

TEST(NvmlTest, WithoutNvlinkThereAreNoLinksAndThatIsKnown) {
  Api api = fake_nvml::two_gpus();
  api.link_state = [](Device, unsigned, int*) { return 3; };
  const Machine machine = topology::nvml::read(api).machine;
  EXPECT_TRUE(machine.links.empty() && machine.has_link_evidence);
  api.link_state = nullptr;
  EXPECT_FALSE(topology::nvml::read(api).machine.has_link_evidence);
}

TEST(NvmlTest, AFailedRemoteLeavesTheEndUnknown) {
  Api api = fake_nvml::two_gpus();
  api.link_remote = [](Device, unsigned, topology::nvml::PciInfo*) { return 4; };
  api.link_remote_type = nullptr;
  const Reading reading = topology::nvml::read(api);
  ASSERT_EQ(reading.machine.links.size(), 2U);
  EXPECT_EQ(reading.machine.links[0].end, LinkEnd::unknown);
  EXPECT_FALSE(reading.machine.links[0].target);
  EXPECT_EQ(reading.machine.links[0].count, 3);
  EXPECT_TRUE(is_skipped(reading, "NVLink 0 remote device"));
}

TEST(NvmlTest, PeerToPeerInTheWordsOfNvidiaSmi) {
  const Machine machine = topology::nvml::read(fake_nvml::two_gpus()).machine;
  ASSERT_EQ(machine.p2p.size(), 6U);
  EXPECT_EQ(machine.p2p[0].status, "OK");
  EXPECT_EQ(machine.p2p[0].capability, "read");
  EXPECT_EQ(machine.p2p[2].capability, "nvlink");
  EXPECT_EQ(machine.p2p[2].status, "TNS");
}

TEST(NvmlTest, State) {
  const GpuState state = topology::nvml::read(fake_nvml::two_gpus()).machine.gpus.at(0).state;
  EXPECT_EQ(state.mig_enabled, false);
  EXPECT_EQ(state.compute_mode, "Exclusive_Process");
  EXPECT_EQ(state.persistence, true);
  EXPECT_EQ(state.bar1_bytes, 1ULL << 37);
  EXPECT_EQ(state.ecc_uncorrected, 7U);
  EXPECT_EQ(state.remap_pending, true);
  EXPECT_EQ(state.remap_failed, false);
  EXPECT_EQ(state.fabric_state, "completed");
  EXPECT_EQ(state.fabric_cluster, "00000000000000000000000000000000.5");
  EXPECT_EQ(state.clock_event_reasons, "SW power cap, HW power brake slowdown");
}

TEST(NvmlTest, EachFailedQueryLeavesItsValueUnknown) {
  Api api = fake_nvml::two_gpus();
  api.mig_mode = [](Device, unsigned*, unsigned*) { return 3; };
  api.ecc_errors = [](Device, int, int, unsigned long long*) { return 4; };
  api.bar1 = nullptr;
  api.fabric_info = nullptr;
  const Reading reading = topology::nvml::read(api);
  const GpuState& state = reading.machine.gpus.at(0).state;
  EXPECT_FALSE(state.mig_enabled || state.ecc_uncorrected || state.bar1_bytes);
  EXPECT_TRUE(state.fabric_state.empty());
  EXPECT_EQ(reading.skipped.size(), 8U);
  EXPECT_TRUE(is_skipped(reading, "GPU1 ECC errors"));
}

TEST(NvmlTest, WithoutACountThereIsNoEvidence) {
  Api api = fake_nvml::two_gpus();
  api.count = [](unsigned*) { return 999; };
  const Reading reading = topology::nvml::read(api);
  EXPECT_FALSE(reading.machine.has_gpu_evidence);
  EXPECT_EQ(reading.skipped.size(), 1U);
}

TEST(NvmlTest, LoadingEitherWorksOrSaysWhy) {
  const auto api = topology::nvml::load();
  if (api.is_ok()) {
    EXPECT_TRUE(topology::nvml::read(api.value()).machine.has_gpu_evidence);
  } else {
    EXPECT_EQ(api.status().code(), StatusCode::not_available);
    EXPECT_FALSE(api.status().message().empty());
  }
}

}  // namespace
}  // namespace ringcomm
