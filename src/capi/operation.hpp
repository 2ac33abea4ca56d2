// SPDX-License-Identifier: Apache-2.0
// One call of an operation: run at once, or noted while this thread has a group open.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/handles.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"

namespace ringcomm::inline v0::capi {

struct Operation {
  std::string_view call;
  ringcommComm* comm = nullptr;
  StreamView stream{};
  /// Either a whole operation ...
  std::function<Result<Work>(Channel&, const CallOptions&)> run{};
  /// ... or messages, which join those of their neighbours in a group.
  std::vector<PointToPoint> messages{};
  Result<Work> (*exchange)(Channel&, std::span<const PointToPoint>, const CallOptions&) = nullptr;
};

/// Runs it, or notes it in this thread's group.
Status submit(Operation operation);
/// A call inside a group failed: so will the group.
void note_failure(const Status& status);
/// not_available while this thread has a group open.
Status outside_group();

/// Checks communicator and stream, lets `prepare(ringcommComm&, Operation&) -> Status` read the caller's
/// arguments, and submits.
template <class Prepare>
ringcommResult_t operate(std::string_view call, ringcommComm* comm, ringcommStream_t stream,
                         Prepare&& prepare) noexcept {
  return run_on(call, comm, [&](ringcommComm& handle) -> Status {
    const auto prepared = [&]() -> Result<Operation> {
      if (handle.is_finalized) return Status::not_available("the communicator was finalized");
      Operation operation{.call = call, .comm = &handle};
      RINGCOMM_TRY_ASSIGN(operation.stream, stream_of(stream));
      RINGCOMM_TRY(prepare(handle, operation));
      return operation;
    };
    auto operation = prepared();
    if (operation.is_ok()) return submit(std::move(operation).value());
    note_failure(operation.status());
    return operation.status();
  });
}

}  // namespace ringcomm::inline v0::capi
