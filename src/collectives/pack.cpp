// SPDX-License-Identifier: Apache-2.0
#include "collectives/pack.hpp"

#include <cstring>

#include "device/host/far_lines.hpp"
#include "device/host/nontemporal_copy.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

// Calls `move(strided address, packed offset, bytes)` for each contiguous run, in row-major order.
template <class Move>
void for_each_run(const TensorView& view, Move&& move) {
  if (view.element_count() == 0) return;
  const auto size = static_cast<std::int64_t>(bytes_of(view.dtype));
  int outer_axes = view.axes;
  std::int64_t run = 1;
  while (outer_axes > 0) {
    const auto axis = static_cast<std::size_t>(outer_axes - 1);
    if (view.shape[axis] != 1 && view.strides[axis] != run) break;
    run *= view.shape[axis];
    --outer_axes;
  }
  std::array<std::int64_t, TensorView::kAxesMax> index{};
  std::int64_t offset = 0;
  const std::int64_t runs = view.element_count() / run;
  for (std::int64_t done = 0; done < runs; ++done) {
    move(static_cast<std::byte*>(view.data) + offset * size, static_cast<std::size_t>(done * run * size),
         static_cast<std::size_t>(run * size));
    for (int axis = outer_axes - 1; axis >= 0; --axis) {
      const auto at = static_cast<std::size_t>(axis);
      offset += view.strides[at];
      if (++index[at] < view.shape[at]) break;
      offset -= view.strides[at] * view.shape[at];
      index[at] = 0;
    }
  }
}

/// memcpy, and whether it was as slow as writing far lines is.
bool is_far_copy(std::byte* target, const std::byte* source, std::size_t bytes) {
  const std::int64_t begun_ns = now_ns();
  std::memcpy(target, source, bytes);
  return was_far(bytes, now_ns() - begun_ns);
}

}  // namespace

void SharedCopy::copy(std::byte* target, const std::byte* source, std::size_t bytes) {
  if (bytes < kTimedLineBytes) {
    if (bytes > 0) std::memcpy(target, source, bytes);
    return;
  }
  if (bytes >= kNontemporalBytes) return copy_nontemporal(target, source, bytes);
  ++copies_;
  if (is_far_ && copies_ % kWritesPerLook != 0) return copy_nontemporal(target, source, bytes);
  const std::size_t timed = is_far_ ? kTimedLineBytes : bytes;
  is_far_ = is_far_copy(target, source, timed);
  if (timed < bytes) copy_nontemporal(target + timed, source + timed, bytes - timed);
}

void pack(const TensorView& source, std::byte* target) {
  for_each_run(source, [target](const std::byte* from, std::size_t offset, std::size_t bytes) {
    std::memcpy(target + offset, from, bytes);
  });
}

void unpack(const std::byte* source, const TensorView& target) {
  for_each_run(target, [source](std::byte* to, std::size_t offset, std::size_t bytes) {
    std::memcpy(to, source + offset, bytes);
  });
}

}  // namespace ringcomm::inline v0::collectives
