// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(SetUpTest, NoRouteInsideOneSegmentIsAFirewall) {
  Facts facts;
  Who here = Facts::process("nb", 796, 1);
  here.address = "192.168.1.8";
  facts.evidence.identities.push_back(here);
  facts
      .event(EventKind::no_route, Facts::process("nb", 796, 0),
             "Connect to 192.168.1.9<5> failed : No route to host")
      .peer = Facts::peer("192.168.1.9");
  const Candidate found = found_by(facts.evidence, "no_connection");
  EXPECT_EQ(found.verdict.kind, FaultKind::net_config);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, Labels{"path 192.168.1.8 -> 192.168.1.9 (firewall)"});
  EXPECT_EQ(found.verdict.op, "ncclCommInitRank");
}

TEST(SetUpTest, NoRouteBetweenSegmentsIsNotCalledAFirewall) {
  Facts facts;
  Who here = Facts::process("nb", 796, 0);
  here.address = "10.1.0.8";
  facts.evidence.identities.push_back(here);
  facts.event(EventKind::no_route, Facts::process("nb", 796, 0), "No route to host").peer =
      Facts::peer("192.168.1.9");
  EXPECT_EQ(found_by(facts.evidence, "no_connection").verdict.suspects,
            Labels{"path 10.1.0.8 -> 192.168.1.9"});
}

TEST(SetUpTest, ARefusedConnectionIsPossibleOnly) {
  Facts facts;
  facts.event(EventKind::connect_failed, Facts::rank(0), "Connection refused").peer = Facts::peer("10.0.0.2");
  const Candidate found = found_by(facts.evidence, "no_connection");
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.weight, Weight::ordinary);
}

TEST(SetUpTest, AnAddressOfAContainerBridgeIsTheWrongInterface) {
  Facts facts;
  facts.event(EventKind::connect_failed, Facts::rank(0), "Connection refused").peer =
      Facts::peer("172.17.0.1");
  const Candidate found = found_by(facts.evidence, "no_connection");
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_NE(found.verdict.fix.find("NCCL_SOCKET_IFNAME"), std::string::npos);
}

TEST(SetUpTest, APrivateInterfaceMattersBetweenHostsOnly) {
  Facts facts;
  facts.event(EventKind::other, Facts::process("n1", 1, 0), "Bootstrap : Using docker0:172.17.0.1<0>")
      .detail = "interface docker0 172.17.0.1";
  EXPECT_FALSE(has_rule(facts.evidence, "private_interface"));
  facts.event(EventKind::other, Facts::process("n2", 1, 0), "Bootstrap : Using eth0:10.0.0.2<0>").detail =
      "interface eth0 10.0.0.2";
  EXPECT_EQ(found_by(facts.evidence, "private_interface").verdict.suspects,
            Labels{"interface docker0 of n1"});
  facts.event(EventKind::init_complete, Facts::process("n1", 1, 0), "Init COMPLETE");
  EXPECT_FALSE(has_rule(facts.evidence, "private_interface"));
}

TEST(SetUpTest, NoInterfaceIsSaidOutright) {
  Facts facts;
  facts.event(EventKind::no_interface, Facts::process("n1", 1, 0), "Bootstrap : no socket interface found");
  const Candidate found = found_by(facts.evidence, "no_interface");
  EXPECT_EQ(found.verdict.kind, FaultKind::net_config);
  EXPECT_EQ(found.verdict.suspects, Labels{"n1"});
}

TEST(SetUpTest, DifferentNetworkDevicesAreATopologyMismatch) {
  Facts facts;
  facts.event(EventKind::mixed_net_devices, Facts::process("n1", 1, 0), "Mixed Net device counts");
  EXPECT_EQ(found_by(facts.evidence, "mixed_net_devices").verdict.kind, FaultKind::topology_mismatch);
}

TEST(SetUpTest, OneGpuThatLeavesByOtherDevicesOnTheNextHost) {
  Facts facts;
  facts.timeout(0, 5);
  facts.event(EventKind::transport_used, Facts::process("n1", 1, 3), "via").detail = "NET/IB/3/GDRDMA";
  facts.event(EventKind::transport_used, Facts::process("n2", 1, 3), "via").detail = "NET/IB/3";
  EXPECT_FALSE(has_rule(facts.evidence, "uneven_devices"));
  facts.event(EventKind::transport_used, Facts::process("n3", 1, 3), "via").detail = "NET/IB/1";
  const Candidate found = found_by(facts.evidence, "uneven_devices");
  EXPECT_EQ(found.verdict.kind, FaultKind::topology_mismatch);
  EXPECT_EQ(found.verdict.suspects, (Labels{"n1", "n3"}));
  EXPECT_EQ(found.verdict.grade, Grade::possible);
}

}  // namespace
}  // namespace ringcomm::diag
