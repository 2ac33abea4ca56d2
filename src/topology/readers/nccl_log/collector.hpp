// SPDX-License-Identifier: Apache-2.0
// Where the parsers of single messages put what they found: without repetitions, with limits.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
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
  void add_ring(const Message& message, int channel, std::vector<int> order);
  void add_graph(const Message& message, ConfiguredGraph graph);
  /// A message that should have been understood.
  void skip(const Message& message, std::string reason);

  Where where(const Message& message) const { return {file_, message.line}; }
  const std::string& file() const { return file_; }
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
};

/// A parser returns true when the message is its own.
bool parse_ring(const Message& message, Collector& collector);
bool parse_pattern(const Message& message, Collector& collector);
bool parse_info(const Message& message, Collector& collector);

}  // namespace ringcomm::inline v0::topology::nccl_log
