// SPDX-License-Identifier: Apache-2.0
// Where operations report their states; diag's recorder implements it, so that no lower room knows diag.
#pragma once

#include <cstdint>

#include "ringcomm/core/descriptor.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class OpState : std::uint8_t { posted = 0, arrived = 1, computed = 2, released = 3, failed = 4 };

/// Called on the hot path: implementations neither allocate, lock nor throw.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void record(const Descriptor& descriptor, int peer, OpState state) noexcept = 0;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
