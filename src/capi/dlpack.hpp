// SPDX-License-Identifier: Apache-2.0
// DLPack tensors as arguments of collectives.
#pragma once

#include <string_view>

#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"

struct DLManagedTensorVersioned;

namespace ringcomm::inline v0::capi {

/// `what` names the argument when it is NULL.
Result<TensorView> read_dlpack(const DLManagedTensorVersioned* tensor, std::string_view what, bool is_output);

}  // namespace ringcomm::inline v0::capi
