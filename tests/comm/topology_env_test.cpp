// SPDX-License-Identifier: Apache-2.0
// Topology from the environment: a machine's file, an order, measured costs; and what is refused.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/affinity.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/config.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

class TopologyEnvTest : public testing::Test {
 protected:
  ~TopologyEnvTest() override {
    for (const char* const name : {"RINGCOMM_RING_ORDER", "RINGCOMM_TOPO_FILE", "RINGCOMM_COSTS"})
      ::unsetenv(name);
  }
  std::string written(const char* name, const char* text) {
    const std::filesystem::path file = dir_.path() / name;
    FILE* const out = std::fopen(file.c_str(), "w");
    std::fputs(text, out);
    std::fclose(out);
    return file.string();
  }
  /// The ring of four ranks, or why there is none.
  static Result<std::vector<int>> ring() {
    CommunicatorOptions options;
    options.arena_bytes = 1 << 18;
    options.transports = {inproc_transport()};
    std::vector<int> seen;
    const auto body = [&](Communicator& comm) -> Status {
      if (comm.rank() == 0) seen = comm.ring_order();
      return {};
    };
    RINGCOMM_TRY(run_threads(4, body, options));
    return seen;
  }
  test::TempDir dir_;
};

TEST_F(TopologyEnvTest, AnOrderIsTaken) {
  ::setenv("RINGCOMM_RING_ORDER", "0,2,1,3", 1);
  EXPECT_EQ(ring().value(), (std::vector<int>{0, 2, 1, 3}));
  ::setenv("RINGCOMM_RING_ORDER", "rank", 1);
  EXPECT_EQ(ring().value(), (std::vector<int>{0, 1, 2, 3}));
  ::setenv("RINGCOMM_RING_ORDER", "auto", 1);
  EXPECT_EQ(ring().value(), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(TopologyEnvTest, AWrongOrderIsRefusedNamingTheVariable) {
  for (const char* const wrong : {"0,1,2", "0,1,2,2", "0,1,2,4", "fast"}) {
    ::setenv("RINGCOMM_RING_ORDER", wrong, 1);
    const Status status = ring().status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << wrong;
    EXPECT_NE(status.message().find("RINGCOMM_RING_ORDER"), std::string::npos) << status.to_string();
  }
}

#if RINGCOMM_HAVE_PUGIXML
/// Memory nodes 0 and 2 in the first package, 1 and 3 in the second, listed in the order of their numbers.
constexpr const char* kTwoSockets = R"(<?xml version="1.0"?>
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x0000000f">
    <object type="Package" os_index="0" cpuset="0x00000033" nodeset="0x00000005">
      <object type="Group" cpuset="0x00000003" nodeset="0x00000001">
        <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001"/>
        <object type="Core" os_index="0" cpuset="0x00000001"><object type="PU" os_index="0" cpuset="0x00000001"/></object>
        <object type="Core" os_index="1" cpuset="0x00000002"><object type="PU" os_index="1" cpuset="0x00000002"/></object>
      </object>
      <object type="Group" cpuset="0x00000030" nodeset="0x00000004">
        <object type="NUMANode" os_index="2" cpuset="0x00000030" nodeset="0x00000004"/>
        <object type="Core" os_index="4" cpuset="0x00000010"><object type="PU" os_index="4" cpuset="0x00000010"/></object>
        <object type="Core" os_index="5" cpuset="0x00000020"><object type="PU" os_index="5" cpuset="0x00000020"/></object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x000000cc" nodeset="0x0000000a">
      <object type="Group" cpuset="0x0000000c" nodeset="0x00000002">
        <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002"/>
        <object type="Core" os_index="2" cpuset="0x00000004"><object type="PU" os_index="2" cpuset="0x00000004"/></object>
        <object type="Core" os_index="3" cpuset="0x00000008"><object type="PU" os_index="3" cpuset="0x00000008"/></object>
      </object>
      <object type="Group" cpuset="0x000000c0" nodeset="0x00000008">
        <object type="NUMANode" os_index="3" cpuset="0x000000c0" nodeset="0x00000008"/>
        <object type="Core" os_index="6" cpuset="0x00000040"><object type="PU" os_index="6" cpuset="0x00000040"/></object>
        <object type="Core" os_index="7" cpuset="0x00000080"><object type="PU" os_index="7" cpuset="0x00000080"/></object>
      </object>
    </object>
  </object>
</topology>
)";

TEST_F(TopologyEnvTest, AMachinesFileIsRead) {
  const std::string file = written("two-sockets.xml", kTwoSockets);
  ::setenv("RINGCOMM_TOPO_FILE", file.c_str(), 1);
  // Rank 3's CPUs are 6 and 7 there. Where they are not here, it is bound to none; the live machine would
  // give it one.
  Placement placement{.cpus = {-1}};
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  options.transports = {inproc_transport()};
  const auto body = [&](Communicator& comm) -> Status {
    if (comm.rank() == 3) placement = comm.placement();
    return {};
  };
  const Status status = run_threads(4, body, options);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  std::vector<int> expected{6, 7};
  const std::vector<int> here = allowed_cpus();
  std::erase_if(expected, [&](int cpu) { return std::ranges::find(here, cpu) == here.end(); });
  EXPECT_EQ(placement.cpus, expected);
}
#endif

TEST_F(TopologyEnvTest, AFileThatIsNoneIsRefusedOnAllRanks) {
  ::setenv("RINGCOMM_TOPO_FILE", "/nowhere/topo.xml", 1);
  const Status missing = ring().status();
  EXPECT_FALSE(missing.is_ok());
  EXPECT_NE(missing.message().find("RINGCOMM_TOPO_FILE"), std::string::npos) << missing.to_string();
  const std::string file = written("noise.txt", "nothing that a tool prints\n");
  ::setenv("RINGCOMM_TOPO_FILE", file.c_str(), 1);
  EXPECT_FALSE(ring().is_ok());
}

TEST_F(TopologyEnvTest, CostsHaveToBeThereAndReadable) {
  ::setenv("RINGCOMM_COSTS", "/nowhere/costs.json", 1);
  const Status status = ring().status();
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_NE(status.message().find("/nowhere/costs.json"), std::string::npos);
  const std::string file = written("costs.json", "{\"not\": \"costs\"}");
  ::setenv("RINGCOMM_COSTS", file.c_str(), 1);
  EXPECT_FALSE(ring().is_ok());
}

#if RINGCOMM_HAVE_JSON
TEST_F(TopologyEnvTest, MeasuredLimitsDecideHowPartialsMeet) {
  const auto parts_with = [&](const std::string& merge) -> Result<std::size_t> {
    const std::string text = R"({"ringcomm_costs": 1, "between": "host ranks", "classes": [)"
                             R"({"class": "LOC", "alpha_us": 1, "gb_per_s": 10}], "merge": )" +
                             merge + "}";
    ::setenv("RINGCOMM_COSTS", written("merge.json", text.c_str()).c_str(), 1);
    CommunicatorOptions options;
    options.transports = {inproc_transport()};
    std::size_t parts = 0;
    RINGCOMM_TRY(run_threads(
        2,
        [&](Communicator& comm) -> Status {
          std::vector<float> out(40 * 128), lse(40);
          const SoftmaxPartial partial{.out = TensorView::contiguous(out.data(), DType::float32, {40, 128}),
                                       .statistic = TensorView::contiguous(lse.data(), DType::float32, {40})};
          RINGCOMM_TRY_ASSIGN(const MergedRows merged, softmax_all_reduce_in_place(comm.channel(), partial));
          if (comm.rank() == 0) parts = merged.parts().size();
          return {};
        },
        options));
    return parts;
  };
  EXPECT_EQ(parts_with(R"({"ranks": 2})").value(), 2U) << "20 KiB: two rounds unless measured";
  EXPECT_EQ(parts_with(R"({"ranks": 2, "one_shot_bytes": 30000})").value(), 1U);
  EXPECT_EQ(parts_with(R"({"ranks": 2, "one_shot_bytes": 20000})").value(), 2U);
  EXPECT_EQ(parts_with(R"({"ranks": 3, "one_shot_bytes": 30000})").value(), 2U)
      << "measured with other ranks";
  for (const auto& [merge, part] :
       {std::pair{R"({"one_shot_bytes": 30000})", "'ranks' is missing"},
        std::pair{R"({"ranks": 2, "one_shot_bytes": -1})", "merge.'one_shot_bytes'"},
        std::pair{R"({"ranks": 2, "two_shot_bytes": 1})", "'two_shot_bytes' is no key"},
        std::pair{"7", "'merge' is no object"}}) {
    const Status status = parts_with(merge).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.to_string();
  }
}
#endif

}  // namespace
}  // namespace ringcomm
