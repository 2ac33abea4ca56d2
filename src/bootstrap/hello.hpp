// SPDX-License-Identifier: Apache-2.0
// What a rank says about itself when it comes to a meeting, and what it learns about the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/frame.hpp"
#include "bootstrap/secret.hpp"

namespace ringcomm::inline v0::bootstrap {

struct Hello {
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t pid = 0;
  std::uint32_t reserved = 0;
  std::uint64_t host_tag = 0;  ///< of the rank's host and network namespace
  std::array<char, 64> host{};
  Nonce nonce{};
  Proof proof{};  ///< of all above and of the hub's nonce
};
static_assert(sizeof(Hello) == 120);

/// This process as `rank` of `size`, without a proof yet.
Hello make_hello(int rank, int size);
/// The hello with its proof; `banner` is the hub's nonce.
Hello proved(Hello hello, const Secret& secret, const Nonce& banner);
bool is_proved(const Hello& hello, const Secret& secret, const Nonce& banner);
/// The hub's own proof to the rank that said `hello`.
Proof answer_to(const Hello& hello, const Secret& secret, const Nonce& banner);
/// Nothing unless the payload has a hello's size.
std::optional<Hello> read_hello(std::span<const std::byte> payload);

/// "pid 12 on node1"; control characters of the name become '?'.
std::string process_of(const Hello& hello);

/// One number for this host as the network sees it: boot id and network namespace.
std::uint64_t host_tag();

struct RosterEntry {
  std::int32_t pid = 0;
  std::uint32_t reserved = 0;
  std::uint64_t host_tag = 0;
  std::array<std::byte, 28> address{};  ///< sockaddr_in or sockaddr_in6 that the rank came from
  std::uint32_t address_bytes = 0;
};
static_assert(sizeof(RosterEntry) == 48);

/// Nothing unless the payload holds exactly `size` entries.
std::optional<std::vector<RosterEntry>> read_roster(std::span<const std::byte> payload, int size);

}  // namespace ringcomm::inline v0::bootstrap
