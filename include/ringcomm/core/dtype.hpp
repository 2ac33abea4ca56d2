// SPDX-License-Identifier: Apache-2.0
// Element types with NCCL's numbers, and the 16-bit formats with their one rounding rule.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Element type; the numbers equal ncclDataType_t (NCCL 2.24 and later, nccl.h).
enum class DType : std::uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8_e4m3 = 10,
  float8_e5m2 = 11,
};

std::size_t bytes_of(DType type);
/// "bfloat16", "float32", ...
std::string_view name_of(DType type);
/// Accepts name_of() and the short forms fp32, fp16, bf16, half, float, double; invalid_argument names the
/// nearest.
Result<DType> parse_dtype(std::string_view text);

/// IEEE binary16 bits.
struct fp16 {
  std::uint16_t bits = 0;
};
/// bfloat16 bits: the upper half of a binary32.
struct bf16 {
  std::uint16_t bits = 0;
};

/// Exact.
inline float to_float(float value) { return value; }
inline float to_float(bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }
float to_float(fp16 value);

/// Rounds to nearest, ties to even; NaN stays NaN (quiet), overflow becomes infinity.
inline bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}
fp16 to_fp16(float value);

template <class T>
T from_float(float value);
template <>
inline float from_float<float>(float value) {
  return value;
}
template <>
inline bf16 from_float<bf16>(float value) {
  return to_bf16(value);
}
template <>
inline fp16 from_float<fp16>(float value) {
  return to_fp16(value);
}

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
