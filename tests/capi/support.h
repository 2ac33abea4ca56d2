// SPDX-License-Identifier: Apache-2.0
// What the C tests share: checks that end the program, and ranks as threads.
#ifndef RINGCOMM_TESTS_CAPI_SUPPORT_H_
#define RINGCOMM_TESTS_CAPI_SUPPORT_H_

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringcomm/ringcomm.h"

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: not true: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
              ringcommGetLastError(NULL));                                                     \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

#define CHECK_RESULT(call, expected)                                                                       \
  do {                                                                                                     \
    const ringcommResult_t result_ = (call);                                                               \
    if (result_ != (expected)) {                                                                           \
      fprintf(stderr, "%s:%d: %s is %d (%s), not %d; last error: %s\n", __FILE__, __LINE__, #call,         \
              (int)result_, ringcommGetErrorString(result_), (int)(expected), ringcommGetLastError(NULL)); \
      exit(1);                                                                                             \
    }                                                                                                      \
  } while (0)

#define OK(call) CHECK_RESULT(call, ringcommSuccess)

// `text` of the last error of `comm` (or of this thread).
#define CHECK_SAYS(comm, text)                                                   \
  do {                                                                           \
    if (strstr(ringcommGetLastError(comm), text) == NULL) {                      \
      fprintf(stderr, "%s:%d: \"%s\" is not in: %s\n", __FILE__, __LINE__, text, \
              ringcommGetLastError(comm));                                       \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

typedef void (*RankBody)(ringcommComm_t comm, int rank, int size);

// Each rank on a thread of its own; destroys the communicators.
void run_ranks(int size, RankBody body);
void run_ranks_with(int size, RankBody body, const ringcommConfig_t* config);
// The group sizes that every collective is tried with.
#define RANKS_MAX 8
void for_sizes(RankBody body);

void border_test(void);
void collectives_test(void);
void comm_test(void);
void comm_split_test(void);
void config_test(void);
void dlpack_test(void);
void group_test(void);
void memory_test(void);
void rotation_test(void);
void softmax_test(void);
void softmax_scatter_test(void);
void comm_init_test(void);
void exchange_test(void);
void reduce_test(void);
void stream_test(void);

#endif
