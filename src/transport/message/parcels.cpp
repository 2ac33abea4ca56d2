// SPDX-License-Identifier: Apache-2.0
#include "transport/message/parcels.hpp"

namespace ringcomm::inline v0::transport::message {

Parcel* ParcelPool::take() {
  if (free_ == nullptr) {
    all_.push_back(std::make_unique<Parcel>());
    return all_.back().get();
  }
  Parcel* parcel = free_;
  free_ = parcel->next;
  parcel->local = nullptr;
  return parcel;
}

}  // namespace ringcomm::inline v0::transport::message
