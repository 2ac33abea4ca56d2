// SPDX-License-Identifier: Apache-2.0
// An untyped, non-owning view of a strided tensor: what every public call takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ringcomm/core/dtype.hpp"
#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class DeviceKind : std::uint8_t { host = 0, cuda = 1 };

/// Where a tensor lives; `ordinal` is meaningful for cuda only.
struct DeviceId {
  DeviceKind kind = DeviceKind::host;
  std::int8_t ordinal = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// Up to four axes; strides in elements (not bytes). Zero on any axis means empty: `data` is then never read.
struct TensorView {
  static constexpr int kAxesMax = 4;
  void* data = nullptr;
  DType dtype = DType::float32;
  int axes = 0;
  std::array<std::int64_t, kAxesMax> shape{};
  std::array<std::int64_t, kAxesMax> strides{};
  DeviceId device{};

  /// Row-major (last axis fastest) view. More than kAxesMax extents give a view that validate() refuses.
  static TensorView contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape);

  /// 1 without axes; saturates where validate() would refuse the size.
  std::int64_t element_count() const;
  /// element_count() * bytes_of(dtype): the payload, not the span between first and last element.
  std::size_t bytes() const;
  bool is_contiguous() const;
};

/// invalid_argument when an extent or the stride of an axis with two or more elements is negative, the bytes
/// or the distance from the first to the last element overflow 63 bits, `data` is null with elements, `axes`
/// is out of range, or the data type is unknown; `what` opens the message ("q", "kv", ...).
Status validate(const TensorView& view, std::string_view what);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
