// SPDX-License-Identifier: Apache-2.0
// The host passes the conformance suite of devices; its oracle is described there.
#include "ringcomm/device/device.hpp"

#include <cstring>

#include "conformance/device_suite.hpp"

namespace ringcomm {
namespace {

void write_host(void* target, const std::vector<std::byte>& bytes) {
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
}

std::vector<std::byte> read_host(const void* source, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(source);
  return {first, first + bytes};
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceSuite,
                         testing::Values(DeviceUnderTest{"host", host_device, write_host, read_host}),
                         name_of_device);

TEST(HostDeviceTest, IsTheHost) { EXPECT_EQ(host_device().id(), DeviceId{}); }

}  // namespace
}  // namespace ringcomm
