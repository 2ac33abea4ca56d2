// SPDX-License-Identifier: Apache-2.0
// One line of perf/compare's protocol; also read by the peers, which know nothing of ringcomm.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace ringcomm::perf {

struct SampleRequest {
  std::int64_t bytes = 0;
  int iterations = 0;  ///< 0: the end
};

/// "go BYTES ITERATIONS"; anything else, and the end of the input, ends the serving.
inline SampleRequest read_request(std::FILE* input) {
  char line[128] = {};
  SampleRequest request;
  if (std::fgets(line, sizeof(line), input) == nullptr ||
      std::sscanf(line, "go %" SCNd64 " %d", &request.bytes, &request.iterations) != 2 || request.bytes < 0)
    return {};
  return request;
}

}  // namespace ringcomm::perf
