// SPDX-License-Identifier: Apache-2.0
// A GPU passes the conformance suite of devices, where there is one; its oracle is described there. Without
// one, what is said then.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "conformance/device_suite.hpp"
#include "ringcomm/interop/cuda.hpp"

namespace ringcomm {
namespace {

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

Device& first_gpu() { return *check(cuda_device(0)); }

void write_gpu(void* target, const std::vector<std::byte>& bytes) {
  if (bytes.empty()) return;
  EXPECT_EQ(cudaMemcpyAsync(target, bytes.data(), bytes.size(), cudaMemcpyDefault, cudaStreamPerThread),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

std::vector<std::byte> read_gpu(const void* source, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  if (bytes == 0) return data;
  EXPECT_EQ(cudaMemcpyAsync(data.data(), source, bytes, cudaMemcpyDefault, cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  return data;
}

std::vector<DeviceUnderTest> gpus() {
  if (!has_gpu()) return {};
  return {DeviceUnderTest{"cuda", first_gpu, write_gpu, read_gpu}};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceSuite);
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceSuite, testing::ValuesIn(gpus()), name_of_device);

TEST(CudaDeviceTest, ADeviceThatIsNotThereIsNotAvailable) {
  const auto device = cuda_device(100);
  ASSERT_FALSE(device.is_ok());
  EXPECT_EQ(device.status().code(), StatusCode::not_available) << device.status().to_string();
  EXPECT_NE(device.status().message().find("cuda: no device"), std::string::npos);
  EXPECT_EQ(to_cuda({}), nullptr);
}

TEST(CudaDeviceTest, FirstGpuPassesTheDeviceSuite) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU in this machine: the device suite was not run on one";
  EXPECT_EQ(first_gpu().id(), (DeviceId{DeviceKind::cuda, 0}));
}

TEST(CudaDeviceTest, TasksAndCallersOwnWorkShareAStream) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU in this machine: the device suite was not run on one";
  cudaStream_t native = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), cudaSuccess);
  {
    Stream stream = check(from_cuda(native, 0));
    EXPECT_EQ(to_cuda(stream.view()), native);
    const auto host = check(allocate_pinned_host(sizeof(int)));
    const auto gpu = check(first_gpu().allocate({.bytes = sizeof(int), .kind = SegmentKind::local}));
    auto* const value = reinterpret_cast<int*>(host->data());
    EXPECT_TRUE(stream.enqueue([value] { return *value = 42, Status(); }).is_ok());
    EXPECT_EQ(cudaMemcpyAsync(gpu->data(), host->data(), sizeof(int), cudaMemcpyDefault, native),
              cudaSuccess);
    EXPECT_TRUE(stream.synchronize(patience()).is_ok());
    int seen = 0;
    EXPECT_EQ(cudaMemcpy(&seen, gpu->data(), sizeof(int), cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(seen, 42);
  }
  EXPECT_EQ(cudaStreamDestroy(native), cudaSuccess);
}

}  // namespace
}  // namespace ringcomm
