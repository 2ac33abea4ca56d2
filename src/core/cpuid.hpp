// SPDX-License-Identifier: Apache-2.0
// The CPUID and XCR0 words that decide the instruction level, as a value, so that any CPU can be tested.
#pragma once

#include <cstdint>
#include <string>

#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0 {

/// Source: Intel SDM volume 2A, CPUID; volume 1, 13.3 (XCR0) and 14.7 and 15.2 (detection of AVX2 and
/// AVX-512).
struct CpuidWords {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_1_eax = 0;  ///< 0 when the CPU has no sub-leaf 1
  std::uint64_t xcr0 = 0;         ///< 0 when the operating system has not enabled XGETBV
};

/// All zero on a CPU that is not x86-64.
CpuidWords read_cpuid();

/// What `level` needs and `words` lack, separated by commas; empty when it can run.
std::string missing_for(CpuLevel level, const CpuidWords& words);

/// ok, or not_available naming what is missing and which levels are possible.
Status check_cpu_level(CpuLevel level, const CpuidWords& words);

}  // namespace ringcomm::inline v0
