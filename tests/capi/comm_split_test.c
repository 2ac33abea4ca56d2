// SPDX-License-Identifier: Apache-2.0
// Method: the definition of MPI_Comm_split: one group for each color, ordered by key; gathers inside the
// groups.
#include "support.h"

// Even and odd ranks, in reverse order; the last rank takes no part.
static void splits(ringcommComm_t comm, int rank, int size) {
  ringcommConfig_t config = RINGCOMM_CONFIG_INITIALIZER;
  config.commName = "half";
  const int color = rank == size - 1 ? RINGCOMM_SPLIT_NOCOLOR : rank % 2;
  ringcommComm_t part = comm;
  OK(ringcommCommSplit(comm, color, -rank, &part, &config));
  if (color == RINGCOMM_SPLIT_NOCOLOR) {
    CHECK(part == NULL);
    return;
  }
  int members[RANKS_MAX];
  int count = 0;
  for (int r = size - 2; r >= 0; --r) {
    if (r % 2 == color) members[count++] = r;
  }
  int value = 0;
  OK(ringcommCommCount(part, &value));
  CHECK(value == count);
  OK(ringcommCommUserRank(part, &value));
  CHECK(members[value] == rank);
  int32_t gathered[RANKS_MAX];
  OK(ringcommAllGather(&rank, gathered, 1, ringcommInt32, part, NULL));
  for (int i = 0; i < count; ++i) CHECK(gathered[i] == members[i]);
  CHECK_RESULT(ringcommAllGather(&rank, gathered, 1, (ringcommDataType_t)99, part, NULL),
               ringcommInvalidArgument);
  CHECK_SAYS(part, "of \"half\"");
  OK(ringcommCommDestroy(part));
}

void comm_split_test(void) {
  for_sizes(splits);
  ringcommComm_t comm = NULL;
  OK(ringcommCommInitAll(&comm, 1, NULL));
  CHECK_RESULT(ringcommCommSplit(comm, 0, 0, NULL, NULL), ringcommInvalidArgument);
  OK(ringcommCommDestroy(comm));
}
