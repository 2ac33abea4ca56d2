// SPDX-License-Identifier: Apache-2.0
// all_reduce with the algorithm given, for those who compare them.
#pragma once

#include <optional>

#include "ringcomm/collectives/reduce.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::collectives {

/// ReduceForm::one_shot or two_shot, the same on all ranks; empty: by ranks and size, as all_reduce().
Result<Work> all_reduce_by(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                           std::optional<plan::ReduceForm> form, const CallOptions& options);

}  // namespace ringcomm::inline v0::collectives
