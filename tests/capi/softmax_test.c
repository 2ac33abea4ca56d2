// SPDX-License-Identifier: Apache-2.0
// Method: the merge computed in double from its definition, sum of exp(lse) out over sum of exp(lse).
#include <math.h>

#include "support.h"

enum { kRows = 13, kDim = 6 };

static float out_of(int rank, int i) { return (float)((rank * 31 + i * 7) % 19) / 8.0F - 1.0F; }
// Rank 1 has seen no key of row 4, nobody of row 5.
static float lse_of(int rank, int row) {
  if (row == 5 || (row == 4 && rank == 1)) return -INFINITY;
  return (float)((rank * 17 + row * 5) % 11) - 4.0F;
}

static void fill(int rank, float* out, float* lse) {
  for (int i = 0; i < kRows * kDim; ++i) out[i] = out_of(rank, i);
  for (int row = 0; row < kRows; ++row) lse[row] = lse_of(rank, row);
}

static void check_merged(const float* out, const float* lse, int ranks, double base) {
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += pow(base, (double)lse_of(rank, row));
    if (lse != NULL) {
      CHECK(sum == 0 ? lse[row] == -INFINITY : fabs(lse[row] - log(sum) / log(base)) < 1e-5);
    }
    for (int d = 0; d < kDim; ++d) {
      double value = 0;
      for (int rank = 0; rank < ranks; ++rank)
        value += pow(base, (double)lse_of(rank, row)) * (double)out_of(rank, row * kDim + d);
      CHECK(fabs((double)out[row * kDim + d] - (sum == 0 ? 0 : value / sum)) < 1e-5);
    }
  }
}

static ringcommSoftmaxDesc_t desc_of(int base) {
  ringcommSoftmaxDesc_t desc = RINGCOMM_SOFTMAX_DESC_INITIALIZER;
  desc.form = ringcommSoftmaxNormalised;
  desc.base = base;
  return desc;
}

static void all_reduces(ringcommComm_t comm, int rank, int size) {
  float out[kRows * kDim];
  float lse[kRows];
  float merged[kRows * kDim];
  float merged_lse[kRows];
  const ringcommSoftmaxDesc_t base_e = desc_of(ringcommSoftmaxBaseE);
  const ringcommSoftmaxDesc_t base_2 = desc_of(ringcommSoftmaxBase2);
  fill(rank, out, lse);
  OK(ringcommSoftmaxStatAllReduce(out, lse, merged, merged_lse, kRows, kDim, ringcommFloat32, &base_e, comm,
                                  NULL));
  check_merged(merged, merged_lse, size, exp(1.0));
  OK(ringcommSoftmaxStatAllReduce(out, lse, merged, NULL, kRows, kDim, ringcommFloat32, &base_2, comm, NULL));
  check_merged(merged, NULL, size, 2.0);
  OK(ringcommSoftmaxStatAllReduce(out, lse, out, lse, kRows, kDim, ringcommFloat32, &base_e, comm, NULL));
  check_merged(out, lse, size, exp(1.0));
  OK(ringcommSoftmaxStatAllReduce(NULL, NULL, NULL, NULL, 0, kDim, ringcommFloat32, &base_e, comm, NULL));
}

static void wrong_arguments(ringcommComm_t comm, int rank, int size) {
  (void)rank;
  (void)size;
  float out[kDim] = {0};
  float lse[1] = {0};
  ringcommSoftmaxDesc_t desc = RINGCOMM_SOFTMAX_DESC_INITIALIZER;
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, 1, kDim, ringcommFloat32, NULL, comm, NULL),
               ringcommInvalidArgument);
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, 1, kDim, ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "ringcommSoftmaxDesc_t.form is 0 (1 to 2; form and base have no default)");
  desc.form = ringcommSoftmaxUnnormalised;
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, 1, kDim, ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "ringcommSoftmaxDesc_t.base is 0");
  desc = desc_of(ringcommSoftmaxBaseE);
  desc.scatter = ringcommSoftmaxScatterRows;
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, 1, kDim, ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidArgument);
  desc.scatter = 0;
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, -1, kDim, ringcommFloat32, &desc, comm, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(comm, "rows is -1");
  CHECK_RESULT(ringcommSoftmaxStatAllReduce(out, lse, out, lse, 1, kDim, ringcommInt8, &desc, comm, NULL),
               ringcommInvalidArgument);
}

static void merges(int count) {
  float outs[RANKS_MAX][kRows * kDim];
  float lses[RANKS_MAX][kRows];
  const void* out_list[RANKS_MAX];
  const void* lse_list[RANKS_MAX];
  float merged[kRows * kDim];
  float merged_lse[kRows];
  const ringcommSoftmaxDesc_t desc = desc_of(ringcommSoftmaxBaseE);
  for (int rank = 0; rank < count; ++rank) {
    fill(rank, outs[rank], lses[rank]);
    out_list[rank] = outs[rank];
    lse_list[rank] = lses[rank];
  }
  OK(ringcommSoftmaxStatMerge(out_list, lse_list, count, merged, merged_lse, kRows, kDim, ringcommFloat32,
                              &desc));
  check_merged(merged, merged_lse, count, exp(1.0));
  OK(ringcommSoftmaxStatMerge(out_list, lse_list, count, outs[0], NULL, kRows, kDim, ringcommFloat32, &desc));
  check_merged(outs[0], NULL, count, exp(1.0));
  CHECK_RESULT(
      ringcommSoftmaxStatMerge(out_list, lse_list, 0, merged, NULL, kRows, kDim, ringcommFloat32, &desc),
      ringcommInvalidArgument);
  CHECK_RESULT(ringcommSoftmaxStatMerge(NULL, lse_list, 1, merged, NULL, kRows, kDim, ringcommFloat32, &desc),
               ringcommInvalidArgument);
}

// (m, l) pairs and sums relative to m, as an online softmax leaves them.
static void merges_unnormalised(void) {
  float out[2] = {3.0F, 8.0F};
  const float others[2] = {1.0F, 2.0F};
  float stat[2] = {1.0F, 2.0F};
  const float other_stat[2] = {0.0F, 4.0F};
  const void* out_list[2] = {out, others};
  const void* stat_list[2] = {stat, other_stat};
  ringcommSoftmaxDesc_t desc = desc_of(ringcommSoftmaxBase2);
  desc.form = ringcommSoftmaxUnnormalised;
  OK(ringcommSoftmaxStatMerge(out_list, stat_list, 2, out, stat, 1, 2, ringcommFloat32, &desc));
  CHECK(stat[0] == 1.0F && stat[1] == 4.0F);  // 2 + 4 * 2^(0 - 1)
  CHECK(out[0] == 3.5F && out[1] == 9.0F);
}

void softmax_test(void) {
  for_sizes(all_reduces);
  run_ranks(1, wrong_arguments);
  for (int count = 1; count <= RANKS_MAX; ++count) merges(count);
  merges_unnormalised();
}
