// SPDX-License-Identifier: Apache-2.0
// Copies that go around the caches: the only fast way to write lines which another core has read.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ringcomm::inline v0 {

/// From here on copy_block() goes around the caches. At 16 MiB and more these stores copy 21 to 25 GB/s where
/// memcpy copies 8 to 12; at 4 MiB memcpy leads with 40 to 25 (performance.md §1).
inline constexpr std::size_t kNontemporalBytes = std::size_t{16} << 20;

/// memcpy by non-temporal stores with the widest vectors of this CPU; the ranges must not overlap. A release
/// store behind it publishes the bytes (it ends with a store fence). Under ThreadSanitizer it is memcpy,
/// whose accesses the sanitizer sees.
void copy_nontemporal(void* target, const void* source, std::size_t bytes);

/// memcpy, or copy_nontemporal() from kNontemporalBytes on.
void copy_block(void* target, const void* source, std::size_t bytes);

/// One way to do it.
struct NontemporalCopy {
  std::string_view name;
  void (*copy)(void* target, const void* source, std::size_t bytes);
};
/// All that run on this CPU, best first; never empty. For tests and measurements.
std::span<const NontemporalCopy> nontemporal_copies();

}  // namespace ringcomm::inline v0
