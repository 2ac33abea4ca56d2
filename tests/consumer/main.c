// SPDX-License-Identifier: Apache-2.0
// Links the installed library from C and calls into each part of ringcomm.h, so that a missing symbol or
// header shows.
#include <ringcomm/interop/dlpack.h>
#include <ringcomm/ringcomm.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ringcommResult_t result) {
  if (result == ringcommSuccess) return;
  fprintf(stderr, "consumer in C: %s: %s\n", ringcommGetErrorString(result), ringcommGetLastError(NULL));
  exit(1);
}

int main(void) {
  enum { kRanks = 3, kCount = 5 };
  ringcommComm_t comms[kRanks];
  float* in[kRanks];
  float out[kRanks][kRanks * kCount];
  int version = 0;
  check(ringcommGetVersion(&version));
  if (version != RINGCOMM_VERSION_CODE) return 1;
  check(ringcommCommInitAll(comms, kRanks, NULL));
  check(ringcommGroupStart());
  for (int r = 0; r < kRanks; ++r) {
    check(ringcommMemAlloc(comms[r], (void**)&in[r], kCount * sizeof(float)));
    for (int i = 0; i < kCount; ++i) in[r][i] = (float)(10 * r + i);
    check(ringcommAllGather(in[r], out[r], kCount, ringcommFloat32, comms[r], NULL));
  }
  check(ringcommGroupEnd());
  for (int i = 0; i < kRanks * kCount; ++i) {
    if (out[1][i] != (float)(10 * (i / kCount) + i % kCount)) return 1;
  }
  const int64_t shape[1] = {kCount};
  DLManagedTensorVersioned* tensor = NULL;
  check(ringcommWindowToDLPack(in[0], shape, 1, ringcommFloat32, 0, &tensor));
  tensor->deleter(tensor);
  for (int r = 0; r < kRanks; ++r) {
    check(ringcommMemFree(in[r]));
    check(ringcommCommDestroy(comms[r]));
  }
  printf("consumer in C of ringcomm %d: ok\n", version);
  return 0;
}
