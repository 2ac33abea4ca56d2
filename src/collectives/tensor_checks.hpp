// SPDX-License-Identifier: Apache-2.0
// What collectives ask of their tensors and counts before anything is announced.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::inline v0::collectives {

/// Valid, and in host memory. `what` is the operation, `name` the tensor.
Status check_host(std::string_view what, std::string_view name, const TensorView& view);
/// `output` is contiguous and of `input`'s type.
Status check_output(std::string_view what, const TensorView& input, const TensorView& output);
/// No byte of `input` is one of `output`'s.
Status check_apart(std::string_view what, const TensorView& input, const TensorView& output);
Status check_elements(std::string_view what, std::string_view name, const TensorView& view,
                      std::int64_t expected);
/// One count per member, none of them negative; returns their sum, whose bytes fit 63 bits.
Result<std::int64_t> sum_of(std::string_view what, std::string_view name,
                            std::span<const std::int64_t> counts, int members, DType dtype);

}  // namespace ringcomm::inline v0::collectives
