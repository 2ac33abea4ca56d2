// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

JobPicture picture_of(const HangEvidence& evidence) {
  JobPicture picture;
  picture.world_size = evidence.world_size;
  return picture;
}

int JobPicture::find(const Who& who, std::string_view /*group*/) const {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (who.rank != kUnknown && ranks[i].who.rank == who.rank) return static_cast<int>(i);
  }
  return kUnknown;
}

}  // namespace ringcomm::inline v0::diag
