// SPDX-License-Identifier: Apache-2.0
// The oracle for this machine is the kernel's own list of flags in /proc/cpuinfo; other CPUs are invented
// words.
#include "ringcomm/core/cpu_dispatch.hpp"

#include <gtest/gtest.h>

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
  bool expected = true;
  for (const char* flag : {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16", "fma"}) {
    expected = expected && flags.contains(flag);
  }
  expected = expected && (flags.contains("avx512_vbmi") || flags.contains("avx512vbmi"));
  EXPECT_EQ(best_cpu_level(), expected ? CpuLevel::avx512_bf16 : CpuLevel::scalar)
      << missing_for_avx512_bf16(read_cpuid());
}

TEST(CpuDispatchTest, EveryNeededBitIsNeededAndNamed) {
  ASSERT_EQ(missing_for_avx512_bf16(kAll), "");
  const auto without = [](std::uint32_t CpuidWords::*word, int bit) {
    CpuidWords words = kAll;
    words.*word &= ~(1U << bit);
    return missing_for_avx512_bf16(words);
  };
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 16), "avx512f");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 17), "avx512dq");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 30), "avx512bw");
  EXPECT_EQ(without(&CpuidWords::leaf7_ebx, 31), "avx512vl");
  EXPECT_EQ(without(&CpuidWords::leaf7_ecx, 1), "avx512_vbmi");
  EXPECT_EQ(without(&CpuidWords::leaf7_1_eax, 5), "avx512_bf16");
  EXPECT_EQ(without(&CpuidWords::leaf1_ecx, 12), "fma");
}

TEST(CpuDispatchTest, ACpuWhoseSystemDoesNotSaveZmmIsScalar) {
  for (const int bit : {1, 2, 5, 6, 7}) {
    CpuidWords words = kAll;
    words.xcr0 &= ~(1ULL << bit);
    EXPECT_EQ(missing_for_avx512_bf16(words), "zmm registers saved by the operating system") << bit;
  }
  CpuidWords only_needed = kAll;
  only_needed.xcr0 = 0xe7;
  EXPECT_EQ(missing_for_avx512_bf16(only_needed), "");
  EXPECT_NE(missing_for_avx512_bf16(CpuidWords{}), "");
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
  const EnvGuard guard("RINGCOMM_DISPATCH", "avx2");
  EXPECT_EQ(chosen_cpu_level().status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(chosen_cpu_level().status().message(),
            "RINGCOMM_DISPATCH=avx2 is not accepted (scalar or avx512_bf16).");
}

TEST(CpuDispatchTest, ImpossibleLevelIsRefusedAndSaysWhatIsMissing) {
  CpuidWords words = kAll;
  words.leaf7_1_eax = 0;
  words.leaf7_ecx = 0;
  const Status refused = check_cpu_level(CpuLevel::avx512_bf16, words);
  EXPECT_EQ(refused.code(), StatusCode::not_available);
  EXPECT_EQ(refused.message(),
            "level avx512_bf16 cannot run on this CPU (missing: avx512_vbmi, avx512_bf16). Possible: scalar");
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
  EXPECT_EQ(name_of(CpuLevel::avx512_bf16), "avx512_bf16");
  EXPECT_EQ(name_of(static_cast<CpuLevel>(200)), "unknown");
}

}  // namespace
}  // namespace ringcomm
