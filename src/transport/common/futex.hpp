// SPDX-License-Identifier: Apache-2.0
// Sleeping on a 32-bit word, also through a read-only mapping (std::atomic::wait does not work across
// processes).
#pragma once

#include <atomic>
#include <cstdint>

namespace ringcomm::inline v0::transport {

/// threads: all ranks share one address space and the kernel's cheaper private futexes do.
enum class FutexScope : std::uint8_t { threads, processes };

/// Sleeps while `word` holds `expected`, at most `span_ns`; wakes early at will.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t span_ns,
                FutexScope scope);
void futex_wake_all(const std::atomic<std::uint32_t>& word, FutexScope scope);

}  // namespace ringcomm::inline v0::transport
