// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

Who at_bus(const char* bus) {
  Who who;
  who.bus_id = bus;
  return who;
}

EventFact& add_xid(Facts& facts, const char* bus, int code, const char* text, int seconds) {
  EventFact& event = facts.event_at(EventKind::xid, at_bus(bus), text, seconds);
  event.code = code;
  return event;
}

void add_rank(Facts& facts, int rank, const char* bus) {
  Who who = Facts::process("n1", 18980 + rank, rank);
  who.rank = rank;
  who.bus_id = bus;
  facts.evidence.identities.push_back(who);
}

TEST(DevicesTest, TheFirstFatalXidIsMappedToItsRank) {
  Facts facts;
  add_rank(facts, 6, "0000:dc:00.0");
  add_rank(facts, 7, "0000:ed:00.0");
  add_xid(facts, "0000:ed:00.0", 145, "Xid 145, RLW_RXPIPE Nonfatal XC0", 6);
  add_xid(facts, "0000:dc:00.0", 149, "Xid 149, NETIR_LINK_EVT Fatal XC0", 7);
  add_xid(facts, "0000:ed:00.0", 45, "Xid 45, Ch 1 caused by previous Xid 145", 8);
  const Candidate found = found_by(facts.evidence, "first_xid");
  EXPECT_EQ(found.verdict.kind, FaultKind::nvlink_fault);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{"6"});
  EXPECT_EQ(found.verdict.victims, Labels{"7"});
  EXPECT_EQ(found.weight, Weight::root);
}

TEST(DevicesTest, XidsOfMemoryAndOfTheBusAreGpuFaults) {
  for (const int code : {48, 63, 64, 79, 94, 95, 119}) {
    Facts facts;
    add_rank(facts, 2, "0000:3b:00.0");
    add_xid(facts, "0000:3b:00.0", code, "Xid", 5);
    const Candidate found = found_by(facts.evidence, "first_xid");
    EXPECT_EQ(found.verdict.kind, FaultKind::gpu_fault) << code;
    EXPECT_EQ(found.verdict.culprits, Labels{"2"}) << code;
  }
}

TEST(DevicesTest, XidsThatFollowOthersAreNoCause) {
  Facts facts;
  add_rank(facts, 2, "0000:3b:00.0");
  add_xid(facts, "0000:3b:00.0", 45, "Xid 45, channel removal", 5);
  add_xid(facts, "0000:3b:00.0", 43, "Xid 43", 5);
  EXPECT_FALSE(has_rule(facts.evidence, "first_xid"));
}

TEST(DevicesTest, AnIllegalAccessOfAProgramIsPossibleOnly) {
  Facts facts;
  add_rank(facts, 2, "0000:3b:00.0");
  add_rank(facts, 3, "0000:5e:00.0");
  add_xid(facts, "0000:3b:00.0", 31, "Xid 31, MMU Fault", 5);
  EXPECT_EQ(found_by(facts.evidence, "first_xid").verdict.grade, Grade::possible);
  // Hardware outweighs it, even later.
  add_xid(facts, "0000:5e:00.0", 79, "Xid 79, GPU has fallen off the bus", 9);
  EXPECT_EQ(found_by(facts.evidence, "first_xid").verdict.culprits, Labels{"3"});
}

TEST(DevicesTest, AnUnknownGpuKeepsItsBusId) {
  Facts facts;
  add_xid(facts, "0000:3b:00.0", 79, "Xid 79", 5);
  EXPECT_EQ(found_by(facts.evidence, "first_xid").verdict.culprits, Labels{"GPU 0000:3b:00.0"});
}

TEST(DevicesTest, CudaErrorsSpeakOfHardwareOrOfTheProgram) {
  Facts facts;
  facts.event(EventKind::cuda_error, Facts::rank(3), "CUDA error: uncorrectable ECC error encountered");
  EXPECT_EQ(found_by(facts.evidence, "device_error").verdict.kind, FaultKind::gpu_fault);
  Facts program;
  program.event(EventKind::cuda_error, Facts::rank(3),
                "CUDA error: an illegal memory access was encountered");
  EXPECT_FALSE(has_rule(program.evidence, "device_error"));
  EXPECT_EQ(found_by(program.evidence, "cuda_error").verdict.kind, FaultKind::rank_exception);
  EXPECT_EQ(found_by(program.evidence, "cuda_error").verdict.culprits, Labels{"3"});
}

}  // namespace
}  // namespace ringcomm::diag
