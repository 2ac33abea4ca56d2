// SPDX-License-Identifier: Apache-2.0
// The oracle is the tree that the test itself makes: the values written there are the values expected.
#include "core/cgroup.hpp"

#include <gtest/gtest.h>

#include "core/made_tree.hpp"

namespace ringcomm {
namespace {

using test::MadeTree;

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::string_view kMountV2 = "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
constexpr std::string_view kMountsV1 =
    "32 1 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 1 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

std::string mib(std::uint64_t count) { return std::to_string(count * kMiB) + "\n"; }

void put_memory_v2(const MadeTree& tree, const std::string& group, const std::string& limit,
                   std::uint64_t used_mib) {
  tree.write("sys/fs/cgroup" + group + "/memory.max", limit);
  tree.write("sys/fs/cgroup" + group + "/memory.current", mib(used_mib));
}
void put_memory_v1(const MadeTree& tree, const std::string& group, const std::string& limit,
                   std::uint64_t used_mib) {
  tree.write("sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes", limit);
  tree.write("sys/fs/cgroup/memory" + group + "/memory.usage_in_bytes", mib(used_mib));
}

/// Limit in MiB, 0 for none.
std::uint64_t limit_mib(const MadeTree& tree) {
  const auto memory = read_cgroup_memory(find_cgroup(tree.root(), "memory"));
  return memory ? memory->limit_bytes / kMiB : 0;
}
double cpus(const MadeTree& tree) { return read_cgroup_cpus(find_cgroup(tree.root(), "cpu")).value_or(0); }

class CgroupV2Test : public testing::Test {
 protected:
  void SetUp() override {
    tree_.write("proc/self/mountinfo", kMountV2);
    tree_.write("proc/self/cgroup", "0::/job.slice/run\n");
  }
  MadeTree tree_;
};

TEST_F(CgroupV2Test, SmallestLimitOnThePathUpwardsCounts) {
  put_memory_v2(tree_, "", mib(9000), 100);
  put_memory_v2(tree_, "/job.slice", mib(2048), 80);
  put_memory_v2(tree_, "/job.slice/run", mib(4096), 50);
  const auto group = find_cgroup(tree_.root(), "memory");
  EXPECT_EQ(group.version, CgroupVersion::v2);
  EXPECT_EQ(group.path, "/job.slice/run");
  const auto memory = read_cgroup_memory(group);
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->limit_bytes, 2048 * kMiB);
  EXPECT_EQ(memory->used_bytes, 80 * kMiB);
}

TEST_F(CgroupV2Test, FullParentCountsBeforeASmallerLimitWithRoom) {
  put_memory_v2(tree_, "/job.slice", mib(4096), 4000);
  put_memory_v2(tree_, "/job.slice/run", mib(2048), 50);
  EXPECT_EQ(limit_mib(tree_), 4096U);
}

TEST_F(CgroupV2Test, MaxMeansNoLimit) {
  put_memory_v2(tree_, "/job.slice", "max\n", 80);
  put_memory_v2(tree_, "/job.slice/run", "max\n", 50);
  EXPECT_EQ(limit_mib(tree_), 0U);
  put_memory_v2(tree_, "/job.slice", mib(70), 80);
  EXPECT_EQ(limit_mib(tree_), 70U);
}

TEST_F(CgroupV2Test, FileCacheIsNotInUse) {
  put_memory_v2(tree_, "/job.slice/run", mib(2048), 1000);
  tree_.write("sys/fs/cgroup/job.slice/run/memory.stat",
              "anon 1\nfile 900\nshmem 4096\ninactive_file 104857600\nactive_file 209715200\n");
  EXPECT_EQ(read_cgroup_memory(find_cgroup(tree_.root(), "memory"))->used_bytes, 700 * kMiB);
}

TEST_F(CgroupV2Test, MoreFileCacheThanUseCountsAsNothingInUse) {
  put_memory_v2(tree_, "/job.slice/run", mib(2048), 10);
  tree_.write("sys/fs/cgroup/job.slice/run/memory.stat",
              "inactive_file 18446744073709551615\nactive_file 0\n");
  EXPECT_EQ(read_cgroup_memory(find_cgroup(tree_.root(), "memory"))->used_bytes, 0U);
}

TEST_F(CgroupV2Test, SmallestCpuQuotaCounts) {
  EXPECT_EQ(cpus(tree_), 0);
  tree_.write("sys/fs/cgroup/job.slice/run/cpu.max", "max 100000\n");
  EXPECT_EQ(cpus(tree_), 0);
  tree_.write("sys/fs/cgroup/job.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpus(tree_), 1.5);
  tree_.write("sys/fs/cgroup/job.slice/run/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpus(tree_), 0.5);
}

TEST_F(CgroupV2Test, BrokenValuesAreNoLimit) {
  for (const char* text : {"", "\n", "-5\n", "lots", "99999999999999999999999\n"}) {
    put_memory_v2(tree_, "/job.slice/run", text, 1);
    EXPECT_EQ(limit_mib(tree_), 0U) << text;
  }
  for (const char* text : {"", "1", "1 0", "0 100", "-1 100", "a b", "1 2 3"}) {
    tree_.write("sys/fs/cgroup/job.slice/run/cpu.max", text);
    EXPECT_EQ(cpus(tree_), 0) << text;
  }
}

TEST_F(CgroupV2Test, PathThatAContainerDoesNotShowFallsBackToTheMount) {
  put_memory_v2(tree_, "", mib(512), 1);
  put_memory_v2(tree_, "/docker", mib(100), 1);  // somebody else's, though its name begins our path
  tree_.write("sys/other/memory.max", mib(100));
  for (const char* path : {"0::/docker/0123abcd\n", "0::/../../other\n", "0::/\n", "0::\n"}) {
    tree_.write("proc/self/cgroup", path);
    EXPECT_EQ(limit_mib(tree_), 512U) << path;
  }
}

TEST_F(CgroupV2Test, MountOfASubtreeIsTakenOffThePath) {
  tree_.write("proc/self/mountinfo", "30 1 0:26 /job.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  put_memory_v2(tree_, "/run", mib(300), 1);
  EXPECT_EQ(limit_mib(tree_), 300U);
  tree_.write("proc/self/cgroup", "0::/job.slicer/run\n");  // no child of /job.slice
  put_memory_v2(tree_, "/r/run", mib(100), 1);
  EXPECT_EQ(limit_mib(tree_), 0U);
}

TEST_F(CgroupV2Test, MountThatShowsTheGroupIsPreferred) {
  tree_.write("proc/self/mountinfo",
              "29 1 0:26 /other /elsewhere rw - cgroup2 cgroup2 rw\n" + std::string(kMountV2));
  tree_.write("elsewhere/memory.max", mib(7));
  put_memory_v2(tree_, "/job.slice/run", mib(300), 1);
  EXPECT_EQ(limit_mib(tree_), 300U);
}

TEST_F(CgroupV2Test, MountPointMayContainEscapedSpaces) {
  tree_.write("proc/self/mountinfo", "30 1 0:26 / /sys/a\\040b\\134c rw - cgroup2 cgroup2 rw\n");
  tree_.write("sys/a b\\c/job.slice/run/memory.max", mib(11));
  EXPECT_EQ(limit_mib(tree_), 11U);
}

TEST_F(CgroupV2Test, WithoutMountinfoTheUsualPlaceIsRead) {
  tree_.write("proc/self/mountinfo", "");
  put_memory_v2(tree_, "/job.slice", mib(77), 1);
  put_memory_v2(tree_, "/job.slice/run", "max", 1);
  EXPECT_EQ(limit_mib(tree_), 77U);
}

class CgroupV1Test : public testing::Test {
 protected:
  void SetUp() override {
    tree_.write("proc/self/mountinfo", kMountsV1);
    tree_.write("proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/box/inner\n1:name=systemd:/\n");
  }
  MadeTree tree_;
};

TEST_F(CgroupV1Test, LimitsOfEachHierarchyAreRead) {
  put_memory_v1(tree_, "", mib(100), 5);
  put_memory_v1(tree_, "/box", mib(200), 4);
  tree_.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n");
  tree_.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  tree_.write("sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_quota_us", "-1\n");
  tree_.write("sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit_mib(tree_), 100U);
  EXPECT_EQ(cpus(tree_), 2.5);
  EXPECT_EQ(find_cgroup(tree_.root(), "memory").version, CgroupVersion::v1);
}

TEST_F(CgroupV1Test, HugeNumberMeansNoLimit) {
  put_memory_v1(tree_, "/box", "9223372036854771712\n", 4);
  EXPECT_EQ(limit_mib(tree_), 0U);
  put_memory_v1(tree_, "/box", "1152921504606846976\n", 4);  // 2^60
  EXPECT_EQ(limit_mib(tree_), 0U);
  put_memory_v1(tree_, "/box", "1152921504606846975\n", 4);
  EXPECT_NE(limit_mib(tree_), 0U);
}

TEST_F(CgroupV1Test, FileCacheOfTheWholeSubtreeIsNotInUse) {
  put_memory_v1(tree_, "/box", mib(200), 100);
  tree_.write("sys/fs/cgroup/memory/box/memory.stat",
              "inactive_file 1048576\nactive_file 0\ntotal_inactive_file 41943040\ntotal_active_file 0\n");
  EXPECT_EQ(read_cgroup_memory(find_cgroup(tree_.root(), "memory"))->used_bytes, 60 * kMiB);
}

TEST_F(CgroupV1Test, HybridReadsEachControllerWhereItIs) {
  tree_.write("proc/self/cgroup", "4:memory:/box\n0::/unified/run\n");
  tree_.write("proc/self/mountinfo",
              std::string(kMountsV1) + "41 1 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  put_memory_v1(tree_, "/box", mib(64), 4);
  tree_.write("sys/fs/cgroup/unified/unified/run/memory.max", mib(1));
  tree_.write("sys/fs/cgroup/unified/unified/run/cpu.max", "300000 100000\n");
  EXPECT_EQ(limit_mib(tree_), 64U);
  EXPECT_EQ(cpus(tree_), 3.0);
}

TEST_F(CgroupV1Test, ControllerNamesAreComparedWhole) {
  tree_.write("proc/self/cgroup", "4:memoryx,cpuset:/box\n");
  EXPECT_EQ(find_cgroup(tree_.root(), "memory").version, CgroupVersion::none);
  EXPECT_EQ(find_cgroup(tree_.root(), "cpu").version, CgroupVersion::none);
}

TEST(CgroupTest, EmptyRootHasNone) {
  const MadeTree tree;
  const auto group = find_cgroup(tree.root(), "memory");
  EXPECT_EQ(group.version, CgroupVersion::none);
  EXPECT_TRUE(group.directories.empty());
  EXPECT_FALSE(read_cgroup_memory(group).has_value());
  EXPECT_FALSE(read_cgroup_cpus(group).has_value());
}

TEST(CgroupTest, VeryDeepPathIsNotWalked) {
  const MadeTree tree;
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "/d";
  tree.write("proc/self/cgroup", "0::" + path + "\n");
  EXPECT_EQ(find_cgroup(tree.root(), "memory").directories.size(), 1U);
}

}  // namespace
}  // namespace ringcomm
