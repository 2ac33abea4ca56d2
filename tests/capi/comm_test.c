// SPDX-License-Identifier: Apache-2.0
// Method: what each rank is told against what the group was made of; ends in every way and what later calls
// say.
#include "support.h"

static void knows_its_place(ringcommComm_t comm, int rank, int size) {
  int value = -1;
  OK(ringcommCommCount(comm, &value));
  CHECK(value == size);
  OK(ringcommCommUserRank(comm, &value));
  CHECK(value == rank);
  ringcommResult_t error = ringcommTimeout;
  OK(ringcommCommGetAsyncError(comm, &error));
  CHECK(error == ringcommSuccess);
  CHECK(ringcommGetLastError(comm)[0] == '\0');
  for (int peer = 0; peer < size; ++peer) {
    const char* name = NULL;
    OK(ringcommCommPathName(comm, peer, &name));
    CHECK(strcmp(name, peer == rank ? "self" : "inproc") == 0);
  }
  const char* name = NULL;
  CHECK_RESULT(ringcommCommPathName(comm, size, &name), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommPathName(comm, 0, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommCount(comm, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommUserRank(comm, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommGetAsyncError(comm, NULL), ringcommInvalidArgument);
  CHECK_SAYS(comm, "error is NULL");
  OK(ringcommBarrier(comm, NULL));  // a wrong argument has changed nothing
}

// Rank 0 waits in a barrier that the last rank ends instead of entering.
static void ended_by_last(ringcommComm_t comm, int rank, int size, ringcommResult_t (*end)(ringcommComm_t),
                          ringcommResult_t expected, const char* text) {
  OK(ringcommBarrier(comm, NULL));
  if (rank == size - 1) {
    OK(end(comm));
  }
  CHECK_RESULT(ringcommBarrier(comm, NULL), expected);
  CHECK_SAYS(comm, text);
  float value = 0;
  CHECK_RESULT(ringcommAllGather(&value, NULL, 0, ringcommFloat32, comm, NULL), expected);
  ringcommResult_t error = ringcommSuccess;
  OK(ringcommCommGetAsyncError(comm, &error));
  CHECK(error == expected);
}

static void aborts(ringcommComm_t comm, int rank, int size) {
  char text[64];
  snprintf(text, sizeof text, "rank %d aborted: ringcommCommAbort", size - 1);
  ended_by_last(comm, rank, size, ringcommCommAbort, ringcommAborted, text);
}

static void revokes(ringcommComm_t comm, int rank, int size) {
  char text[64];
  snprintf(text, sizeof text, "rank %d aborted: revoked by ringcommCommRevoke", size - 1);
  ended_by_last(comm, rank, size, ringcommCommRevoke, ringcommRevoked, text);
}

static void differs(ringcommComm_t comm, int rank, int size) {
  float in[4] = {0};
  float out[64];
  if (size == 1) return;
  const size_t count = rank == 1 ? 2 : 3;
  CHECK_RESULT(ringcommAllGather(in, out, count, ringcommFloat32, comm, NULL), ringcommMismatch);
  CHECK_SAYS(comm, "all_gather #1");
  CHECK_SAYS(comm, "rank 1");
  CHECK_SAYS(comm, "has 8");   // two elements here ...
  CHECK_SAYS(comm, "has 12");  // ... and three there, in bytes
}

static void finalizes(ringcommComm_t comm, int rank, int size) {
  (void)rank;
  (void)size;
  OK(ringcommBarrier(comm, NULL));
  OK(ringcommCommFinalize(comm));
  CHECK_RESULT(ringcommBarrier(comm, NULL), ringcommInvalidUsage);
  CHECK_SAYS(comm, "the communicator was finalized");
}

static void environment(void) {
  ringcommComm_t comm = NULL;
  int size = 0;
  OK(ringcommCommInitEnv(&comm, NULL));  // no launcher: one rank
  OK(ringcommCommCount(comm, &size));
  CHECK(size == 1);
  OK(ringcommBarrier(comm, NULL));
  OK(ringcommCommDestroy(comm));
  CHECK_RESULT(ringcommCommInitEnv(NULL, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommInitAll(NULL, 1, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommInitAll(&comm, 0, NULL), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "create_local of 0 ranks");
  CHECK_RESULT(ringcommCommDestroy(NULL), ringcommInvalidArgument);
}

void comm_test(void) {
  environment();
  for_sizes(knows_its_place);
  for_sizes(aborts);
  for_sizes(revokes);
  for_sizes(differs);
  for_sizes(finalizes);
}
