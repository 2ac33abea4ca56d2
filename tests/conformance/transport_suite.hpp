// SPDX-License-Identifier: Apache-2.0
// The claims that every transport must meet. The oracle is the pattern that each rank writes; what a
// transport cannot do (Capabilities) it must refuse. A backend instantiates the suite with its harness:
//   INSTANTIATE_TYPED_TEST_SUITE_P(Inproc, TransportConformance, InprocHarness);
#pragma once

#include <gtest/gtest.h>

#include "conformance/transport_harness.hpp"

namespace ringcomm::conformance {

// Messages (transport_claims_data.cpp).
void sends_travel_round_the_ring(TransportHarness& harness);
void sends_to_all_proceed_together(TransportHarness& harness);
void offers_are_read_in_place(TransportHarness& harness);
void pulls_copy(TransportHarness& harness);
void counters_count(TransportHarness& harness);
// Order and depth (transport_claims_lanes.cpp).
void lane_holds_eight_offers(TransportHarness& harness);
void ninth_offer_waits(TransportHarness& harness);
void thousands_of_messages_keep_order(TransportHarness& harness);
void more_sends_than_cells_in_one_batch(TransportHarness& harness);
void submit_is_ordered_by_the_stream(TransportHarness& harness);
// Who disagrees, is late, or leaves (transport_claims_failure.cpp).
void mismatch_is_found_by_both_sides(TransportHarness& harness);
void mismatch_is_found_while_all_wait(TransportHarness& harness);
void release_from_another_operation_is_found(TransportHarness& harness);
void missing_rank_is_named(TransportHarness& harness);
void stalled_rank_is_named_by_all(TransportHarness& harness);
void abort_releases_everybody(TransportHarness& harness);
void leaving_rank_is_named(TransportHarness& harness);
void wrong_arguments_change_nothing(TransportHarness& harness);
// Channels and memory (transport_claims_channels.cpp).
void channels_with_other_members_interleave(TransportHarness& harness);
void channels_run_in_threads_of_their_own(TransportHarness& harness);
void channels_can_be_reopened_without_end(TransportHarness& harness);
void member_that_does_not_open_is_named(TransportHarness& harness);
void wrong_members_are_refused(TransportHarness& harness);
void deregistered_memory_stays_readable(TransportHarness& harness);

template <class Harness>
class TransportConformance : public testing::Test {
 protected:
  Harness harness;
};

TYPED_TEST_SUITE_P(TransportConformance);

TYPED_TEST_P(TransportConformance, SendsTravelRoundTheRing) { sends_travel_round_the_ring(this->harness); }
TYPED_TEST_P(TransportConformance, SendsToAllProceedTogether) {
  sends_to_all_proceed_together(this->harness);
}
TYPED_TEST_P(TransportConformance, OffersAreReadInPlace) { offers_are_read_in_place(this->harness); }
TYPED_TEST_P(TransportConformance, PullsCopy) { pulls_copy(this->harness); }
TYPED_TEST_P(TransportConformance, CountersCount) { counters_count(this->harness); }
TYPED_TEST_P(TransportConformance, LaneHoldsEightOffers) { lane_holds_eight_offers(this->harness); }
TYPED_TEST_P(TransportConformance, NinthOfferWaits) { ninth_offer_waits(this->harness); }
TYPED_TEST_P(TransportConformance, ThousandsOfMessagesKeepOrder) {
  thousands_of_messages_keep_order(this->harness);
}
TYPED_TEST_P(TransportConformance, MoreSendsThanCellsInOneBatch) {
  more_sends_than_cells_in_one_batch(this->harness);
}
TYPED_TEST_P(TransportConformance, SubmitIsOrderedByTheStream) {
  submit_is_ordered_by_the_stream(this->harness);
}
TYPED_TEST_P(TransportConformance, MismatchIsFoundByBothSides) {
  mismatch_is_found_by_both_sides(this->harness);
}
TYPED_TEST_P(TransportConformance, MismatchIsFoundWhileAllWait) {
  mismatch_is_found_while_all_wait(this->harness);
}
TYPED_TEST_P(TransportConformance, ReleaseFromAnotherOperationIsFound) {
  release_from_another_operation_is_found(this->harness);
}
TYPED_TEST_P(TransportConformance, MissingRankIsNamed) { missing_rank_is_named(this->harness); }
TYPED_TEST_P(TransportConformance, StalledRankIsNamedByAll) { stalled_rank_is_named_by_all(this->harness); }
TYPED_TEST_P(TransportConformance, AbortReleasesEverybody) { abort_releases_everybody(this->harness); }
TYPED_TEST_P(TransportConformance, LeavingRankIsNamed) { leaving_rank_is_named(this->harness); }
TYPED_TEST_P(TransportConformance, WrongArgumentsChangeNothing) {
  wrong_arguments_change_nothing(this->harness);
}
TYPED_TEST_P(TransportConformance, ChannelsWithOtherMembersInterleave) {
  channels_with_other_members_interleave(this->harness);
}
TYPED_TEST_P(TransportConformance, ChannelsRunInThreadsOfTheirOwn) {
  channels_run_in_threads_of_their_own(this->harness);
}
TYPED_TEST_P(TransportConformance, ChannelsCanBeReopenedWithoutEnd) {
  channels_can_be_reopened_without_end(this->harness);
}
TYPED_TEST_P(TransportConformance, MemberThatDoesNotOpenIsNamed) {
  member_that_does_not_open_is_named(this->harness);
}
TYPED_TEST_P(TransportConformance, WrongMembersAreRefused) { wrong_members_are_refused(this->harness); }
TYPED_TEST_P(TransportConformance, DeregisteredMemoryStaysReadable) {
  deregistered_memory_stays_readable(this->harness);
}

REGISTER_TYPED_TEST_SUITE_P(TransportConformance, SendsTravelRoundTheRing, SendsToAllProceedTogether,
                            OffersAreReadInPlace, PullsCopy, CountersCount, LaneHoldsEightOffers,
                            NinthOfferWaits, ThousandsOfMessagesKeepOrder, MoreSendsThanCellsInOneBatch,
                            SubmitIsOrderedByTheStream, MismatchIsFoundByBothSides,
                            MismatchIsFoundWhileAllWait, ReleaseFromAnotherOperationIsFound,
                            MissingRankIsNamed, StalledRankIsNamedByAll, AbortReleasesEverybody,
                            LeavingRankIsNamed, WrongArgumentsChangeNothing,
                            ChannelsWithOtherMembersInterleave, ChannelsRunInThreadsOfTheirOwn,
                            ChannelsCanBeReopenedWithoutEnd, MemberThatDoesNotOpenIsNamed,
                            WrongMembersAreRefused, DeregisteredMemoryStaysReadable);

}  // namespace ringcomm::conformance
