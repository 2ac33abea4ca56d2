// SPDX-License-Identifier: Apache-2.0
// One factory per host block kernel, so that only the registry knows them all.
#pragma once

#include <memory>

#include "attention/block_kernel.hpp"

namespace ringcomm::inline v0::attention::host {

/// Portable C++, any dtype of KernelShape; also the reference that the vector kernels are judged by. The
/// shape must have passed BlockKernel::create's checks. Throws std::bad_alloc.
std::unique_ptr<BlockKernel> make_scalar_kernel(const KernelShape& shape, WorkerTeam& team);

}  // namespace ringcomm::inline v0::attention::host
