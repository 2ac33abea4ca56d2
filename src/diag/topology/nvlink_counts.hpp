// SPDX-License-Identifier: Apache-2.0
// NVLinks of every GPU and pair, from whatever the evidence has: link lists, ports, or a path matrix.
#pragma once

#include <optional>
#include <vector>

#include "diag/topology/check.hpp"

namespace ringcomm::inline v0::diag {

/// Active ports; nothing when the state of one is unknown.
std::optional<int> active_ports(const Gpu& gpu);

/// Counts of NVLink and xGMI. A link list beats ports, and ports beat the matrix. Nothing is unknown: a
/// source that does not show links gives nothing, never 0.
class LinkCounts {
 public:
  explicit LinkCounts(const Machine& machine);

  /// From a to b as a's own entry says; nothing when unknown.
  std::optional<int> directed(std::size_t a, std::size_t b) const { return directed_[(a * size_) + b]; }
  /// Of the pair, as either end says.
  std::optional<int> pair(std::size_t a, std::size_t b) const;
  /// GPUs that it has direct links to.
  std::size_t peers(std::size_t gpu) const;
  /// All its links; from a matrix: 0, or behind switches its largest count.
  std::optional<int> total(std::size_t gpu) const { return totals_[gpu]; }
  /// Its links end in switches, as its links say or as a matrix shows whose pairs have what the weaker end
  /// has.
  bool is_switched(std::size_t gpu) const { return switched_[gpu]; }
  /// GPUs of the same host, without `gpu`, that are all linked to each other (over switches or directly);
  /// empty when they are not.
  std::vector<std::size_t> fabric_without(std::size_t gpu) const;
  const Where& where(std::size_t gpu) const { return wheres_[gpu]; }
  /// One unknown when GPUs are there whose NVLinks the evidence does not show.
  void say_unknown(Report& report) const;

 private:
  void read_links();
  void read_ports();
  void read_matrix();
  void judge_matrix();

  const Machine& machine_;
  std::size_t size_;
  std::vector<std::optional<int>> directed_;
  std::vector<std::optional<int>> totals_;
  std::vector<bool> switched_;
  std::vector<bool> is_lost_;  ///< an entry without a count, or a link without an end
  std::vector<Where> wheres_;
};

}  // namespace ringcomm::inline v0::diag
