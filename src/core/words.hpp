// SPDX-License-Identifier: Apache-2.0
// The words that environment variables of a few values accept, in the order of their enumerators.
#pragma once

#include <array>
#include <string_view>

namespace ringcomm::inline v0 {

inline constexpr std::array<std::string_view, 4> kLogLevelWords{"off", "warn", "info", "trace"};
inline constexpr std::array<std::string_view, 3> kCpuLevelWords{"scalar", "avx2", "avx512_bf16"};

}  // namespace ringcomm::inline v0
