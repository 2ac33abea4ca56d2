// SPDX-License-Identifier: Apache-2.0
// The oracle for this machine is the kernel's own list of flags in /proc/cpuinfo; other CPUs are invented
// words.
#include "ringcomm/core/cpu_dispatch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "core/cpuid.hpp"
#include "core/env_guard.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;

constexpr CpuidWords kAll{~0U, ~0U, ~0U, ~0U, ~0ULL};

std::set<std::string> kernel_flags() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(CpuDispatchTest, AgreesWithTheFlagsOfTheKernel) {
  const auto flags = kernel_flags();
  const auto has_all = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return flags.contains(name); });
  };
  CpuLevel expected = CpuLevel::scalar;
  if (has_all({"avx2", "fma", "f16c"})) {
    expected = CpuLevel::avx2;
    if (has_all({"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16"}) &&
        (flags.contains("avx512_vbmi") || flags.contains("avx512vbmi"))) {
      expected = CpuLevel::avx512_bf16;
    }
  }
  EXPECT_EQ(best_cpu_level(), expected) << missing_for(CpuLevel::avx512_bf16, read_cpuid());
}

TEST(CpuDispatchTest, EveryNeededBitIsNeededAndNamed) {
  ASSERT_EQ(missing_for(CpuLevel::avx512_bf16, kAll), "");
  const auto without = [](std::uint32_t CpuidWords::*word, int bit) {
    CpuidWords words = kAll;
    words.*word &= ~(1U << bit);
    const std::string for_avx2 = missing_for(CpuLevel::avx2, words);
    const std::string missing = missing_for(CpuLevel::avx512_bf16, words);
    EXPECT_TRUE(for_avx2.empty() || for_avx2 == missing) << for_avx2;
    return for_avx2 + (for_avx2.empty() ? "" : "+") + missing;
  };
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 16), "avx512f");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 17), "avx512dq");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 30), "avx512bw");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 31), "avx512vl");
  EXPECT_EQ(without(&CpuidWords::leaf7_ecx, 1), "avx512_vbmi");
  EXPECT_EQ(without(&CpuidWords::leaf7_1_eax, 5), "avx512_bf16");
  EXPECT_EQ(without(&CpuidWords::leaf1_ecx, 12), "fma+fma");
  EXPECT_EQ(without(&CpuidWords::leaf1_ecx, 29), "f16c+f16c");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 5), "avx2+avx2");
}

TEST(CpuDispatchTest, ACpuWhoseSystemDoesNotSaveZmmIsAtMostAvx2) {
  constexpr auto kLevel = CpuLevel::avx512_bf16;
  for (const int bit : {5, 6, 7}) {
    CpuidWords words = kAll;
    words.xcr0 &= ~(1ULL << bit);
    EXPECT_EQ(missing_for(kLevel, words), "zmm registers saved by the operating system") << bit;
    EXPECT_EQ(missing_for(CpuLevel::avx2, words), "") << bit;
  }
  CpuidWords only_needed = kAll;
  only_needed.xcr0 = 0xe7;
  EXPECT_EQ(missing_for(kLevel, only_needed), "");
  EXPECT_NE(missing_for(kLevel, CpuidWords{}), "");
}

TEST(CpuDispatchTest, ACpuWhoseSystemDoesNotSaveYmmIsScalar) {
  for (const int bit : {1, 2}) {
    CpuidWords words = kAll;
    words.xcr0 &= ~(1ULL << bit);
    EXPECT_EQ(missing_for(CpuLevel::avx2, words), "ymm registers saved by the operating system") << bit;
  }
  EXPECT_NE(missing_for(CpuLevel::avx2, CpuidWords{}), "");
  EXPECT_EQ(missing_for(CpuLevel::scalar, CpuidWords{}), "");
}

TEST(CpuDispatchTest, EnvironmentChoosesALowerLevelInEitherCase) {
  for (const char* word : {"scalar", "SCALAR"}) {
    const EnvGuard guard("RINGCOMM_DISPATCH", word);
    const auto level = chosen_cpu_level();
    ASSERT_TRUE(level.is_ok()) << level.status().to_string();
    EXPECT_EQ(level.value(), CpuLevel::scalar);
  }
}

TEST(CpuDispatchTest, UnsetOrEmptyTakesTheBest) {
  for (const auto& value : {std::optional<std::string>(), std::optional<std::string>("")}) {
    const EnvGuard guard("RINGCOMM_DISPATCH", value);
    const auto level = chosen_cpu_level();
    ASSERT_TRUE(level.is_ok());
    EXPECT_EQ(level.value(), best_cpu_level());
  }
}

TEST(CpuDispatchTest, UnknownLevelIsRefusedWithThePossibleOnes) {
  const EnvGuard guard("RINGCOMM_DISPATCH", "sse9");
  EXPECT_EQ(chosen_cpu_level().status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(chosen_cpu_level().status().message(),
            "RINGCOMM_DISPATCH=sse9 is not accepted (scalar, avx2 or avx512_bf16).");
}

TEST(CpuDispatchTest, ImpossibleLevelIsRefusedAndSaysWhatIsMissing) {
  CpuidWords words = kAll;
  words.leaf7_1_eax = 0;
  words.leaf7_ecx = 0;
  const Status refused = check_cpu_level(CpuLevel::avx512_bf16, words);
  EXPECT_EQ(refused.code(), StatusCode::not_available);
  EXPECT_EQ(
      refused.message(),
      "level avx512_bf16 cannot run on this CPU (missing: avx512_vbmi, avx512_bf16). Possible: scalar, avx2");
  words.xcr0 = 0;
  EXPECT_EQ(check_cpu_level(CpuLevel::avx2, words).message(),
            "level avx2 cannot run on this CPU (missing: ymm registers saved by the operating system). "
            "Possible: scalar");
  EXPECT_TRUE(check_cpu_level(CpuLevel::scalar, CpuidWords{}).is_ok());
  EXPECT_TRUE(check_cpu_level(CpuLevel::avx512_bf16, kAll).is_ok());
}

TEST(CpuDispatchTest, EnvironmentCannotAskForMoreThanTheCpuHas) {
  const EnvGuard guard("RINGCOMM_DISPATCH", "avx512_bf16");
  const auto level = chosen_cpu_level();
  EXPECT_EQ(level.is_ok(), best_cpu_level() == CpuLevel::avx512_bf16);
  EXPECT_NE(level.is_ok() ? level.value() : CpuLevel::avx512_bf16, CpuLevel::scalar);
}

TEST(CpuDispatchTest, LevelsHaveTheNamesOfTheEnvironmentVariable) {
  EXPECT_EQ(name_of(CpuLevel::scalar), "scalar");
  EXPECT_EQ(name_of(CpuLevel::avx2), "avx2");
  EXPECT_EQ(name_of(CpuLevel::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name_of(static_cast<CpuLevel>(200)), "unknown");
}

}  // namespace
}  // namespace ringcomm
