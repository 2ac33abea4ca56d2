// SPDX-License-Identifier: Apache-2.0
// DLPack 1.x tensors in and out, without a copy.
#pragma once

#include <memory>

#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/interop/dlpack.h"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// A tensor for somebody else, who calls its deleter once. `keep` holds the memory until then (a window's
/// segment()). not_available for memory that is not the host's.
Result<DLManagedTensorVersioned*> to_dlpack(std::shared_ptr<const void> keep, const TensorView& view,
                                            bool is_read_only = false);

/// A view of somebody's tensor, which stays theirs. Devices CPU and CUDAHost; any strides that are not
/// negative; more than TensorView::kAxesMax axes only without gaps (the view then has one).
///
/// @param is_output  the view will be written: a read-only tensor is refused.
/// Errors: not_available names version, device or type that is not understood; invalid_argument.
Result<TensorView> from_dlpack(const DLManagedTensorVersioned& tensor, bool is_output = false);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
