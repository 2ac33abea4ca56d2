// SPDX-License-Identifier: Apache-2.0
// Method: bytes written and read; memory used after its communicator is gone; addresses that are none of
// ours.
#include "support.h"

void memory_test(void) {
  ringcommComm_t comm = NULL;
  unsigned char* window = NULL;
  unsigned char* empty = NULL;
  OK(ringcommCommInitAll(&comm, 1, NULL));
  OK(ringcommMemAlloc(comm, (void**)&window, 12345));
  OK(ringcommMemAlloc(comm, (void**)&empty, 0));
  CHECK(window != NULL && empty != NULL && window != empty);
  memset(window, 7, 12345);
  CHECK_RESULT(ringcommMemAlloc(comm, NULL, 1), ringcommInvalidArgument);
  CHECK_RESULT(ringcommMemFree(window + 1), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "ptr is not the beginning of memory that ringcommMemAlloc returned");
  void* huge = window;
  CHECK_RESULT(ringcommMemAlloc(comm, &huge, (size_t)1 << 62), ringcommSystemError);
  CHECK(huge == NULL);
  OK(ringcommCommDestroy(comm));
  CHECK(window[0] == 7 && window[12344] == 7);
  OK(ringcommMemFree(window));
  CHECK_RESULT(ringcommMemFree(window), ringcommInvalidArgument);
  OK(ringcommMemFree(empty));
  OK(ringcommMemFree(NULL));
}
