// SPDX-License-Identifier: Apache-2.0
// Method: result numbers against NCCL's header by value; texts and struct heads against what ringcomm.h
// promises.
#include "support.h"

static void numbers_are_nccls(void) {
  CHECK(ringcommSuccess == 0 && ringcommUnhandledCudaError == 1 && ringcommSystemError == 2);
  CHECK(ringcommInternalError == 3 && ringcommInvalidArgument == 4 && ringcommInvalidUsage == 5);
  CHECK(ringcommRemoteError == 6 && ringcommInProgress == 7 && ringcommTimeout == 8);
  CHECK(ringcommMismatch == 16 && ringcommAborted == 17 && ringcommRevoked == 18);
  CHECK(ringcommInt8 == 0 && ringcommUint64 == 5 && ringcommFloat16 == 6 && ringcommFloat32 == 7);
  CHECK(ringcommFloat64 == 8 && ringcommBfloat16 == 9 && ringcommFloat8e4m3 == 10 &&
        ringcommFloat8e5m2 == 11);
  CHECK(ringcommSum == 0 && ringcommMax == 2 && ringcommMin == 3);
}

static void version_is_the_headers(void) {
  int version = -1;
  OK(ringcommGetVersion(&version));
  CHECK(version == RINGCOMM_VERSION_CODE);
  CHECK_RESULT(ringcommGetVersion(NULL), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "ringcommGetVersion: invalid_argument: version is NULL");
}

static void every_result_has_a_text(void) {
  static const ringcommResult_t results[] = {
      ringcommSuccess,         ringcommUnhandledCudaError, ringcommSystemError, ringcommInternalError,
      ringcommInvalidArgument, ringcommInvalidUsage,       ringcommRemoteError, ringcommInProgress,
      ringcommTimeout,         ringcommMismatch,           ringcommAborted,     ringcommRevoked};
  const size_t count = sizeof(results) / sizeof(results[0]);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < i; ++j)
      CHECK(strcmp(ringcommGetErrorString(results[i]), ringcommGetErrorString(results[j])) != 0);
  }
  CHECK(strcmp(ringcommGetErrorString((ringcommResult_t)99), "unknown result code") == 0);
}

static void no_communicator_is_named(void) {
  int count = 0;
  CHECK_RESULT(ringcommCommCount(NULL, &count), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "ringcommCommCount: invalid_argument: comm is NULL");
  unsigned long long garbage[64] = {0};
  CHECK_RESULT(ringcommBarrier((ringcommComm_t)(void*)garbage, NULL), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "comm is no communicator, or was destroyed");
  CHECK(strstr(ringcommGetLastError((ringcommComm_t)(void*)garbage), "none or was destroyed") != NULL);
}

static void heads_are_checked(void) {
  ringcommComm_t comm = NULL;
  ringcommConfig_t config;
  memset(&config, 0, sizeof config);
  CHECK_RESULT(ringcommCommInitAll(&comm, 1, &config), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "ringcommConfig_t has magic 0 instead of 1919512167 (begin with its _INITIALIZER)");
  const ringcommConfig_t whole = RINGCOMM_CONFIG_INITIALIZER;
  config = whole;
  config.version = RINGCOMM_VERSION_CODE + 1;
  CHECK_RESULT(ringcommCommInitAll(&comm, 1, &config), ringcommInvalidArgument);
  char text[128];
  snprintf(text, sizeof text, "is of version %d, the library that runs is of version %d",
           RINGCOMM_VERSION_CODE + 1, RINGCOMM_VERSION_CODE);
  CHECK_SAYS(NULL, text);
  config = whole;
  config.size = sizeof config + 8;
  CHECK_RESULT(ringcommCommInitAll(&comm, 1, &config), ringcommInvalidArgument);
  snprintf(text, sizeof text, "has size %zu, at most %zu is known", sizeof config + 8, sizeof config);
  CHECK_SAYS(NULL, text);
  config = whole;
  config.size = 4;
  CHECK_RESULT(ringcommCommInitAll(&comm, 1, &config), ringcommInvalidArgument);
  // An older program's struct ends early: what it does not have is unset, also when the memory says else.
  config = whole;
  config.size = offsetof(ringcommConfig_t, blocking);
  config.blocking = 0;
  config.waitStyle = 77;
  OK(ringcommCommInitAll(&comm, 1, &config));
  OK(ringcommCommDestroy(comm));
}

void border_test(void) {
  numbers_are_nccls();
  CHECK(ringcommGetLastError(NULL)[0] == '\0');
  version_is_the_headers();
  every_result_has_a_text();
  no_communicator_is_named();
  heads_are_checked();
}
