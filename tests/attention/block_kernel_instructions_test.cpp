// SPDX-License-Identifier: Apache-2.0
// Method: the hot functions of this very program are disassembled by objdump, so that a compiler that takes
// another way than the intrinsics say, or a wrong table of operations, shows.
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "attention/host/kernel_factories.hpp"

namespace ringcomm::inline v0::attention {
namespace {

/// Where this program was loaded, over the addresses in its file.
std::uintptr_t load_bias() {
  std::uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        *static_cast<std::uintptr_t*>(found) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &bias);
  return bias;
}

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, got);
  pclose(pipe);
  return output;
}

/// Lines of the function at `entry` that hold `text`.
int count_in_function(void (*entry)(const host::TileTask&), const std::string& text) {
  constexpr std::uintptr_t kLongest = 262144;  // bytes of machine code, also with sanitizers
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(entry) - load_bias();
  std::istringstream lines(output_of(
      "objdump -d --no-show-raw-insn --start-address=" + std::to_string(begin) +
      " --stop-address=" + std::to_string(begin + kLongest) + " /proc/" + std::to_string(getpid()) + "/exe"));
  int count = 0;
  int functions = 0;
  for (std::string line; std::getline(lines, line) && functions < 2;) {
    if (line.ends_with(">:")) ++functions;
    if (functions == 1 && line.find(text) != std::string::npos) ++count;
  }
  return count;
}

class BlockKernelInstructionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("objdump --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "objdump is not installed";
    // The tables are compiled like the kernels they name.
    if (best_cpu_level() < CpuLevel::avx2) GTEST_SKIP() << "this CPU lacks avx2";
  }
};

#if defined(__x86_64__)
constexpr auto kDot = host::Bf16Arithmetic::dot;
/// Of a micro-tile of each width: both products, Q K^T and P V, have one.
int sums_of(host::TileWidth width) { return width == host::TileWidth::wide ? 16 : 8; }
constexpr host::TileWidth kWidths[] = {host::TileWidth::wide, host::TileWidth::narrow};

TEST_F(BlockKernelInstructionsTest, Bfloat16KernelMultipliesByTheDotProduct) {
  for (const host::TileWidth width : kWidths) {
    const auto ops = host::vector_ops(CpuLevel::avx512_bf16, DType::bfloat16, kDot, width);
    EXPECT_GE(count_in_function(ops.accumulate, "vdpbf16ps"), 2 * sums_of(width));
  }
}

TEST_F(BlockKernelInstructionsTest, Float32KernelsMultiplyByFusedMultiplyAddOfTheirWidth) {
  for (const host::TileWidth width : kWidths) {
    const auto avx512 = host::vector_ops(CpuLevel::avx512_bf16, DType::float32, kDot, width);
    EXPECT_GE(count_in_function(avx512.accumulate, "vfmadd"), 2 * sums_of(width));
    EXPECT_GE(count_in_function(avx512.accumulate, "zmm"), 2 * sums_of(width));
    EXPECT_EQ(count_in_function(avx512.accumulate, "vdpbf16ps"), 0);
    const auto avx2 = host::vector_ops(CpuLevel::avx2, DType::float32, kDot, width);
    EXPECT_GE(count_in_function(avx2.accumulate, "vfmadd"), 2 * 8);
    EXPECT_EQ(count_in_function(avx2.accumulate, "zmm"), 0);
  }
}
#endif

}  // namespace
}  // namespace ringcomm::inline v0::attention
