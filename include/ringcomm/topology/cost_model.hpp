// SPDX-License-Identifier: Apache-2.0
// Time to move bytes over a path: latency alpha and bandwidth beta of each class, and where they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/machine.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

struct ClassCost {
  PathClass path_class = PathClass::unknown;
  std::optional<double> alpha_us{};
  std::optional<double> gb_per_s{};  ///< one direction; absent in the table for classes whose bandwidth
                                     ///< depends on the devices (links x generation, PCIe speed x width)
  Source source = Source::unknown;
  std::string where{};  ///< calibration file, or the table's origin
};

/// Where softmax merges change from one way to another, as measured; bytes are those of one rank's partial, 0
/// says that it was not measured.
struct MergeLimits {
  std::uint64_t ranks = 0;                  ///< that took part: the next two hold for as many
  std::uint64_t one_shot_bytes = 0;         ///< up to here one_shot wins where results are read in place,
  std::uint64_t copied_one_shot_bytes = 0;  ///< and where every rank gets a copy
  /// Partials and results of all ranks together: beyond, results are written around the caches.
  std::uint64_t cache_bytes = 0;
};

class CostModel {
 public:
  /// The built-in table (topology spec 2.1; NCCL's graph/topo.h and tuning constants): raw bandwidth x 0.75
  /// to 0.80.
  static CostModel table();
  /// What `ringcomm-perf --calibrate` writes, laid over the table: measured classes win. Errors: corrupt_data
  /// names the key.
  static Result<CostModel> from_json(std::string_view text, const std::string& file);

  const ClassCost& of(PathClass path_class) const;
  const MergeLimits& merge_limits() const { return merge_limits_; }
  bool is_measured() const;  ///< any class
  /// Whether measured classes hold between devices of this kind: host ranks (NUMA nodes) or GPUs. Times of
  /// host ranks say nothing of GPUs on the same path class.
  bool is_measured_between(PartKind kind) const;
  /// GB/s of one NVLink (or xGMI) of this GPU for planning; absent when the generation is unknown.
  std::optional<double> nvlink_gb_per_s(const Gpu& gpu) const;
  /// Planning GB/s of a PCIe link; absent when speed or width is unknown.
  std::optional<double> pcie_gb_per_s(const PciLink& link) const;
  /// Between two packages by vendor and model; absent when the CPU is unknown.
  std::optional<double> cpu_gb_per_s(const Package& package) const;

 private:
  std::vector<ClassCost> classes_;  ///< [PathClass]
  MergeLimits merge_limits_;
  PartKind measured_kind_ = PartKind::numa_node;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
