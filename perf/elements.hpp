// SPDX-License-Identifier: Apache-2.0
// One element of any type as a double, for building inputs and checking outputs.
#pragma once

#include <cstdint>

#include "ringcomm/core/dtype.hpp"

namespace ringcomm::perf {

/// `value` must be exact in the type or it is rounded once. float8 is not known here: it is moved as bytes.
void store_element(DType type, void* data, std::int64_t index, double value);
double load_element(DType type, const void* data, std::int64_t index);

/// Byte `index` of what `rank` sends: anyone can compute it again.
std::uint8_t byte_of(int rank, std::size_t index);

}  // namespace ringcomm::perf
