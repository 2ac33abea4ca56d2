// SPDX-License-Identifier: Apache-2.0
// Method: every element names its sender, receiver and place, so that what arrives proves where it was sent.
#include "support.h"

static int32_t name_of(int from, int to, int i) { return 10000 * from + 100 * to + i; }

static void exchanges_all(ringcommComm_t comm, int rank, int size) {
  enum { kCount = 3 };
  int32_t in[kCount * RANKS_MAX] = {0};
  int32_t out[kCount * RANKS_MAX] = {0};
  for (int i = 0; i < kCount * size; ++i) in[i] = name_of(rank, i / kCount, i % kCount);
  OK(ringcommAllToAll(in, out, kCount, ringcommInt32, comm, NULL));
  for (int i = 0; i < kCount * size; ++i) CHECK(out[i] == name_of(i / kCount, rank, i % kCount));
}

// From a to b: (a + 2 * b) % 4 elements.
static void exchanges_uneven(ringcommComm_t comm, int rank, int size) {
  int32_t in[4 * RANKS_MAX] = {0};
  int32_t out[4 * RANKS_MAX] = {0};
  int64_t sends[RANKS_MAX] = {0};
  int64_t receives[RANKS_MAX] = {0};
  int at = 0;
  for (int r = 0; r < size; ++r) {
    sends[r] = (rank + 2 * r) % 4;
    receives[r] = (r + 2 * rank) % 4;
    for (int i = 0; i < sends[r]; ++i) in[at++] = name_of(rank, r, i);
  }
  OK(ringcommAllToAllV(in, sends, out, receives, ringcommInt32, comm, NULL));
  at = 0;
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < receives[r]; ++i) CHECK(out[at++] == name_of(r, rank, i));
  }
  CHECK_RESULT(ringcommAllToAllV(in, sends, out, NULL, ringcommInt32, comm, NULL), ringcommInvalidArgument);
  CHECK_SAYS(comm, "recvcounts is NULL");
}

static void broadcasts(ringcommComm_t comm, int rank, int size) {
  for (int root = 0; root < size; ++root) {
    int32_t in[5];
    int32_t out[5] = {0};
    for (int i = 0; i < 5; ++i) in[i] = name_of(root, 0, i);
    OK(ringcommBroadcast(rank == root ? in : NULL, out, 5, ringcommInt32, root, comm, NULL));
    for (int i = 0; i < 5; ++i) CHECK(out[i] == name_of(root, 0, i));
  }
}

static void rotates(ringcommComm_t comm, int rank, int size) {
  char in[11];
  char out[11];
  memset(in, 'a' + rank, sizeof in);
  OK(ringcommRingRotate(in, out, sizeof in, comm, NULL));
  for (size_t i = 0; i < sizeof out; ++i) CHECK(out[i] == 'a' + (rank + size - 1) % size);
}

// Everybody to everybody, all receives named last: without the group this could not end.
static void groups(ringcommComm_t comm, int rank, int size) {
  int32_t in[2 * RANKS_MAX] = {0};
  int32_t out[2 * RANKS_MAX] = {0};
  OK(ringcommGroupStart());
  for (int r = 0; r < size; ++r) {
    in[2 * r] = name_of(rank, r, 0);
    in[2 * r + 1] = name_of(rank, r, 1);
    OK(ringcommSend(in + 2 * r, 2, ringcommInt32, r, comm, NULL));
  }
  for (int r = size - 1; r >= 0; --r) OK(ringcommRecv(out + 2 * r, 2, ringcommInt32, r, comm, NULL));
  OK(ringcommBarrier(comm, NULL));
  OK(ringcommGroupEnd());
  for (int r = 0; r < size; ++r)
    CHECK(out[2 * r] == name_of(r, rank, 0) && out[2 * r + 1] == name_of(r, rank, 1));
}

static void passes_on(ringcommComm_t comm, int rank, int size) {
  int32_t token = 100;
  if (rank > 0) OK(ringcommRecv(&token, 1, ringcommInt32, rank - 1, comm, NULL));
  CHECK(token == 100 + rank);
  ++token;
  if (rank + 1 < size) OK(ringcommSend(&token, 1, ringcommInt32, rank + 1, comm, NULL));
}

// One thread for all ranks, messages between them.
static void one_thread(void) {
  ringcommComm_t comms[3];
  int32_t in[3] = {7, 8, 9};
  int32_t out[3] = {0};
  OK(ringcommCommInitAll(comms, 3, NULL));
  OK(ringcommGroupStart());
  for (int r = 0; r < 3; ++r) {
    OK(ringcommSend(&in[r], 1, ringcommInt32, (r + 1) % 3, comms[r], NULL));
    OK(ringcommRecv(&out[r], 1, ringcommInt32, (r + 2) % 3, comms[r], NULL));
  }
  OK(ringcommGroupEnd());
  for (int r = 0; r < 3; ++r) CHECK(out[r] == in[(r + 2) % 3]);
  for (int r = 0; r < 3; ++r) OK(ringcommCommDestroy(comms[r]));
}

void exchange_test(void) {
  for_sizes(exchanges_all);
  for_sizes(exchanges_uneven);
  for_sizes(broadcasts);
  for_sizes(rotates);
  for_sizes(groups);
  for_sizes(passes_on);
  one_thread();
}
