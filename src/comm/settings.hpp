// SPDX-License-Identifier: Apache-2.0
// Options over environment over default, resolved once when a communicator is created.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comm/places.hpp"
#include "comm/recording.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::inline v0::comm {

struct Settings {
  std::chrono::milliseconds deadline{0};
  std::size_t arena_bytes = 0;
  bool pin = false;
  std::vector<TransportFactory> transports;
  TransportOptions transport{};
  RecordSettings record{};
};

/// invalid_argument names the option or the variable, its value and what is accepted.
Result<Settings> resolve_settings(const CommunicatorOptions& options);

/// Reads the files that RINGCOMM_TOPO_FILE and RINGCOMM_COSTS name, so it is asked once for each
/// communicator.
Result<TopologyWish> resolve_topology(const CommunicatorOptions& options);

/// "shm,inproc"; `source` is what an error names: an option or a variable.
Result<std::vector<TransportFactory>> named_transports(std::string_view list, std::string_view source);

}  // namespace ringcomm::inline v0::comm
