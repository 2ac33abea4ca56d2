// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/cpu_dispatch.hpp"

#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/cpuid.hpp"
#include "core/try.hpp"
#include "core/words.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

struct Feature {
  CpuLevel level;  ///< the lowest that needs it
  std::uint32_t CpuidWords::*word;
  int bit;
  std::string_view name;
};
constexpr std::array kFeatures{
    Feature{CpuLevel::avx2, &CpuidWords::leaf7_ebx, 5, "avx2"},
    Feature{CpuLevel::avx2, &CpuidWords::leaf1_ecx, 12, "fma"},
    Feature{CpuLevel::avx2, &CpuidWords::leaf1_ecx, 29, "f16c"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_ebx, 16, "avx512f"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_ebx, 17, "avx512dq"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_ebx, 30, "avx512bw"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_ebx, 31, "avx512vl"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_ecx, 1, "avx512_vbmi"},
    Feature{CpuLevel::avx512_bf16, &CpuidWords::leaf7_1_eax, 5, "avx512_bf16"},
};
// SSE, AVX: without both a ymm instruction traps. The opmask, the upper halves of zmm0-15, zmm16-31: without
// all of them a zmm instruction does.
constexpr std::uint64_t kYmmState = 0x06;
constexpr std::uint64_t kZmmState = 0xe6;

const CpuidWords& cpuid_here() {
  static const CpuidWords words = read_cpuid();
  return words;
}

}  // namespace

CpuidWords read_cpuid() {
  CpuidWords words;
#if defined(__x86_64__)
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) words.leaf1_ecx = ecx;
  if ((words.leaf1_ecx & kOsxsave) != 0) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words.xcr0 = (std::uint64_t{high} << 32) | low;
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    words.leaf7_ebx = ebx;
    words.leaf7_ecx = ecx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) words.leaf7_1_eax = eax;
  }
#endif
  return words;
}

std::string missing_for(CpuLevel level, const CpuidWords& words) {
  std::string missing;
  const auto add = [&](std::string_view name) { missing += concat(missing.empty() ? "" : ", ", name); };
  for (const Feature& feature : kFeatures) {
    if (feature.level <= level && ((words.*feature.word >> feature.bit) & 1U) == 0) add(feature.name);
  }
  if (level >= CpuLevel::avx2 && (words.xcr0 & kYmmState) != kYmmState) {
    add("ymm registers saved by the operating system");
  }
  if (level >= CpuLevel::avx512_bf16 && (words.xcr0 & kZmmState) != kZmmState) {
    add("zmm registers saved by the operating system");
  }
  return missing;
}

std::string_view name_of(CpuLevel level) {
  const auto index = static_cast<std::size_t>(level);
  return index < kCpuLevelWords.size() ? kCpuLevelWords[index] : std::string_view("unknown");
}

Status check_cpu_level(CpuLevel level, const CpuidWords& words) {
  const std::string missing = missing_for(level, words);
  if (missing.empty()) return {};
  std::string possible(name_of(CpuLevel::scalar));
  if (missing_for(CpuLevel::avx2, words).empty()) possible += concat(", ", name_of(CpuLevel::avx2));
  return Status::not_available(concat("level ", name_of(level), " cannot run on this CPU (missing: ", missing,
                                      "). Possible: ", possible));
}

CpuLevel best_cpu_level() {
  static const CpuLevel best = [] {
    for (const CpuLevel level : {CpuLevel::avx512_bf16, CpuLevel::avx2}) {
      if (missing_for(level, cpuid_here()).empty()) return level;
    }
    return CpuLevel::scalar;
  }();
  return best;
}

Result<CpuLevel> chosen_cpu_level() {
  if (!env_text("RINGCOMM_DISPATCH")) return best_cpu_level();
  RINGCOMM_TRY_ASSIGN(const std::size_t choice, env_choice("RINGCOMM_DISPATCH", kCpuLevelWords));
  const auto level = static_cast<CpuLevel>(choice);
  RINGCOMM_TRY(check_cpu_level(level, cpuid_here()));
  return level;
}

}  // namespace ringcomm::inline v0
