// SPDX-License-Identifier: Apache-2.0
#include "collectives/staged_run.hpp"

#include <utility>

#include "collectives/pack.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::collectives {

bool is_readable(const Channel& channel, const TensorView& view) {
  return view.is_contiguous() &&
         (!channel.capabilities().direct_read || channel.is_offerable(view.data, view.bytes()));
}

plan::Access access_of(const Channel& channel) {
  return channel.capabilities().direct_read ? plan::Access::direct_read : plan::Access::two_sided;
}

Result<std::byte*> StagedRun::take_block(std::size_t bytes) {
  RINGCOMM_TRY_ASSIGN(auto block, channel_.allocate(bytes));
  blocks_.push_back(std::move(block));
  return blocks_.back().data();
}

Result<std::byte*> StagedRun::readable(const TensorView& view) {
  if (is_readable(channel_, view)) return static_cast<std::byte*>(view.data);
  RINGCOMM_TRY_ASSIGN(std::byte* const block, take_block(view.bytes()));
  packings_.push_back({view, block});
  prepare = [](Runnable& self) { static_cast<StagedRun&>(self).pack_all(); };
  return block;
}

void StagedRun::pack_all() {
  for (const Packing& packing : packings_) {
    pack(packing.view, packing.block);
    channel_.count_packed(packing.view.bytes());
  }
}

}  // namespace ringcomm::inline v0::collectives
