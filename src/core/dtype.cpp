// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/dtype.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

struct TypeRow {
  DType type;
  std::size_t bytes;
  std::string_view name;
};
constexpr std::array kTypes{
    TypeRow{DType::int8, 1, "int8"},
    TypeRow{DType::uint8, 1, "uint8"},
    TypeRow{DType::int32, 4, "int32"},
    TypeRow{DType::uint32, 4, "uint32"},
    TypeRow{DType::int64, 8, "int64"},
    TypeRow{DType::uint64, 8, "uint64"},
    TypeRow{DType::float16, 2, "float16"},
    TypeRow{DType::float32, 4, "float32"},
    TypeRow{DType::float64, 8, "float64"},
    TypeRow{DType::bfloat16, 2, "bfloat16"},
    TypeRow{DType::float8_e4m3, 1, "float8_e4m3"},
    TypeRow{DType::float8_e5m2, 1, "float8_e5m2"},
};
constexpr std::array kShortNames{
    std::pair{std::string_view("fp32"), DType::float32},
    std::pair{std::string_view("float"), DType::float32},
    std::pair{std::string_view("fp16"), DType::float16},
    std::pair{std::string_view("half"), DType::float16},
    std::pair{std::string_view("bf16"), DType::bfloat16},
    std::pair{std::string_view("double"), DType::float64},
};

}  // namespace

std::size_t bytes_of(DType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index].bytes : 0;
}

std::string_view name_of(DType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index].name : std::string_view("unknown");
}

Result<DType> parse_dtype(std::string_view text) {
  std::string_view nearest;
  std::size_t best = static_cast<std::size_t>(-1);
  const auto consider = [&](std::string_view name) {
    const std::size_t distance = edit_distance(text, name);
    if (distance < best) best = distance, nearest = name;
    return distance == 0;
  };
  for (const auto& row : kTypes) {
    if (consider(row.name)) return row.type;
  }
  for (const auto& [name, type] : kShortNames) {
    if (consider(name)) return type;
  }
  return Status::invalid_argument(
      concat("unknown data type '", text.substr(0, 100), "'. Did you mean ", nearest, "?"));
}

float to_float(fp16 value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = value.bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

fp16 to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return {static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU))};
  if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};  // rounds past 65504
  if (magnitude <
      0x38800000U) {  // subnormal: adding 0.5 leaves round(value * 2^24), ties to even, in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U))};
  }
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U);
  return {static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

}  // namespace ringcomm::inline v0
