// SPDX-License-Identifier: Apache-2.0
// Method: each field set to a value that shows, and to one that is refused by name.
#include "support.h"

static void refused(const ringcommConfig_t* config, ringcommResult_t expected, const char* text) {
  ringcommComm_t comm = NULL;
  CHECK_RESULT(ringcommCommInitAll(&comm, 1, config), expected);
  CHECK_SAYS(NULL, text);
}

static void wrong_values_are_named(void) {
  const ringcommConfig_t unset = RINGCOMM_CONFIG_INITIALIZER;
  ringcommConfig_t config = unset;
  config.timeoutMs = 0;
  refused(&config, ringcommInvalidArgument, "ringcommConfig_t.timeoutMs is 0 (it must be positive)");
  config = unset;
  config.blocking = 0;
  refused(&config, ringcommInvalidUsage, "ringcommConfig_t.blocking is 0");
  config = unset;
  config.waitStyle = 3;
  refused(&config, ringcommInvalidArgument, "ringcommConfig_t.waitStyle is 3");
  config = unset;
  config.transports = "inproc,carrier_pigeon";
  refused(&config, ringcommInvalidArgument,
          "ringcommConfig_t.transports names the transport \"carrier_pigeon\"");
  config = unset;
  config.transports = "shm";  // serves processes, not threads
  ringcommComm_t comms[2];
  CHECK_RESULT(ringcommCommInitAll(comms, 2, &config), ringcommInvalidUsage);
  CHECK_SAYS(NULL, "shm");
}

static void* leave(void* comm) {
  OK(ringcommBarrier(comm, NULL));
  return NULL;
}

// Two ranks; rank 1 comes to one barrier only.
static void values_are_used(void) {
  ringcommConfig_t config = RINGCOMM_CONFIG_INITIALIZER;
  char name[] = "tensor parallel";
  config.timeoutMs = 500;
  config.blocking = 1;
  config.waitStyle = 2;
  config.arenaBytes = 1 << 20;
  config.transports = "inproc";
  config.commName = name;
  ringcommComm_t comms[2];
  OK(ringcommCommInitAll(comms, 2, &config));
  memset(name, 'x', sizeof name - 1);  // the name was copied
  const char* path = NULL;
  OK(ringcommCommPathName(comms[0], 1, &path));
  CHECK(strcmp(path, "inproc") == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, leave, comms[1]) == 0);
  OK(ringcommBarrier(comms[0], NULL));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_RESULT(ringcommBarrier(comms[0], NULL), ringcommTimeout);
  CHECK_SAYS(comms[0],
             "ringcommBarrier on rank 0 of 2 of \"tensor parallel\": timeout: rank 1 did not arrive in "
             "barrier #2 within ");
  OK(ringcommCommDestroy(comms[0]));
  OK(ringcommCommDestroy(comms[1]));
}

void config_test(void) {
  wrong_values_are_named();
  values_are_used();
}
