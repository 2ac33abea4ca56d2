// SPDX-License-Identifier: Apache-2.0
// Memory for processes needs more than POSIX.1-2008.
#define _DEFAULT_SOURCE
// Method: forked ranks that meet by a unique id or by an all-gather of this file, over memory they share; the
// gather of their numbers is the proof. Wrong ids and callbacks by name.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kRoundsMax = 64, kBytesMax = 1 << 12 };

// What the ranks of one group share: for each round of the all-gather, everybody's bytes.
typedef struct {
  int arrived[kRoundsMax];
  char bytes[kRoundsMax][RANKS_MAX][kBytesMax];
} Board;

typedef struct {
  Board* board;
  int rank;
  int size;
  int round;
} Seat;

typedef struct {
  Seat* seat;
  int round;
  void* receive;
  size_t bytes;
} Request;

static ringcommResult_t gather(const void* send, void* receive, size_t bytes, void* info, void** request) {
  Seat* seat = info;
  Request* made = malloc(sizeof *made);
  CHECK(seat->round < kRoundsMax && bytes <= kBytesMax);
  made->seat = seat;
  made->round = seat->round++;
  made->receive = receive;
  made->bytes = bytes;
  memcpy(seat->board->bytes[made->round][seat->rank], send, bytes);
  __sync_fetch_and_add(&seat->board->arrived[made->round], 1);
  *request = made;
  return ringcommSuccess;
}

static ringcommResult_t test(void* request) {
  Request* made = request;
  Board* board = made->seat->board;
  if (__sync_fetch_and_add(&board->arrived[made->round], 0) < made->seat->size) return ringcommInProgress;
  for (int r = 0; r < made->seat->size; ++r)
    memcpy((char*)made->receive + (size_t)r * made->bytes, board->bytes[made->round][r], made->bytes);
  return ringcommSuccess;
}

static ringcommResult_t release(void* request) {
  free(request);
  return ringcommSuccess;
}

static ringcommConfig_t soon(void) {
  ringcommConfig_t config = RINGCOMM_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;
  return config;
}

static void use(ringcommComm_t comm, int rank, int size) {
  int32_t all[RANKS_MAX];
  int value = -1;
  OK(ringcommCommUserRank(comm, &value));
  CHECK(value == rank);
  OK(ringcommAllGather(&rank, all, 1, ringcommInt32, comm, NULL));
  for (int r = 0; r < size; ++r) CHECK(all[r] == r);
  OK(ringcommCommDestroy(comm));
}

static void by_id(const ringcommUniqueId* id, int rank, int size) {
  const ringcommConfig_t config = soon();
  ringcommComm_t comm = NULL;
  OK(rank % 2 == 0 ? ringcommCommInitRank(&comm, size, *id, rank)
                   : ringcommCommInitRankConfig(&comm, size, *id, rank, &config));
  use(comm, rank, size);
}

static void by_callback(Board* board, int rank, int size) {
  const ringcommConfig_t config = soon();
  Seat seat = {board, rank, size, 0};
  ringcommOob_t oob = RINGCOMM_OOB_INITIALIZER;
  ringcommComm_t comm = NULL;
  oob.allgather = gather;
  oob.reqTest = test;
  oob.reqFree = release;
  oob.info = &seat;
  oob.rank = rank;
  oob.nranks = size;
  OK(ringcommCommInitOob(&comm, &oob, &config));
  use(comm, rank, size);
}

// Ranks are children; with `id` they meet by it, else by the board.
static void run_children(int size, const ringcommUniqueId* id, Board* board) {
  pid_t children[RANKS_MAX];
  for (int rank = 0; rank < size; ++rank) {
    children[rank] = fork();
    CHECK(children[rank] >= 0);
    if (children[rank] != 0) continue;
    if (id != NULL) {
      by_id(id, rank, size);
    } else {
      by_callback(board, rank, size);
    }
    _exit(0);
  }
  for (int rank = 0; rank < size; ++rank) {
    int status = -1;
    CHECK(waitpid(children[rank], &status, 0) == children[rank]);
    CHECK(status == 0);
  }
}

static ringcommResult_t breaks(const void* send, void* receive, size_t bytes, void* info, void** request) {
  (void)send;
  (void)receive;
  (void)bytes;
  (void)info;
  (void)request;
  return ringcommRemoteError;
}

static void wrong_arguments(void) {
  ringcommComm_t comm = NULL;
  ringcommUniqueId none;
  memset(&none, 0, sizeof none);
  CHECK_RESULT(ringcommGetUniqueId(NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommInitRank(NULL, 2, none, 0), ringcommInvalidArgument);
  CHECK(ringcommCommInitRank(&comm, 2, none, 0) != ringcommSuccess && comm == NULL);
  CHECK_SAYS(NULL, "ringcommCommInitRank: ");
  ringcommOob_t oob = RINGCOMM_OOB_INITIALIZER;
  CHECK_RESULT(ringcommCommInitOob(&comm, NULL, NULL), ringcommInvalidArgument);
  CHECK_RESULT(ringcommCommInitOob(&comm, &oob, NULL), ringcommInvalidArgument);
  CHECK_SAYS(NULL, "ringcommOob_t needs all of allgather, reqTest and reqFree");
  oob.allgather = breaks;
  oob.reqTest = test;
  oob.reqFree = release;
  oob.nranks = 2;
  CHECK(ringcommCommInitOob(&comm, &oob, NULL) != ringcommSuccess && comm == NULL);
  CHECK_SAYS(NULL, "the caller's allgather returned 6 (remote error");
}

void comm_init_test(void) {
  static const int sizes[] = {1, 2, 3, 5, 8};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
    ringcommUniqueId id;
    OK(ringcommGetUniqueId(&id));
    run_children(sizes[i], &id, NULL);
    Board* board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(board != MAP_FAILED);
    run_children(sizes[i], NULL, board);
    CHECK(munmap(board, sizeof *board) == 0);
  }
  wrong_arguments();
}
