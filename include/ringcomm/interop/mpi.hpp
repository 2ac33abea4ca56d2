// SPDX-License-Identifier: Apache-2.0
// From an MPI communicator to a group of ranks. Link ringcomm::mpi (libringcomm_mpi).
#pragma once

// Without the C++ bindings that MPI dropped and some headers still carry (they need a library of their own).
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <memory>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/transport/transport.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// The ranks of `comm`, which stays the caller's. MPI serves to meet only: what then moves the bytes is
/// chosen as usual. Collective over `comm`; MPI needs MPI_THREAD_SERIALIZED.
///
/// Errors: not_available when MPI is not initialised or its thread level is too low; timeout.
Result<std::unique_ptr<Bootstrap>> bootstrap_mpi(MPI_Comm comm, Deadline deadline);

/// MPI itself as the network, on a communicator of its own made from `comm`. For
/// CommunicatorOptions::transports; `comm` must live until the communicator is created.
TransportFactory mpi_transport(MPI_Comm comm);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
