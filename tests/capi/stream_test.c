// SPDX-License-Identifier: Apache-2.0
// Method: what is queued is done after Synchronize; a failure stays with the stream; what is no stream is
// refused.
#include "support.h"

static void queues(ringcommComm_t comm, int rank, int size) {
  ringcommStream_t stream = NULL;
  int32_t in[4] = {rank, rank, rank, rank};
  int32_t out[4 * RANKS_MAX];
  int32_t twice[4 * RANKS_MAX * RANKS_MAX];
  OK(ringcommStreamCreate(&stream));
  OK(ringcommAllGather(in, out, 4, ringcommInt32, comm, stream));
  OK(ringcommAllGather(out, twice, 4 * (size_t)size, ringcommInt32, comm, stream));
  OK(ringcommBarrier(comm, stream));
  OK(ringcommStreamSynchronize(stream));
  for (int i = 0; i < 4 * size; ++i) CHECK(out[i] == i / 4);
  for (int i = 0; i < 4 * size * size; ++i) CHECK(twice[i] == i / 4 % size);
  OK(ringcommAllGather(in, out, 4, ringcommInt32, comm, stream));
  OK(ringcommCommFinalize(comm));  // waits as well
  for (int i = 0; i < 4 * size; ++i) CHECK(out[i] == i / 4);
  OK(ringcommStreamDestroy(stream));
}

static void keeps_its_failure(ringcommComm_t comm, int rank, int size) {
  (void)size;
  ringcommStream_t stream = NULL;
  OK(ringcommStreamCreate(&stream));
  if (rank == 0) {
    OK(ringcommBarrier(comm, stream));
    CHECK_RESULT(ringcommStreamSynchronize(stream), ringcommAborted);
    CHECK_RESULT(ringcommStreamSynchronize(stream), ringcommAborted);
    CHECK_RESULT(ringcommBarrier(comm, stream), ringcommAborted);
  } else {
    OK(ringcommCommAbort(comm));
  }
  OK(ringcommStreamDestroy(stream));
}

void stream_test(void) {
  for_sizes(queues);
  run_ranks(2, keeps_its_failure);
  ringcommComm_t comm = NULL;
  ringcommStream_t stream = NULL;
  OK(ringcommCommInitAll(&comm, 1, NULL));
  CHECK_RESULT(ringcommBarrier(comm, (ringcommStream_t)(void*)2),
               ringcommInvalidUsage);  // as cudaStreamPerThread
  CHECK_SAYS(comm, "stream is none of ringcommStreamCreate's");
  OK(ringcommStreamCreate(&stream));
  OK(ringcommStreamDestroy(stream));
  CHECK_RESULT(ringcommBarrier(comm, stream), ringcommInvalidUsage);
  CHECK_RESULT(ringcommStreamDestroy(stream), ringcommInvalidUsage);
  CHECK_RESULT(ringcommStreamSynchronize(NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommStreamCreate(NULL), ringcommInvalidArgument);
  OK(ringcommCommDestroy(comm));
}
