// SPDX-License-Identifier: Apache-2.0
// An all-reduce in C. Ranks are threads of this process, or what a launcher starts:
//   allreduce 4                                    four threads
//   RINGCOMM_RANK=r RINGCOMM_SIZE=n RINGCOMM_STORE=file:///dir allreduce      or mpirun, torchrun
#include <pthread.h>
#include <ringcomm/ringcomm.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1 << 20, kRanksMax = 64 };

static void check(ringcommResult_t result, ringcommComm_t comm) {
  if (result == ringcommSuccess) return;
  fprintf(stderr, "allreduce: %s: %s\n", ringcommGetErrorString(result), ringcommGetLastError(comm));
  exit(1);
}

static void* run_rank(void* argument) {
  ringcommComm_t comm = argument;
  int rank = 0;
  int size = 0;
  float* data = NULL;
  check(ringcommCommUserRank(comm, &rank), comm);
  check(ringcommCommCount(comm, &size), comm);
  // Memory of the communicator is read by the other ranks where it is; any other memory works too, by a copy.
  check(ringcommMemAlloc(comm, (void**)&data, kCount * sizeof(float)), comm);
  for (int i = 0; i < kCount; ++i) data[i] = (float)(rank + i % 7);
  check(ringcommAllReduce(data, data, kCount, ringcommFloat32, ringcommSum, comm, NULL), comm);
  for (int i = 0; i < kCount; ++i) {
    if (data[i] == (float)(size * (size - 1) / 2 + size * (i % 7))) continue;
    fprintf(stderr, "allreduce: rank %d has %g at %d\n", rank, (double)data[i], i);
    exit(1);
  }
  printf("rank %d of %d: %d elements reduced, all right\n", rank, size, kCount);
  check(ringcommMemFree(data), comm);
  check(ringcommCommDestroy(comm), NULL);
  return NULL;
}

int main(int argc, char** argv) {
  ringcommConfig_t config = RINGCOMM_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;
  ringcommComm_t comms[kRanksMax];
  pthread_t threads[kRanksMax];
  if (argc == 1) {
    check(ringcommCommInitEnv(&comms[0], &config), NULL);
    run_rank(comms[0]);
    return 0;
  }
  const int ranks = atoi(argv[1]);
  if (argc > 2 || ranks < 1 || ranks > kRanksMax) {
    fprintf(stderr, "usage: %s [THREADS]   (1 to %d; without it the launcher's variables are read)\n",
            argv[0], kRanksMax);
    return 2;
  }
  check(ringcommCommInitAll(comms, ranks, &config), NULL);
  for (int r = 0; r < ranks; ++r) {
    if (pthread_create(&threads[r], NULL, run_rank, comms[r]) != 0) return 1;
  }
  for (int r = 0; r < ranks; ++r) pthread_join(threads[r], NULL);
  return 0;
}
