// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/readers.hpp"

namespace ringcomm::inline v0::diag::text {

std::vector<std::unique_ptr<LineReader>> line_readers() {
  std::vector<std::unique_ptr<LineReader>> readers;
  readers.push_back(make_nccl_reader());
  readers.push_back(make_watchdog_reader());
  readers.push_back(make_ras_reader());
  return readers;
}

}  // namespace ringcomm::inline v0::diag::text
