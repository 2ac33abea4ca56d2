// SPDX-License-Identifier: Apache-2.0
// What the arithmetic units of one core can do at best: the yardstick that TFLOP/s of attention are printed
// against.
#pragma once

#include <chrono>

#include "ringcomm/core/cpu_dispatch.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// GFLOP/s (1e9, a multiply and an add are two) of register-only loops on the vectors of a CpuLevel, 512 or
/// 256 bits; 0 where the level lacks the instruction.
struct ComputePeak {
  double bf16_dot_gflop_per_s = 0;  ///< VDPBF16PS
  double fp32_fma_gflop_per_s = 0;  ///< VFMADD231PS
};

/// Runs both loops on the calling thread, each for about `duration`, in slices of which the fastest counts:
/// other processes may take the core meanwhile.
///
/// Which of the two bounds a bfloat16 block kernel depends on the CPU: on AMD Zen 4 the dot product is twice
/// as fast as fp32, on Intel Sapphire Rapids half as fast, and the kernel then uses fp32. The larger one is
/// the limit.
/// `level` is lowered to the best this CPU runs, which is also the default.
ComputePeak measure_compute_peak(std::chrono::milliseconds duration);
ComputePeak measure_compute_peak(std::chrono::milliseconds duration, CpuLevel level);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
