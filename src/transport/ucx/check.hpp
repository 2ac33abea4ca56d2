// SPDX-License-Identifier: Apache-2.0
// What UCX's error codes mean here.
#pragma once

#include <ucp/api/ucp.h>

#include <string_view>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::transport::ucx {

/// `status` is an error; `what` says what failed.
Status to_status(ucs_status_t status, std::string_view what);

}  // namespace ringcomm::inline v0::transport::ucx
