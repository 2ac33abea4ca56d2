// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_graph_xml.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "support/xml_files.hpp"

namespace ringcomm {
namespace {

Reading read_ok(const std::string& text) {
  auto reading = topology::nccl_graph_xml::read(text, "g.xml");
  EXPECT_TRUE(reading.is_ok()) << reading.status().to_string();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

TEST(NcclGraphXmlTest, NumbersAreDecimalOrHexadecimal) {
  const Reading reading = read_ok(
      "<graphs version='1'>\n<graph id='0' pattern='4' crossnic='0' nchannels='1' speedintra='20' "
      "bwinter='12.5' typeintra='NVL' "
      "typeinter='PIX'><channel><net dev='0'/><gpu dev='0'/><gpu dev='0xa'/></channel></graph></graphs>");
  ASSERT_EQ(reading.job.graphs.size(), 1U);
  const ConfiguredGraph& graph = reading.job.graphs[0];
  EXPECT_EQ(graph.pattern, 4);
  EXPECT_EQ(graph.intra_gb_per_s, 20.0);
  EXPECT_EQ(graph.inter_gb_per_s, 12.5);
  EXPECT_EQ(graph.intra_class, PathClass::nvl);
  EXPECT_EQ(graph.inter_class, PathClass::pix);
  EXPECT_EQ(graph.cross_nic, 0);
  ASSERT_EQ(graph.rings.size(), 1U);
  EXPECT_EQ(graph.rings[0].order, (std::vector<int>{0, 10}));
  EXPECT_EQ(graph.where.line, 2);
  EXPECT_TRUE(reading.skipped.empty());
}

TEST(NcclGraphXmlTest, UnknownStaysUnknownAndDifferencesAreReported) {
  const Reading reading = read_ok(
      "<graphs><graph pattern='4' nchannels='2' speedintra='0' "
      "typeintra='ABC'><channel/></graph><graph/><x/></graphs>");
  ASSERT_EQ(reading.job.graphs.size(), 1U);
  EXPECT_FALSE(reading.job.graphs[0].intra_gb_per_s);
  EXPECT_EQ(reading.job.graphs[0].intra_class, PathClass::unknown);
  EXPECT_EQ(reading.job.graphs[0].channels, 2);
  EXPECT_EQ(reading.skipped.size(), 3U);
}

TEST(NcclGraphXmlTest, AMissingDevIsAnError) {
  const auto reading = topology::nccl_graph_xml::read(
      "<graphs>\n<graph pattern='4'><channel><gpu dev='x'/></channel></graph></graphs>", "g.xml");
  EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data);
  EXPECT_TRUE(reading.status().message().starts_with("g.xml:2: <gpu> has no valid dev"));
}

TEST(NcclGraphXmlTest, CapturedGraphs) {
  if (!has_shared_topology_files()) GTEST_SKIP() << "no captured machines beside the project";
  const Reading azure =
      read_ok(text_of_file(shared_topology_file("nccl-graph-xml/azure-ncv4-4xa100pcie.xml")));
  ASSERT_EQ(azure.job.graphs.size(), 3U);
  const ConfiguredGraph& ring = azure.job.graphs[0];
  EXPECT_EQ(ring.pattern, 4);
  ASSERT_EQ(ring.rings.size(), 2U);
  EXPECT_EQ(ring.rings[0].order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(ring.rings[1].order, (std::vector<int>{0, 3, 2, 1}));
  EXPECT_EQ(ring.intra_gb_per_s, 12.0);
  EXPECT_EQ(ring.intra_class, PathClass::sys);
  EXPECT_EQ(azure.job.graphs[1].channels, 4);

  const Reading slingshot =
      read_ok(text_of_file(shared_topology_file("nccl-graph-xml/slingshot-4xa100.xml")));
  ASSERT_FALSE(slingshot.job.graphs.empty());
  ASSERT_EQ(slingshot.job.graphs[0].rings.size(), 12U);
  std::map<std::pair<int, int>, int> arcs;
  for (const ConfiguredRing& channel : slingshot.job.graphs[0].rings) {
    for (std::size_t i = 0; i < channel.order.size(); ++i)
      ++arcs[{channel.order[i], channel.order[(i + 1) % channel.order.size()]}];
  }
  EXPECT_EQ(arcs.size(), 12U);
  for (const auto& [arc, uses] : arcs) EXPECT_EQ(uses, 4) << arc.first << "->" << arc.second;
}

}  // namespace
}  // namespace ringcomm
