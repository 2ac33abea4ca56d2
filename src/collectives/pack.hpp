// SPDX-License-Identifier: Apache-2.0
// The one path by which strided or private memory becomes a contiguous block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::inline v0::collectives {

/// Copies the elements of `source`, row-major, to `target` [source.bytes()]; no overlap.
void pack(const TensorView& source, std::byte* target);
/// Copies private memory to where peers have read before. Their caches still hold those lines, and taking
/// them back costs a write 9 GB/s of bandwidth where the caches are near, 2.3 where they are far; going
/// around the caches gives 26 to 33 in both, but the peer then reads from memory (performance.md §0). Which
/// it is changes while a virtual machine runs, so every copy looks at its own speed. Bytes do not depend on
/// it.
class SharedCopy {
 public:
  /// No overlap.
  void copy(std::byte* target, const std::byte* source, std::size_t bytes);
  /// What the last look found.
  bool is_far() const { return is_far_; }

 private:
  bool is_far_ = false;
  std::uint32_t copies_ = 0;
};

/// The way back: `target` is written from `source` [target.bytes()].
void unpack(const std::byte* source, const TensorView& target);

}  // namespace ringcomm::inline v0::collectives
