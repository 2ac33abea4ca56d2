// SPDX-License-Identifier: Apache-2.0
// How the two ends of a connection show that they hold the group's secret without sending it: a keyed hash
// (SipHash-2-4) over both sides' random numbers. It keeps strangers and other jobs out; it encrypts nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bootstrap/unix_socket.hpp"

namespace ringcomm::inline v0::bootstrap {

using Secret = std::array<std::byte, 32>;
/// Compared with is_same(Nonce, Nonce), whose time does not depend on where they differ.
using Proof = Nonce;

/// From getrandom(2).
Secret make_secret();
/// The same text gives the same secret everywhere; as hard to guess as the text.
Secret secret_of(std::string_view text);
Proof prove(const Secret& secret, std::span<const std::byte> said);

/// SipHash-2-4 with a key of two words.
std::uint64_t keyed_hash(std::uint64_t key0, std::uint64_t key1, std::span<const std::byte> data);

}  // namespace ringcomm::inline v0::bootstrap
