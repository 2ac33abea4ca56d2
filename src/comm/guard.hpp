// SPDX-License-Identifier: Apache-2.0
// The border that no exception crosses.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "ringcomm/core/status.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::comm {

/// Calls `body` (returning Status or Result); what it throws becomes a Status that begins with `what`.
template <class Body>
auto guard(std::string_view what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat(what, ": the system refused memory for bookkeeping"));
  } catch (const std::exception& error) {
    return Status::internal(concat(what, " threw an exception: ", std::string_view(error.what())));
  } catch (...) {
    return Status::internal(concat(what, " threw something that is no std::exception"));
  }
}

}  // namespace ringcomm::inline v0::comm
