// SPDX-License-Identifier: Apache-2.0
// Random and damaged input has no right answer; the oracle is that reading ends, without a crash, in a value
// that keeps the promises of its type. Run under the sanitizers this is a small fuzzer with a fixed seed.
#include <gtest/gtest.h>

#include <random>

#include "core/made_tree.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/limits.hpp"

namespace ringcomm {
namespace {

constexpr int kInputs = 2000;
constexpr unsigned kSeed = 20240607;

class Bytes {
 public:
  /// Any byte, letters that parsers look for, or `sample` with a few bytes changed, cut or doubled.
  std::string next(std::string_view sample) {
    switch (random_() % 3) {
      case 0:
        return text_of("", 200);
      case 1:
        return text_of(" \n:/,-0123456789cgroup2memorymaxKMGT\\", 300);
      default:
        return damaged(std::string(sample));
    }
  }

 private:
  std::string text_of(std::string_view alphabet, std::size_t length_max) {
    std::string text(random_() % length_max, '\0');
    for (char& c : text) {
      c = alphabet.empty() ? static_cast<char>(random_() & 0xff) : alphabet[random_() % alphabet.size()];
    }
    return text;
  }
  std::string damaged(std::string text) {
    for (std::size_t i = random_() % 4; i > 0 && !text.empty(); --i) {
      text[random_() % text.size()] = static_cast<char>(random_() & 0xff);
    }
    if (random_() % 4 == 0) text.resize(random_() % (text.size() + 1));
    return random_() % 4 == 0 ? text + text : text;
  }
  std::mt19937 random_{kSeed};
};

TEST(OutsideBytesTest, DamagedKernelFilesGiveLimitsThatMakeSense) {
  Bytes bytes;
  const test::MadeTree tree;
  int with_limit = 0;
  for (int i = 0; i < kInputs; ++i) {
    tree.write("proc/self/cgroup", bytes.next("4:memory:/a\n2:cpu:/a\n0::/a\n"));
    tree.write("proc/self/mountinfo",
               bytes.next("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
                          "32 1 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"));
    tree.write("proc/meminfo", bytes.next("MemTotal: 9 kB\nMemAvailable: 8 kB\n"));
    tree.write("sys/fs/cgroup/a/memory.max", bytes.next("2147483648\n"));
    tree.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", bytes.next("2147483648\n"));
    tree.write("sys/fs/cgroup/memory/a/memory.stat",
               bytes.next("total_inactive_file 7\ntotal_active_file 8\n"));
    tree.write("sys/fs/cgroup/a/cpu.max", bytes.next("100000 50000\n"));
    const Limits limits = read_limits(tree.root());
    ASSERT_TRUE(limits.cgroup == "none" || limits.cgroup.starts_with("v1:") ||
                limits.cgroup.starts_with("v2:"));
    ASSERT_GE(limits.usable_cpus(), 1);
    ASSERT_LE(limits.usable_cpus(), limits.cpus_allowed);
    ASSERT_TRUE(!limits.cpu_quota || *limits.cpu_quota > 0);
    ASSERT_TRUE(check_fits(limits, 0, MemoryUse::plain, "nothing").is_ok());
    if (limits.memory_limit_bytes) {
      ++with_limit;
      ASSERT_TRUE(*limits.memory_limit_bytes == UINT64_MAX ||
                  !check_fits(limits, UINT64_MAX, MemoryUse::plain, "all").is_ok());
    }
  }
  EXPECT_GT(with_limit, kInputs / 100) << "the inputs no longer reach the readers of values";
}

TEST(OutsideBytesTest, BytesParserGivesAValueOrSaysNo) {
  Bytes bytes;
  int accepted = 0;
  for (int i = 0; i < kInputs; ++i) {
    const std::string text = bytes.next(i % 2 == 0 ? "64K" : "17");
    const auto parsed = parse_bytes(text);
    if (parsed.is_ok()) {
      ++accepted;
      ASSERT_GE(parsed.value(), 0) << text;
      ASSERT_EQ(text.find_first_not_of("0123456789kKmMgGtT"), std::string::npos) << text;
    } else {
      ASSERT_EQ(parsed.status().code(), StatusCode::invalid_argument);
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kInputs);
}

TEST(OutsideBytesTest, AnyEnvironmentGivesShortWarnings) {
  Bytes bytes;
  for (int i = 0; i < kInputs / 10; ++i) {
    const std::vector<std::string> environment{"RINGCOMM_" + bytes.next("TIMEOUTS=4")};
    for (const auto& warning : unknown_env_warnings(environment)) ASSERT_LT(warning.size(), 250U);
  }
}

}  // namespace
}  // namespace ringcomm
