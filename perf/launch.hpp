// SPDX-License-Identifier: Apache-2.0
// Starts the ranks: as threads, as processes, or as the launcher has done.
#pragma once

#include <functional>
#include <string>

#include "options.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::perf {

struct Launch {
  std::string kind = "threads";  ///< threads, processes, or the launcher's name
  int ranks = 1;
};

/// How the ranks come to be. invalid_argument when flags and launcher contradict each other.
Result<Launch> choose_launch(const Options& options);

/// Runs `body` on each rank that this process has.
Status run_ranks(const Launch& launch, const CommunicatorOptions& options,
                 const std::function<Status(Communicator&)>& body);

}  // namespace ringcomm::perf
