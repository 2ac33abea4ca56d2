// SPDX-License-Identifier: Apache-2.0
// A program with memory of its own: what peers cannot read where it lies is packed before each run.
#pragma once

#include <vector>

#include "collectives/executor.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/device/arena.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::collectives {

/// True if peers get at the elements without a copy on this side: contiguous, and in a window where peers
/// read in place (a message may be sent from any memory).
bool is_readable(const Channel& channel, const TensorView& view);
plan::Access access_of(const Channel& channel);

class StagedRun : public Runnable {
 public:
  explicit StagedRun(Channel& channel) : channel_(channel) {}

 protected:
  Channel& channel() const { return channel_; }
  Result<std::byte*> take_block(std::size_t bytes);
  /// Where the elements of `view` lie one after the other for peers: in their place, or in a block into which
  /// every run packs them first (counted).
  Result<std::byte*> readable(const TensorView& view);

 private:
  struct Packing {
    TensorView view;
    std::byte* block = nullptr;
  };
  void pack_all();

  Channel& channel_;
  std::vector<ArenaBlock> blocks_;
  std::vector<Packing> packings_;
};

}  // namespace ringcomm::inline v0::collectives
