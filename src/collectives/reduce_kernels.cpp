// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduce_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/assert.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

// Accumulators of one block stay in the first-level cache, and alias no source and no target: so the loops
// vectorise without a look at the addresses.
constexpr std::size_t kBlock = 1024;

/// As to_float() and to_fp16(), but without branches: every case is computed and one is chosen.
float widened(fp16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000U} << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const auto mantissa = static_cast<std::int32_t>(magnitude & 0x3ffU);
  const std::uint32_t normal = (magnitude << 13) + (112U << 23);
  const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24F);
  const std::uint32_t special = 0x7f800000U | (magnitude << 13);
  std::uint32_t bits = magnitude < 0x400U ? subnormal : normal;
  bits = magnitude >= 0x7c00U ? special : bits;
  return std::bit_cast<float>(sign | bits);
}
float widened(bf16 value) { return to_float(value); }
template <class T>
T widened(T value) {
  return value;
}

fp16 narrowed_to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t small = std::min(magnitude, 0x38800000U);
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + 0.5F) - 0x3f000000U;
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;
  half = magnitude >= 0x477ff000U ? 0x7c00U : half;
  half = magnitude > 0x7f800000U ? nan : half;
  return {static_cast<std::uint16_t>(sign | half)};
}

template <class T, class Accumulator>
T narrowed(Accumulator value) {
  if constexpr (std::is_same_v<T, fp16>) {
    return narrowed_to_fp16(value);
  } else if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else {
    return value;
  }
}

struct Sum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};

// A comparison with NaN is false, so NaN has to be asked for on the right side, and stays on the left one.
struct Max {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return b > a ? b : a;
    } else {
      return ((b > a) | (b != b)) ? b : a;
    }
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return b < a ? b : a;
    } else {
      return ((b < a) | (b != b)) ? b : a;
    }
  }
};

template <class T>
auto load(const std::byte* from, std::size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return widened(value);
}

template <class T, class Op>
void reduce_typed(std::byte* target, std::span<const std::byte* const> sources, std::size_t count) {
  using Accumulator = decltype(load<T>(nullptr, 0));
  Accumulator accumulator[kBlock];
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t elements = std::min(kBlock, count - first);
    const std::size_t offset = first * sizeof(T);
    const std::byte* const a = sources[0] + offset;
    const std::byte* const b = sources[1] + offset;
    for (std::size_t i = 0; i < elements; ++i) accumulator[i] = Op::of(load<T>(a, i), load<T>(b, i));
    for (std::size_t k = 2; k < sources.size(); ++k) {
      const std::byte* const next = sources[k] + offset;
      for (std::size_t i = 0; i < elements; ++i) accumulator[i] = Op::of(accumulator[i], load<T>(next, i));
    }
    std::byte* const out = target + offset;
    for (std::size_t i = 0; i < elements; ++i) {
      const T value = narrowed<T>(accumulator[i]);
      std::memcpy(out + i * sizeof(T), &value, sizeof(T));
    }
  }
}

template <class T>
void reduce_by(ReduceOp op, std::byte* target, std::span<const std::byte* const> sources, std::size_t count) {
  switch (op) {
    case ReduceOp::max:
      return reduce_typed<T, Max>(target, sources, count);
    case ReduceOp::min:
      return reduce_typed<T, Min>(target, sources, count);
    default:
      return reduce_typed<T, Sum>(target, sources, count);
  }
}

}  // namespace

Status check_reducible(std::string_view what, DType dtype, ReduceOp op) {
  if (op != ReduceOp::sum && op != ReduceOp::max && op != ReduceOp::min) {
    return Status::invalid_argument(
        concat(what, ": reduce op \"", name_of(op), "\" (sum, max and min are possible)"));
  }
  if (dtype == DType::float8_e4m3 || dtype == DType::float8_e5m2) {
    return Status::not_available(
        concat(what, ": no reduction of ", name_of(dtype), ". Convert to bfloat16 or float32 first"));
  }
  return {};
}

void reduce_elements(DType dtype, ReduceOp op, std::byte* target, std::span<const std::byte* const> sources,
                     std::int64_t count) {
  RINGCOMM_ASSERT(!sources.empty());
  const auto elements = static_cast<std::size_t>(count);
  if (elements == 0) return;
  if (sources.size() == 1) {
    if (target != sources[0]) std::memcpy(target, sources[0], elements * bytes_of(dtype));
    return;
  }
  switch (dtype) {
    case DType::int8:
      return reduce_by<std::int8_t>(op, target, sources, elements);
    case DType::uint8:
      return reduce_by<std::uint8_t>(op, target, sources, elements);
    case DType::int32:
      return reduce_by<std::int32_t>(op, target, sources, elements);
    case DType::uint32:
      return reduce_by<std::uint32_t>(op, target, sources, elements);
    case DType::int64:
      return reduce_by<std::int64_t>(op, target, sources, elements);
    case DType::uint64:
      return reduce_by<std::uint64_t>(op, target, sources, elements);
    case DType::float16:
      return reduce_by<fp16>(op, target, sources, elements);
    case DType::float32:
      return reduce_by<float>(op, target, sources, elements);
    case DType::float64:
      return reduce_by<double>(op, target, sources, elements);
    case DType::bfloat16:
      return reduce_by<bf16>(op, target, sources, elements);
    default:
      RINGCOMM_ASSERT(false);  // check_reducible() comes first
  }
}

}  // namespace ringcomm::inline v0::collectives
