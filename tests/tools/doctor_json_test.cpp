// SPDX-License-Identifier: Apache-2.0
// The oracle is docs/topology-schema.json; and an unknown value is null, never 0.
#include <gtest/gtest.h>

#include <fstream>

#include "../perf/json_schema.hpp"
#include "doctor_case.hpp"
#include "test_paths.hpp"
#include "topo_json.hpp"

namespace ringcomm::doctor {
namespace {

using nlohmann::json;

json schema() { return json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/topology-schema.json")); }

std::string violations_of(const json& value) {
  std::string out;
  for (const std::string& violation : test::violations(schema(), value)) out += violation + "\n";
  return out;
}

TopoReport report_of_four() {
  TopoReport report;
  report.input = test::four_gpu_case();
  report.sources = {{"topo.txt", "nvidia-smi-topo"}};
  Finding finding;
  finding.id = "port_not_active";
  finding.severity = Severity::failure;
  finding.title = "mlx5_2 is down";
  finding.evidence = {{"Down", "Active", {"ib.txt", 3}}};
  finding.devices = {{PartKind::nic, 2}};
  report.findings = {finding};
  report.input.unread = {{"x.xml", Status::corrupt_data("cut")}};
  report.input.evidence.skipped = {{{"topo.txt", 0}, "text", "reason"}};
  report.input.evidence.contradictions = {{"GPU3", "a", {"f", 1}, "b", {"", 0}}};
  report.comparison.order = {0, 2, 1, 3};
  report.comparison.source = "rank order";
  report.exit_code = 2;
  return report;
}

TEST(DoctorJsonTest, FollowsItsSchema) {
  const json value = json::parse(topo_json(report_of_four()));
  EXPECT_EQ(violations_of(value), "");
  EXPECT_EQ(value["schema"], kJsonSchema);
  EXPECT_EQ(value["rings"][0]["order"], json({0, 1, 2, 3}));
  EXPECT_EQ(value["rings"][0]["bottleneck"]["level"], "NV1");
  EXPECT_EQ(value["rings"][0]["edges"].size(), 4U);
  EXPECT_EQ(value["machine"]["pairs"].size(), 4U * 6U);
  EXPECT_EQ(value["findings"][0]["devices"], json({"mlx5_2"}));
  EXPECT_EQ(value["unread"][0]["code"], "corrupt_data");
  EXPECT_EQ(value["ranks"][3]["nic"], "mlx5_1");
  EXPECT_EQ(value["ranks"][3]["cpus"], "32-63");
}

TEST(DoctorJsonTest, UnknownIsNull) {
  TopoReport report = report_of_four();
  Machine& machine = report.input.evidence.machine;
  machine.gpus[0] = Gpu{};
  machine.nics[0].ports[0] = Port{};
  machine.numa_nodes[0].cpus.reset();
  machine.numa_nodes[0].memory_bytes.reset();
  for (Path& path : report.input.paths.paths) path = Path{};
  report.input.rings.best.bottleneck_gb_per_s.reset();
  report.input.rings.rings.rings[0].bottleneck_gb_per_s.reset();
  report.input.rings.placements[0] = {};
  report.comparison = {};
  const json value = json::parse(topo_json(report));
  EXPECT_EQ(violations_of(value), "");
  for (const char* key : {"bus", "vendor", "model", "compute_capability", "numa_node", "cpus", "gpu_direct"})
    EXPECT_TRUE(value["machine"]["gpus"][0][key].is_null()) << key;
  EXPECT_TRUE(value["machine"]["nics"][0]["ports"][0]["gbit_per_s"].is_null());
  EXPECT_TRUE(value["machine"]["nics"][0]["ports"][0]["state"].is_null());
  EXPECT_TRUE(value["machine"]["numa_nodes"][0]["memory_bytes"].is_null());
  for (const char* key : {"class", "links", "gb_per_s", "source", "alpha_us"})
    EXPECT_TRUE(value["machine"]["pairs"][0][key].is_null()) << key;
  EXPECT_TRUE(value["rings"][0]["bottleneck"]["gb_per_s"].is_null());
  EXPECT_TRUE(value["ranks"][0]["cpus"].is_null());
  EXPECT_TRUE(value["ranks"][0]["numa_node"].is_null());
  EXPECT_TRUE(value["comparison"]["ok"].is_null());
  EXPECT_TRUE(value["comparison"]["links_total"].is_null());
}

TEST(DoctorJsonTest, ForeignBytesDoNotBreakIt) {
  TopoReport report = report_of_four();
  report.input.evidence.machine.gpus[0].name = "a\xff\x1b\"b";
  const json value = json::parse(topo_json(report));
  EXPECT_EQ(value["machine"]["gpus"][0]["model"], "a\xef\xbf\xbd\x1b\"b");
}

TEST(DoctorJsonTest, EmptyReportIsValidToo) {
  TopoReport report;
  report.exit_code = 3;
  EXPECT_EQ(violations_of(json::parse(topo_json(report))), "");
}

}  // namespace
}  // namespace ringcomm::doctor
