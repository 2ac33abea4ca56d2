// SPDX-License-Identifier: Apache-2.0
// Method: the definition: at step t rank r sees the block of rank (r - t) mod N, whose values name rank, row
// and use.
#include "support.h"

enum { kHeads = 2, kKDim = 3, kVDim = 5, kRounds = 3 };

static float value_of(int rank, int round, int is_v, int64_t i) {
  return (float)(10000 * rank + 1000 * round + 500 * is_v) + (float)i;
}

static void fill(float* block, int64_t rows, int rank, int round) {
  for (int64_t i = 0; i < rows * kHeads * kKDim; ++i) block[i] = value_of(rank, round, 0, i);
  for (int64_t i = 0; i < rows * kHeads * kVDim; ++i)
    block[rows * kHeads * kKDim + i] = value_of(rank, round, 1, i);
}

// Returns the rows of the step.
static int64_t check_step(const ringcommRotationStep_t* step, int source, int round) {
  int64_t rows = 0;
  for (int p = 0; p < step->partCount; ++p) {
    const ringcommRotationPart_t* part = &step->parts[p];
    CHECK(part->headFirst == 0 && part->headCount == kHeads);
    const float* k = part->k;
    const float* v = part->v;
    for (int64_t i = 0; i < part->rowCount * kHeads * kKDim; ++i)
      CHECK(k[i] == value_of(source, round, 0, part->rowFirst * kHeads * kKDim + i));
    for (int64_t i = 0; i < part->rowCount * kHeads * kVDim; ++i)
      CHECK(v[i] == value_of(source, round, 1, part->rowFirst * kHeads * kVDim + i));
    rows += part->rowCount;
  }
  return rows;
}

// Rank r has 3 * r + 1 rows, rank 2 none.
static int64_t rows_of(int rank) { return rank == 2 ? 0 : 3 * rank + 1; }

static void rotate(ringcommComm_t comm, int rank, int size, int mode, int direction) {
  ringcommRotateDesc_t desc = RINGCOMM_ROTATE_DESC_INITIALIZER;
  int64_t rank_rows[RANKS_MAX];
  for (int r = 0; r < size; ++r) rank_rows[r] = rows_of(r);
  const int64_t rows = rank_rows[rank];
  float* block = NULL;
  OK(ringcommMemAlloc(comm, (void**)&block, sizeof(float) * (size_t)(rows * kHeads * (kKDim + kVDim))));
  desc.k = block;
  desc.v = block + rows * kHeads * kKDim;
  desc.rows = rows;
  desc.heads = kHeads;
  desc.kDim = kKDim;
  desc.vDim = kVDim;
  desc.mode = mode;
  desc.direction = direction;
  desc.rankRows = rank_rows;
  ringcommRotation_t rotation = NULL;
  OK(ringcommRotateCreate(&rotation, &desc, comm));
  for (int round = 0; round < kRounds; ++round) {
    fill(block, rows, rank, round);
    OK(ringcommRotateStart(rotation));
    for (int t = 0; t < size; ++t) {
      ringcommRotationStep_t step;
      OK(ringcommRotateNext(rotation, &step));
      const int source = ((rank - t * direction) % size + size) % size;
      CHECK(step.index == t);
      CHECK(step.source == source || (step.source == -1 && rank_rows[source] == 0));
      CHECK(check_step(&step, source, round) == rank_rows[source]);
      if (t == 0) OK(ringcommRotateRelease(rotation));
    }
    ringcommRotationStep_t end;
    OK(ringcommRotateNext(rotation, &end));
    CHECK(end.index == -1 && end.source == -1 && end.partCount == 0);
  }
  CHECK_RESULT(ringcommCommDestroy(comm), ringcommInvalidUsage);
  CHECK_SAYS(NULL, "1 rotations of the communicator are alive");
  OK(ringcommRotateDestroy(rotation));
  OK(ringcommMemFree(block));
}

static void modes(ringcommComm_t comm, int rank, int size) {
  rotate(comm, rank, size, ringcommRotateDirect, 1);
  rotate(comm, rank, size, ringcommRotateRelay, -1);
  rotate(comm, rank, size, ringcommRotateAutomatic, 1);
}

static void wrong_arguments(ringcommComm_t comm, int rank, int size) {
  (void)rank;
  (void)size;
  ringcommRotateDesc_t desc = RINGCOMM_ROTATE_DESC_INITIALIZER;
  ringcommRotation_t rotation = NULL;
  CHECK_RESULT(ringcommRotateCreate(&rotation, NULL, comm), ringcommInvalidArgument);
  desc.rows = -1;
  CHECK_RESULT(ringcommRotateCreate(&rotation, &desc, comm), ringcommInvalidArgument);
  desc.rows = 0;
  desc.mode = 3;
  CHECK_RESULT(ringcommRotateCreate(&rotation, &desc, comm), ringcommInvalidArgument);
  CHECK_SAYS(comm, "ringcommRotateDesc_t.mode is 3");
  CHECK(rotation == NULL);
  CHECK_RESULT(ringcommRotateCreate(NULL, &desc, comm), ringcommInvalidArgument);
  CHECK_RESULT(ringcommRotateStart(NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommRotateDestroy(NULL), ringcommInvalidArgument);
  OK(ringcommGroupStart());
  desc.mode = 0;
  CHECK_RESULT(ringcommRotateCreate(&rotation, &desc, comm), ringcommInvalidUsage);
  CHECK_SAYS(comm, "between ringcommGroupStart and ringcommGroupEnd");
  OK(ringcommGroupEnd());
}

void rotation_test(void) {
  for_sizes(modes);
  run_ranks(1, wrong_arguments);
}
