// SPDX-License-Identifier: Apache-2.0
// Method: the definition of all-gather, on private memory, in windows and in place; wrong arguments by name.
#include "support.h"

enum { kCount = 37 };

static void gathers(ringcommComm_t comm, int rank, int size) {
  int32_t in[kCount];
  int32_t* out = malloc(sizeof in * (size_t)size);
  for (int i = 0; i < kCount; ++i) in[i] = 1000 * rank + i;
  OK(ringcommAllGather(in, out, kCount, ringcommInt32, comm, NULL));
  for (int i = 0; i < kCount * size; ++i) CHECK(out[i] == 1000 * (i / kCount) + i % kCount);
  memset(out, 0, sizeof in * (size_t)size);
  memcpy(out + rank * kCount, in, sizeof in);
  OK(ringcommAllGather(out + rank * kCount, out, kCount, ringcommInt32, comm, NULL));  // in place
  for (int i = 0; i < kCount * size; ++i) CHECK(out[i] == 1000 * (i / kCount) + i % kCount);
  OK(ringcommAllGather(NULL, NULL, 0, ringcommInt32, comm, NULL));
  free(out);
}

// Rank r gives r elements, rank 0 none.
static void gathers_uneven(ringcommComm_t comm, int rank, int size) {
  int64_t counts[RANKS_MAX];
  int64_t sum = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r;
    sum += r;
  }
  double* in = NULL;
  OK(ringcommMemAlloc(comm, (void**)&in, sizeof(double) * RANKS_MAX));
  double* out = malloc(sizeof(double) * (size_t)(sum + 1));
  for (int i = 0; i < rank; ++i) in[i] = 10 * rank + i;
  OK(ringcommAllGatherV(in, out, counts, ringcommFloat64, comm, NULL));
  int at = 0;
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < r; ++i) CHECK(out[at++] == 10 * r + i);
  }
  counts[0] = -3;
  CHECK_RESULT(ringcommAllGatherV(in, out, counts, ringcommFloat64, comm, NULL), ringcommInvalidArgument);
  CHECK_SAYS(comm, "counts[0] is -3");
  CHECK_RESULT(ringcommAllGatherV(in, out, NULL, ringcommFloat64, comm, NULL), ringcommInvalidArgument);
  OK(ringcommBarrier(comm, NULL));  // peers may still read the window
  OK(ringcommMemFree(in));
  free(out);
}

static void wrong_arguments(ringcommComm_t comm, int rank, int size) {
  (void)rank;
  (void)size;
  float value[8] = {0};
  CHECK_RESULT(ringcommAllGather(value, value, 1, (ringcommDataType_t)300, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "datatype 300 is unknown (0 to 11 are)");
  CHECK_RESULT(ringcommAllGather(NULL, value, 1, ringcommFloat32, comm, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommAllGather(value, value, ~(size_t)0, ringcommFloat32, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "does not fit 63 bits");
  OK(ringcommBarrier(comm, NULL));
}

void collectives_test(void) {
  for_sizes(gathers);
  for_sizes(gathers_uneven);
  run_ranks(2, wrong_arguments);
}
