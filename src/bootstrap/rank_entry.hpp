// SPDX-License-Identifier: Apache-2.0
// What a rank writes into the store's directory so that the others find it: one small text file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/unix_socket.hpp"

namespace ringcomm::inline v0::bootstrap {

struct RankEntry {
  int rank = 0;
  int size = 0;
  int pid = 0;
  std::uint64_t start_ticks = 0;  ///< of the process, so that a reused process id is told apart
  Nonce nonce{};                  ///< names the socket; whoever connects has to show it
};

inline constexpr std::size_t kEntryBytesMax = 256;

/// This process as `rank` of `size`, with a fresh nonce.
RankEntry make_entry(int rank, int size);
std::string to_text(const RankEntry& entry);
/// Nothing for any text that to_text() does not write.
std::optional<RankEntry> parse_entry(std::string_view text);
/// Whether the very process that wrote the entry is still there.
bool is_alive(const RankEntry& entry);

std::string entry_file_name(int rank);
/// The rank in "rank.<number>", or -1.
int rank_in_file_name(std::string_view name);
std::string socket_file_name(const Nonce& nonce);

}  // namespace ringcomm::inline v0::bootstrap
