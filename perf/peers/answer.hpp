// SPDX-License-Identifier: Apache-2.0
// The line with which a peer answers "go BYTES ITERATIONS" (perf/compare's protocol).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "../stats.hpp"

namespace ringcomm::perf::peers {

/// `library`: name and version, if the figure is one's.
inline void print_answer(const Stats& stats, std::int64_t wrong, std::size_t bytes, const std::string& path,
                         const std::string& library = {}) {
  std::printf(
      "{\"us\": %.4f, \"min_us\": %.4f, \"max_us\": %.4f, \"wrong\": %lld, \"size\": %zu, \"path\": "
      "\"%s\"%s}\n",
      stats.p50, stats.min, stats.max, static_cast<long long>(wrong), bytes, path.c_str(),
      library.empty() ? "" : (", \"library\": \"" + library + "\"").c_str());
  std::fflush(stdout);
}

}  // namespace ringcomm::perf::peers
