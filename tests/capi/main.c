// SPDX-License-Identifier: Apache-2.0
// Runs one C test by its name; every one is a ctest test.
#include "support.h"

typedef struct {
  ringcommComm_t comm;
  int rank;
  int size;
  RankBody body;
} Rank;

static void* run_rank(void* argument) {
  const Rank* const self = argument;
  self->body(self->comm, self->rank, self->size);
  return NULL;
}

void run_ranks_with(int size, RankBody body, const ringcommConfig_t* config) {
  ringcommComm_t comms[RANKS_MAX];
  Rank ranks[RANKS_MAX];
  pthread_t threads[RANKS_MAX];
  OK(ringcommCommInitAll(comms, size, config));
  for (int rank = 0; rank < size; ++rank) {
    ranks[rank].comm = comms[rank];
    ranks[rank].rank = rank;
    ranks[rank].size = size;
    ranks[rank].body = body;
    CHECK(pthread_create(&threads[rank], NULL, run_rank, &ranks[rank]) == 0);
  }
  for (int rank = 0; rank < size; ++rank) CHECK(pthread_join(threads[rank], NULL) == 0);
  for (int rank = 0; rank < size; ++rank) OK(ringcommCommDestroy(comms[rank]));
}

void run_ranks(int size, RankBody body) {
  ringcommConfig_t config = RINGCOMM_CONFIG_INITIALIZER;
  config.timeoutMs = 60000;
  run_ranks_with(size, body, &config);
}

void for_sizes(RankBody body) {
  static const int sizes[] = {1, 2, 3, 4, 5, 8};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) run_ranks(sizes[i], body);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {
      {"border", border_test},
      {"collectives", collectives_test},
      {"comm", comm_test},
      {"comm_split", comm_split_test},
      {"config", config_test},
      {"dlpack", dlpack_test},
      {"group", group_test},
      {"memory", memory_test},
      {"rotation", rotation_test},
      {"softmax", softmax_test},
      {"softmax_scatter", softmax_scatter_test},
      {"comm_init", comm_init_test},
      {"exchange", exchange_test},
      {"reduce", reduce_test},
      {"stream", stream_test},
  };
  for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
    if (argc != 2 || strcmp(argv[1], tests[i].name) != 0) continue;
    tests[i].run();
    return 0;
  }
  fprintf(stderr, "usage: %s NAME\n", argv[0]);
  return 2;
}
