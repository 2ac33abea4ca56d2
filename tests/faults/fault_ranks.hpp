// SPDX-License-Identifier: Apache-2.0
// Ranks that meet a fault, as threads and as processes: what each said, how long it took, what is left.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm::test {

/// The text with what differs from run to run replaced: process ids (P), waits in ms (T), `directory` (DIR);
/// and without " (told by rank 1)", "rank 1 gave up: ", which depend on who found the fault first.
std::string golden(std::string text, const std::string& directory = {});

using Body = std::function<Status(Communicator&)>;

/// What one rank has to say after a fault.
struct RankOutcome {
  std::string said;     ///< golden() of what the body returned
  std::string health;   ///< golden() of the communicator's health afterwards
  std::int64_t ms = 0;  ///< that the body took
  std::string left;     ///< descriptors, mappings or threads that remained when the communicator was gone
};

enum class Medium { threads, processes };
std::string name_of(Medium medium);

/// Where a rank may fork: the address sanitizer's allocator may be locked by another thread in that moment.
inline std::vector<Medium> media_that_may_fork() {
  if (kAddressSanitizer) return {Medium::processes};
  return {Medium::threads, Medium::processes};
}

/// Makes a communicator per rank, all ranks meet in a barrier, then each runs `body`. A rank that cannot make
/// its communicator says why in `said`. Processes report no more than that; threads share one process, so
/// their `left` is the caller's business (see LeftBehind).
std::vector<RankOutcome> outcomes(Medium medium, int ranks, const Body& body,
                                  const CommunicatorOptions& options = {});

/// One process rank's work behind outcomes(), for tests that send signals: the result of a
/// ProcessRanks::Body.
std::string run_and_report(const std::function<Result<Communicator>()>& make, const Body& body);
RankOutcome parse_report(const RankReport& report);

/// A snapshot of what this process and machine hold, to be compared after a fault.
class LeftBehind {
 public:
  LeftBehind();
  /// Names each difference: children, descriptors, mappings, threads, names in /dev/shm. Empty: none.
  std::string differences() const;

 private:
  int descriptors_;
  int mappings_;
  int threads_;
  std::vector<std::string> shared_names_;
};

/// Options with a small arena; the deadline is far away, so that whoever returns early was released.
CommunicatorOptions patient(std::chrono::milliseconds deadline = std::chrono::seconds(60));

/// A rank's K and V in a window of its own, every element saying which rank and which element it is.
struct Block {
  Window window;
  TensorView k, v;
};
struct BlockShape {
  std::int64_t rows = 16;
  std::int64_t heads = 2;
  std::int64_t dim = 8;
  DType dtype = DType::float32;
};
Result<Block> make_block(Communicator& comm, const BlockShape& shape = {});
void fill_block(const Block& block, int rank, int round);
/// internal, naming the first element of the step that is not what its owner has written.
Status check_step(const RotationStep& step, int round);

/// One whole rotation, every element checked; `at_step` is called within each step.
Status rotate_checked(Communicator& comm, const Block& block, RingRotation& rotation, int round,
                      const std::function<void(int step)>& at_step = {});

}  // namespace ringcomm::test
