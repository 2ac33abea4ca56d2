// SPDX-License-Identifier: Apache-2.0
// The border of the C interface: Status becomes ringcommResult_t, no exception leaves, the last error is
// kept.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "comm/guard.hpp"
#include "ringcomm/core/status.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/ringcomm.h"

namespace ringcomm::inline v0::capi {

/// How an abort says that it is a revocation; it travels to the other ranks inside the message.
inline constexpr std::string_view kRevoked = "revoked by ringcommCommRevoke";

/// docs/linking.md has the table.
ringcommResult_t result_of(const Status& status);

/// Keeps a failure as this thread's last error, and as the communicator's unless `comm` is null.
ringcommResult_t report(std::string_view call, ringcommComm* comm, const Status& status) noexcept;

/// Runs `body` (returning Status) for a call that belongs to no communicator.
template <class Body>
ringcommResult_t run(std::string_view call, Body&& body) noexcept {
  return report(call, nullptr, comm::guard(call, body));
}

/// "ringcommX: <what> is NULL" when it is.
Status not_null(const void* pointer, std::string_view what);

Result<DType> dtype_of(int datatype);

/// The caller's sized struct, cut to what it knows; what it does not know keeps the value of `unset`.
Status check_head(std::string_view name, std::size_t size, unsigned magic, unsigned version,
                  std::size_t library_size);
template <class T>
Result<T> read_sized(std::string_view name, const T* given, const T& unset) {
  if (given == nullptr) return unset;
  if (Status head = check_head(name, given->size, given->magic, given->version, sizeof(T)); !head.is_ok())
    return head;
  T read = unset;
  std::memcpy(&read, given, given->size < sizeof(T) ? given->size : sizeof(T));
  return read;
}

}  // namespace ringcomm::inline v0::capi
