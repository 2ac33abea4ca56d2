// SPDX-License-Identifier: Apache-2.0
// What MPI's error codes mean here, and whether MPI can be used at all.
#pragma once

#include <mpi.h>

#include <string_view>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::transport::mpi {

/// ok, or internal with MPI's own words. `what` says what failed.
Status to_status(int code, std::string_view what);

/// ok when MPI is initialised, not finalised, and lets several threads take turns; or when it is not
/// initialised and this process was started by an MPI launcher, so that initialise() will do.
Status check_usable();

/// MPI_Init_thread, if nobody has called it; MPI_Finalize then follows when the process exits.
Status initialise();

}  // namespace ringcomm::inline v0::transport::mpi
