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
  std::uint32_t CpuidWords::*word;
  int bit;
  std::string_view name;
};
constexpr std::array kFeatures{
    Feature{&CpuidWords::leaf7_ebx, 16, "avx512f"},    Feature{&CpuidWords::leaf7_ebx, 17, "avx512dq"},
    Feature{&CpuidWords::leaf7_ebx, 30, "avx512bw"},   Feature{&CpuidWords::leaf7_ebx, 31, "avx512vl"},
    Feature{&CpuidWords::leaf7_ecx, 1, "avx512_vbmi"}, Feature{&CpuidWords::leaf7_1_eax, 5, "avx512_bf16"},
    Feature{&CpuidWords::leaf1_ecx, 12, "fma"},
};
// SSE, AVX, opmask, upper halves of zmm0-15, zmm16-31: without all of them a zmm instruction traps.
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

std::string missing_for_avx512_bf16(const CpuidWords& words) {
  std::string missing;
  const auto add = [&](std::string_view name) { missing += concat(missing.empty() ? "" : ", ", name); };
  for (const auto& [word, bit, name] : kFeatures) {
    if (((words.*word >> bit) & 1U) == 0) add(name);
  }
  if ((words.xcr0 & kZmmState) != kZmmState) add("zmm registers saved by the operating system");
  return missing;
}

std::string_view name_of(CpuLevel level) {
  const auto index = static_cast<std::size_t>(level);
  return index < kCpuLevelWords.size() ? kCpuLevelWords[index] : std::string_view("unknown");
}

Status check_cpu_level(CpuLevel level, const CpuidWords& words) {
  const std::string missing = level == CpuLevel::scalar ? std::string() : missing_for_avx512_bf16(words);
  if (missing.empty()) return {};
  return Status::not_available(concat("level ", name_of(level), " cannot run on this CPU (missing: ", missing,
                                      "). Possible: ", name_of(CpuLevel::scalar)));
}

CpuLevel best_cpu_level() {
  static const bool avx512 = check_cpu_level(CpuLevel::avx512_bf16, cpuid_here()).is_ok();
  return avx512 ? CpuLevel::avx512_bf16 : CpuLevel::scalar;
}

Result<CpuLevel> chosen_cpu_level() {
  if (!env_text("RINGCOMM_DISPATCH")) return best_cpu_level();
  RINGCOMM_TRY_ASSIGN(const std::size_t choice, env_choice("RINGCOMM_DISPATCH", kCpuLevelWords));
  const auto level = static_cast<CpuLevel>(choice);
  RINGCOMM_TRY(check_cpu_level(level, cpuid_here()));
  return level;
}

}  // namespace ringcomm::inline v0
