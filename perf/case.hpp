// SPDX-License-Identifier: Apache-2.0
// What a measured operation implements: one file per operation in cases/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "options.hpp"
#include "pattern.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::perf {

enum class Buffers : std::uint8_t { out_of_place, in_place };

/// What one row is to measure.
struct RowSpec {
  std::size_t bytes = 0;
  DType dtype = DType::float32;
  ReduceOp redop = ReduceOp::sum;
  int root = 0;
};

/// What a row's fixed columns say.
struct RowHead {
  std::size_t size = 0;    ///< bytes, as docs/perf.md defines for the operation
  std::int64_t count = 0;  ///< elements
  std::string type{}, redop = "none", root = "-1";
  double bus_factor = 1;
  bool has_bandwidth = true;
  bool has_in_place = false;
  double work = 0;  ///< of all ranks together, for --sweep: bytes that they end up with, or 1 for a fixed job
};

/// One operation on one rank. All ranks call the same functions in the same order.
class Case {
 public:
  virtual ~Case() = default;
  /// Sizes to run: the command line's, unless the operation has its own axis.
  virtual std::vector<std::size_t> sizes(const Options& options) const;
  /// Allocates for this size (rounded down to what the operation can do).
  virtual Result<RowHead> prepare(const RowSpec& spec) = 0;
  /// Runs once; the seconds that count, per operation.
  virtual Result<double> run(Buffers buffers) = 0;
  /// Runs once and compares with what must come out; elements of this rank that differ.
  virtual Result<std::int64_t> check(Buffers buffers) = 0;
  /// Further columns over the runs since start_counting(): (title, value), the same titles on all ranks.
  virtual std::vector<std::pair<std::string, double>> extras() { return {}; }
  /// A line for the footer over all checks so far, the same on all ranks; empty for none.
  virtual std::string remark() const { return {}; }
  /// After the warm-up.
  virtual void start_counting() {}

  /// Called right before the clock of each run starts: launches what shall run beside it.
  void set_companion(std::function<Status()> launch) { companion_ = std::move(launch); }

 protected:
  Status launch_companion() { return companion_ ? companion_() : Status(); }

 private:
  std::function<Status()> companion_;
};

std::unique_ptr<Case> make_ring_rotate(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_softmax_all_reduce(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_softmax_reduce_scatter(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_all_gather(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_all_reduce(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_reduce_scatter(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_alltoall(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_broadcast(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_sendrecv(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_ring_attention(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_attention_step(Communicator& comm, const Options& options);
std::unique_ptr<Case> make_decode_step(Communicator& comm, const Options& options);
/// By options.op, which must be one of operations().
std::unique_ptr<Case> make_case(Communicator& comm, const Options& options);

}  // namespace ringcomm::perf
