// SPDX-License-Identifier: Apache-2.0
#include "collectives/pack.hpp"

#include <cstring>

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

}  // namespace

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
