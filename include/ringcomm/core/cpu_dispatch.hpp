// SPDX-License-Identifier: Apache-2.0
// Which instruction level the host kernels use, decided once per process.
#pragma once

#include <cstdint>
#include <string_view>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Each level includes those before it.
enum class CpuLevel : std::uint8_t {
  scalar = 0,
  avx2 = 1,         ///< with FMA and F16C
  avx512_bf16 = 2,  ///< F, DQ, BW, VL, VBMI and BF16
};

std::string_view name_of(CpuLevel level);
/// The best level this CPU and operating system can run (CPUID and XCR0).
CpuLevel best_cpu_level();
/// RINGCOMM_DISPATCH if set (an unknown or impossible level is an error naming what is possible), else the
/// best.
Result<CpuLevel> chosen_cpu_level();

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
