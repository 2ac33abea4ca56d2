// SPDX-License-Identifier: Apache-2.0
// Where the parsers of single messages put what they found: without repetitions, with limits.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/nccl_log/job_machine.hpp"
#include "topology/readers/nccl_log/message.hpp"

namespace ringcomm::inline v0::topology::nccl_log {

using Values = std::vector<std::pair<std::string, std::string>>;
/// Whether each rank's saying so counts, or one of each host is enough.
enum class Repeats : std::uint8_t { per_host, per_device };

class Collector {
 public:
  explicit Collector(const std::string& file) : file_(file) {}

  void add_event(const Message& message, LogEventKind kind, Values values, Repeats repeats);
  /// A ring that another rank or communicator has printed already is not repeated.
  void add_ring(const Message& message, ConfiguredRing ring);
  void add_graph(const Message& message, ConfiguredGraph graph);
  /// A message that should have been understood.
  void skip(const Message& message, std::string reason);

  Where where(const Message& message) const { return {file_, message.line}; }
  const std::string& file() const { return file_; }
  /// "0 -> 2 -> 1" of one rank. Rings that no line lists are put together by finish_rings().
  void add_neighbour(const Message& message, int channel, int rank, int next);
  void finish_rings();

  JobMachine& machine() { return machine_; }
  JobEvidence& job() { return job_; }
  std::vector<Skipped>& skipped() { return skipped_; }
  int dropped() const { return dropped_; }

 private:
  /// False for the second of two equal keys, and when there is no room.
  bool is_new(std::string key);

  std::string file_;
  JobEvidence job_;
  std::vector<Skipped> skipped_;
  std::set<std::string, std::less<>> seen_;
  int dropped_ = 0;
  JobMachine machine_;
  struct Neighbours {
    std::map<int, int> next{};  ///< by rank
    bool is_clear = true;       ///< no rank told two things (ranks of two communicators)
    Where where{};
  };
  std::map<int, Neighbours> neighbours_;  ///< by channel
  std::size_t neighbour_count_ = 0;
};

/// A parser returns true when the message is its own.
bool parse_ring(const Message& message, Collector& collector);
bool parse_pattern(const Message& message, Collector& collector);
bool parse_info(const Message& message, Collector& collector);
bool parse_rank(const Message& message, Collector& collector);
bool parse_transport(const Message& message, Collector& collector);
bool parse_neighbours(const Message& message, Collector& collector);
bool parse_system(const Message& message, Collector& collector);
bool parse_graph_line(const Message& message, Collector& collector);
bool parse_trouble(const Message& message, Collector& collector);
/// Any other NCCL WARN.
bool parse_warning(const Message& message, Collector& collector);

}  // namespace ringcomm::inline v0::topology::nccl_log
