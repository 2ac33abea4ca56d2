// SPDX-License-Identifier: Apache-2.0
// The transports that the collectives' claims run on, with ranks as threads.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "collectives/rank_data.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/device/device.hpp"
#include "support/grouped_fake_transport.hpp"

namespace ringcomm::test {

struct MediumAndRanks {
  std::string medium;
  int ranks = 1;
  std::vector<TransportFactory> transports;
};

/// inproc reads peers' memory in place; the grouped fake has messages only, in groups and by stream.
inline std::vector<MediumAndRanks> thread_media() {
  std::vector<MediumAndRanks> media;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    media.push_back({"inproc", ranks, {inproc_transport()}});
    media.push_back({"grouped", ranks, {testing_support::grouped_fake_transport()}});
  }
  return media;
}

inline std::string name_of_case(const testing::TestParamInfo<MediumAndRanks>& tested) {
  return concat(tested.param.medium, "_ranks", tested.param.ranks);
}

inline Status run_on(const MediumAndRanks& medium, const std::function<Status(Communicator&)>& body) {
  CommunicatorOptions options = with_deadline(std::chrono::seconds(30));
  options.transports = medium.transports;
  return run_threads(medium.ranks, body, options);
}

}  // namespace ringcomm::test
