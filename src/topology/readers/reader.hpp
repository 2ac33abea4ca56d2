// SPDX-License-Identifier: Apache-2.0
// What every reader is: a test of the content and a function from text to a Reading. A reader is a namespace
// topology::<format> in readers/<format>.hpp with looks_like() and read(); evidence_readers.cpp lists them.
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology {

struct Reader {
  std::string_view name;     ///< "nvidia-smi-topo"
  std::string_view made_by;  ///< "nvidia-smi topo -m"
  bool (*looks_like)(std::string_view text);
  Result<Reading> (*read)(std::string_view text, const std::string& file);
};

// Limits of every reader: a hostile file costs bounded memory. Beyond them a reader stops and says so.
inline constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kDevicesMax = 4096;  // of one kind, in one file
inline constexpr std::size_t kCpusMax = 16384;    // highest CPU number + 1
inline constexpr std::size_t kDepthMax = 128;     // of nested elements
inline constexpr std::size_t kSkippedMax = 1000;  // the rest is counted in one last entry
inline constexpr std::size_t kEventsMax = 1000000;

}  // namespace ringcomm::inline v0::topology
