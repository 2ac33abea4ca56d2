// SPDX-License-Identifier: Apache-2.0
// Golden messages: what no kernel computes is refused naming the clause, before anything is allocated.
#include <limits>

#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

Status refused(const KernelShape& shape) {
  PretendedTeam team(1);
  return BlockKernel::create(shape, CpuLevel::scalar, team).status();
}

TEST(BlockKernelCreateTest, RefusesWhatNoKernelComputes) {
  EXPECT_EQ(refused({.head_dim = 80}).to_string(),
            "not_available: no block kernel for head_dim 80 (32, 64, 96, 128, 192 and 256 are supported)");
  EXPECT_EQ(refused({.dtype = DType::float64}).to_string(),
            "not_available: no block kernel for dtype float64 (float32, bfloat16 and float16 are supported)");
  EXPECT_EQ(refused({.q_rows = -1}).to_string(),
            "invalid_argument: block kernel for -1 query rows (negative)");
  EXPECT_EQ(refused({.q_heads = 4, .kv_heads = 3}).to_string(),
            "invalid_argument: block kernel for 4 query heads over 3 kv heads (kv_heads >= 1 must divide "
            "q_heads >= 1)");
  EXPECT_EQ(refused({.q_heads = 0, .kv_heads = 0}).code(), StatusCode::invalid_argument);
  EXPECT_EQ(refused({.scale = std::numeric_limits<float>::infinity()}).to_string(),
            "invalid_argument: block kernel with scale inf (not finite)");
}

TEST(BlockKernelCreateTest, StateThatDoesNotFitIsRefusedBeforeItIsAllocated) {
  const Status large = refused({.q_rows = std::int64_t{1} << 46});
  EXPECT_EQ(large.code(), StatusCode::out_of_memory);
  EXPECT_NE(large.message().find("softmax state of 70368744177664 query rows x 1 heads x 64 of "),
            std::string_view::npos)
      << large.to_string();
  EXPECT_NE(large.message().find("does not fit"), std::string_view::npos) << large.to_string();
  // 2^61 rows of 264 bytes are 0 bytes modulo 2^64.
  EXPECT_EQ(refused({.q_rows = std::int64_t{1} << 61}).to_string(),
            "out_of_memory: softmax state of 2305843009213693952 query rows x 1 heads x 64 exceeds 64-bit "
            "addresses");
}

TEST(BlockKernelCreateTest, StateBytesCountOutMaxAndSum) {
  PretendedTeam team(1);
  for (const CpuLevel level : {CpuLevel::scalar, best_cpu_level()}) {
    const auto kernel = BlockKernel::create({.q_rows = 1000, .q_heads = 4, .kv_heads = 2}, level, team);
    ASSERT_TRUE(kernel.is_ok());
    const std::size_t state = std::size_t{1000} * 4 * (64 + 2) * sizeof(float);
    EXPECT_GE(kernel.value()->state_bytes(), state);
    EXPECT_LE(kernel.value()->state_bytes(), state + (std::size_t{1} << 20));
  }
}

}  // namespace
}  // namespace ringcomm::attention
