// SPDX-License-Identifier: Apache-2.0
// The oracle is dense attention in float64 on the same rounded inputs; every instruction level is held to it.
#include "attention/block_kernel_harness.hpp"

namespace ringcomm::attention {
namespace {

TEST(BlockKernelOracleTest, ScalarCausal) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const Problem problem{
        .shape =
            {.q_rows = 129, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .dtype = dtype, .scale = 0.125F},
        .keys = 129,
        .band = band_of(Mask::causal)};
    const Tensors tensors(problem);
    const auto oracle = run_oracle(problem, tensors);
    const Errors errors = compare(problem, run_kernel(CpuLevel::scalar, problem, tensors), oracle);
    EXPECT_EQ(errors.wrong_empty, 0);
    EXPECT_LT(errors.lse_max, 2e-6);
    EXPECT_LT(errors.out_rms, dtype == DType::float32 ? 2e-6 : 3e-3);
  }
}

}  // namespace
}  // namespace ringcomm::attention
