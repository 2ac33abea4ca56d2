// SPDX-License-Identifier: Apache-2.0
// Method: sums, maxima and minima by their definition; small integers, which every type adds without
// rounding.
#include "support.h"

enum { kCount = 29 };

static int value_of(int rank, int i) { return (rank * 13 + i * 5) % 17 - 8; }

static int reduced(ringcommRedOp_t op, int size, int i) {
  int result = value_of(0, i);
  for (int r = 1; r < size; ++r) {
    const int value = value_of(r, i);
    if (op == ringcommSum) result += value;
    if ((op == ringcommMax && value > result) || (op == ringcommMin && value < result)) result = value;
  }
  return result;
}

static void all_reduces(ringcommComm_t comm, int rank, int size) {
  static const ringcommRedOp_t ops[] = {ringcommSum, ringcommMax, ringcommMin};
  float in[kCount];
  float out[kCount];
  int32_t* window = NULL;
  OK(ringcommMemAlloc(comm, (void**)&window, sizeof(int32_t) * kCount));
  for (int o = 0; o < 3; ++o) {
    for (int i = 0; i < kCount; ++i) {
      in[i] = (float)value_of(rank, i);
      window[i] = value_of(rank, i);
    }
    OK(ringcommAllReduce(in, out, kCount, ringcommFloat32, ops[o], comm, NULL));
    OK(ringcommAllReduce(window, window, kCount, ringcommInt32, ops[o], comm, NULL));
    for (int i = 0; i < kCount; ++i)
      CHECK(out[i] == (float)reduced(ops[o], size, i) && window[i] == reduced(ops[o], size, i));
  }
  OK(ringcommAllReduce(NULL, NULL, 0, ringcommFloat32, ringcommSum, comm, NULL));
  CHECK_RESULT(ringcommAllReduce(in, out, 1, ringcommFloat32, (ringcommRedOp_t)1, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "op 1 is unknown (0 sum, 2 max and 3 min are offered)");
  OK(ringcommBarrier(comm, NULL));
  OK(ringcommMemFree(window));
}

static void scatters(ringcommComm_t comm, int rank, int size) {
  double* in = malloc(sizeof(double) * kCount * RANKS_MAX);
  double out[kCount * RANKS_MAX];
  int64_t counts[RANKS_MAX];
  for (int i = 0; i < kCount * size; ++i) in[i] = value_of(rank, i);
  OK(ringcommReduceScatter(in, out, kCount, ringcommFloat64, ringcommSum, comm, NULL));
  for (int i = 0; i < kCount; ++i) CHECK(out[i] == reduced(ringcommSum, size, rank * kCount + i));
  int first = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = 2 * r;  // rank 0 gets nothing
    if (r < rank) first += 2 * r;
  }
  OK(ringcommReduceScatterV(in, out, counts, ringcommFloat64, ringcommMax, comm, NULL));
  for (int i = 0; i < 2 * rank; ++i) CHECK(out[i] == reduced(ringcommMax, size, first + i));
  CHECK_RESULT(ringcommReduceScatterV(in, out, NULL, ringcommFloat64, ringcommMax, comm, NULL),
               ringcommInvalidArgument);
  free(in);
}

// Different operations on two ranks are told to both.
static void disagrees(ringcommComm_t comm, int rank, int size) {
  (void)size;
  float value = 1;
  CHECK_RESULT(ringcommAllReduce(&value, &value, 1, ringcommFloat32, rank == 0 ? ringcommSum : ringcommMax,
                                 comm, NULL),
               ringcommMismatch);
  CHECK_SAYS(comm, "all_reduce #1");
  CHECK_SAYS(comm, "sum");
  CHECK_SAYS(comm, "max");
}

void reduce_test(void) {
  for_sizes(all_reduces);
  for_sizes(scatters);
  run_ranks(2, disagrees);
}
