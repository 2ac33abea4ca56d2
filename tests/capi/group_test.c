// SPDX-License-Identifier: Apache-2.0
// Method: results only after the end; one thread for several ranks, which would wait for each other outside a
// group.
#include "support.h"

enum { kRanks = 3 };

static void one_thread_for_all(void) {
  ringcommComm_t comms[kRanks];
  int32_t in[kRanks];
  int32_t out[kRanks][kRanks];
  memset(out, 0, sizeof out);
  OK(ringcommCommInitAll(comms, kRanks, NULL));
  for (int repeat = 1; repeat < 4; ++repeat) {
    OK(ringcommGroupStart());
    OK(ringcommGroupStart());  // groups nest
    for (int r = 0; r < kRanks; ++r) {
      in[r] = 10 * repeat + r;
      OK(ringcommAllGather(&in[r], out[r], 1, ringcommInt32, comms[r], NULL));
      OK(ringcommBarrier(comms[r], NULL));
    }
    OK(ringcommGroupEnd());
    CHECK(out[0][0] == (repeat == 1 ? 0 : 10 * (repeat - 1)));
    OK(ringcommGroupEnd());
    for (int r = 0; r < kRanks; ++r) {
      for (int from = 0; from < kRanks; ++from) CHECK(out[r][from] == 10 * repeat + from);
    }
  }
  for (int r = 0; r < kRanks; ++r) OK(ringcommCommDestroy(comms[r]));
}

static void failures_come_at_the_end(void) {
  ringcommComm_t comm = NULL;
  int32_t value = 5;
  int32_t out = 0;
  OK(ringcommCommInitAll(&comm, 1, NULL));
  OK(ringcommGroupStart());
  OK(ringcommAllGather(&value, &out, 1, ringcommInt32, comm, NULL));
  CHECK_RESULT(ringcommAllGather(&value, &out, 1, (ringcommDataType_t)99, comm, NULL),
               ringcommInvalidArgument);
  CHECK_RESULT(ringcommGroupEnd(), ringcommInvalidArgument);
  CHECK(out == 0);  // none of it has run
  OK(ringcommGroupStart());
  OK(ringcommAllGather(NULL, &out, 1, ringcommInt32, comm, NULL));  // looked at more closely at the end
  CHECK_RESULT(ringcommCommDestroy(comm), ringcommInvalidUsage);
  CHECK_RESULT(ringcommGroupEnd(), ringcommInvalidArgument);
  CHECK_SAYS(comm, "ringcommAllGather on rank 0 of 1");
  OK(ringcommAllGather(&value, &out, 1, ringcommInt32, comm, NULL));
  CHECK(out == 5);
  CHECK_RESULT(ringcommGroupEnd(), ringcommInvalidUsage);
  CHECK_SAYS(NULL, "no group is open in this thread");
  OK(ringcommGroupStart());
  OK(ringcommGroupEnd());
  OK(ringcommCommDestroy(comm));
}

void group_test(void) {
  one_thread_for_all();
  failures_come_at_the_end();
}
