// SPDX-License-Identifier: Apache-2.0
// Which handler an active message goes to.
#pragma once

namespace ringcomm::inline v0::transport::ucx {

constexpr unsigned kControlAm = 1;
constexpr unsigned kDataAm = 2;

}  // namespace ringcomm::inline v0::transport::ucx
