// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rank_entry.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "bootstrap/hex.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::string_view kHeading = "ringcomm-rank-1";
constexpr std::string_view kFilePrefix = "rank.";
constexpr std::string_view kSocketPrefix = "socket.";

/// Clock ticks since boot at which the process began (field 22 of its stat file); 0 when it is gone, or about
/// to be: a dying process closes its sockets some time before it becomes a zombie.
std::uint64_t start_ticks_of(int pid) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING in the flags of field 9
  std::ifstream file(concat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The command name in parentheses may itself hold blanks and parentheses.
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream rest(text.substr(end_of_name + 1));
  std::string state;
  std::string skipped;
  unsigned flags = 0;
  std::uint64_t ticks = 0;
  rest >> state;
  for (int field = 4; field < 9; ++field) rest >> skipped;
  rest >> flags;
  for (int field = 10; field < 22; ++field) rest >> skipped;
  rest >> ticks;
  return state == "Z" || state == "X" || (flags & kExiting) != 0 ? 0 : ticks;
}

}  // namespace

RankEntry make_entry(int rank, int size) {
  const int pid = ::getpid();
  return {rank, size, pid, start_ticks_of(pid), make_nonce()};
}

std::string to_text(const RankEntry& entry) {
  return concat(kHeading, " rank ", entry.rank, " size ", entry.size, " pid ", entry.pid, " start ",
                entry.start_ticks, " nonce ", hex_of(entry.nonce), "\n");
}

std::optional<RankEntry> parse_entry(std::string_view text) {
  std::istringstream in{std::string(text.substr(0, kEntryBytesMax))};
  RankEntry entry;
  std::string heading, rank, size, pid, start, nonce, hex;
  in >> heading >> rank >> entry.rank >> size >> entry.size >> pid >> entry.pid >> start >>
      entry.start_ticks >> nonce >> hex;
  const auto bytes = bytes_from_hex<sizeof(Nonce)>(hex);
  if (!in || heading != kHeading || !bytes || entry.pid <= 0 || entry.rank < 0 || entry.size <= entry.rank) {
    return std::nullopt;
  }
  entry.nonce = *bytes;
  return entry;
}

bool is_alive(const RankEntry& entry) {
  return entry.start_ticks != 0 && start_ticks_of(entry.pid) == entry.start_ticks;
}

std::string entry_file_name(int rank) { return concat(kFilePrefix, rank); }

int rank_in_file_name(std::string_view name) {
  if (!name.starts_with(kFilePrefix)) return -1;
  name.remove_prefix(kFilePrefix.size());
  int rank = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  return error == std::errc() && end == name.data() + name.size() ? rank : -1;
}

std::string socket_file_name(const Nonce& nonce) { return concat(kSocketPrefix, hex_of(nonce)); }

}  // namespace ringcomm::inline v0::bootstrap
