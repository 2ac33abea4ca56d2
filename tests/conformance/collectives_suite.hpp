// SPDX-License-Identifier: Apache-2.0
// Every collective on any communicator, checked on every rank: plain code, so that ranks may be threads,
// forked processes or programs under a launcher.
#pragma once

#include <cstdint>
#include <string>

#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::conformance {

struct SuiteOptions {
  std::uint32_t seed = 1;
  /// Only cases whose name begins with this; empty: all.
  std::string only{};
};

/// Collective. Oracles: small integers, whose sums are exact in every type; random values against float64;
/// bytes that say where they come from; dense attention in float64. Adds to `cases` (may be null).
/// ok, or the first failure, whose message begins with the case's name.
Status run_collectives_suite(Communicator& comm, const SuiteOptions& options = {}, int* cases = nullptr);

}  // namespace ringcomm::conformance
