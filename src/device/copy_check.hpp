// SPDX-License-Identifier: Apache-2.0
// What no device copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringcomm/core/status.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

inline Status check_copy(const void* target, const void* source, std::size_t bytes) {
  if (bytes != 0 && (target == nullptr || source == nullptr)) {
    return Status::invalid_argument(
        concat("copy of ", bytes, " bytes with a null ", target == nullptr ? "target" : "source"));
  }
  const auto first = reinterpret_cast<std::uintptr_t>(target),
             other = reinterpret_cast<std::uintptr_t>(source);
  if (bytes != 0 && (first > other ? first - other : other - first) < bytes) {
    return Status::invalid_argument(concat("copy of ", bytes, " bytes between ranges that overlap"));
  }
  return {};
}

}  // namespace ringcomm::inline v0
