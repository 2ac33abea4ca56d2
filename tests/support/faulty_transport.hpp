// SPDX-License-Identifier: Apache-2.0
// Wraps any transport and breaks one rank at its k-th batch, by a script that the test prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ringcomm/transport/transport.hpp"

namespace ringcomm::testing_support {

enum class Fault : std::uint8_t {
  none,
  stop,      ///< the rank sleeps for `stop_for` before its batch, as if stopped
  fail,      ///< abort("injected failure") instead of the batch
  corrupt,   ///< the batch says another signature than everybody else's
  mis_size,  ///< the first operation of the batch that moves data moves one byte less
};

struct FaultScript {
  Fault fault = Fault::none;
  int rank = 0;
  int batch = 0;  ///< counted from 0 over all channels of the rank
  std::chrono::milliseconds stop_for{1000};
};

/// A fault, a rank below `ranks` and a batch below `batches`, drawn from the seed.
FaultScript draw_fault(std::uint64_t seed, int ranks, int batches);
/// "rank 2 corrupt at batch 5".
std::string to_text(const FaultScript& script);

TransportFactory faulty_transport(TransportFactory inner, const FaultScript& script);

}  // namespace ringcomm::testing_support
