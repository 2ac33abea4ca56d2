// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/check.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::ucx {
namespace {

StatusCode code_of(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CANCELED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_IO_ERROR:
      return StatusCode::peer_lost;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_TIMED_OUT:
      return StatusCode::unreachable;
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_EXCEEDS_LIMIT:
      return StatusCode::out_of_memory;
    default:
      return StatusCode::not_available;
  }
}

}  // namespace

Status to_status(ucs_status_t status, std::string_view what) {
  return Status(code_of(status), concat("ucx: ", what, ": ", ucs_status_string(status)));
}

}  // namespace ringcomm::inline v0::transport::ucx
