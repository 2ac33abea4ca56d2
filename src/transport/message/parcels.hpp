// SPDX-License-Identifier: Apache-2.0
// Blocks that peers have announced and this rank has not received yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ringcomm/core/descriptor.hpp"
#include "transport/message/wire.hpp"

namespace ringcomm::inline v0::transport::message {

struct Parcel {
  Descriptor descriptor{};
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;             ///< when larger than kInlineBytesMax
  const std::byte* local = nullptr;  ///< the block itself, when a rank sends to itself
  Parcel* next = nullptr;
  std::array<std::byte, kInlineBytesMax> inline_block;
};

/// Memory of parcels, for all channels of one end; grows to what was needed at one time and stays.
class ParcelPool {
 public:
  Parcel* take();
  void give_back(Parcel* parcel) {
    parcel->next = free_;
    free_ = parcel;
  }
  std::size_t made() const { return all_.size(); }

 private:
  std::vector<std::unique_ptr<Parcel>> all_;
  Parcel* free_ = nullptr;
};

/// First in, first out.
class ParcelQueue {
 public:
  bool is_empty() const { return first_ == nullptr; }
  Parcel& front() { return *first_; }
  void push(Parcel* parcel) {
    parcel->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = parcel;
    last_ = parcel;
  }
  Parcel* pop() {
    Parcel* parcel = first_;
    first_ = parcel->next;
    return parcel;
  }

 private:
  Parcel* first_ = nullptr;
  Parcel* last_ = nullptr;
};

}  // namespace ringcomm::inline v0::transport::message
