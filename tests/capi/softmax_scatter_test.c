// SPDX-License-Identifier: Apache-2.0
// Method: the share of the all-reduce's result that each rank keeps, bit for bit.
#include "support.h"

enum { kTokens = 7, kHeads = 4, kRows = kTokens * kHeads, kDim = 3 };

typedef struct {
  float out[kRows * kDim];
  float lse[kRows];
} Partial;

static void fill(Partial* partial, int rank) {
  for (int i = 0; i < kRows * kDim; ++i) partial->out[i] = (float)((rank * 31 + i * 7) % 19) / 8.0F;
  for (int i = 0; i < kRows; ++i) partial->lse[i] = (float)((rank * 17 + i * 5) % 11) - 4.0F;
}

static void check_row(const Partial* whole, int row, const Partial* share, int at, int has_lse) {
  CHECK(memcmp(whole->out + row * kDim, share->out + at * kDim, sizeof(float) * kDim) == 0);
  if (has_lse) CHECK(whole->lse[row] == share->lse[at]);
}

static void scatters(ringcommComm_t comm, int rank, int size) {
  Partial mine;
  Partial whole;
  Partial share;
  ringcommSoftmaxDesc_t desc = RINGCOMM_SOFTMAX_DESC_INITIALIZER;
  desc.form = ringcommSoftmaxNormalised;
  desc.base = ringcommSoftmaxBaseE;
  fill(&mine, rank);
  OK(ringcommSoftmaxStatAllReduce(mine.out, mine.lse, whole.out, whole.lse, kRows, kDim, ringcommFloat32,
                                  &desc, comm, NULL));
  // Rows, evenly: floor(r * rows / N).
  desc.scatter = ringcommSoftmaxScatterRows;
  OK(ringcommSoftmaxStatReduceScatter(mine.out, mine.lse, share.out, share.lse, kRows, kDim, ringcommFloat32,
                                      &desc, comm, NULL));
  int first = rank * kRows / size;
  for (int row = first; row < (rank + 1) * kRows / size; ++row)
    check_row(&whole, row, &share, row - first, 1);
  // Rows by counts: the last rank has all; nobody wants the statistics.
  int64_t counts[RANKS_MAX] = {0};
  counts[size - 1] = kRows;
  desc.counts = counts;
  OK(ringcommSoftmaxStatReduceScatter(mine.out, mine.lse, share.out, NULL, kRows, kDim, ringcommFloat32,
                                      &desc, comm, NULL));
  for (int row = 0; rank == size - 1 && row < kRows; ++row) check_row(&whole, row, &share, row, 0);
  // Heads of every token.
  desc.counts = NULL;
  desc.scatter = ringcommSoftmaxScatterHeads;
  desc.heads = kHeads;
  OK(ringcommSoftmaxStatReduceScatter(mine.out, mine.lse, share.out, share.lse, kRows, kDim, ringcommFloat32,
                                      &desc, comm, NULL));
  first = rank * kHeads / size;
  const int heads = (rank + 1) * kHeads / size - first;
  for (int token = 0; token < kTokens; ++token) {
    for (int head = 0; head < heads; ++head)
      check_row(&whole, token * kHeads + first + head, &share, token * heads + head, 1);
  }
}

static void wrong_arguments(ringcommComm_t comm, int rank, int size) {
  (void)size;
  Partial mine;
  Partial share;
  fill(&mine, rank);
  ringcommSoftmaxDesc_t desc = RINGCOMM_SOFTMAX_DESC_INITIALIZER;
  desc.form = ringcommSoftmaxNormalised;
  desc.base = ringcommSoftmaxBase2;
  desc.scatter = ringcommSoftmaxScatterHeads;
  desc.heads = 5;
  CHECK_RESULT(ringcommSoftmaxStatReduceScatter(mine.out, mine.lse, share.out, share.lse, kRows, kDim,
                                                ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "ringcommSoftmaxDesc_t.heads is 5, which does not divide 28 rows");
  desc.heads = kHeads;
  desc.order = ringcommSoftmaxFast;
  CHECK_RESULT(ringcommSoftmaxStatReduceScatter(mine.out, mine.lse, share.out, share.lse, kRows, kDim,
                                                ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidUsage);
}

void softmax_scatter_test(void) {
  for_sizes(scatters);
  run_ranks(1, wrong_arguments);
}
