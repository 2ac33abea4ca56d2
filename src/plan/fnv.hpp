// SPDX-License-Identifier: Apache-2.0
// One hash for plans and rules, over values and not over their padding.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ringcomm::inline v0::plan {

/// FNV-1a, 64 bits. Every value counts as 8 little-endian bytes, so that a field's width may change.
/// Source: Fowler, Noll, Vo; constants of draft-eastlake-fnv.
class Fnv {
 public:
  Fnv& add(std::integral auto value) {
    auto word = static_cast<std::uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte, word >>= 8) state_ = (state_ ^ (word & 0xffU)) * 0x100000001b3U;
    return *this;
  }
  template <class Enum>
  requires std::is_enum_v<Enum> Fnv& add(Enum value) {
    return add(static_cast<std::underlying_type_t<Enum>>(value));
  }
  /// The length counts too: {1} {2, 3} and {1, 2} {3} differ.
  template <class T>
  Fnv& add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
    return *this;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace ringcomm::inline v0::plan
